/** The moves of a run: the server says which; here they are asked for, confirmed by their class, and sent once. */
import { Ban, CirclePause, CirclePlay, GitFork, PencilLine, Radio, RefreshCw, RotateCcw, SkipForward, Undo2, UserCheck, Wrench, X, type LucideIcon } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { stale } from "../api/cache";
import { ApiError, call, newKey, Offline, post } from "../api/client";
import type { Json, Move, Run, Verb } from "../api/types";
import { Button } from "../parts";
import { anchorOf, Dialog, type Anchor } from "../parts/Dialog";
import { toast } from "../parts/toast";
import { go } from "../shell/router";
import { useWords } from "../words";
import type { Dictionary } from "../words/ko";

export const MOVE_ICON: Record<Verb, LucideIcon> = {
  signal: Radio, pause: CirclePause, resume: CirclePlay, retry: RefreshCw, restart: RotateCcw, cancel: Ban, cancel_boundary: Ban, compensate: Undo2, fork: GitFork,
  resolve: Wrench, edit_variable: PencilLine, approve: UserCheck, reject: X, judge: UserCheck, respond: UserCheck, skip: SkipForward,
};

const DECISIONS = new Set<Verb>(["approve", "reject", "judge", "respond"]);

interface Said {
  reason: string;
  name: string;
  value: string;
  /** For resolve: what the node's result is. */
  fact: number;
}

/** Sends a move; what the server answers with is the run as it stands then. */
async function send(run: Run, move: Move, said: Said, key: string): Promise<string | null> {
  const at = `/runs/${encodeURIComponent(run.id)}`;
  const json = (): Json => (said.value.trim() ? (JSON.parse(said.value) as Json) : null);
  switch (move.verb) {
    case "cancel": await post(`${at}/cancel`, { mode: "now", reason: said.reason || null }, key); return null;
    case "cancel_boundary": await post(`${at}/cancel`, { mode: "boundary", reason: said.reason || null }, key); return null;
    case "retry": await post(`${at}/retry`, { how: "here" }, key); return null;
    case "restart": await post(`${at}/retry`, { how: "restart" }, key); return null;
    case "compensate": await post(`${at}/compensate`, {}, key); return null;
    case "signal": await post(`${at}/signal`, { name: said.name, payload: json() }, key); return null;
    case "resolve": await post(`${at}/resolve`, { node: move.target, value: json() }, key); return null;
    case "skip": await post(`${at}/skip`, { node: move.target, reason: said.reason }, key); return null;
    case "edit_variable": await call(`${at}/variables`, { method: "PATCH", body: { set: { [said.name]: json() }, reason: said.reason }, key }); return null;
    case "fork": return (await post<{ id: string }>(`${at}/fork`, { fact: said.fact }, key)).id;
    default: await post(`${at}/${move.verb}`, {}, key); return null;
  }
}

