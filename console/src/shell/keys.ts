/** Keys of the whole console: off inside inputs and dialogs, off when somebody switches them off. */
import { useLayoutEffect, useRef } from "react";

type Bindings = Record<string, (event: KeyboardEvent) => void>;

const layers: { current: Bindings }[] = [];
let prefix: string | null = null;
let timer = 0;

export const keysOn = (): boolean => {
  try {
    return localStorage.getItem("ps.keys") !== "off";
  } catch {
    return true;
  }
};

/** Key bindings of a screen; those of the newest screen win. "g h" is g, then h. */
export function useKeys(bindings: Bindings): void {
  const held = useRef(bindings);
  held.current = bindings;
  useLayoutEffect(() => { // who sees the screen can already use its keys
    layers.push(held);
    return () => {
      layers.splice(layers.indexOf(held), 1);
    };
  }, []);
}

export function startKeys(): void {
  window.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      run("Ctrl K", event);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target as HTMLElement | null;
    if (target?.closest("input:not([type=checkbox]), textarea, select, [contenteditable], dialog[open]")) return;
    if (!keysOn() && event.key !== "Escape") return;
    const name = event.key === " " ? "Space" : event.key;
    if (name === "Enter" || name === "Space") {
      if (target?.closest("button, a, summary, input, [role=slider], [role=tab], [role=button]")) return; // the key belongs to that element
    }
    if (prefix !== null) {
      const both = `${prefix} ${name}`;
      prefix = null;
      if (run(both, event)) return;
    }
    if (name === "g") {
      prefix = "g";
      window.clearTimeout(timer);
      timer = window.setTimeout(() => (prefix = null), 900);
      return;
    }
    run(name, event);
  });
}

function run(name: string, event: KeyboardEvent): boolean {
  for (let i = layers.length - 1; i >= 0; i--) {
    const act = layers[i]?.current[name];
    if (!act) continue;
    event.preventDefault();
    act(event);
    return true;
  }
  return false;
}
