/** Dialogs: a popover beside its button (class B), a window in the middle (class C), a sheet on a phone. */
import { useEffect, useRef, type ReactNode } from "react";

export interface Anchor {
  x: number;
  y: number;
  right: number;
}

export function anchorOf(element: Element | null): Anchor | null {
  const box = element?.getBoundingClientRect();
  return box ? { x: box.left, y: box.bottom, right: box.right } : null;
}

interface Props {
  label: string;
  anchor?: Anchor | null;
  look?: "popover" | "window" | "sheet" | "palette";
  onClose: () => void;
  children: ReactNode;
}

export function Dialog({ label, anchor, look = "window", onClose, children }: Props): ReactNode {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement as HTMLElement | null;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      dialog?.close();
      restoreFocus(before);
    };
  }, []);
  const wide = window.innerWidth > 720;
  const style = anchor && wide && look === "popover" ? placed(anchor) : undefined;
  const kind = look === "popover" && !wide ? "sheet" : look;
  return (
    <dialog
      ref={ref}
      className={`dialog dialog-${kind}`}
      aria-label={label}
      style={style}
      onCancel={(event) => { event.preventDefault(); onClose(); }}
      onMouseDown={(event) => event.target === ref.current && onClose()}
    >
      <div className="dialog-in">{children}</div>
    </dialog>
  );
}

/** The focus goes back to the element that had it, or to the page when that element is gone. */
function restoreFocus(before: HTMLElement | null): void {
  if (before?.isConnected) before.focus();
  if (document.activeElement === null || document.activeElement === document.body) document.getElementById("main")?.focus();
}

function placed(anchor: Anchor): { left: number; top?: number; bottom?: number } {
  const left = Math.max(12, Math.min(anchor.right - 360, window.innerWidth - 372));
  const low = anchor.y > window.innerHeight - 320;
  return low ? { left, bottom: window.innerHeight - anchor.y + 44 } : { left, top: anchor.y + 6 };
}
