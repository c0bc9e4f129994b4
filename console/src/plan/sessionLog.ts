/** What an agent says, read on and on: the last lines are kept, older ones go. */
import { useCallback, useEffect, useRef, useState } from "react";
import { call } from "../api/client";
import { usePlanEvents } from "./planEvents";
import { logPath } from "./requests";
import type { LogLine, SessionLog } from "./types";

/** Lines that are kept. */
export const KEPT = 2000;
/** Without a word from the stream the log is still asked for this often, while the agent works. */
const ASK_MS = 2500;

export interface Said {
  /** By a number that grows by one. */
  lines: { n: number; line: LogLine }[];
  /** Older lines have gone. */
  cut: boolean;
  ended: boolean;
  error: unknown;
  /** The end of what the process has written to stderr. */
  stderr: string;
  /** The first answer has come. */
  read: boolean;
}

const NOTHING: Said = { lines: [], cut: false, ended: false, error: null, stderr: "", read: false };

export function useSessionLog(project: string, session: string | null, running: boolean): Said {
  const [said, setSaid] = useState<Said>(NOTHING);
  const at = useRef({ session, next: 0, count: 0, busy: false, again: false });
  const read = useCallback(async () => {
    const here = at.current;
    if (here.session === null) return;
    if (here.busy) { here.again = true; return; }
    here.busy = true;
    try {
      for (let more = true; more && at.current === here; ) {
        const part = await call<SessionLog>(logPath(project, here.session, here.next, KEPT));
        if (at.current !== here) return; // another session is shown now
        more = part.lines.length > 0 && part.next > here.next;
        here.next = part.next;
        const numbered = part.lines.map((line) => ({ n: here.count++, line }));
        setSaid((before) => { const all = [...before.lines, ...numbered]; return { lines: all.slice(-KEPT), cut: before.cut || all.length > KEPT, ended: part.ended, error: null, stderr: part.stderr ?? "", read: true }; });
      }
    } catch (error) {
      if (at.current === here) setSaid((before) => ({ ...before, error, read: true }));
    } finally {
      here.busy = false;
      if (here.again) { here.again = false; void read(); }
    }
  }, [project]);
  useEffect(() => {
    at.current = { session, next: 0, count: 0, busy: false, again: false };
    setSaid(NOTHING);
    void read();
  }, [project, session, read]);
  usePlanEvents(project, (name, data) => { if (name === "reset" || data["session"] === session || data["sessionId"] === session) void read(); });
  useEffect(() => {
    if (!running) { void read(); return; } // the last lines may have come with the end
    const timer = window.setInterval(() => !document.hidden && void read(), ASK_MS);
    return () => window.clearInterval(timer);
  }, [running, read]);
  return said;
}
