import { en } from "./en";

/** Every text of the page, in the one language there is; a translation is a second file of the same type. */
export type Text = typeof en;

export const text: Text = en;
