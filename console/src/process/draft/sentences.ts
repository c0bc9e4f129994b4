/** What a to-do, a proposal and an answer say, in the reader's words; what is not known here is said as the server says it. */
import { isDict, textOf } from "../../api/json";
import type { Dict, Json } from "../../api/types";
import type { Format } from "../../words/format";
import { person } from "../../words/why";
import { durationOf } from "../elementData";
import { intoOf, outOf, type DrawingFile } from "./drawingFile";
import type { DraftDictionary } from "./speech";
import type { DraftProposal, Todo } from "./types";

export interface Sentence {
  text: string;
  /** As the server says it, which is English. */
  foreign: boolean;
}

export interface Choice {
  flow: string;
  label: string;
  /** The step that it leads to. */
  next: string;
}

const own = (text: string): Sentence => ({ text, foreign: false });
const foreign = (text: string): Sentence => ({ text, foreign: true });

export const nameOf = (todo: Pick<Todo, "name" | "element" | "process">): string => todo.name || todo.element || todo.process;

export function titleOf(todo: Todo, t: DraftDictionary): Sentence {
  const kind = t.draft.kinds[todo.kind];
  return kind ? own(kind(nameOf(todo))) : foreign(todo.message);
}

/** Whom a gateway asks, and its choices; null when the answer asks nobody. */
export function askOf(answer: Dict | null): { who: string; choices: Dict } | null {
  const ask = isDict(answer?.["ask"]) ? answer["ask"] : answer;
  return ask && typeof ask["who"] === "string" && (isDict(ask["choices"]) || ask !== answer) ? { who: ask["who"], choices: isDict(ask["choices"]) ? ask["choices"] : {} } : null;
}

/** The same answer, which asks another one. */
export function askedBy(answer: Dict, who: string): Dict {
  return isDict(answer["ask"]) ? { ...answer, ask: { ...answer["ask"], who } } : { ...answer, who };
}

export function choicesOf(answer: Dict | null, file: DrawingFile): Choice[] {
  return Object.entries(askOf(answer)?.choices ?? {}).map(([flow, label]) => ({ flow, label: textOf(label), next: nextStep(file, flow) }));
}

/** What a flow leads to; gateways without a name are passed by. */
function nextStep(file: DrawingFile, flow: string, depth = 4): string {
  const to = file.elements.get(file.flows.get(flow)?.target ?? "");
  if (!to) return "";
  const on = outOf(file, to.id);
  return !to.name && to.type.endsWith("Gateway") && on.length === 1 && on[0] && depth > 0 ? nextStep(file, on[0].id, depth - 1) : to.name || to.id;
}

/** Who is asked, where it is one of the words of the house: role:NAME, group:NAME, user:ID. */
export function whoText(who: string, t: DraftDictionary): string {
  const [kind, ...rest] = who.split(":");
  const name = rest.join(":");
  if (kind === "role") return t.draft.who.role(person(name, t));
  if (kind === "group") return t.draft.who.group(name);
  if (kind === "user") return t.draft.who.user(person(name, t));
  if (kind === "anyone") return t.draft.who.anyone;
  return kind === "initiator" ? t.draft.who.initiator : kind === "previous" ? t.draft.proposals.previousShort : who;
}

export function proposalText(proposal: DraftProposal, file: DrawingFile, t: DraftDictionary, f: Format): Sentence {
  const says = t.draft.proposals;
  const ask = askOf(proposal.answer);
  if (ask) return own(says.ask(whoText(ask.who, t), choicesOf(proposal.answer, file).map(({ label }) => label).join(" / ")));
  const name = textOf(proposal.facts["name"]);
  switch (proposal.kind) {
    case "own_name": return own(says.own_name(name));
    case "own_id": return own(says.own_id(name));
    case "flow_name": return own(says.flow_name(name));
    case "partner_name": return own(says.partner_name(name));
    case "spoken_time": return own(says.spoken_time(timeText(textOf(proposal.facts["value"]), t, f)));
    case "definition": return own(says.definition(Number(proposal.facts["count"] ?? 0)));
    case "outside": return own(says.outside(textOf(proposal.facts["who"])));
    case "role_of_lane": return own(says.role_of_lane(textOf(proposal.facts["role"])));
    case "person": return own(says.person);
    case "spoken_condition": return own(says.spoken_condition(textOf(proposal.facts["condition"])));
    case "ask_count": return own(says.ask_count(whoText(textOf(proposal.facts["who"]), t)));
    case "ask_again": return own(says.ask_again);
    default: return repairText(proposal, file, t);
  }
}

