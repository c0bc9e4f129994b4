/** What the reading could not make anything of, each leading to its line in the manual. */
import { CircleX, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { Finding } from "../../api/types";
import type { Links } from "./links";
import { useManualWords } from "./speech";
import type { ManualRead, Sentence } from "./types";

/** What is saved has nothing left to find. */
export const findingsOf = (read: ManualRead): Finding[] => ("findings" in read ? read.findings : []);

export function ReadFindings({ findings, text, links, onSentence }: { findings: Finding[]; text: string; links: Links; onSentence: (sentence: Sentence) => void }): ReactNode {
  const { m } = useManualWords();
  return (
    <ul className="manual-findings">
      {findings.map((finding, i) => {
        const sentence = finding.where.line > 0 ? sentenceOn(finding.where.line, text, links) : undefined;
        const Icon = finding.severity === "error" ? CircleX : TriangleAlert;
        return (
          <li key={i} className={`card tone-${finding.severity === "error" ? "failed" : "held"}`}>
            <Icon size={16} aria-hidden />
            <div>
              <p>{finding.message}</p>
              {finding.hint && <p className="dim small">{finding.hint}</p>}
              <p className="dim small"><span className="mono">{finding.rule}</span>{sentence && <> · <button type="button" className="linklike" onClick={() => onSentence(sentence)}>{m.seeSentence}</button></>}</p>
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** The first sentence of a line; lines are counted from 1. */
function sentenceOn(line: number, text: string, links: Links): Sentence | undefined {
  let start = 0;
  for (let n = 1; n < line && start >= 0; n++) start = text.indexOf("\n", start) + 1 || -1;
  if (start < 0) return undefined;
  const end = text.indexOf("\n", start);
  return [...links.sentences.values()].find((sentence) => sentence.start >= start && (end < 0 || sentence.start < end));
}
