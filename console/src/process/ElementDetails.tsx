/** Details of an element of a process: who does it and how, what is asked for, what undoes it, and its ways. */
import { Bot, Undo2, UserRound } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { isDict, listOf, textOf } from "../api/json";
import type { Dict, Json, Schema } from "../api/types";
import { Tag } from "../components";
import { Documentation, Row, Ways, WrittenFields } from "../definitions/ElementDetails";
import { definitionPath } from "../definitions/requests";
import type { ElementProps } from "../languages/contract";
import { Link } from "../shell/router";
import { useWords } from "../words";
import { person } from "../words/why";
import { durationOf, elementOf, type ProcessElement } from "./elementData";

export default function ElementDetails({ document, graph, node, onPick }: ElementProps): ReactNode {
  const { t } = useWords();
  const element = useMemo(() => elementOf(document, graph, node), [document, graph, node]);
  return (
    <>
      {element.kind === "activity" && <Activity element={element} document={document ?? {}} onPick={onPick} />}
      {element.kind === "event" && <Event data={element.data} document={document ?? {}} onPick={onPick} />}
      {element.kind === "other" && <WrittenFields data={element.data} />}
      <Documentation data={element.data} />
      <Ways into={element.into} out={element.out} onPick={onPick} />
      {element.attached.length > 0 && <section><h3>{t.inspect.hanging}</h3><ul className="inspect-list">{element.attached.map((event) => <li key={event.id}><button type="button" className="linklike" onClick={() => onPick(event.id)}>{event.name}</button></li>)}</ul></section>}
    </>
  );
}

const names = (value: Json | undefined): string[] => (Array.isArray(value) ? value.map(textOf).filter(Boolean) : []);

function Activity({ element, document, onPick }: { element: ProcessElement; document: Dict; onPick: (node: string) => void }): ReactNode {
  const { t, f } = useWords();
  const n = t.inspect;
  const { data, role } = element;
  const settings = isDict(data["orchestration"]) ? data["orchestration"] : {};
  const mode = textOf(data["agent_mode"]) || "MANUAL";
  const [due, limit] = [durationOf(data["due"]), durationOf(settings["timeout_s"])];
  const subProcess = textOf(settings["sub_process"]);
  const people = (ids: string[]) => ids.map((id) => person(id, t)).join(", ");
  const span = (value: Json | undefined, ms: number | null) => (ms === null ? textOf(value) : f.duration(ms));
  return (
    <>
      {textOf(data["instruction"]) && <section><h3>{t.work.instruction}</h3><p className="pre">{textOf(data["instruction"])}</p></section>}
      <section>
        <dl>
          <Row name={n.mode}><span className="inspect-mode">{mode === "MANUAL" ? <UserRound size={15} aria-hidden /> : <Bot size={15} aria-hidden />}{t.work.modes[mode] ?? mode}</span></Row>
          {role && <Row name={n.role}>{person(role.name, t)}{role.rule && <span className="dim"> · {n.rules[role.rule] ?? n.ruleTo(person(role.rule, t))}</span>}</Row>}
          {textOf(data["agent"]) && <Row name={t.work.agent}><span className="mono">{textOf(data["agent"])}</span></Row>}
          {names(settings["tools"]).length > 0 && <Row name={n.tools}><span className="inspect-tags">{names(settings["tools"]).map((tool) => <Tag key={tool}>{tool}</Tag>)}</span></Row>}
          {names(settings["approvers"]).length > 0 && <Row name={n.approvers}>{people(names(settings["approvers"]))}</Row>}
          {(limit !== null || settings["tokens"]) && <Row name={n.budget}>{[limit !== null && f.duration(limit), settings["tokens"] && n.tokens(f.number(Number(settings["tokens"])))].filter(Boolean).join(" · ")}</Row>}
          <Row name={n.due}>{data["due"] === undefined || data["due"] === null ? <span className="dim">{n.dueNone}</span> : span(data["due"], due)}{names(data["escalate_to"]).length > 0 && <span className="dim"> · {n.escalates(people(names(data["escalate_to"])))}</span>}</Row>
          {textOf(data["priority"]) && textOf(data["priority"]) !== "normal" && <Row name={n.priority}>{n.priorities[textOf(data["priority"])] ?? textOf(data["priority"])}</Row>}
          {subProcess && <Row name={n.calls}><Link className="mono" to={definitionPath(subProcess)}>{subProcess}</Link></Row>}
          {isDict(data["multi"]) && <Row name={n.multi}>{multi(data["multi"], n)}</Row>}
          {["message", "signal", "rule_pack", "decision", "job"].filter((key) => textOf(data[key])).map((key) => <Row key={key} name={n.fields[key] ?? key}><span className="mono">{textOf(data[key])}</span></Row>)}
          {names(data["candidates"]).length > 0 && <Row name={n.candidates}>{people(names(data["candidates"]).map((target) => target.replace(/^(?:role|group|user):/, "")))}</Row>}
          {listOf(data["input_data"]).length > 0 && <Row name={n.reads}>{listOf(data["input_data"]).map((field) => textOf(field["name"])).join(", ")}</Row>}
          {listOf(data["output_data"]).length > 0 && <Row name={n.writes}>{listOf(data["output_data"]).map((field) => textOf(field["name"])).join(", ")}</Row>}
        </dl>
      </section>
      <FormFields form={isDict(data["form"]) ? (data["form"] as Schema) : null} />
      <section><h3>{n.undo}</h3><Undo value={data["compensation"]} document={document} onPick={onPick} /></section>
      {textOf(data["python_code"]) && <section><h3>{n.code}</h3><pre className="code" tabIndex={0}>{textOf(data["python_code"])}</pre></section>}
    </>
  );
}

