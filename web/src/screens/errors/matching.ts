import type { FailureGroup } from "@tidings/client";

/** The groups in which every word that was typed occurs: in the error, or in where it happened. */
export function matching(groups: readonly FailureGroup[], search: string): FailureGroup[] {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  return groups.filter((group) => {
    const said = [group.text, group.example, ...group.providers, ...group.workflows, ...group.campaigns, ...group.channels].join(" ").toLowerCase();
    return wanted.every((word) => said.includes(word));
  });
}
