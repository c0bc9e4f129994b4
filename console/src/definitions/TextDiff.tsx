/** The difference of two texts, as lines with a sign, a number and a colour. */
import { useMemo, type ReactNode } from "react";
import { useWords } from "../words";
import { changedRegions, diffLines } from "./diffLines";

export function TextDiff({ before, after }: { before: string; after: string }): ReactNode {
  const { t } = useWords();
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  const shown = useMemo(() => changedRegions(lines), [lines]);
  const [added, gone] = [lines.filter((line) => line.kind === "new").length, lines.filter((line) => line.kind === "gone").length];
  if (added + gone === 0) return <p className="dim pad-small">{t.definitions.same}</p>;
  return (
    <>
      <p className="def-counts"><b className="ink-done">+{added}</b> <b className="ink-failed">−{gone}</b> <span className="dim">{t.definitions.linesChanged}</span></p>
      <pre className="code-lines" tabIndex={0} aria-label={t.definitions.diff}>
        {shown.map((line, i) => line === null
          ? <span key={i} className="code-line code-cut"><i>⋯</i><span> </span></span>
          : <span key={i} className={`code-line code-${line.kind}`}><i>{line.after ?? line.before}</i><span>{line.kind === "new" ? "+ " : line.kind === "gone" ? "− " : "  "}{line.text}</span></span>)}
      </pre>
    </>
  );
}
