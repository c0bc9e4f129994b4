/** The manual that was just brought: it is read, looked at, and saved; nothing is stored on the server before that. */
import { FileText, FileUp, RotateCw, Save } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Badge, Button, Empty, Failed, Skeleton } from "../../components";
import { anchorOf, type Anchor } from "../../components/Dialog";
import { useFrame } from "../../shell/chrome";
import { Link } from "../../shell/router";
import { useSession } from "../../shell/session";
import { useNow } from "../../words";
import { nameOf } from "./BringManual";
import { DraftButton } from "./DraftButton";
import { keepAnswer, keptAnswer, keptManual } from "./kept";
import { MANUALS_PAGE, read } from "./requests";
import { Review, titleOf } from "./Review";
import { SaveDialog } from "./SaveDialog";
import { useManualWords } from "./speech";
import type { Extracted } from "../../api/types";
import type { Manual } from "./types";

export function NewManual(): ReactNode {
  const { t, m } = useManualWords();
  const { me } = useSession();
  const [manual, setManual] = useState<Manual | null | undefined>(undefined);
  useEffect(() => {
    let gone = false;
    void keptManual(me.user).then((found) => !gone && setManual(found));
    return () => { gone = true; };
  }, [me.user]);
  useFrame([{ text: t.nav.definitions, to: "/definitions" }, { text: m.title, to: MANUALS_PAGE }, { text: manual ? nameOf(manual, m.pastedText) : m.notSaved }]);
  if (manual === undefined) return <div className="pad"><Skeleton h={60} n={2} /></div>;
  if (manual === null) return <Empty page title={m.gone} text={m.goneDo}><Link className="btn" to={MANUALS_PAGE}>{m.startTitle}</Link></Empty>;
  return <Reading manual={manual} user={me.user} />;
}

function Reading({ manual, user }: { manual: Manual; user: string }): ReactNode {
  const { m } = useManualWords();
  const [answer, setAnswer] = useState<Extracted | null>(() => keptAnswer(user, manual));
  const [error, setError] = useState<unknown>(null);
  const [stopped, setStopped] = useState(false);
  const [since, setSince] = useState(() => Date.now());
  const stop = useRef<AbortController | null>(null);
  const [saving, setSaving] = useState<Anchor | null>(null);
  const name = "text" in manual ? "" : manual.name;
  const ask = () => {
    const controller = new AbortController();
    stop.current = controller;
    setError(null);
    setStopped(false);
    setSince(Date.now());
    read(manual, controller.signal).then((found) => { keepAnswer(user, manual, found); if (!controller.signal.aborted) setAnswer(found); }, (problem: unknown) => !controller.signal.aborted && setError(problem));
  };
  useEffect(() => {
    if (!answer) ask();
    return () => stop.current?.abort();
  }, [manual]);
  if (error !== null || stopped) return (
    <div className="pad manual-failed">
      <h1>{m.failed(name)}</h1>
      {error !== null && <Failed error={error} />}
      {error !== null && <p className="dim">{m.failedDo}</p>}
      <div className="todo-acts"><Button icon={RotateCw} onClick={ask}>{m.again}</Button><Link className="btn btn-primary" to={MANUALS_PAGE}><FileUp size={15} aria-hidden />{m.another}</Link></div>
    </div>
  );
  if (!answer) return <Busy name={name} since={since} onStop={() => { stop.current?.abort(); setStopped(true); }} />;
  return (
    <>
      <Review read={answer} file={nameOf(manual, m.pastedText)} standing="new" badge={<Badge tone="held" icon={FileText}>{m.notSaved}</Badge>} actions={
        <>
          <Link className="btn btn-quiet" to={MANUALS_PAGE}>{m.another}</Link>
          <DraftButton title={titleOf(answer)} bpmn={answer.bpmn} back={location.pathname} />
          <Button look="primary" icon={Save} onClick={(event) => setSaving(anchorOf(event.currentTarget))}>{m.save}</Button>
        </>} />
      {saving && <SaveDialog manual={manual} read={answer} user={user} anchor={saving} onClose={() => setSaving(null)} />}
    </>
  );
}

function Busy({ name, since, onStop }: { name: string; since: number; onStop: () => void }): ReactNode {
  const { f, m } = useManualWords();
  const now = useNow(1000);
  const seconds = Math.floor((now - since) / 1000);
  return (
    <div className="pad manual-busy">
      <h1>{m.reading(name)}</h1>
      <p className="dim" role="status">{m.readingText}{seconds >= 2 && ` · ${m.readingFor(f.duration(seconds * 1000, 1))}`}</p>
      <div className="manual-busy-both"><Skeleton h={18} n={9} /><Skeleton h={260} /></div>
      <div className="todo-acts"><Button onClick={onStop}>{m.stop}</Button></div>
    </div>
  );
}
