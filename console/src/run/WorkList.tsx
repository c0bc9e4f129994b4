/** The work items of an instance, or of one activity: who had them, how they stand, and having one done again. */
import { RotateCcw } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { stale } from "../api/cache";
import { newKey, post } from "../api/client";
import type { Instance, Run } from "../api/types";
import { Badge, Button, Copyable } from "../parts";
import { anchorOf, Dialog, type Anchor } from "../parts/Dialog";
import { toast } from "../parts/toast";
import { Link } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/said";
import { person } from "../words/why";
import { Record } from "../inbox/Transcript";
import { ITEM_TONE } from "./tones";

type One = Instance["workitems"][number];

const OPEN = ["TODO", "IN_PROGRESS", "SUBMITTED", "REWORK"];

export function WorkList({ run, items }: { run: Run; items: One[] }): ReactNode {
  const { t, f, nodeWord } = useWords();
  const { me } = useSession();
  /** Several of one activity are told apart by their number. */
  const to = (one: One) => `/inbox/${encodeURIComponent(run.id)}/${encodeURIComponent(items.filter((each) => each.activity_id === one.activity_id && OPEN.includes(each.status)).length > 1 ? `${one.activity_id}~${one.id.split("~").at(-1)}` : one.activity_id)}`;
  const [again, setAgain] = useState<{ item: One; anchor: Anchor | null } | null>(null);
  return (
    <section>
      <ul className="work-list">
        {items.map((one) => (
          <li key={one.id}>
            <p className="panel-line">
              {OPEN.includes(one.status) ? <Link to={to(one)}><b>{one.activity_name}</b></Link> : <b>{one.activity_name}</b>}
              <Badge tone={one.error && one.status === "CANCELLED" ? "failed" : (ITEM_TONE[one.status] ?? "idle")}>{nodeWord("process", one.status, one.status)}</Badge>
            </p>
            <p className="dim">{t.work.modes[one.agent_mode] ?? ""}{one.assignee && ` · ${one.assignee === "agent" ? t.work.byAgent : person(one.assignee, t)}`}{one.visit > 1 && ` · ${t.work.visit(one.visit)}`} · <time dateTime={one.completed_at ?? one.created_at} title={f.title(one.completed_at ?? one.created_at)}>{f.beat(one.completed_at ?? one.created_at)}</time></p>
            {one.error && <p className="ink-failed">{one.error}</p>}
            {one.result !== null && one.result !== undefined && <details><summary>{t.work.result}</summary><pre className="code">{JSON.stringify(one.result, null, 2).slice(0, 65536)}</pre></details>}
            <Record key={`${one.id} ${one.status}`} id={one.id} label={one.agent ? t.work.transcript : t.work.history} open={items.length === 1 && !!one.error && !!one.agent} />
            {one.status === "DONE" && run.ended_at === null && may(me, "process.approve") && <Button look="quiet" icon={RotateCcw} onClick={(event) => setAgain({ item: one, anchor: anchorOf(event.currentTarget) })}>{t.work.rework}</Button>}
            <span className="sr"><Copyable text={one.id} /></span>
          </li>
        ))}
      </ul>
      {again && <Again item={again.item} anchor={again.anchor} onClose={() => setAgain(null)} />}
    </section>
  );
}

function Again({ item, anchor, onClose }: { item: One; anchor: Anchor | null; onClose: () => void }): ReactNode {
  const { t } = useWords();
  const [said, setSaid] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await post(`/processes/workitems/${encodeURIComponent(item.id)}:rework`, { comment: said.trim() || null }, key);
      stale(`/runs/${item.proc_inst_id}`, `/processes/instances/${item.proc_inst_id}`, "/inbox");
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
        <label><span className="label">{t.inbox.comment}</span><textarea data-first className="input" rows={3} value={said} onChange={(event) => setSaid(event.target.value)} /></label>
        {error && <p className="bad" role="alert">{error}</p>}
        <div className="dialog-foot"><Button onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look="danger" icon={RotateCcw} disabled={busy}>{t.work.rework}</Button></div>
      </form>
    </Dialog>
  );
}
