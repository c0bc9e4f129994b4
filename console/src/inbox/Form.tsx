/** A form from JSON Schema: few choices are buttons, numbers have units, rows can be added, the rest is JSON. */
import { Check, CircleX, Plus, Trash2 } from "lucide-react";
import { useId, useState, type ReactNode } from "react";
import type { Dict, Json, Schema } from "../api/types";
import { Button } from "../parts";
import { useWords } from "../words";
import type { Dictionary } from "../words/ko";

interface Props {
  schema: Schema;
  value: Dict;
  errors: Record<string, string>;
  disabled: boolean;
  onChange: (value: Dict) => void;
}

export function SchemaForm({ schema, value, errors, disabled, onChange }: Props): ReactNode {
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([name, field]) => (
        <FieldView key={name} name={name} schema={field} value={value[name]} required={schema.required?.includes(name) ?? false} error={errors[name]} disabled={disabled} onChange={(next) => onChange({ ...value, [name]: next })} />
      ))}
    </>
  );
}

interface FieldProps {
  name: string;
  schema: Schema;
  value: Json | undefined;
  required: boolean;
  error: string | undefined;
  disabled: boolean;
  onChange: (value: Json) => void;
}

const typeOf = (schema: Schema): string => (Array.isArray(schema.type) ? (schema.type.find((one) => one !== "null") ?? "") : (schema.type ?? ""));

function FieldView(props: FieldProps): ReactNode {
  const { name, schema, required, error } = props;
  const id = useId();
  const { t } = useWords();
  const [left, setLeft] = useState(false);
  const problem = error ?? (left ? check(schema, props.value, required, t) : undefined);
  const label = schema.title ?? name;
  const choices = choicesOf(schema, t);
  return (
    <div className="form-field" data-field={name} onBlur={() => setLeft(true)}>
      <span className="label" id={`${id}-label`}>{label}{required && <span className="star" title={t.common.required}> *</span>}{schema.description && <span className="dim">{schema.description}</span>}</span>
      {choices ? <Choices id={id} choices={choices} {...props} /> : <Control id={id} {...props} invalid={!!problem} />}
      {problem && <p className="bad" id={`${id}-bad`}><CircleX size={13} aria-hidden />{problem}</p>}
    </div>
  );
}

function choicesOf(schema: Schema, t: Dictionary): { value: Json; text: string }[] | null {
  const named = (value: Json) => schema["x-labels"]?.[String(value)] ?? String(value);
  if (schema.enum) return schema.enum.map((value) => ({ value, text: named(value) }));
  if (schema.oneOf?.every((one) => one.const !== undefined)) return schema.oneOf.map((one) => ({ value: one.const as Json, text: one.title ?? String(one.const) }));
  if (typeOf(schema) === "boolean") return [{ value: true, text: t.common.yes }, { value: false, text: t.common.no }];
  return null;
}

function Choices({ id, choices, value, disabled, onChange }: FieldProps & { id: string; choices: { value: Json; text: string }[] }): ReactNode {
  const { t } = useWords();
  if (choices.length > 4)
    return (
      <select className="input" aria-labelledby={`${id}-label`} disabled={disabled} value={value === undefined ? "" : String(choices.findIndex((one) => one.value === value))} onChange={(event) => event.target.value && onChange(choices[Number(event.target.value)]?.value ?? null)}>
        <option value="">{t.inbox.choose}</option>
        {choices.map((one, i) => <option key={i} value={i}>{one.text}</option>)}
      </select>
    );
  return (
    <div className="choices" role="radiogroup" aria-labelledby={`${id}-label`}>
      {choices.map((one) => (
        <label key={String(one.value)} className={one.value === value ? "choice choice-on" : "choice"}>
          <input type="radio" name={id} disabled={disabled} checked={one.value === value} onChange={() => onChange(one.value)} />
          {one.value === value && <Check size={15} aria-hidden />}{one.text}
        </label>
      ))}
    </div>
  );
}

