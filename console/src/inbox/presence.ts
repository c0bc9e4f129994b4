/** Who else looks at an item now. Every ten seconds I tell the server that I do, and it answers who else does. */
import { useEffect, useState } from "react";
import { call } from "../api/client";
import { onLive } from "../api/live";
import type { Item, Looking } from "../api/types";
import { itemPath } from "./itemPath";

const EVERY_MS = 10_000;

export function usePresence(item: Item, open: boolean): string[] {
  const [others, setOthers] = useState<string[]>([]);
  const { id } = item;
  const path = `${itemPath(item)}/looking`;
  useEffect(() => {
    if (!open) return setOthers([]);
    let gone = false;
    const report = async (here: boolean) => {
      const answer = await call<Looking>(path, { method: "POST", body: { here }, keepalive: !here }).catch(() => null);
      if (answer && here && !gone) setOthers(answer.others);
    };
    const refresh = () => void report(!document.hidden); // a tab in the background looks at nothing
    const leave = () => void report(false);
    refresh();
    const timer = window.setInterval(() => !document.hidden && refresh(), EVERY_MS);
    const unsubscribe = onLive((event) => event.kind === "looking" && event.data.item === id && !document.hidden && refresh());
    document.addEventListener("visibilitychange", refresh);
    window.addEventListener("pagehide", leave);
    return () => {
      gone = true;
      window.clearInterval(timer);
      unsubscribe();
      document.removeEventListener("visibilitychange", refresh);
      window.removeEventListener("pagehide", leave);
      leave();
    };
  }, [path, id, open]);
  return others;
}
