/** The dialog before a move: its object, its effect, and the input it needs. */
import { useEffect, useState, type FormEvent, type ReactNode } from "react";
import { newKey } from "../api/client";
import type { Json, Move, Run, Verb } from "../api/types";
import { Button } from "../components";
import { Dialog, type Anchor } from "../components/Dialog";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { MovePreviewList, useMovePreview } from "./MovePreview";
import { MOVE_ICON, sendMove, type MoveInput } from "./sendMove";

interface Props {
  run: Run;
  move: Move;
  anchor: Anchor | null;
  fact: number;
  onClose: () => void;
  onDone: (made: string | null) => void;
}

/** Moves that the server refuses without a reason. */
const NEEDS_REASON = new Set<Verb>(["edit_variable", "skip"]);
/** Moves whose dialog starts with the focus in a field. */
const BEGINS_IN_FIELD = new Set<Verb>(["signal", "resolve", "edit_variable", "skip"]);
const DANGER = new Set<Verb>(["cancel", "cancel_boundary", "compensate"]);
/** Moves whose preview needs a wide dialog. */
const WIDE = new Set<Verb>(["fork", "restart", "compensate"]);

/** Input that was not sent, by run, verb and node: closing a dialog loses nothing. */
const typedBefore = new Map<string, MoveInput>();

export function MoveDialog({ run, move, anchor, fact, onClose, onDone }: Props): ReactNode {
  const { t } = useWords();
  const { verb } = move;
  const name = `${run.id} ${verb} ${move.target ?? ""}`;
  const waits = [...new Set(run.why.flatMap((why) => (why.kind === "event" && why.what ? [why.what] : [])))];
  const own = run.why.find((why) => why.kind === "event" && why.node === move.target)?.what ?? waits[0] ?? "";
  const [input, setInput] = useState<MoveInput>(() => ({ ...(typedBefore.get(name) ?? first(run, verb, own)), fact }));
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  // one key per dialog: a second press of the button is the same request
  const [key] = useState(newKey);
  const preview = useMovePreview(run, verb, fact);
  const needsReason = NEEDS_REASON.has(verb);
  const asksReason = move.needs.includes("reason") && verb !== "compensate";
  const count = String(Math.max(1, preview.count));
  const sure = move.confirm !== "C" || (typed.trim() === count && !!preview.data);
  useEffect(() => void typedBefore.set(name, input), [name, input]);
  const change = (part: Partial<MoveInput>) => { setError(null); setInput({ ...input, ...part }); };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const wrong = problem(run, verb, input, t.run);
    if (wrong) return setError(wrong);
    setBusy(true);
    try {
      const made = await sendMove(run, move, input, key);
      typedBefore.delete(name);
      onDone(made);
    } catch (refused) {
      setError(errorText(refused, t));
      setBusy(false);
    }
  };
  return (
    <Dialog label={t.run.ask[verb]} anchor={anchor} look={move.confirm === "C" || WIDE.has(verb) ? "window" : "popover"} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)} className="move-form" noValidate>
        <h2>{t.run.ask[verb]}</h2>
        <p className="dim"><b>{run.title}</b>{move.target ? ` · ${labelOf(run, move.target)}` : ""}</p>
        <p>{t.run.effect[verb]}</p>
        <MovePreviewList run={run} verb={verb} preview={preview} />
        {verb === "signal" && <SignalFields waits={waits} input={input} change={change} />}
        {verb === "resolve" && <Field label={t.run.resultValue}><textarea data-first className="input mono" rows={4} value={input.value} placeholder="{}" onChange={(event) => change({ value: event.target.value })} /></Field>}
        {verb === "edit_variable" && <VariableFields run={run} input={input} change={change} />}
        {asksReason && <Field label={t.common.reason} optional={!needsReason}><textarea data-first={verb === "skip" || undefined} className="input" rows={2} value={input.reason} onChange={(event) => change({ reason: event.target.value })} /></Field>}
        {move.confirm === "C" && <Field label={t.run.typed(count)}><input className="input" value={typed} inputMode="numeric" autoComplete="off" onChange={(event) => setTyped(event.target.value)} /></Field>}
        {error && <p className="bad" role="alert">{error}</p>}
        <div className="dialog-foot">
          <Button data-first={!BEGINS_IN_FIELD.has(verb) || undefined} onClick={onClose}>{verb === "cancel" ? t.run.keep : t.common.cancel}</Button>
          <Button type="submit" look={DANGER.has(verb) ? "danger" : "primary"} icon={MOVE_ICON[verb]} disabled={busy || !sure}>{t.run.doIt[verb]}</Button>
        </div>
      </form>
    </Dialog>
  );
}

