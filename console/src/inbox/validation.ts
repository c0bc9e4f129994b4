/** What is wrong with what was filled in, before it is sent; the server checks the same again. */
import type { Dict, Json, Schema } from "../api/types";
import type { Dictionary } from "../words/ko";

export type Says = Dictionary["inbox"];

export const typeOf = (schema: Schema): string => (Array.isArray(schema.type) ? (schema.type.find((one) => one !== "null") ?? "") : (schema.type ?? (schema.properties ? "object" : "")));

/** While somebody types "1." it is not a number yet: the text is kept, and the check says so. */
export function numberOf(text: string): Json {
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && !/[.]$|^-?0\d|\.\d*0$/.test(text) ? number : text;
}

/** A new row. */
export const blank = (schema: Schema): Json => schema.default ?? (typeOf(schema) === "object" ? {} : "");

const isDict = (value: Json | undefined): value is Dict => value !== null && typeof value === "object" && !Array.isArray(value);
const isEmpty = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0) || (isDict(value) && Object.values(value).every(isEmpty));

/** One value by its own rules; what is inside of it is checked by `checkAll`. */
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
    const told = one(field, given, required, says, path + name, errors);
    if (told !== undefined && (required || !isEmpty(told))) clean[name] = told;
  }
  return { errors, clean };
}

function one(schema: Schema, given: Json | undefined, required: boolean, says: Says, path: string, errors: Record<string, string>): Json | undefined {
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
  if (Array.isArray(given) && items) return given.map((row, i) => one(items, row, true, says, `${path}.${i}`, errors) ?? row);
  return given;
}