/** What is drawn otherwise: `changes` by element. */
function repairText(proposal: DraftProposal, file: DrawingFile, t: DraftDictionary): Sentence {
  const says = t.draft.proposals;
  const [first] = Object.entries(isDict(proposal.answer["changes"]) ? proposal.answer["changes"] : {});
  if (!first) return foreign(proposal.message);
  const change = isDict(first[1]) ? first[1] : {};
  const nameOfId = (id: string) => file.elements.get(id)?.name || id;
  const name = nameOfId(first[0]);
  const how = says.waits[textOf(change["type"])];
  switch (proposal.kind) {
    case "join": return how ? own(says.join(name, how)) : foreign(proposal.message);
    case "joins": return how ? own(says.joins(how)) : foreign(proposal.message);
    case "after_start": return own(says.after_start(nameOfId(textOf(change["target"]))));
    case "passed": return own(says.passed(name));
    case "waits": return own(says.waitsFor(name));
    case "plain_start": return own(says.plain_start(name));
    case "plain_end": return own(says.plain_end(name));
    case "asks": return own(says.asks(name));
    default: return foreign(proposal.message);
  }
}

/** A length of time or a cycle of it, in words; a date stays as it is written. */
export function timeText(value: string, t: DraftDictionary, f: Format): string {
  const cycle = /^R\d*\/(.+)$/.exec(value)?.[1];
  const ms = durationOf(cycle ?? value);
  return ms === null ? value : cycle ? t.draft.proposals.every(f.duration(ms)) : t.draft.proposals.after(f.duration(ms));
}

/** What a proposal brings about, below its sentence. */
export function effectText(todo: Todo, proposal: DraftProposal, file: DrawingFile, t: DraftDictionary): string {
  const ask = askOf(proposal.answer);
  if (!ask) return "";
  const before = ask.who === "previous" ? intoOf(file, todo.element).flatMap(({ source }) => file.elements.get(source) ?? []).filter((element) => /[tT]ask$/.test(element.type)) : [];
  const only = before.length === 1 ? before[0] : undefined;
  return t.draft.proposals.askEffect(only?.name ?? "", only ? only.lane || t.draft.proposals.whoDid : whoText(ask.who, t));
}

/** What was answered, in a few words. */
export function answerText(todo: Todo, file: DrawingFile, t: DraftDictionary, f: Format): string {
  const { answer } = todo;
  if (!answer) return "";
  const ask = askOf(answer);
  if (ask) return `${whoText(ask.who, t)} · ${choicesOf(answer, file).map(({ label }) => label).join(" / ")}`;
  if (typeof answer["as"] === "string" && answer["as"] in t.draft.parts) return [t.draft.parts[answer["as"]], valueText(answer["who"] ?? null, f, t)].filter(Boolean).join(": ");
  if (typeof answer["kind"] === "string" && typeof answer["value"] === "string") return timeText(answer["value"], t, f);
  if (answer["by"] === "person") return t.draft.proposals.person;
  if (isDict(answer["changes"])) return t.draft.proposals.changed;
  return Object.values(answer).map((value) => valueText(value, f, t)).filter(Boolean).join(", ");
}

function valueText(value: Json, f: Format, t: DraftDictionary): string {
  if (typeof value === "string" && /^((role|group|user):.+|previous|initiator|anyone)$/.test(value)) return whoText(value, t);
  if (typeof value === "boolean") return value ? t.common.yes : t.common.no;
  if (Array.isArray(value)) return value.map((each) => valueText(each, f, t)).join(", ");
  if (!isDict(value)) return textOf(value);
  if (isDict(value["properties"])) return Object.entries(value["properties"]).map(([name, field]) => (isDict(field) && textOf(field["title"])) || name).join(", ");
  return Object.values(value).map((each) => valueText(each, f, t)).filter(Boolean).join(", ");
}