export function useMoves(run: Run): { ask: (move: Move, from: Element | null, fact?: number) => void; dialog: ReactNode } {
  const { t } = useWords();
  const [asked, setAsked] = useState<{ move: Move; anchor: Anchor | null; fact: number } | null>(null);
  const done = (move: Move, made: string | null) => {
    stale(`/runs/${run.id}`, "/runs?", "/home");
    if (made) toast(t.run.forked, { act: { text: t.run.openFork, run: () => go(`/runs/${made}`) } });
    else toast(move.verb === "pause" ? t.run.didPause : move.verb === "resume" ? t.run.didResume : t.run.did);
  };
  const atOnce = async (move: Move) => {
    try {
      await send(run, move, { reason: "", name: "", value: "", fact: 0 }, newKey());
      stale(`/runs/${run.id}`);
      const back: Verb | null = move.verb === "pause" ? "resume" : move.verb === "resume" ? "pause" : null;
      toast(move.verb === "pause" ? t.run.didPause : t.run.didResume, back ? { act: { text: t.common.undo, run: () => void atOnce({ ...move, verb: back }) } } : {});
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
  };
  const ask = (move: Move, from: Element | null, fact = run.facts) => {
    if (DECISIONS.has(move.verb)) go(`/inbox/${encodeURIComponent(run.id)}/${encodeURIComponent(move.target ?? "")}`);
    else if (move.confirm === "A" && move.needs.length === 0) void atOnce(move);
    else setAsked({ move, anchor: anchorOf(from), fact });
  };
  const dialog = asked && <MoveDialog key={asked.move.verb} run={run} {...asked} onClose={() => setAsked(null)} onDone={(made) => { done(asked.move, made); setAsked(null); }} />;
  return { ask, dialog };
}

export function errorText(error: unknown, t: Dictionary): string {
  if (error instanceof Offline) return t.error.offline;
  if (error instanceof ApiError) return [error.problem.detail || error.problem.title, error.problem.hint].filter(Boolean).join(" ");
  return error instanceof Error ? error.message : String(error);
}

interface DialogProps {
  run: Run;
  move: Move;
  anchor: Anchor | null;
  fact: number;
  onClose: () => void;
  onDone: (made: string | null) => void;
}

function MoveDialog({ run, move, anchor, fact, onClose, onDone }: DialogProps): ReactNode {
  const { t } = useWords();
  const waitsFor = run.why.find((why) => why.kind === "event" && (!move.target || why.node === move.target))?.what ?? "";
  const [said, setSaid] = useState<Said>({ reason: "", name: move.verb === "signal" ? waitsFor : move.verb === "edit_variable" ? (Object.keys(run.variables)[0] ?? "") : "", value: "", fact });
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  // one key per dialog: a second press of the button is the same request
  const [key] = useState(newKey);
  const verb = move.verb;
  const needsReason = verb === "edit_variable" || verb === "skip";
  const asksReason = move.needs.includes("reason");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (needsReason && !said.reason.trim()) return setError(t.run.reasonPlease);
    try {
      if (said.value.trim()) JSON.parse(said.value);
    } catch {
      return setError(t.run.badJson);
    }
    setBusy(true);
    try {
      onDone(await send(run, move, said, key));
    } catch (problem) {
      setError(errorText(problem, t));
      setBusy(false);
    }
  };
  const before = verb === "edit_variable" ? run.variables[said.name] : undefined;
  return (
    <Dialog label={t.run.ask[verb]} anchor={anchor} look={move.confirm === "C" ? "window" : "popover"} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)} className="move-form">
        <h2>{t.run.ask[verb]}</h2>
        <p className="dim"><b>{run.title}</b>{move.target ? ` · ${move.target}` : ""}</p>
        <p>{t.run.effect[verb]}</p>
        {verb === "signal" && (
          <>
            <Field label={t.run.eventName}><input className="input mono" value={said.name} onChange={(e) => setSaid({ ...said, name: e.target.value })} required /></Field>
            <Field label={t.run.payload}><textarea className="input mono" rows={4} value={said.value} placeholder='{"result": "ok"}' onChange={(e) => setSaid({ ...said, value: e.target.value })} /></Field>
          </>
        )}
        {verb === "resolve" && <Field label={t.run.payload}><textarea className="input mono" rows={4} value={said.value} placeholder="{}" onChange={(e) => setSaid({ ...said, value: e.target.value })} /></Field>}
        {verb === "edit_variable" && (
          <>
            <Field label={t.run.variableName}>
              <select className="input" value={said.name} onChange={(e) => setSaid({ ...said, name: e.target.value, value: JSON.stringify(run.variables[e.target.value] ?? null, null, 1) })}>
                {Object.keys(run.variables).map((name) => <option key={name}>{name}</option>)}
              </select>
            </Field>
            <Field label={t.run.before}><pre className="code">{JSON.stringify(before, null, 1)?.slice(0, 600) ?? "–"}</pre></Field>
            <Field label={t.run.newValue}><textarea className="input mono" rows={4} value={said.value} onChange={(e) => setSaid({ ...said, value: e.target.value })} required /></Field>
          </>
        )}
        {verb === "fork" && <p className="dim">{t.run.tab.facts} {said.fact} / {run.facts}</p>}
        {asksReason && <Field label={t.common.reason} optional={!needsReason}><textarea className="input" rows={2} value={said.reason} onChange={(e) => setSaid({ ...said, reason: e.target.value })} /></Field>}
        {move.confirm === "C" && <Field label={t.run.typed("1")}><input className="input" value={typed} inputMode="numeric" onChange={(e) => setTyped(e.target.value)} /></Field>}
        {error && <p className="bad" role="alert">{error}</p>}
        <div className="dialog-foot">
          <Button autoFocus={!asksReason && verb !== "signal"} onClick={onClose}>{verb === "cancel" ? t.run.keep : t.common.cancel}</Button>
          <Button type="submit" look={verb === "cancel" || verb === "cancel_boundary" ? "danger" : "primary"} icon={MOVE_ICON[verb]} disabled={busy || (move.confirm === "C" && typed !== "1")}>{t.run.doIt[verb]}</Button>
        </div>
      </form>
    </Dialog>
  );
}

function Field({ label, optional, children }: { label: string; optional?: boolean; children: ReactNode }): ReactNode {
  const { t } = useWords();
  return <label className="field"><span className="label">{label}{optional && <span className="dim">{t.common.optional}</span>}</span>{children}</label>;
}