function Control({ id, schema, value, disabled, onChange, invalid }: FieldProps & { id: string; invalid: boolean }): ReactNode {
  const type = typeOf(schema);
  const common = { className: "input", disabled, "aria-labelledby": `${id}-label`, "aria-invalid": invalid || undefined, "aria-describedby": invalid ? `${id}-bad` : undefined };
  if (type === "number" || type === "integer")
    return (
      <span className="with-unit">
        <input {...common} inputMode="decimal" value={value === undefined || value === null ? "" : String(value)} onChange={(event) => onChange(numberOf(event.target.value))} />
        {schema["x-unit"] && <span className="unit">{schema["x-unit"]}</span>}
      </span>
    );
  if (type === "string" && (schema.format === "date" || schema.format === "date-time"))
    return <input {...common} type={schema.format === "date" ? "date" : "datetime-local"} value={typeof value === "string" ? value : ""} onChange={(event) => onChange(event.target.value)} />;
  if (type === "string" || type === "")
    return type === "" && typeof value === "object" ? <JsonField {...common} value={value} onChange={onChange} />
      : (schema.maxLength ?? 1000) <= 120 ? <input {...common} value={typeof value === "string" ? value : ""} onChange={(event) => onChange(event.target.value)} />
      : <textarea {...common} rows={2} value={typeof value === "string" ? value : ""} onChange={(event) => onChange(event.target.value)} />;
  if (type === "array" && schema.items && ["string", "number", "integer"].includes(typeOf(schema.items)))
    return <Rows schema={schema.items} value={Array.isArray(value) ? value : []} disabled={disabled} onChange={onChange} />;
  return <JsonField {...common} value={value} onChange={onChange} />;
}

/** While somebody types "1." it is not a number yet: the text is kept, and the check says so. */
function numberOf(text: string): Json {
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && !/[.]$|^-?0\d|\.\d*0$/.test(text) ? number : text;
}

function Rows({ schema, value, disabled, onChange }: { schema: Schema; value: Json[]; disabled: boolean; onChange: (value: Json) => void }): ReactNode {
  const { t } = useWords();
  const number = typeOf(schema) !== "string";
  return (
    <div className="form-rows">
      {value.map((one, i) => (
        <div key={i}>
          <input className="input" aria-label={`${i + 1}`} disabled={disabled} value={String(one ?? "")} onChange={(event) => onChange(value.map((old, j) => (j === i ? (number ? numberOf(event.target.value) : event.target.value) : old)))} />
          <Button look="icon" aria-label={t.inbox.removeRow} disabled={disabled} onClick={() => onChange(value.filter((_, j) => j !== i))}><Trash2 size={15} aria-hidden /></Button>
        </div>
      ))}
      <Button icon={Plus} disabled={disabled} onClick={() => onChange([...value, ""])}>{t.inbox.addRow}</Button>
    </div>
  );
}

function JsonField({ value, onChange, ...common }: { value: Json | undefined; onChange: (value: Json) => void; className: string; disabled: boolean }): ReactNode {
  const { t } = useWords();
  const [text, setText] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
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
  return <><textarea {...common} className="input mono" rows={4} value={text} aria-invalid={bad || undefined} onChange={(event) => change(event.target.value)} />{bad && <p className="bad"><CircleX size={13} aria-hidden />{t.inbox.badJson}</p>}</>;
}

export function check(schema: Schema, value: Json | undefined, required: boolean, t: Dictionary): string | undefined {
  const empty = value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
  if (empty) return required ? t.inbox.fieldNeeded : undefined;
  const type = typeOf(schema);
  if (type === "number" || type === "integer") {
    const number = Number(value);
    if (!Number.isFinite(number) || (type === "integer" && !Number.isInteger(number))) return t.inbox.notNumber;
    if (schema.minimum !== undefined && number < schema.minimum) return t.inbox.tooSmall(schema.minimum);
    if (schema.maximum !== undefined && number > schema.maximum) return t.inbox.tooBig(schema.maximum);
  }
  if (typeof value === "string" && schema.minLength !== undefined && value.length < schema.minLength) return t.inbox.tooShort(schema.minLength);
  return undefined;
}

/** Everything that is wrong, by field; numbers that were typed as text are numbers in `clean`. */
export function checkAll(schema: Schema | null, value: Dict, t: Dictionary): { errors: Record<string, string>; clean: Dict } {
  const errors: Record<string, string> = {};
  const clean: Dict = {};
  for (const [name, field] of Object.entries(schema?.properties ?? {})) {
    const given = value[name] ?? field.default;
    const problem = check(field, given, schema?.required?.includes(name) ?? false, t);
    if (problem) errors[name] = problem;
    if (given !== undefined && given !== "") clean[name] = ["number", "integer"].includes(typeOf(field)) ? Number(given) : given;
  }
  return { errors, clean };
}
