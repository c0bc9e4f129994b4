/** The value of a timer, asked for as a number and a unit: nothing is guessed. */
import { useId, type FormEvent, type ReactNode } from "react";
import { textOf } from "../../api/json";
import type { Dict, Schema } from "../../api/types";
import { Button } from "../../components";
import { useSession } from "../../shell/session";
import { outOf, type DrawingFile } from "./drawingFile";
import { nameOf } from "./sentences";
import { useDraftWords } from "./speech";
import { useTyped } from "./typed";
import type { Todo } from "./types";
import type { DraftWork } from "./work";

const UNITS = { minutes: (n: number) => `PT${n}M`, hours: (n: number) => `PT${n}H`, days: (n: number) => `P${n}D`, weeks: (n: number) => `P${n}W` };
type Unit = keyof typeof UNITS;

/** A form that asks for a time may ask for a length of it. */
export const asksTime = (form: Schema): boolean => !!form.properties?.["kind"]?.enum?.includes("duration") && !!form.properties["value"];

export function TimerValue({ work, todo, file, disabled, onSend }: { work: DraftWork; todo: Todo; file: DrawingFile; disabled: boolean; onSend: (answer: Dict) => Promise<boolean> }): ReactNode {
  const { d } = useDraftWords();
  const { me } = useSession();
  const id = useId();
  const [typed, setTyped] = useTyped(me.user, work.draft.id, `${todo.key} value`);
  const amount = textOf(typed?.["amount"]);
  const unit = (textOf(typed?.["unit"]) || "days") as Unit;
  const number = Number(amount);
  const ready = /^\d+$/.test(amount.trim()) && number > 0;
  const next = outOf(file, todo.element)[0];
  const step = next ? file.elements.get(next.target)?.name : "";
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (ready && !disabled) void onSend({ kind: "duration", value: UNITS[unit](number) }).then((done) => done && setTyped(null));
  };
  return (
    <form className="todo-timer" onSubmit={send} aria-label={nameOf(todo)}>
      <label className="sr" htmlFor={`${id}-n`}>{d.amount}</label>
      <input id={`${id}-n`} className="input" inputMode="numeric" data-first placeholder={d.amountHint} value={amount} onChange={(event) => setTyped({ amount: event.target.value, unit })} />
      <label className="sr" htmlFor={`${id}-u`}>{d.unit}</label>
      <select id={`${id}-u`} className="input" value={unit} onChange={(event) => setTyped({ amount, unit: event.target.value })}>{(Object.keys(UNITS) as Unit[]).map((name) => <option key={name} value={name}>{d.units[name]}</option>)}</select>
      <span className="grow dim">{step && d.then(step)}</span>
      <Button type="submit" disabled={disabled || !ready}>{d.save}</Button>
    </form>
  );
}
