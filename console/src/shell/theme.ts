/** Light or dark: the system's setting until somebody chooses. */
import { useSyncExternalStore } from "react";
import { keep } from "../words";

const listeners = new Set<() => void>();

export type Theme = "light" | "dark";

export const theme = (): Theme => (document.documentElement.dataset["theme"] === "dark" ? "dark" : "light");

export function setTheme(next: Theme): void {
  document.documentElement.dataset["theme"] = next;
  keep("ps.theme", next);
  listeners.forEach((listener) => listener());
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => { listeners.add(listener); return () => listeners.delete(listener); }, theme);
}
