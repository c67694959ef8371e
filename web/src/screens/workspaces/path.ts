/** The address of a workspace's settings; names may hold any sign. */
export function pathOf(one: { tenant: string; workspace: string }): string {
  return `/workspaces/${encodeURIComponent(one.tenant)}/${encodeURIComponent(one.workspace)}`;
}
