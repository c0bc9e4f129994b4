/** One element beside the picture: who does it and how, what is asked, what undoes it, its ways; and what waits there now. */
import { ArrowLeft, ArrowRight, Bot, Undo2, UserRound, X } from "lucide-react";
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import type { Dict, Graph, Json, Schema, WorkLine } from "../api/types";
import { nodeIcon } from "../net/icons";
import { Ago, Badge, Button, Tag } from "../parts";
import { Dialog } from "../parts/Dialog";
import { useNarrow } from "../parts/narrow";
import { ITEM_TONE } from "../run/tones";
import { useKeys } from "../shell/keys";
import { Link } from "../shell/router";
import { useWords } from "../words";
import { person } from "../words/why";
import { elementOf, isDict, listOf, spanOf, textOf, type Element, type Way } from "./element";
import { definitionPath } from "./sending";
import type { Working } from "./working";

interface Props {
  /** Null while it is written and cannot be read. */
  document: Dict | null;
  graph: Graph;
  node: string;
  /** Of a definition that is there: what runs of it. */
  running: { name: string; working: Working } | null;
  onPick: (node: string | null) => void;
}

export function Inspector(props: Props): ReactNode {
  const { t } = useWords();
  const phone = useNarrow();
  const { graph, node, onPick } = props;
  const drawn = graph.nodes.find((one) => one.id === node);
  const ref = useRef<HTMLElement>(null);
  const close = () => {
    const back = document.querySelector<HTMLElement>(`[data-node="${CSS.escape(node)}"], .net-step[aria-pressed=true]`);
    onPick(null);
    back?.focus();
  };
  useKeys({ i: () => ref.current?.focus(), ...(drawn ? { Escape: close } : {}) });
  if (!drawn) return null;
  const body = <Body {...props} title={drawn.label} type={drawn.type} icon={drawn.icon} shape={drawn.shape} onClose={close} />;
  if (phone) return <Dialog label={t.inspect.title(drawn.label)} look="sheet" onClose={() => onPick(null)}>{body}</Dialog>;
  return <aside ref={ref} className="inspector" tabIndex={-1} aria-label={t.inspect.title(drawn.label)}>{body}</aside>;
}

function Body({ document, graph, node, running, onPick, title, type, icon, shape, onClose }: Props & { title: string; type: string; icon: string | null; shape: Graph["nodes"][number]["shape"]; onClose: () => void }): ReactNode {
  const { t, typeWord } = useWords();
  const n = t.inspect;
  const found = useMemo(() => elementOf(document, graph, node), [document, graph, node]);
  const top = useRef<HTMLElement>(null);
  useEffect(() => { if (top.current?.parentElement) top.current.parentElement.scrollTop = 0; }, [node]);
  const Icon = nodeIcon(icon, type, shape);
  const count = running?.working.counts.get(node) ?? 0;
  return (
    <>
      <header ref={top}>
        <div className="grow">
          <p className="dim panel-kind"><Icon size={14} aria-hidden />{typeWord(graph.language, type)} · <span className="mono">{node}</span></p>
          <h2>{title}</h2>
        </div>
        <Button look="icon" data-first aria-label={t.nav.close} title={`${t.nav.close} (Esc)`} onClick={onClose}><X size={17} aria-hidden /></Button>
      </header>
      {running && <Now name={running.name} node={node} count={count} working={running.working} />}
      {found.kind === "activity" && <Activity found={found} document={document ?? {}} onPick={onPick} />}
      {found.kind === "event" && <Event data={found.data} document={document ?? {}} onPick={onPick} />}
      {found.kind === "other" && <Other data={found.data} />}
      {textOf(found.data["documentation"]) && <section><h3>{n.documentation}</h3><p className="pre">{textOf(found.data["documentation"])}</p></section>}
      <Ways title={n.into} none={n.intoNone} icon={ArrowLeft} ways={found.into} onPick={onPick} />
      <Ways title={n.out} none={n.outNone} icon={ArrowRight} ways={found.out} onPick={onPick} />
      {found.hanging.length > 0 && <section><h3>{n.hanging}</h3><ul className="inspect-list">{found.hanging.map((one) => <li key={one.id}><button type="button" className="linklike" onClick={() => onPick(one.id)}>{one.name}</button></li>)}</ul></section>}
    </>
  );
}

