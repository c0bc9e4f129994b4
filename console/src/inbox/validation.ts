/** Validates a filled form before it is sent; the server checks the same again. */
import { isDict } from "../api/json";
import type { Dict, Json, Schema } from "../api/types";
import type { Dictionary } from "../words/ko";

export type Says = Dictionary["inbox"];

export const typeOf = (schema: Schema): string => (Array.isArray(schema.type) ? (schema.type.find((type) => type !== "null") ?? "") : (schema.type ?? (schema.properties ? "object" : "")));

/** A number, or the text while it is not a number yet, such as "1.". */
export function numberOf(text: string): Json {
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && !/[.]$|^-?0\d|\.\d*0$/.test(text) ? number : text;
}

/** The value of a new row. */
export const blank = (schema: Schema): Json => schema.default ?? (typeOf(schema) === "object" ? {} : "");

const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0) || (isDict(value) && Object.values(value).every(isEmpty));

/** Validates one value; `checkAll` validates what is inside of it. */
export function check(schema: Schema, value: Json | undefined, required: boolean, says: Says): string | undefined {
  if (isEmpty(value)) return required && typeOf(schema) !== "object" ? says.fieldNeeded : undefined;
  switch (typeOf(schema)) {
    case "number": case "integer": return number(schema, Number(value), says);
    case "string": return text(schema, String(value), says);
    case "array": return schema.minItems !== undefined && (value as Json[]).length < schema.minItems ? says.atLeastRows(schema.minItems) : undefined;
    default: return undefined;
  }
}

function number(schema: Schema, value: number, says: Says): string | undefined {
  if (!Number.isFinite(value) || (typeOf(schema) === "integer" && !Number.isInteger(value))) return says.notNumber;
  if (schema.minimum !== undefined && value < schema.minimum) return says.tooSmall(schema.minimum);
  return schema.maximum !== undefined && value > schema.maximum ? says.tooBig(schema.maximum) : undefined;
}

function text(schema: Schema, value: string, says: Says): string | undefined {
  if (schema.minLength !== undefined && value.length < schema.minLength) return says.tooShort(schema.minLength);
  if (schema.maxLength !== undefined && value.length > schema.maxLength) return says.tooLong(schema.maxLength);
  if (/^date/.test(schema.format ?? "") && Number.isNaN(Date.parse(value))) return says.notDate;
  return schema.pattern !== undefined && !matches(schema.pattern, value) ? says.notMatching : undefined;
}

/** A pattern that this browser cannot read is left to the server. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

export interface Checked {
  /** By path: `parts.0.name`. */
  errors: Record<string, string>;
  /** Without what was left empty; numbers that were typed as text are numbers. */
  clean: Dict;
}

export function checkAll(schema: Schema | null, value: Dict, says: Says, path = ""): Checked {
  const errors: Record<string, string> = {};
  const clean: Dict = {};
  for (const [name, field] of Object.entries(schema?.properties ?? {})) {
    const required = schema?.required?.includes(name) ?? false;
    const given = field.const !== undefined ? field.const : (value[name] ?? field.default);
    const checked = checkField(field, given, required, says, path + name, errors);
    if (checked !== undefined && (required || !isEmpty(checked))) clean[name] = checked;
  }
  return { errors, clean };
}

function checkField(schema: Schema, given: Json | undefined, required: boolean, says: Says, path: string, errors: Record<string, string>): Json | undefined {
  if (typeOf(schema) === "object" && schema.properties) {
    if (!required && isEmpty(given)) return undefined;
    const inner = checkAll(schema, isDict(given) ? given : {}, says, `${path}.`);
    Object.assign(errors, inner.errors);
    return inner.clean;
  }
  const problem = check(schema, given, required, says);
  if (problem) errors[path] = problem;
  if (isEmpty(given)) return undefined;
  if (["number", "integer"].includes(typeOf(schema))) return problem ? given : Number(given);
  const { items } = schema;
  if (Array.isArray(given) && items) return given.map((row, i) => checkField(items, row, true, says, `${path}.${i}`, errors) ?? row);
  return given;
}
