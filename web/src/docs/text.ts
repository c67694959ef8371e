/** What the API reference says of itself; an entry of its own does not load the texts of every screen. */
export const text = {
  signedIn: (email: string, workspace: string) =>
    `Signed in as ${email}: what you try here goes out with your session, in the workspace ${workspace}. ` +
    "It really happens. A key given under Authorize is used instead.",
  signedOut: "Not signed in: give a key under Authorize to try an operation. It really happens. The key is not kept.",
};
