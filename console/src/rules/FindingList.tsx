/** What a check says about a pack, each with the place in the document. */
import { CircleX, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { Finding } from "../api/types";

export function FindingList({ findings }: { findings: Finding[] }): ReactNode {
  return (
    <ul className="rules-findings">
      {findings.map((finding, i) => {
        const Icon = finding.severity === "error" ? CircleX : TriangleAlert;
        return <li key={i} className={`tone-${finding.severity === "error" ? "failed" : "held"}`}><Icon size={14} aria-hidden /><span>{finding.message} {finding.hint && <span className="dim">{finding.hint}</span>} <code className="dim">{finding.where?.pointer}</code></span></li>;
      })}
    </ul>
  );
}
