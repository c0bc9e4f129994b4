/** A form from JSON Schema: few choices are buttons, numbers have units, rows can be added, groups are framed, the rest is JSON. */
import { Check, CircleX, Plus, Trash2 } from "lucide-react";
import { useId, useState, type ReactNode } from "react";
import { isDict } from "../api/json";
import type { Dict, Json, Schema } from "../api/types";
import { Button } from "../components";
import { useWords } from "../words";
import { blank, check, numberOf, typeOf } from "./validation";

interface Props {
  schema: Schema;
  value: Dict;
  /** By path: `parts.0.name`. */
  errors: Record<string, string>;
  disabled: boolean;
  onChange: (value: Dict) => void;
  /** The path of this form inside a larger one. */
  path?: string;
  /** The values before: those that differ are marked. */
  was?: Dict;
}

export function SchemaForm({ schema, value, errors, disabled, onChange, path = "", was }: Props): ReactNode {
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([name, field]) => (
        <FieldView key={name} name={name} path={path + name} schema={field} value={value[name] ?? field.default} required={schema.required?.includes(name) ?? false} errors={errors} disabled={disabled} was={was === undefined ? undefined : { value: was[name] }} onChange={(next) => onChange({ ...value, [name]: next })} />
      ))}
    </>
  );
}

interface FieldProps {
  name: string;
  path: string;
  schema: Schema;
  value: Json | undefined;
  required: boolean;
  errors: Record<string, string>;
  disabled: boolean;
  was?: { value: Json | undefined };
  onChange: (value: Json) => void;
}

const isGroup = (schema: Schema): boolean => typeOf(schema) === "object" && Object.keys(schema.properties ?? {}).length > 0;

function FieldView(props: FieldProps): ReactNode {
  const { name, path, schema, value, required, errors, disabled, was, onChange } = props;
  const id = useId();
  const { t, f } = useWords();
  const [left, setLeft] = useState(false);
  const problem = errors[path] ?? (left && !disabled ? check(schema, value, required, t.inbox) : undefined);
  const choices = choicesOf(schema, t.common);
  const label = (
    <>
      {schema.title ?? name}{required && <span className="star" title={t.common.required}> *</span>}
      {schema.description && <span className="dim">{schema.description}</span>}
      {was && JSON.stringify(was.value ?? null) !== JSON.stringify(value ?? null) && <span className="form-edited" title={t.work.was(JSON.stringify(was.value ?? null))}>{t.work.edited}</span>}
      {schema.format === "date-time" && <span className="dim">{t.inbox.zoneHint(f.zoneName())}</span>}
    </>
  );
  const bad = problem && <p className="bad" id={`${id}-bad`}><CircleX size={13} aria-hidden />{problem}</p>;
  if (isGroup(schema) && !choices)
    return (
      <fieldset className="form-group" data-field={path} disabled={disabled}>
        <legend className="label">{label}</legend>
        <SchemaForm schema={schema} value={isDict(value) ? value : {}} errors={errors} disabled={disabled} onChange={onChange} path={`${path}.`} />
        {bad}
      </fieldset>
    );
  return (
    <div className="form-field" data-field={path} onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setLeft(true)}>
      <span className="label" id={`${id}-label`}>{label}</span>
      {schema.const !== undefined ? <p className="mono">{String(schema.const)}</p>
        : choices ? <Choices id={id} choices={choices} {...props} invalid={!!problem} />
        : typeOf(schema) === "array" && schema.items ? <ArrayField id={id} {...props} items={schema.items} />
        : <Control id={id} {...props} invalid={!!problem} />}
      {bad}
    </div>
  );
}

interface Choice {
  value: Json;
  text: string;
}

function choicesOf(schema: Schema, words: { yes: string; no: string }): Choice[] | null {
  const named = (value: Json) => schema["x-labels"]?.[String(value)] ?? String(value);
  if (schema.enum) return schema.enum.filter((value) => value !== null).map((value) => ({ value, text: named(value) }));
  if (schema.oneOf?.length && schema.oneOf.every((option) => option.const !== undefined)) return schema.oneOf.map((option) => ({ value: option.const as Json, text: option.title ?? String(option.const) }));
  if (typeOf(schema) === "boolean") return [{ value: true, text: words.yes }, { value: false, text: words.no }];
  return null;
}

function Choices({ id, choices, value, disabled, onChange, invalid }: FieldProps & { id: string; choices: Choice[]; invalid: boolean }): ReactNode {
  const { t } = useWords();
  const aria = { "aria-labelledby": `${id}-label`, "aria-describedby": invalid ? `${id}-bad` : undefined };
  if (choices.length > 4)
    return (
      <select className="input" {...aria} aria-invalid={invalid || undefined} disabled={disabled} value={String(choices.findIndex((choice) => choice.value === value))} onChange={(event) => Number(event.target.value) >= 0 && onChange(choices[Number(event.target.value)]?.value ?? null)}>
        <option value="-1">{t.inbox.choose}</option>
        {choices.map((choice, i) => <option key={i} value={i}>{choice.text}</option>)}
      </select>
    );
  return (
    <div className="choices" role="radiogroup" {...aria}>
      {choices.map((choice) => (
        <label key={String(choice.value)} className={choice.value === value ? "choice choice-on" : "choice"}>
          <input type="radio" name={id} disabled={disabled} checked={choice.value === value} onChange={() => onChange(choice.value)} />
          {choice.value === value && <Check size={15} aria-hidden />}{choice.text}
        </label>
      ))}
    </div>
  );
}

const INPUTS: Record<string, string> = { email: "email", uri: "url", time: "time", date: "date" };

