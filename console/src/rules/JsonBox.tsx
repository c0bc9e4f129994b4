/** A text area for JSON: says which line cannot be read, and Ctrl+Enter runs what it is for. */
import { CircleX } from "lucide-react";
import { useId, type ReactNode } from "react";
import { readJson } from "./json";
import { useRulesWords } from "./speech";

export function JsonBox({ label, hint, value, rows, problem, onChange, onRun }: { label: string; hint: string; value: string; rows: number; problem?: string | null; onChange: (text: string) => void; onRun: () => void }): ReactNode {
  const { t, f } = useRulesWords();
  const id = useId();
  const read = readJson(value);
  const wrong = "why" in read ? t.rules.bench.badJson(f.number(read.line), read.why) : problem;
  return (
    <div>
      <label className="label" htmlFor={id}>{label}<span className="dim">{hint}</span></label>
      <textarea id={id} className="input mono rules-json" rows={rows} spellCheck={false} autoCapitalize="off" value={value} aria-invalid={!!wrong || undefined} aria-describedby={wrong ? `${id}-bad` : undefined}
        onChange={(event) => onChange(event.target.value)} onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); onRun(); } }} />
      {wrong && <p className="bad" id={`${id}-bad`}><CircleX size={13} aria-hidden />{wrong}</p>}
    </div>
  );
}
