/** Short sentences about what just happened; polite, and one at a time is enough. */
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
  const one = useSyncExternalStore((listener) => { listeners.add(listener); return () => listeners.delete(listener); }, () => shown);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {one && (
        <div key={one.n} className={`toast ${one.bad ? "toast-bad" : ""}`}>
          {one.bad ? <TriangleAlert size={16} aria-hidden /> : <CircleCheck size={16} aria-hidden />}
          <span>{one.text}</span>
          {one.act && <button type="button" onClick={() => { one.act?.run(); set(null); }}>{one.act.text}</button>}
        </div>
      )}
    </div>
  );
}
