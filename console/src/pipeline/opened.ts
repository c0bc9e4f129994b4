/** The list that an execution was opened from, so that its neighbours can be reached. */
const KEY = "ps.executions";

export function rememberList(ids: string[]): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(ids.slice(0, 200)));
  } catch {
    // without it nothing is offered
  }
}

export function neighbours(id: string): { at: number; of: number; previous: string | null; next: string | null } | null {
  try {
    const ids = JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as string[];
    const at = ids.indexOf(id);
    return at < 0 || ids.length < 2 ? null : { at: at + 1, of: ids.length, previous: ids[at - 1] ?? null, next: ids[at + 1] ?? null };
  } catch {
    return null;
  }
}
