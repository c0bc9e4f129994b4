/** Who else looks at an item now: I say every ten seconds that I do, and hear who else has. */
import { useEffect, useState } from "react";
import { call } from "../api/client";
import { onLive } from "../api/live";
import type { Item, Looking } from "../api/types";
import { itemPath } from "./path";

const EVERY_MS = 10_000;

export function useLooking(item: Item, open: boolean): string[] {
  const [others, setOthers] = useState<string[]>([]);
  const { id } = item;
  const path = `${itemPath(item)}/looking`;
  useEffect(() => {
    if (!open) return setOthers([]);
    let gone = false;
    const say = async (here: boolean) => {
      const told = await call<Looking>(path, { method: "POST", body: { here }, keepalive: !here }).catch(() => null);
      if (told && here && !gone) setOthers(told.others);
    };
    const seen = () => void say(!document.hidden); // a tab in the background looks at nothing
    const leave = () => void say(false);
    seen();
    const timer = window.setInterval(() => !document.hidden && seen(), EVERY_MS);
    const heard = onLive((event) => event.kind === "looking" && event.data.item === id && !document.hidden && seen());
    document.addEventListener("visibilitychange", seen);
    window.addEventListener("pagehide", leave);
    return () => {
      gone = true;
      window.clearInterval(timer);
      heard();
      document.removeEventListener("visibilitychange", seen);
      window.removeEventListener("pagehide", leave);
      leave();
    };
  }, [path, id, open]);
  return others;
}
