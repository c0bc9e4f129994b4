/** What a screen tells the frame around it: its breadcrumbs, and whether it shows the past. */
import { useEffect, useSyncExternalStore } from "react";

export interface Crumb {
  text: string;
  to?: string;
  mono?: boolean;
}

interface Chrome {
  crumbs: Crumb[];
  past: boolean;
}

let chrome: Chrome = { crumbs: [], past: false };
const listeners = new Set<() => void>();

export function useChrome(): Chrome {
  return useSyncExternalStore((listener) => { listeners.add(listener); return () => listeners.delete(listener); }, () => chrome);
}

/** Sets breadcrumbs and title while a screen is shown; the last crumb names the browser's tab. */
export function useFrame(crumbs: Crumb[], past = false): void {
  const text = JSON.stringify(crumbs);
  useEffect(() => {
    chrome = { crumbs: JSON.parse(text) as Crumb[], past };
    const last = chrome.crumbs.at(-1)?.text;
    document.title = last ? `${last} · Penstock` : "Penstock";
    listeners.forEach((listener) => listener());
  }, [text, past]);
}
