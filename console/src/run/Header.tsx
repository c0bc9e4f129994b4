/** The header of a run: its name, status, why it waits, and its moves. */
import { CalendarClock, CornerDownRight, Ellipsis, GitFork, History, Hourglass, Play, SkipForward, Timer, TriangleAlert, UserCheck, type LucideIcon } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Graph, Item, Json, Page, Run, Tone, Verb, Why } from "../api/types";
import { Badge, Button, Copyable, toneIcon } from "../components";
import { anchorOf, Dialog, type Anchor } from "../components/Dialog";
import { languageOf } from "../languages";
import type { RunHeaderProps } from "../languages/contract";
import { Link } from "../shell/router";
import { useNow, useWords } from "../words";
import { Rich } from "../words/rich";
import { runSentence, whySentence } from "../words/why";
import { MOVE_ICON } from "./sendMove";

type Props = RunHeaderProps;

const SHOWN: Verb[] = ["signal", "pause", "resume", "retry", "cancel"];
const ORDER: Verb[] = ["signal", "retry", "pause", "resume", "cancel", "restart", "skip", "resolve", "edit_variable", "compensate", "cancel_boundary", "fork"];
const DECIDED_ELSEWHERE = new Set<Verb>(["approve", "reject", "judge", "respond"]);

export function Header({ run, graph, at, ask, onLive }: Props): ReactNode {
  const { t, f, runWord, stateWord } = useWords();
  const now = useNow(1000);
  const [more, setMore] = useState<Anchor | null>(null);
  const past = at !== null;
  const moves = run.moves.filter((move) => !DECIDED_ELSEWHERE.has(move.verb)).sort((a, b) => ORDER.indexOf(a.verb) - ORDER.indexOf(b.verb));
  const shown = SHOWN.flatMap((verb) => moves.find((move) => move.verb === verb) ?? []);
  const rest = moves.filter((move) => !shown.includes(move));
  const started = run.started_at ? Date.parse(run.started_at) : now;
  const ended = run.ended_at ? Date.parse(run.ended_at) : now;
  const waited = Math.max(0, ended - started - run.active_ms);
  const moment = past ? momentTone(graph, run) : { tone: run.tone, state: run.paused ? "PAUSED" : run.state };
  const word = past || run.paused ? stateWord(moment.state) : runWord(run);
  const about = run.key ?? mainInput(run.input);
  return (
    <header className="run-head">
      <div className="run-title">
        <div className="grow">
          <h1>{run.title}{about && <span className="run-about mono">{about}</span>}<Badge tone={moment.tone as Tone} state={moment.state}>{word}</Badge></h1>
          <p className="run-meta">
            <span className="mono">{run.name}{run.version !== null ? ` · v${run.version}` : ""}</span>
            {run.trigger && <span><CalendarClock size={14} aria-hidden />{t.trigger[run.trigger.type] ?? run.trigger.type} {run.started_at && f.when(run.started_at, now)}</span>}
            <span><Timer size={14} aria-hidden />{t.run.active(f.duration(run.active_ms))}{waited > 1000 && ` · ${t.run.waited(f.duration(waited))}`}</span>
            {run.trace_id && <span>{t.run.trace} <Copyable text={run.trace_id} show={`${run.trace_id.slice(0, 8)}…`} /></span>}
          </p>
        </div>
        <div className="run-moves">
          {shown.map((move) => (
            <Button key={move.verb} look={move.verb === "cancel" ? "danger" : "plain"} icon={MOVE_ICON[move.verb]} disabled={past} onClick={(event) => ask(move, event.currentTarget)}>{t.run[move.verb]}</Button>
          ))}
          {rest.length > 0 && <Button className="btn-more" aria-label={t.run.more} aria-haspopup="dialog" disabled={past} onClick={(event) => setMore(anchorOf(event.currentTarget))}><Ellipsis size={16} aria-hidden /></Button>}
        </div>
      </div>
      {past ? <PastBar run={run} graph={graph} at={at} ask={ask} onLive={onLive} /> : <WhyBar run={run} now={now} ask={ask} />}
      {more && (
        <Dialog label={t.run.more} anchor={more} look="popover" onClose={() => setMore(null)}>
          <ul className="menu">
            {rest.map((move) => {
              const Icon = MOVE_ICON[move.verb];
              return <li key={`${move.verb}${move.target ?? ""}`}><button type="button" onClick={(event) => { const from = event.currentTarget; setMore(null); ask(move, from); }}><Icon size={16} aria-hidden /><span className="grow">{t.run[move.verb]}{move.target && <span className="dim"> · {move.target}</span>}</span></button></li>;
            })}
          </ul>
        </Dialog>
      )}
    </header>
  );
}

