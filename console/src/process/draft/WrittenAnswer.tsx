/** An answer that somebody writes himself, in the form that the server describes. */
import { useEffect, useMemo, useRef, useState, type FormEvent, type ReactNode } from "react";
import type { Dict, Schema } from "../../api/types";
import { Button } from "../../components";
import { SchemaForm } from "../../inbox/SchemaForm";
import { checkAll } from "../../inbox/validation";
import { useSession } from "../../shell/session";
import { outOf, type DrawingFile } from "./drawingFile";
import { useDraftWords, type Says } from "./speech";
import { asksTime } from "./TimerValue";
import { useTyped } from "./typed";
import type { Todo } from "./types";
import type { DraftWork } from "./work";

export function WrittenAnswer({ work, todo, file, disabled, onSend, onCancel }: { work: DraftWork; todo: Todo; file: DrawingFile; disabled: boolean; onSend: (answer: Dict) => Promise<boolean>; onCancel: () => void }): ReactNode {
  const { t, d } = useDraftWords();
  const { me } = useSession();
  const [typed, setTyped] = useTyped(me.user, work.draft.id, todo.key);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const form = useRef<HTMLFormElement>(null);
  const value = typed ?? {};
  const schema = useMemo(() => inWords(todo, file, d), [todo, file, d]);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, textarea, select")?.focus(), []);
  const send = (event: FormEvent) => {
    event.preventDefault();
    const checked = checkAll(schema, value, t.inbox);
    setErrors(checked.errors);
    const first = Object.keys(checked.errors)[0];
    if (first !== undefined) form.current?.querySelector<HTMLElement>(`[data-field="${CSS.escape(first)}"] :is(input, textarea, select)`)?.focus();
    else void onSend(checked.clean).then((done) => done && setTyped(null));
  };
  return (
    <form ref={form} className="todo-form" onSubmit={send}>
      <SchemaForm schema={schema} value={value} errors={errors} disabled={disabled} onChange={(next) => { setErrors({}); setTyped(next); }} />
      {(schema.oneOf?.length ?? 0) > 2 && Object.keys(schema.properties ?? {}).length > 1 && !schema.properties?.["conditions"] && <p className="dim small">{d.oneOfThese}</p>}
      <div className="todo-acts"><Button type="submit" look="primary" disabled={disabled}>{d.save}</Button><Button look="quiet" onClick={onCancel}>{d.cancel}</Button></div>
    </form>
  );
}

/** The form in the words of the drawing: flows by their names and where they lead, kinds of time by their words. */
function inWords(todo: Todo, file: DrawingFile, d: Says): Schema {
  const fields = { ...todo.form.properties };
  if (fields["conditions"]?.properties) {
    const ways = outOf(file, todo.element);
    const wayOf = (id: string) => { const way = ways.find((flow) => flow.id === id); return [way?.name, file.elements.get(way?.target ?? "")?.name].filter(Boolean).join(" → ") || id; };
    const flows = Object.keys(fields["conditions"].properties);
    delete fields["ask"]; // it has its own form
    fields["conditions"] = { ...fields["conditions"], title: d.conditions, description: d.conditionsHint, properties: Object.fromEntries(flows.map((id) => [id, { type: "string", maxLength: 120, title: wayOf(id) }])) };
    if (fields["default"]) fields["default"] = { ...fields["default"], title: d.otherwise, description: d.otherwiseHint, "x-labels": Object.fromEntries(flows.map((id) => [id, wayOf(id)])) };
  } else if (asksTime(todo.form)) {
    fields["kind"] = { ...fields["kind"], title: d.timeKind, "x-labels": d.timeKinds };
    fields["value"] = { ...fields["value"], title: d.timeValue, maxLength: 120 };
  }
  if (fields["as"]) fields["as"] = { ...fields["as"], title: d.partAs, "x-labels": d.parts };
  if (fields["who"]) fields["who"] = { ...fields["who"], title: d.answersWho, description: d.answersHint };
  const several = (todo.form.oneOf?.length ?? 0) > 1 && !fields["conditions"];
  if (several) for (const name of ["by", "ask"]) delete fields[name]; // these are proposals
  for (const [name, title] of Object.entries(d.fields)) if (fields[name]) fields[name] = { ...fields[name], title, ...(name === "code" ? {} : { maxLength: 200 }) };
  if (fields["name"] && Object.keys(fields).length === 1) fields["name"] = { ...fields["name"], title: d.nameField, maxLength: 120 };
  const required = todo.form.required?.filter((name) => name in fields);
  return { ...todo.form, properties: fields, ...(fields["conditions"] ? { required: ["conditions"] } : required ? { required } : {}) };
}
