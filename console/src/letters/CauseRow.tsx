/** One cause: what happened, whether trying again can help, where, when and how often; opened, a sample of it. */
import { Check, ChevronDown, ChevronUp, LoaderCircle, RotateCw, TriangleAlert, X, type LucideIcon } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { stale } from "../api/cache";
import { newKey } from "../api/client";
import type { FailedCauses } from "../api/types";
import { Badge, Button, Failed, Skeleton } from "../components";
import { Link } from "../shell/router";
import { may, useSession } from "../shell/session";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import type { Letter, LetterCause, Outcome } from "./causes";

const SAMPLE = 5;
/** Between two looks at what has become of one, and for how many of them. */
const LOOK_MS = 700;
const LOOKS = 400;

interface Props {
  cause: LetterCause;
  axis: FailedCauses;
  total: number;
  open: boolean;
  icon: LucideIcon | undefined;
  onOpen: () => void;
  /** One of the sample was tried again, and came through. */
  onTried: () => void;
}

export function CauseRow({ cause, axis, total, open, icon: Icon = TriangleAlert, onOpen, onTried }: Props): ReactNode {
  const { t, f } = useWords();
  const l = t.letters;
  return (
    <li className={`cause ${open ? "cause-open" : ""}`}>
      <button type="button" className="cause-line" aria-expanded={open} onClick={onOpen}>
        <span className={`cause-icon tone-${cause.curable ? "held" : "failed"}`}><Icon size={16} strokeWidth={1.9} aria-hidden /></span>
        <span className="cause-what"><b>{cause.message || cause.code}</b><span><code className="ink-failed">{cause.code}</code> <span className="dim">{cause.curable ? l.mayHelp : l.wontHelp}</span></span></span>
        <span className="cause-where">{cause.where.map(({ name, text }) => <span key={name} className="tag">{text}</span>)}</span>
        <span className="cause-when">{cause.pieces && <Pieces pieces={cause.pieces} />}<span className="dim">{span(cause, f)}</span></span>
        <span className="cause-count num"><b>{f.number(cause.count)}</b><span className="dim">{f.number((100 * cause.count) / Math.max(1, total))} %</span></span>
        {open ? <ChevronUp size={16} aria-hidden /> : <ChevronDown size={16} aria-hidden />}
      </button>
      {open && <Sample cause={cause} onTried={onTried} />}
      <span className="sr">{l.since(f.dayTime(cause.firstAt), f.dayTime(cause.lastAt), f.day(axis.axis_from))}</span>
    </li>
  );
}

function span({ firstAt, lastAt }: LetterCause, f: ReturnType<typeof useWords>["f"]): string {
  return f.day(firstAt) === f.day(lastAt) ? `${f.day(lastAt)} ${f.clock(firstAt)} – ${f.clock(lastAt)}` : `${f.day(firstAt)} – ${f.day(lastAt)}`;
}

/** When they came, on the axis that all causes share. */
function Pieces({ pieces }: { pieces: number[] }): ReactNode {
  const most = Math.max(1, ...pieces);
  return (
    <svg className="pieces" viewBox={`0 0 ${pieces.length * 2} 18`} preserveAspectRatio="none" aria-hidden>
      <line x1="0" x2={pieces.length * 2} y1="17.500" y2="17.500" />
      {pieces.map((count, i) => count > 0 && <rect key={i} x={i * 2} y={17 - Math.max(2, (16 * count) / most)} width="1.600" height={Math.max(2, (16 * count) / most)} />)}
    </svg>
  );
}

function Sample({ cause, onTried }: { cause: LetterCause; onTried: () => void }): ReactNode {
  const { t } = useWords();
  const l = t.letters;
  const [letters, setLetters] = useState<Letter[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const load = () => { setError(null); cause.sample(SAMPLE).then(setLetters, setError); };
  useEffect(load, [cause.id]);
  if (error) return <Failed error={error} retry={load} />;
  return (
    <div className="sample">
      <p className="sample-head"><b>{l.sample(letters?.length ?? 0)}</b> <span className="dim">{l.newest}</span>{cause.where[0]?.to && <Link to={cause.where[0].to}>{l.seeAll}</Link>}</p>
      {!letters ? <div className="pad-small"><Skeleton h={30} n={3} /></div> : <ul>{letters.map((letter) => <SampleRow key={letter.id} cause={cause} letter={letter} onTried={onTried} />)}</ul>}
    </div>
  );
}

function SampleRow({ cause, letter, onTried }: { cause: LetterCause; letter: Letter; onTried: () => void }): ReactNode {
  const { t, f } = useWords();
  const l = t.letters;
  const { me } = useSession();
  const key = useRef(newKey());
  const [state, setState] = useState<"idle" | "sending" | "sent">("idle");
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  useEffect(() => {
    if (state !== "sent" || outcome) return;
    let looks = 0;
    const timer = window.setInterval(() => {
      if ((looks += 1) > LOOKS) window.clearInterval(timer);
      cause.outcome(letter.id).then((got) => {
        if (!got) return;
        window.clearInterval(timer);
        setOutcome(got);
        if (got.through) onTried();
        stale("/dead-letters", "/runs", "/home");
      }, () => undefined);
    }, LOOK_MS);
    return () => window.clearInterval(timer);
    // what it is told with changes with every render
  }, [state, outcome, letter.id]);
  const send = async () => {
    setState("sending");
    setProblem(null);
    try {
      await cause.one(letter.id, key.current);
      setOutcome(null);
      setState("sent");
      key.current = newKey();
    } catch (error) {
      setProblem(error);
      setState("idle");
    }
  };
  return (
    <li>
      <span className="grow sample-name">{letter.to ? <Link to={letter.to} className="mono cut">{letter.name}</Link> : <span className="mono cut">{letter.name}</span>}<span className="dim cut">{letter.detail}</span>{problem !== null && <span className="bad" role="alert">{errorText(problem, t)}</span>}</span>
      <span className="dim">{letter.tries}</span>
      {outcome ? <Badge tone={outcome.through ? "done" : "failed"} icon={outcome.through ? Check : X}>{outcome.through ? (outcome.tookMs === null ? l.sent : l.cameThrough(f.duration(outcome.tookMs))) : l.failedAgain}</Badge>
        : state === "sent" ? <Badge tone="moving" icon={LoaderCircle}>{l.underWay}</Badge> : may(me, cause.permission) && <Button icon={RotateCw} disabled={state === "sending"} onClick={() => void send()}>{l.one}</Button>}
    </li>
  );
}
