/** A text area with line numbers and marks at the lines of findings; what is typed is never reset. */
import { useEffect, useImperativeHandle, useRef, useState, type Ref, type ReactNode } from "react";
import type { Finding } from "../api/types";
import { LOOK } from "./Findings";

export interface EditorHandle {
  /** Scrolls to a line and selects it. */
  goTo: (line: number) => void;
}

interface Props {
  label: string;
  hint: string;
  value: string;
  findings: Finding[];
  onChange: (value: string) => void;
  ref?: Ref<EditorHandle>;
}

/** The height of a line in px, as in the style sheet. */
const LINE_HEIGHT = 20;

export function TextEditor({ label, hint, value, findings, onChange, ref }: Props): ReactNode {
  const area = useRef<HTMLTextAreaElement>(null);
  const [top, setTop] = useState(0);
  const lines = value.split("\n").length;
  useImperativeHandle(ref, () => ({
    goTo: (line) => {
      const textarea = area.current;
      if (!textarea) return;
      const before = value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      const length = value.split("\n")[line - 1]?.length ?? 0;
      textarea.focus();
      textarea.setSelectionRange(before, before + length);
      textarea.scrollTop = Math.max(0, (line - 4) * LINE_HEIGHT);
    },
  }), [value]);
  useEffect(() => { if (!value) setTop(0); }, [value]);
  const worst = new Map<number, Finding>();
  for (const finding of findings) if (finding.where.line > 0 && (!worst.has(finding.where.line) || finding.severity === "error")) worst.set(finding.where.line, finding);
  return (
    <div className="writing">
      <div className="writing-gutter" aria-hidden>
        <div style={{ transform: `translateY(${-top}px)` }}>
          {Array.from({ length: Math.min(lines, 20_000) }, (_, i) => {
            const finding = worst.get(i + 1);
            const Icon = finding && LOOK[finding.severity].icon;
            return <i key={i} className={finding ? `tone-${LOOK[finding.severity].tone} writing-bad` : ""} title={finding?.message}>{Icon && <Icon size={12} />}{i + 1}</i>;
          })}
        </div>
      </div>
      <div className="writing-paper">
        <div className="writing-marks" style={{ transform: `translateY(${-top}px)` }} aria-hidden>
          {[...worst].map(([line, finding]) => <b key={line} className={`tone-${LOOK[finding.severity].tone}`} style={{ top: 10 + (line - 1) * LINE_HEIGHT }} />)}
        </div>
        <textarea ref={area} aria-label={label} placeholder={hint} wrap="off" spellCheck={false} autoCapitalize="off" value={value} onChange={(event) => onChange(event.target.value)} onScroll={(event) => setTop(event.currentTarget.scrollTop)} />
      </div>
    </div>
  );
}
