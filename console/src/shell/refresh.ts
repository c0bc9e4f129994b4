/** Refetches what an event has made old: lists at most every 1.5 s, the open run at most every 120 ms. */
import { forgetAll, stale } from "../api/cache";
import { onLive } from "../api/live";
import { ADDRESSES_OF_LISTS, addressesOfRun } from "../languages";

const LETTERS = "/ops/dead-letters";
const waiting = new Map<string, { last: number; timer: number | null }>();

/** Calls `act` now, or when `gap` ms have passed since the last time; never more often, never lost. */
function atMost(gap: number, name: string, act: () => void): void {
  const throttle = waiting.get(name) ?? { last: 0, timer: null };
  waiting.set(name, throttle);
  if (throttle.timer !== null) return;
  const rest = throttle.last + gap - Date.now();
  const go = () => {
    throttle.last = Date.now();
    throttle.timer = null;
    act();
  };
  if (rest <= 0) go();
  else throttle.timer = window.setTimeout(go, rest);
  if (waiting.size > 500) waiting.clear();
}

export function startRefreshing(): () => void {
  return onLive((event) => {
    if (event.kind === "reset" || event.kind === "hello") forgetAll();
    if (event.kind === "run") {
      const { run } = event.data;
      atMost(120, run, () => stale(`/runs/${run}`, ...addressesOfRun(run)));
      atMost(1500, "lists", () => stale("/runs?", "/home", "/inbox?", "/definitions?", ...ADDRESSES_OF_LISTS));
      // elsewhere only their count is shown, and it costs a look at all that failed
      if (location.pathname === LETTERS) atMost(1500, "letters", () => stale("/dead-letters"));
      else atMost(15_000, "letters count", () => stale("/dead-letters"));
    }
    if (event.kind === "inbox") atMost(300, "inbox", () => stale("/inbox", "/home"));
  });
}
