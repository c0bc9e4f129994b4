/** The list that an execution was opened from, so that its neighbours can be reached. */
const KEY = "ps.executions";

/** `name` says what they have in common, where they have something. */
export function rememberList(ids: string[], name: string): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ ids: ids.slice(0, 200), name }));
  } catch {
    // without it nothing is offered
  }
}

export function neighbours(id: string): { name: string; at: number; of: number; previous: string | null; next: string | null } | null {
  try {
    const { ids, name } = JSON.parse(sessionStorage.getItem(KEY) ?? "") as { ids: string[]; name: string };
    const at = ids.indexOf(id);
    return at < 0 || ids.length < 2 ? null : { name, at: at + 1, of: ids.length, previous: ids[at - 1] ?? null, next: ids[at + 1] ?? null };
  } catch {
    return null;
  }
}
