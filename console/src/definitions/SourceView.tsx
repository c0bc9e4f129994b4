/** A document's text with line numbers, and each finding under its line. */
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import type { Finding } from "../api/types";
import { LOOK } from "./Findings";

const MOST = 6000;

export function SourceView({ text, findings, at, label }: { text: string; findings: Finding[]; at: number | null; label: string }): ReactNode {
  const lines = useMemo(() => text.split("\n").slice(0, MOST), [text]);
  const ref = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (at !== null) ref.current?.querySelector(`[data-line="${at}"]`)?.scrollIntoView({ block: "center" });
  }, [at, text]);
  const byLine = useMemo(() => {
    const lines = new Map<number, Finding[]>();
    for (const finding of findings) lines.set(finding.where.line, [...(lines.get(finding.where.line) ?? []), finding]);
    return lines;
  }, [findings]);
  return (
    <pre className="code-lines" tabIndex={0} aria-label={label} ref={ref}>
      {lines.map((line, i) => {
        const here = byLine.get(i + 1);
        const worst = here?.some((finding) => finding.severity === "error") ? "failed" : here ? "held" : null;
        return (
          <span key={i} data-line={i + 1} className={`code-line ${worst ? `code-bad tone-${worst}` : ""} ${at === i + 1 ? "code-here" : ""}`}>
            <i>{i + 1}</i><span>{line || " "}</span>
            {here?.map((finding, n) => { const { icon: Icon } = LOOK[finding.severity]; return <em key={n} className="code-said"><Icon size={13} aria-hidden />{finding.message}</em>; })}
          </span>
        );
      })}
    </pre>
  );
}