/** What waits here now: how many, and the first of them. */
function Now({ name, node, count, working }: { name: string; node: string; count: number; working: Working }): ReactNode {
  const { t, f, nodeWord } = useWords();
  const n = t.inspect;
  const items = working.items.get(node) ?? [];
  return (
    <section className="inspect-now" aria-live="polite">
      <div className="panel-line"><h3>{n.now}</h3>{count > 0 ? <Link to={`/runs?name=${encodeURIComponent(name)}&node=${encodeURIComponent(node)}`}>{n.nowN(f.number(count), working.more)}</Link> : <span className="dim">{n.nowNone}</span>}</div>
      {items.length > 0 && (
        <ul className="inspect-items">
          {items.slice(0, 5).map((one) => <li key={one.id}><Link to={`/inbox/${encodeURIComponent(one.proc_inst_id)}/${encodeURIComponent(one.activity_id)}`}><span className="grow"><span className={one.assignee && person(one.assignee, t) === one.assignee ? "mono" : undefined}>{whose(one, t.work.byAgent, n.nobody, (who) => person(who, t))}</span> <span className="dim"><Ago time={one.created_at} /></span></span><Badge tone={ITEM_TONE[one.status] ?? "idle"}>{nodeWord("process", one.status, one.status)}</Badge></Link></li>)}
        </ul>
      )}
    </section>
  );
}

const whose = (one: WorkLine, agent: string, nobody: string, called: (who: string) => string): string => (one.assignee === "agent" ? agent : one.assignee ? called(one.assignee) : one.role ? called(one.role) : nobody);