function Control({ id, schema, value, disabled, onChange, invalid }: FieldProps & { id: string; invalid: boolean }): ReactNode {
  const { f } = useWords();
  const type = typeOf(schema);
  const aria = { "aria-labelledby": `${id}-label`, "aria-invalid": invalid || undefined, "aria-describedby": invalid ? `${id}-bad` : undefined };
  const common = { className: "input", disabled, ...aria };
  const text = typeof value === "string" ? value : "";
  if (type === "number" || type === "integer")
    return (
      <span className="with-unit">
        <input {...common} inputMode="decimal" value={value === undefined || value === null ? "" : String(value)} onChange={(event) => onChange(numberOf(event.target.value))} />
        {schema["x-unit"] && <span className="unit">{schema["x-unit"]}</span>}
      </span>
    );
  if (type === "string" && schema.format === "date-time")
    return <input {...common} type="datetime-local" value={text && !Number.isNaN(Date.parse(text)) ? f.field(text) : ""} onChange={(event) => onChange(f.fromField(event.target.value) ?? "")} />;
  if (type === "string" && INPUTS[schema.format ?? ""])
    return <input {...common} type={INPUTS[schema.format ?? ""]} value={text} onChange={(event) => onChange(event.target.value)} />;
  if (type === "string")
    return (schema.maxLength ?? 1000) <= 120 ? <input {...common} value={text} onChange={(event) => onChange(event.target.value)} /> : <textarea {...common} rows={2} value={text} onChange={(event) => onChange(event.target.value)} />;
  return <JsonField disabled={disabled} aria={aria} value={value} onChange={onChange} />;
}

/** Rows that can be added and removed; with few possible values, a checkbox for each. */
function ArrayField({ id, items, value, path, errors, disabled, onChange }: FieldProps & { id: string; items: Schema }): ReactNode {
  const { t } = useWords();
  const rows = Array.isArray(value) ? value : [];
  const choices = choicesOf(items, t.common);
  if (choices && typeOf(items) !== "boolean")
    return (
      <div className="choices" role="group" aria-labelledby={`${id}-label`}>
        {choices.map((choice) => {
          const on = rows.includes(choice.value);
          return (
            <label key={String(choice.value)} className={on ? "choice choice-on" : "choice"}>
              <input type="checkbox" disabled={disabled} checked={on} onChange={() => onChange(on ? rows.filter((row) => row !== choice.value) : [...rows, choice.value])} />
              {on && <Check size={15} aria-hidden />}{choice.text}
            </label>
          );
        })}
      </div>
    );
  const put = (i: number, next: Json) => onChange(rows.map((old, j) => (j === i ? next : old)));
  return (
    <div className="form-rows" role="group" aria-labelledby={`${id}-label`}>
      {rows.map((row, i) => (
        <div key={i} className={isGroup(items) ? "form-row-group" : ""}>
          <div className="grow">
            {isGroup(items)
              ? <SchemaForm schema={items} value={isDict(row) ? row : {}} errors={errors} disabled={disabled} onChange={(next) => put(i, next)} path={`${path}.${i}.`} />
              : <Row items={items} value={row} n={i + 1} problem={errors[`${path}.${i}`]} disabled={disabled} onChange={(next) => put(i, next)} />}
          </div>
          <Button look="icon" aria-label={`${t.inbox.row(i + 1)} ${t.inbox.removeRow}`} disabled={disabled} onClick={() => onChange(rows.filter((_, j) => j !== i))}><Trash2 size={15} aria-hidden /></Button>
        </div>
      ))}
      <Button icon={Plus} disabled={disabled} onClick={() => onChange([...rows, blank(items)])}>{t.inbox.addRow}</Button>
    </div>
  );
}

function Row({ items, value, n, problem, disabled, onChange }: { items: Schema; value: Json; n: number; problem?: string; disabled: boolean; onChange: (value: Json) => void }): ReactNode {
  const { t } = useWords();
  const type = typeOf(items);
  const aria = { "aria-label": t.inbox.row(n), "aria-invalid": !!problem || undefined };
  const bad = problem && <p className="bad"><CircleX size={13} aria-hidden />{problem}</p>;
  if (!["string", "number", "integer"].includes(type)) return <><JsonField disabled={disabled} aria={aria} value={value} onChange={onChange} />{bad}</>;
  return (
    <>
      <input className="input" type={(type === "string" && INPUTS[items.format ?? ""]) || "text"} {...aria} inputMode={type === "string" ? undefined : "decimal"} disabled={disabled} value={String(value ?? "")} onChange={(event) => onChange(type === "string" ? event.target.value : numberOf(event.target.value))} />
      {bad}
    </>
  );
}

/** A value without a control of its own, typed as JSON; text that is not JSON yet is kept. */
function JsonField({ value, disabled, aria, onChange }: { value: Json | undefined; disabled: boolean; aria: Record<string, string | boolean | undefined>; onChange: (value: Json) => void }): ReactNode {
  const { t } = useWords();
  const [text, setText] = useState(() => (value === undefined || value === null ? "" : JSON.stringify(value, null, 2)));
  const [bad, setBad] = useState(false);
  const change = (next: string) => {
    setText(next);
    try {
      onChange(next.trim() ? (JSON.parse(next) as Json) : null);
      setBad(false);
    } catch {
      setBad(true);
    }
  };
  return <><textarea {...aria} className="input mono" rows={4} disabled={disabled} value={text} aria-invalid={bad || !!aria["aria-invalid"] || undefined} onChange={(event) => change(event.target.value)} />{bad && <p className="bad"><CircleX size={13} aria-hidden />{t.inbox.badJson}</p>}</>;
}
