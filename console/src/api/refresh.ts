/** Which answers an event makes old; lists at most once a second, the open run at most once per 120 ms. */
import { forgetAll, stale } from "./cache";
import { onLive } from "./live";

const waiting = new Map<string, { last: number; timer: number | null }>();

/** Calls `act` now, or when `gap` ms have passed since the last time; never more often, never lost. */
function atMost(gap: number, name: string, act: () => void): void {
  const one = waiting.get(name) ?? { last: 0, timer: null };
  waiting.set(name, one);
  if (one.timer !== null) return;
  const rest = one.last + gap - Date.now();
  const go = () => {
    one.last = Date.now();
    one.timer = null;
    act();
  };
  if (rest <= 0) go();
  else one.timer = window.setTimeout(go, rest);
  if (waiting.size > 500) waiting.clear();
}

export function startRefreshing(): () => void {
  return onLive((event) => {
    if (event.kind === "reset" || event.kind === "hello") forgetAll();
    if (event.kind === "run") {
      const { run } = event.data;
      atMost(120, run, () => stale(`/runs/${run}`, `/processes/instances/${run}`, `/processes/workitems/${encodeURIComponent(run)}`));
      atMost(1500, "lists", () => stale("/runs?", "/home", "/inbox?", "/processes/workitems?", "/definitions?"));
    }
    if (event.kind === "inbox") atMost(300, "inbox", () => stale("/inbox", "/home"));
  });
}