function first(run: Run, verb: Verb, event: string): MoveInput {
  const variable = Object.keys(run.variables)[0] ?? "";
  const value = verb === "edit_variable" ? shown(run.variables[variable]) : "";
  return { reason: "", name: verb === "signal" ? event : verb === "edit_variable" ? variable : "", value, fact: 0 };
}

const shown = (value: Json | undefined): string => JSON.stringify(value ?? null, null, 2);
const labelOf = (run: Run, node: string): string => run.firings.find((firing) => firing.node === node)?.label ?? node;

/** What is wrong with the input; null when it can be sent. */
function problem(run: Run, verb: Verb, input: MoveInput, w: ReturnType<typeof useWords>["t"]["run"]): string | null {
  if (NEEDS_REASON.has(verb) && !input.reason.trim()) return w.reasonPlease;
  if (verb === "signal" && !input.name.trim()) return w.eventName;
  const value = read(input.value);
  if (value === undefined) return w.badJson;
  return verb === "edit_variable" && JSON.stringify(value) === JSON.stringify(run.variables[input.name] ?? null) ? w.unchanged : null;
}

/** Undefined when it is not JSON; nothing typed is null. */
function read(text: string): Json | undefined {
  try {
    return text.trim() ? (JSON.parse(text) as Json) : null;
  } catch {
    return undefined;
  }
}

interface FieldsProps {
  input: MoveInput;
  change: (part: Partial<MoveInput>) => void;
}

/** Offers the events that the run waits for; any other name can be typed. */
function SignalFields({ waits, input, change }: FieldsProps & { waits: string[] }): ReactNode {
  const { t } = useWords();
  const [other, setOther] = useState(!waits.includes(input.name));
  return (
    <>
      {waits.length === 0 && <p className="dim">{t.run.eventNobody}</p>}
      {waits.length > 0 && (
        <Field label={t.run.eventWaits}>
          <select data-first className="input" value={other ? "" : input.name} onChange={(event) => { setOther(!event.target.value); change({ name: event.target.value }); }}>
            {waits.map((name) => <option key={name} value={name}>{name}</option>)}
            <option value="">{t.run.eventOther}</option>
          </select>
        </Field>
      )}
      {other && <Field label={t.run.eventName}><input data-first={waits.length === 0 || undefined} className="input mono" value={input.name} onChange={(event) => change({ name: event.target.value })} /></Field>}
      <Field label={t.run.payload} optional><textarea className="input mono" rows={4} value={input.value} placeholder='{"result": "ok"}' onChange={(event) => change({ value: event.target.value })} /></Field>
    </>
  );
}

function VariableFields({ run, input, change }: FieldsProps & { run: Run }): ReactNode {
  const { t } = useWords();
  const names = Object.keys(run.variables);
  const after = read(input.value);
  if (names.length === 0) return <p className="dim">{t.run.noVariables}</p>;
  return (
    <>
      <Field label={t.run.variableName}>
        <select data-first className="input" value={input.name} onChange={(event) => change({ name: event.target.value, value: shown(run.variables[event.target.value]) })}>
          {names.map((name) => <option key={name}>{name}</option>)}
        </select>
      </Field>
      <Field label={t.run.newValue} problem={after === undefined ? t.run.badJson : undefined}><textarea className="input mono" rows={4} value={input.value} aria-invalid={after === undefined || undefined} onChange={(event) => change({ value: event.target.value })} /></Field>
      <div className="before-after">
        <div><span className="label">{t.run.before}</span><pre className="code" tabIndex={0}>{shown(run.variables[input.name]).slice(0, 4000)}</pre></div>
        <div><span className="label">{t.run.after}</span><pre className="code" tabIndex={0}>{(after === undefined ? "–" : shown(after)).slice(0, 4000)}</pre></div>
      </div>
    </>
  );
}

function Field({ label, optional, problem: wrong, children }: { label: string; optional?: boolean; problem?: string; children: ReactNode }): ReactNode {
  const { t } = useWords();
  return <label className="field"><span className="label">{label}{optional && <span className="dim">{t.common.optional}</span>}</span>{children}{wrong && <span className="bad">{wrong}</span>}</label>;
}
