/** A text to write: numbers beside it, marks at the lines where something is wrong; what is typed is never reset. */
import { useEffect, useImperativeHandle, useRef, useState, type Ref, type ReactNode } from "react";
import type { Finding } from "../api/types";
import { LOOK } from "./Findings";

export interface Pen {
  /** Goes to a line and marks it. */
  to: (line: number) => void;
}

interface Props {
  label: string;
  hint: string;
  value: string;
  findings: Finding[];
  onChange: (value: string) => void;
  ref?: Ref<Pen>;
}

/** Of one line, in px; the style says the same. */
const LINE = 20;

export function Writing({ label, hint, value, findings, onChange, ref }: Props): ReactNode {
  const area = useRef<HTMLTextAreaElement>(null);
  const [top, setTop] = useState(0);
  const lines = value.split("\n").length;
  useImperativeHandle(ref, () => ({
    to: (line) => {
      const one = area.current;
      if (!one) return;
      const before = value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      const length = value.split("\n")[line - 1]?.length ?? 0;
      one.focus();
      one.setSelectionRange(before, before + length);
      one.scrollTop = Math.max(0, (line - 4) * LINE);
    },
  }), [value]);
  useEffect(() => { if (!value) setTop(0); }, [value]);
  const worst = new Map<number, Finding>();
  for (const one of findings) if (one.where.line > 0 && (!worst.has(one.where.line) || one.severity === "error")) worst.set(one.where.line, one);
  return (
    <div className="writing">
      <div className="writing-gutter" aria-hidden>
        <div style={{ transform: `translateY(${-top}px)` }}>
          {Array.from({ length: Math.min(lines, 20_000) }, (_, i) => {
            const one = worst.get(i + 1);
            const Icon = one && LOOK[one.severity].icon;
            return <i key={i} className={one ? `tone-${LOOK[one.severity].tone} writing-bad` : ""} title={one?.message}>{Icon && <Icon size={12} />}{i + 1}</i>;
          })}
        </div>
      </div>
      <div className="writing-paper">
        <div className="writing-marks" style={{ transform: `translateY(${-top}px)` }} aria-hidden>
          {[...worst].map(([line, one]) => <b key={line} className={`tone-${LOOK[one.severity].tone}`} style={{ top: 10 + (line - 1) * LINE }} />)}
        </div>
        <textarea ref={area} aria-label={label} placeholder={hint} wrap="off" spellCheck={false} autoCapitalize="off" value={value} onChange={(event) => onChange(event.target.value)} onScroll={(event) => setTop(event.currentTarget.scrollTop)} />
      </div>
    </div>
  );
}
