/** Toasts: short sentences about what just happened, one at a time. */
import { CircleCheck, TriangleAlert } from "lucide-react";
import { useSyncExternalStore, type ReactNode } from "react";

interface Toast {
  text: string;
  bad: boolean;
  act?: { text: string; run: () => void };
  n: number;
}

let shown: Toast | null = null;
let count = 0;
let timer = 0;
const listeners = new Set<() => void>();

function set(toast: Toast | null): void {
  shown = toast;
  listeners.forEach((listener) => listener());
}

export function toast(text: string, { bad = false, act }: { bad?: boolean; act?: Toast["act"] } = {}): void {
  set({ text, bad, act, n: ++count });
  window.clearTimeout(timer);
  timer = window.setTimeout(() => set(null), bad || act ? 8000 : 4000);
}

export function Toasts(): ReactNode {
  const current = useSyncExternalStore((listener) => { listeners.add(listener); return () => listeners.delete(listener); }, () => shown);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {current && (
        <div key={current.n} className={`toast ${current.bad ? "toast-bad" : ""}`}>
          {current.bad ? <TriangleAlert size={16} aria-hidden /> : <CircleCheck size={16} aria-hidden />}
          <span>{current.text}</span>
          {current.act && <button type="button" onClick={() => { current.act?.run(); set(null); }}>{current.act.text}</button>}
        </div>
      )}
    </div>
  );
}
