import type { Step } from "@tidings/client";

const HEADS = ["subject", "title", "body", "script", "template"] as const;

/** A step in a few words: its subject, or how it begins. */
export function stepSummary({ subject, content }: Pick<Step, "subject" | "content">): string {
  if (subject) return subject;
  if (typeof content === "string") return firstLine(content);
  const found = HEADS.map((name) => content[name]).find((one) => typeof one === "string" && one.trim() !== "");
  return typeof found === "string" ? firstLine(found) : "";
}

function firstLine(words: string): string {
  return words.trim().split("\n")[0] ?? "";
}

/** `09:00`. */
export function hourName(hour: number): string {
  return `${String(hour).padStart(2, "0")}:00`;
}