function Row({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return <div className="kv"><dt>{name}</dt><dd>{children}</dd></div>;
}

const names = (value: Json | undefined): string[] => (Array.isArray(value) ? value.map(textOf).filter(Boolean) : []);

function Activity({ found, document, onPick }: { found: Element; document: Dict; onPick: (node: string) => void }): ReactNode {
  const { t, f } = useWords();
  const n = t.inspect;
  const { data, role } = found;
  const more = isDict(data["orchestration"]) ? data["orchestration"] : {};
  const mode = textOf(data["agent_mode"]) || "MANUAL";
  const [due, limit] = [spanOf(data["due"]), spanOf(more["timeout_s"])];
  const called = textOf(more["sub_process"]);
  const people = (all: string[]) => all.map((one) => person(one, t)).join(", ");
  const span = (value: Json | undefined, ms: number | null) => (ms === null ? textOf(value) : f.duration(ms));
  return (
    <>
      {textOf(data["instruction"]) && <section><h3>{t.work.instruction}</h3><p className="pre">{textOf(data["instruction"])}</p></section>}
      <section>
        <dl>
          <Row name={n.mode}><span className="inspect-mode">{mode === "MANUAL" ? <UserRound size={15} aria-hidden /> : <Bot size={15} aria-hidden />}{t.work.modes[mode] ?? mode}</span></Row>
          {role && <Row name={n.role}>{person(role.name, t)}{role.rule && <span className="dim"> · {n.rules[role.rule] ?? n.ruleTo(person(role.rule, t))}</span>}</Row>}
          {textOf(data["agent"]) && <Row name={t.work.agent}><span className="mono">{textOf(data["agent"])}</span></Row>}
          {names(more["tools"]).length > 0 && <Row name={n.tools}><span className="inspect-tags">{names(more["tools"]).map((one) => <Tag key={one}>{one}</Tag>)}</span></Row>}
          {names(more["approvers"]).length > 0 && <Row name={n.approvers}>{people(names(more["approvers"]))}</Row>}
          {(limit !== null || more["tokens"]) && <Row name={n.budget}>{[limit !== null && f.duration(limit), more["tokens"] && n.tokens(f.number(Number(more["tokens"])))].filter(Boolean).join(" · ")}</Row>}
          <Row name={n.due}>{data["due"] === undefined || data["due"] === null ? <span className="dim">{n.dueNone}</span> : span(data["due"], due)}{names(data["escalate_to"]).length > 0 && <span className="dim"> · {n.escalates(people(names(data["escalate_to"])))}</span>}</Row>
          {textOf(data["priority"]) && textOf(data["priority"]) !== "normal" && <Row name={n.priority}>{n.priorities[textOf(data["priority"])] ?? textOf(data["priority"])}</Row>}
          {called && <Row name={n.calls}><Link className="mono" to={definitionPath(called)}>{called}</Link></Row>}
          {isDict(data["multi"]) && <Row name={n.multi}>{multi(data["multi"], n)}</Row>}
          {["message", "signal", "rule_pack", "decision"].filter((key) => textOf(data[key])).map((key) => <Row key={key} name={n.fields[key] ?? key}><span className="mono">{textOf(data[key])}</span></Row>)}
          {listOf(data["input_data"]).length > 0 && <Row name={n.reads}>{listOf(data["input_data"]).map((one) => textOf(one["name"])).join(", ")}</Row>}
          {listOf(data["output_data"]).length > 0 && <Row name={n.writes}>{listOf(data["output_data"]).map((one) => textOf(one["name"])).join(", ")}</Row>}
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
  const activity = listOf(document["activities"]).find((one) => one["id"] === tool);
  const limit = isDict(value) ? spanOf(value["timeout"]) : null;
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

function Event({ data, document, onPick }: { data: Dict; document: Dict; onPick: (node: string) => void }): ReactNode {
  const { t, f } = useWords();
  const n = t.inspect;
  const timer = isDict(data["timer"]) ? data["timer"] : {};
  const host = listOf(document["activities"]).find((one) => one["id"] === data["attached_to"]);
  const trigger = textOf(data["trigger"]) || "none";
  const time = textOf(timer["date"] ?? timer["cycle"]) || (timer["duration"] !== undefined ? (spanOf(timer["duration"]) === null ? textOf(timer["duration"]) : f.duration(spanOf(timer["duration"]) ?? 0)) : "");
  const news = ["messages", "signals", "errors", "escalations"].flatMap((one) => listOf(document[one])).find((one) => one["id"] === data["name_ref"]);
  const named = textOf(data["message"]) || textOf(data["signal"]) || textOf(data["code"]) || textOf(news?.["name"]) || textOf(data["name_ref"]);
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

const HIDDEN = ["id", "type", "name", "label", "nodes", "edges", "documentation"];

/** A node of another language: what its author has written there. */
function Other({ data }: { data: Dict }): ReactNode {
  const rows = Object.entries(data).filter(([name]) => !HIDDEN.includes(name));
  if (rows.length === 0) return null;
  return (
    <section>
      <dl>{rows.map(([name, value]) => <Row key={name} name={name}>{value !== null && typeof value === "object" ? <pre className="code" tabIndex={0}>{JSON.stringify(value, null, 2)}</pre> : <span className="mono">{textOf(value)}</span>}</Row>)}</dl>
    </section>
  );
}

function Ways({ title, none, icon: Icon, ways, onPick }: { title: string; none: string; icon: typeof ArrowLeft; ways: Way[]; onPick: (node: string) => void }): ReactNode {
  const { t } = useWords();
  return (
    <section>
      <h3>{title}</h3>
      {ways.length === 0 && <p className="dim">{none}</p>}
      <ul className="inspect-list inspect-ways">
        {ways.map((way) => (
          <li key={way.id}>
            <Icon size={14} aria-hidden />
            <span className="grow"><button type="button" className={`linklike ${way.label === way.other ? "mono" : ""}`} onClick={() => onPick(way.other)}>{way.other === ".start" ? t.definitions.begin : way.label}</button>{way.name && <span className="dim"> {way.name}</span>}{way.condition && <code>{way.condition}</code>}{way.otherwise && <Tag>{t.inspect.otherwise}</Tag>}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
