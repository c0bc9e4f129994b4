/** What an attempt has changed in its worktree, and what becomes of it: merge, keep or discard. */
import { Archive, GitMerge, Trash2 } from "lucide-react";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { stale, useGet } from "../api/cache";
import { newKey } from "../api/client";
import { Badge, Button, Copyable, Failed, Skeleton } from "../components";
import { anchorOf, Dialog, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { DRAWN, filesOf } from "./diffText";
import { moveWorktree, projectPath, sessionPath, type WorktreeVerb } from "./requests";
import type { Execution } from "./types";

const ICON = { merge: GitMerge, keep: Archive, discard: Trash2 } as const;
const VERBS: WorktreeVerb[] = ["discard", "keep", "merge"];

export function WorktreeDiff({ project, execution }: { project: string; execution: Execution | undefined }): ReactNode {
  const { t, f } = useWords();
  const p = t.plan;
  const answer = useGet<{ session: string; diff: string }>(execution?.hasDiff ? `${sessionPath(project, execution.session)}/diff` : null);
  const { files, cut } = useMemo(() => filesOf(answer.data?.diff ?? ""), [answer.data]);
  if (!execution?.hasDiff) return <section><p className="dim">{execution?.worktree ? p.noDiff : p.noWorktree}</p></section>;
  if (!answer.data) return answer.error ? <Failed error={answer.error} retry={answer.reload} /> : <div className="panel-empty"><Skeleton h={24} n={5} /></div>;
  return (
    <section className="work-diff">
      <p className="panel-line"><span className="grow"><b className="ink-done">+{f.number(execution.diffStat?.added ?? 0)}</b> <b className="ink-failed">−{f.number(execution.diffStat?.removed ?? 0)}</b> <span className="dim">{p.filesChanged(f.number(execution.diffStat?.files ?? files.length))}</span></span>{execution.branch && <Copyable text={execution.branch} />}</p>
      <Merge project={project} execution={execution} />
      {files.length === 0 && <p className="dim">{p.noDiff}</p>}
      {files.map((file) => (
        <details key={file.name} className="work-file" open={files.length <= 12}>
          <summary><code className="cut grow">{file.name}</code><b className="ink-done">+{f.number(file.added)}</b><b className="ink-failed">−{f.number(file.removed)}</b></summary>
          <pre className="work-lines" tabIndex={0} aria-label={file.name}>{file.lines.map((line, i) => <span key={i} className={`work-line work-${line.kind}`}><i>{line.n ?? ""}</i><span>{line.kind === "new" ? "+" : line.kind === "gone" ? "-" : " "}{line.text}{"\n"}</span></span>)}</pre>
        </details>
      ))}
      {cut && <p className="dim">{p.diffCut(f.number(DRAWN))}</p>}
    </section>
  );
}

/** What has become of it, and what may still be done. */
function Merge({ project, execution }: { project: string; execution: Execution }): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const { me } = useSession();
  const [asked, setAsked] = useState<{ verb: WorktreeVerb; anchor: Anchor | null } | null>(null);
  const over = execution.merge === "merged" || execution.merge === "discarded" || execution.status === "running" || execution.worktree === null;
  return (
    <div className="work-merge">
      {execution.merge === "merged" && <Badge tone="done">{p.merged}</Badge>}
      {execution.merge === "kept" && <Badge tone="idle">{p.kept}</Badge>}
      {execution.merge === "discarded" && <Badge tone="idle">{p.discarded}</Badge>}
      {execution.merge === "conflict" && <p className="ink-failed">{p.conflict}</p>}
      {!over && may(me, "plan.review") && VERBS.map((verb) => <Button key={verb} icon={ICON[verb]} look={verb === "discard" ? "danger" : "plain"} onClick={(event) => setAsked({ verb, anchor: anchorOf(event.currentTarget) })}>{p.worktree[verb]}</Button>)}
      {asked && <AskWorktree project={project} task={execution.task} {...asked} onClose={() => setAsked(null)} />}
    </div>
  );
}

function AskWorktree({ project, task, verb, anchor, onClose }: { project: string; task: string; verb: WorktreeVerb; anchor: Anchor | null; onClose: () => void }): ReactNode {
  const { t } = useWords();
  const p = t.plan;
  const key = useRef(newKey());
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const send = async () => {
    setSending(true);
    try {
      await moveWorktree(project, task, verb, key.current);
      toast(p.worktreeDone[verb]);
      stale(projectPath(project));
      onClose();
    } catch (error) {
      key.current = newKey();
      setProblem(error);
      setSending(false);
    }
  };
  const label = p.askWorktree[verb](task);
  return (
    <Dialog label={label} anchor={anchor} look="popover" onClose={onClose}>
      <h2>{label}</h2>
      <ul className="plan-effects">{p.worktreeEffect[verb].map((text) => <li key={text}>{text}</li>)}</ul>
      {problem !== null && <p className="bad" role="alert">{errorText(problem, t)}</p>}
      <div className="dialog-foot"><Button data-first onClick={onClose}>{p.keep}</Button><Button look={verb === "discard" ? "danger" : "primary"} icon={ICON[verb]} disabled={sending} onClick={() => void send()}>{p.worktree[verb]}</Button></div>
    </Dialog>
  );
}
