/** What happens in a project, as the one stream of the browser tells it; what it makes old is read again. */
import { useEffect, useRef } from "react";
import { stale } from "../api/cache";
import { onLive } from "../api/live";
import type { Dict } from "../api/types";
import { projectPath, REPORTS } from "./requests";
import type { EventName } from "./types";

/** Events come in bursts: answers are read at most this often. */
const READ_MS = 250;

/** Hears the events of a project while a screen is shown; "reset" when some may have been missed. */
export function usePlanEvents(project: string, listener: (name: EventName | "reset", data: Dict) => void): void {
  const held = useRef(listener);
  held.current = listener;
  useEffect(() => onLive((event) => {
    if (event.kind === "named" && event.data["project"] === project) held.current(event.name as EventName, event.data);
    if (event.kind === "reset" || event.kind === "hello") held.current("reset", {});
  }), [project]);
}

/** Keeps the answers about a project fresh while its screen is shown: after its events, and after every move of its run. */
export function useLivePlan(project: string, run: string | null): void {
  const timer = useRef(0);
  const read = () => { timer.current ||= window.setTimeout(() => { timer.current = 0; stale(projectPath(project), REPORTS); }, READ_MS); };
  usePlanEvents(project, read);
  useEffect(() => onLive((event) => { if (event.kind === "run" && event.data.run === run) read(); }), [project, run]);
  useEffect(() => () => { window.clearTimeout(timer.current); timer.current = 0; }, [project]);
}