/** What people know a run by when it has no key: the first plain value of its input. */
function mainInput(input: Json): string | null {
  const first = typeof input === "object" && input !== null && !Array.isArray(input) ? Object.values(input).find((value) => typeof value === "string" || typeof value === "number") : input;
  return (typeof first === "string" || typeof first === "number") && String(first).length <= 40 ? String(first) || null : null;
}

/** The status of the run at a past moment, from the states of its nodes. */
function momentTone(graph: Graph | undefined, run: Run): { tone: Tone; state: string } {
  if (!graph) return { tone: run.tone, state: run.state };
  const states = Object.values(graph.states);
  if (states.some((node) => node.tone === "moving" || node.state === "RETRYING")) return { tone: "moving", state: "RUNNING" };
  if (states.some((node) => node.tone === "held")) return { tone: "held", state: "WAITING" };
  return graph.at >= graph.of ? { tone: run.tone, state: run.state } : { tone: "moving", state: "RUNNING" };
}

function WhyBar({ run, now, ask }: { run: Run; now: number; ask: Props["ask"] }): ReactNode {
  const { t, f } = useWords();
  const speaker = { t, f, now };
  const why = run.why[0];
  const more = run.why.length - 1;
  const [all, setAll] = useState(false);
  const tone: Tone = why ? (why.rank <= 4 ? "failed" : "held") : run.tone;
  const Icon: LucideIcon = why ? (why.rank <= 4 ? TriangleAlert : Hourglass) : run.tone === "moving" ? Play : toneIcon(run.tone, run.state);
  const { item, all: known, atItem } = useMyItem(run, why);
  const best = atItem && (item || known) ? undefined : run.moves.find((move) => move.verb === why?.move && (!move.target || !why.node || move.target === why.node)) ?? run.moves.find((move) => move.verb === why?.move);
  const retry = run.state === "FAILED" ? run.moves.find((move) => move.verb === "retry") : undefined;
  const offered = [...new Set([best, retry].filter((move) => move !== undefined))];
  return (
    <div className={`why tone-${tone}`} role="status">
      <Icon size={17} strokeWidth={1.9} aria-hidden />
      <div className="grow">
        <p><Rich text={why ? whySentence(why, speaker) : runSentence(run, speaker)} />{more > 0 && <button type="button" className="linklike why-more" aria-expanded={all} onClick={() => setAll(!all)}>{t.why.andMore(more)}<span className="sr">{t.run.moreWhy(more)}</span></button>}</p>
        {all && run.why.slice(1).map((reason, i) => <p key={i} className="why-also"><CornerDownRight size={14} aria-hidden /><Rich text={whySentence(reason, speaker)} /></p>)}
      </div>
      {item && <Link className="btn btn-primary" to={`/inbox/${item.id.split("/").map(encodeURIComponent).join("/")}`}><UserCheck size={15} aria-hidden />{item.moves.some((move) => move.verb === "approve") ? t.run.approve : t.run.respond}</Link>}
      {offered.map((move, i) => <Button key={move.verb} look={i === 0 && !item ? "primary" : "plain"} icon={MOVE_ICON[move.verb]} onClick={(event) => ask(move, event.currentTarget)}>{t.run[move.verb]}</Button>)}
    </div>
  );
}

/**
 * The item that holds a run, when its language decides at items and I may work on it. `all`: every item of mine is
 * known, so that none means that there is none.
 */
function useMyItem(run: Run, why: Why | undefined): { item: Item | undefined; all: boolean; atItem: boolean } {
  const parts = languageOf(run.language).items;
  const atItem = !!parts && why?.kind === "work";
  const page = useGet<Page<Item>>(atItem ? "/inbox?mine=true&limit=50" : null).data; // the sidebar has it already
  const item = page?.items.find((candidate) => candidate.run === run.id && candidate.node === why?.node && candidate.moves.some((move) => parts?.workVerbs.has(move.verb)));
  return { item, all: page !== undefined && page.next === null, atItem };
}

function PastBar({ run, graph, at, ask, onLive }: Omit<Props, "at"> & { at: number }): ReactNode {
  const { t, f } = useWords();
  const fork = run.moves.find((move) => move.verb === "fork");
  return (
    <div className="why tone-undone">
      <History size={17} aria-hidden />
      <p className="grow" role="status"><Rich text={t.run.past(graph?.time ? f.seconds(graph.time) : "", at, run.facts)} /></p>
      {fork && <Button icon={GitFork} onClick={(event) => ask(fork, event.currentTarget, at)}>{t.run.forkHere}</Button>}
      <Button look="primary" icon={SkipForward} hint="L" onClick={onLive}>{t.run.backToLive}</Button>
    </div>
  );
}
