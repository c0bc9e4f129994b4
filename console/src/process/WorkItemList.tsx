/** The work items of an instance or of one activity: who did them, their status, and ordering rework. */
import { RotateCcw } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { stale } from "../api/cache";
import { newKey, post } from "../api/client";
import type { Instance, Run } from "../api/types";
import { Badge, Button, Copyable } from "../components";
import { anchorOf, Dialog, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import { Link } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { person } from "../words/why";
import { itemTone, OPEN_STATUSES } from "./itemTone";
import { ADDRESSES, workItemPath } from "./requests";
import { WorkItemRecord } from "./Transcript";

type WorkItemSummary = Instance["workitems"][number];

export function WorkItemList({ run, items }: { run: Run; items: WorkItemSummary[] }): ReactNode {
  const { t, f, nodeWord } = useWords();
  const { me } = useSession();
  const isOpen = (item: WorkItemSummary) => OPEN_STATUSES.includes(item.status);
  const pathOf = (item: WorkItemSummary) => {
    const several = items.filter((other) => other.activity_id === item.activity_id && isOpen(other)).length > 1;
    const name = several ? `${item.activity_id}~${item.id.split("~").at(-1)}` : item.activity_id;
    return `/inbox/${encodeURIComponent(run.id)}/${encodeURIComponent(name)}`;
  };
  const [rework, setRework] = useState<{ item: WorkItemSummary; anchor: Anchor | null } | null>(null);
  return (
    <section>
      <ul className="work-list">
        {items.map((item) => (
          <li key={item.id}>
            <p className="panel-line">
              {isOpen(item) ? <Link to={pathOf(item)}><b>{item.activity_name}</b></Link> : <b>{item.activity_name}</b>}
              <Badge tone={item.error && item.status === "CANCELLED" ? "failed" : itemTone(item.status)}>{nodeWord(run.language, item.status, item.status)}</Badge>
            </p>
            <p className="dim">{t.work.modes[item.agent_mode] ?? ""}{item.assignee && ` · ${item.assignee === "agent" ? t.work.byAgent : person(item.assignee, t)}`}{item.visit > 1 && ` · ${t.work.visit(item.visit)}`} · <time dateTime={item.completed_at ?? item.created_at} title={f.title(item.completed_at ?? item.created_at)}>{f.beat(item.completed_at ?? item.created_at)}</time></p>
            {item.error && <p className="ink-failed">{item.error}</p>}
            {item.result !== null && item.result !== undefined && <details><summary>{t.work.result}</summary><pre className="code">{JSON.stringify(item.result, null, 2).slice(0, 65536)}</pre></details>}
            <WorkItemRecord key={`${item.id} ${item.status}`} id={item.id} label={item.agent ? t.work.transcript : t.work.history} open={items.length === 1 && !!item.error && !!item.agent} />
            {item.status === "DONE" && run.ended_at === null && may(me, "process.approve") && <Button look="quiet" icon={RotateCcw} onClick={(event) => setRework({ item, anchor: anchorOf(event.currentTarget) })}>{t.work.rework}</Button>}
            <span className="sr"><Copyable text={item.id} /></span>
          </li>
        ))}
      </ul>
      {rework && <ReworkDialog item={rework.item} anchor={rework.anchor} onClose={() => setRework(null)} />}
    </section>
  );
}

function ReworkDialog({ item, anchor, onClose }: { item: WorkItemSummary; anchor: Anchor | null; onClose: () => void }): ReactNode {
  const { t } = useWords();
  const [comment, setComment] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await post(`${workItemPath(item.id)}:rework`, { comment: comment.trim() || null }, key);
      stale(`/runs/${item.proc_inst_id}`, ...ADDRESSES.run(item.proc_inst_id), "/inbox");
      toast(t.work.reworked);
      onClose();
    } catch (problem) {
      setError(errorText(problem, t));
      setBusy(false);
    }
  };
  return (
    <Dialog label={t.work.reworkAsk(item.activity_name)} look="popover" anchor={anchor} onClose={onClose}>
      <form className="move-form" onSubmit={(event) => void send(event)}>
        <h2>{t.work.reworkAsk(item.activity_name)}</h2>
        <p>{t.work.reworkText}</p>
        <label><span className="label">{t.inbox.comment}</span><textarea data-first className="input" rows={3} value={comment} onChange={(event) => setComment(event.target.value)} /></label>
        {error && <p className="bad" role="alert">{error}</p>}
        <div className="dialog-foot"><Button onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look="danger" icon={RotateCcw} disabled={busy}>{t.work.rework}</Button></div>
      </form>
    </Dialog>
  );
}
