/** What the files say and the plan does not: shown first, then carried over without a restart. */
import { FolderSync } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import { newKey } from "../api/client";
import { Button, Failed, Skeleton } from "../components";
import { Dialog } from "../components/Dialog";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { applySync, syncPath } from "./requests";
import type { Sync } from "./types";

export function SyncDialog({ project, onClose, onDone }: { project: string; onClose: () => void; onDone: () => void }): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const answer = useGet<Sync>(syncPath(project));
  const key = useRef(newKey());
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const sync = answer.data;
  const send = async () => {
    setSending(true);
    try {
      await applySync(project, key.current);
      onDone();
    } catch (error) {
      key.current = newKey();
      setProblem(error);
      setSending(false);
    }
  };
  const any = !!sync && sync.added.length + sync.changed.length + sync.removed.length + sync.statuses.filter((each) => !each.refused).length > 0;
  return (
    <Dialog label={p.syncTitle} onClose={onClose}>
      <h2>{p.syncTitle}</h2>
      <p className="dim">{p.syncAbout}</p>
      {!sync && (answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <Skeleton h={24} n={3} />)}
      {sync && <Changes sync={sync} any={any} />}
      {problem !== null && <p className="bad" role="alert">{errorText(problem, t)}</p>}
      <div className="dialog-foot">
        <Button data-first onClick={onClose}>{any ? p.keep : t.nav.close}</Button>
        {any && <Button look="primary" icon={FolderSync} disabled={sending} onClick={() => void send()}>{p.syncDo}</Button>}
      </div>
    </Dialog>
  );
}

function Changes({ sync, any }: { sync: Sync; any: boolean }): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const word = (status: string) => p.status[status] ?? status;
  const groups: [string, ReactNode[]][] = [
    [p.syncAdded, sync.added.map((id) => <code key={id}>{id}</code>)], [p.syncChanged, sync.changed.map((id) => <code key={id}>{id}</code>)], [p.syncRemoved, sync.removed.map((id) => <code key={id}>{id}</code>)],
    [p.syncStatuses, sync.statuses.map((each) => <span key={each.task}><code>{each.task}</code> {word(each.before)} → {word(each.after)}{each.refused && <span className="ink-failed"> {p.syncRefused}: {each.refused}</span>}</span>)],
    [p.syncObstacles, sync.obstacles.map((text) => <span key={text} className="ink-failed">{text}</span>)],
    [p.syncFindings, sync.findings.map((finding, i) => <span key={i}>{String(finding["message"] ?? finding["code"] ?? "")}</span>)],
  ];
  return (
    <>
      {!any && <p><b>{p.syncNone}</b></p>}
      {groups.filter(([, items]) => items.length > 0).map(([name, items]) => <section key={name} className="sync-part"><h3>{name} <span className="dim">{items.length}</span></h3><ul>{items.map((item, i) => <li key={i}>{item}</li>)}</ul></section>)}
    </>
  );
}
