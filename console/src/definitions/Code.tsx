/** A document's text with its numbers, and what is wrong said under the line where it is. */
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import type { Finding } from "../api/types";
import { LOOK } from "./Findings";

const MOST = 6000;

export function Code({ text, findings, at, label }: { text: string; findings: Finding[]; at: number | null; label: string }): ReactNode {
  const lines = useMemo(() => text.split("\n").slice(0, MOST), [text]);
  const ref = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (at !== null) ref.current?.querySelector(`[data-line="${at}"]`)?.scrollIntoView({ block: "center" });
  }, [at, text]);
  const by = useMemo(() => {
    const found = new Map<number, Finding[]>();
    for (const one of findings) found.set(one.where.line, [...(found.get(one.where.line) ?? []), one]);
    return found;
  }, [findings]);
  return (
    <pre className="code-lines" tabIndex={0} aria-label={label} ref={ref}>
      {lines.map((line, i) => {
        const here = by.get(i + 1);
        const worst = here?.some((one) => one.severity === "error") ? "failed" : here ? "held" : null;
        return (
          <span key={i} data-line={i + 1} className={`code-line ${worst ? `code-bad tone-${worst}` : ""} ${at === i + 1 ? "code-here" : ""}`}>
            <i>{i + 1}</i><span>{line || " "}</span>
            {here?.map((one, n) => { const { icon: Icon } = LOOK[one.severity]; return <em key={n} className="code-said"><Icon size={13} aria-hidden />{one.message}</em>; })}
          </span>
        );
      })}
    </pre>
  );
}
