/** Causes of which one has come through: all of such a cause may follow, after a reload too. */
const KEY = "ps.tried";

export function triedBefore(): ReadonlySet<string> {
  try {
    return new Set(JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as string[]);
  } catch {
    return new Set();
  }
}

export function rememberTried(causes: ReadonlySet<string>): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...causes].slice(-100)));
  } catch {
    // without it one more is tried
  }
}
