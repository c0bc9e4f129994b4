/** What differs between two versions: per element first, then line by line. */
import type { ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Change, Diff, Version, VersionWhole } from "../api/types";
import { Failed, Skeleton } from "../components";
import { languageOf } from "../languages";
import type { Comparison } from "../languages/contract";
import { useParam } from "../shell/router";
import { useWords } from "../words";
import { brief, Differences } from "./Differences";
import { definitionPath } from "./requests";
import { TextDiff } from "./TextDiff";

interface Props {
  version: VersionWhole;
  all: Version[];
  comparison: Comparison;
  language: string;
  text: string;
  onPick: (node: string) => void;
}

export function Changes({ version, all, comparison, language, text, onPick }: Props): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const [, setWanted] = useParam("against");
  const others = all.filter((other) => other.version !== version.version);
  const serverCompares = !languageOf(language).document?.compare;
  const base = comparison.version;
  const diff = useGet<Diff>(base && serverCompares ? `${definitionPath(version.name)}/diff?from=${base.version}&to=${version.version}` : null);
  if (!base && !comparison.other) return <p className="dim pad-small">{d.firstVersion}</p>;
  const error = comparison.error ?? diff.error;
  return (
    <>
      {base ? (
        <label className="def-against"><span>{d.againstLabel}</span>
          <select className="input" value={base.version} onChange={(event) => setWanted(event.target.value)}>{others.map((other) => <option key={other.version} value={other.version}>v{other.version} · {d.status[other.status] ?? other.status}</option>)}</select>
        </label>
      ) : <p className="pad-small"><b>{d.againstBase(comparison.other?.name ?? "")}</b></p>}
      {!comparison.document || (serverCompares && !diff.data) ? (error ? <Failed error={error} /> : <div className="pad-small"><Skeleton h={24} n={6} /></div>) : (
        <>
          {comparison.differences && <div className="pad-small"><Differences all={comparison.differences} onPick={onPick} /></div>}
          {diff.data && <ChangeList changes={diff.data.changes} />}
          <TextDiff before={JSON.stringify(comparison.document, null, 2)} after={text} />
        </>
      )}
    </>
  );
}

function ChangeList({ changes }: { changes: Change[] }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  return (
    <ul className="def-changes">
      {changes.map((change, i) => <li key={i}><span className={change.change === "added" ? "ink-done" : change.change === "removed" ? "ink-failed" : "ink-held"}>{d.change[change.change] ?? change.change}</span> <b>{change.what}</b> {change.what !== change.pointer && <code className="dim">{change.pointer}</code>}{change.change === "changed" && <span className="dim"> {brief(change.before)} → {brief(change.after)}</span>}</li>)}
    </ul>
  );
}