type Words = ReturnType<typeof useWords>["t"]["inspect"];

function multi(data: Dict, n: Words): string {
  const mode = textOf(data["mode"]) || "parallel";
  return [n.multis[mode] ?? mode, textOf(data["items"] ?? data["count"] ?? data["again"]), textOf(data["until"]) && n.until(textOf(data["until"]))].filter(Boolean).join(" · ");
}

function Undo({ value, document, onPick }: { value: Json | undefined; document: Dict; onPick: (node: string) => void }): ReactNode {
  const { t, f } = useWords();
  const n = t.inspect;
  if (value === undefined || value === null || value === "") return <p className="dim">{n.undoNone}</p>;
  const tool = isDict(value) ? textOf(value["tool"]) : textOf(value);
  const activity = listOf(document["activities"]).find((candidate) => candidate["id"] === tool);
  const limit = isDict(value) ? durationOf(value["timeout"]) : null;
  return (
    <p className="inspect-undo"><Undo2 size={15} aria-hidden />
      {activity ? <button type="button" className="linklike" onClick={() => onPick(tool)}>{textOf(activity["name"]) || tool}</button> : <span>{n.undoTool} <span className="mono">{tool}</span></span>}
      {limit !== null && <span className="dim">{n.within(f.duration(limit))}</span>}
    </p>
  );
}

function FormFields({ form }: { form: Schema | null }): ReactNode {
  const { t } = useWords();
  const n = t.inspect;
  const fields = Object.entries(form?.properties ?? {});
  if (fields.length === 0) return null;
  return (
    <section>
      <h3>{n.form}</h3>
      <ul className="inspect-list">
        {fields.map(([name, field]) => (
          <li key={name}><span className="grow">{field.title ?? name}{form?.required?.includes(name) && <span className="star" title={t.common.required}> *</span>} {field.title && <span className="dim mono">{name}</span>}</span><span className="dim">{kindOf(field, n)}{field["x-unit"] && ` · ${field["x-unit"]}`}</span></li>
        ))}
      </ul>
    </section>
  );
}

function kindOf(field: Schema, n: Words): string {
  if (field.enum) return field.enum.map(String).join(" · ");
  const type = Array.isArray(field.type) ? field.type[0] : field.type;
  return n.kinds[field.format ?? ""] ?? n.kinds[type ?? ""] ?? n.kinds["any"] ?? "";
}

/** What an event waits for or sends, as its author calls it. */
function nameOf(event: Dict): string {
  return ["message", "signal", "code", "condition", "link"].map((name) => textOf(event[name])).find((text) => text) ?? "";
}

function Event({ data, document, onPick }: { data: Dict; document: Dict; onPick: (node: string) => void }): ReactNode {
  const { t, f } = useWords();
  const n = t.inspect;
  const timer = isDict(data["timer"]) ? data["timer"] : {};
  const host = listOf(document["activities"]).find((activity) => activity["id"] === data["attached_to"]);
  const trigger = textOf(data["trigger"]) || "none";
  const time = textOf(timer["date"] ?? timer["cycle"]) || (timer["duration"] !== undefined ? (durationOf(timer["duration"]) === null ? textOf(timer["duration"]) : f.duration(durationOf(timer["duration"]) ?? 0)) : "");
  const referred = ["messages", "signals", "errors", "escalations"].flatMap((collection) => listOf(document[collection])).find((candidate) => candidate["id"] === data["name_ref"]);
  const several = listOf(data["triggers"]).map((one) => nameOf(one) || (n.triggers[textOf(one["trigger"])] ?? textOf(one["trigger"]))).join(", ");
  const named = nameOf(data) || textOf(referred?.["name"]) || textOf(data["name_ref"]) || several;
  if (trigger === "none" && !host) return null;
  return (
    <section>
      <dl>
        {trigger !== "none" && <Row name={n.trigger}>{n.triggers[trigger] ?? trigger}</Row>}
        {named && <Row name={n.named}><span className="mono">{named}</span></Row>}
        {time && <Row name={n.time}>{time}</Row>}
        {host && <Row name={n.hangsAt}><button type="button" className="linklike" onClick={() => onPick(textOf(host["id"]))}>{textOf(host["name"])}</button></Row>}
        {host && <Row name={n.then}>{data["interrupting"] === false ? n.goesOn : n.stops}</Row>}
      </dl>
    </section>
  );
}
