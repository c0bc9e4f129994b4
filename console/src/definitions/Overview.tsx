/** A process at a glance: whether somebody must decide about it, where it belongs, who takes part, and its activities. */
import { Bot, FileSearch, Hourglass, Network, Sparkles, UserRound } from "lucide-react";
import type { ReactNode } from "react";
import type { Dict, Json, Process, VersionWhole } from "../api/types";
import { Ago, Failed, Skeleton, Tag } from "../parts";
import { Link } from "../shell/router";
import { useWords } from "../words";
import { person } from "../words/why";
import { Differences, type Against } from "./Changes";
import { listOf, textOf } from "./element";
import { definitionPath } from "./sending";
import type { Working } from "./working";

interface Props {
  version: VersionWhole;
  against: Against;
  process: Process | undefined;
  error: unknown;
  working: Working;
  onPick: (node: string) => void;
}

export function Overview({ version, against, process, error, working, onPick }: Props): ReactNode {
  const { t, f } = useWords();
  const d = t.definitions;
  const { document } = version;
  const activities = listOf(document["activities"]);
  if (!process) return error ? <Failed error={error} /> : <div className="pad-small"><Skeleton h={28} n={6} /></div>;
  const roles = listOf(document["roles"]);
  return (
    <div className="def-overview">
      {version.status === "pending_approval" && <Pending version={version} against={against} process={process} onPick={onPick} />}
      {process.description && version.status !== "pending_approval" && <p className="pre">{process.description}</p>}
      {(!["base", "discovered"].includes(process.type) || process.parent_id || process.children.length > 0) && (
        <section>
          <h3><Network size={15} aria-hidden />{d.place}</h3>
          <p><Tag>{d.types[process.type] ?? process.type}</Tag> {process.parent_id && <>{d.under} <Link className="mono" to={definitionPath(process.parent_id)}>{process.parent_id}</Link></>}</p>
          {process.children.length > 0 && <ul className="def-children">{process.children.map((one) => <li key={one.id}><Link to={definitionPath(one.id)}><b>{one.name}</b></Link> <span className="dim">{d.types[one.type] ?? one.type}</span></li>)}</ul>}
        </section>
      )}
      {activities.length > 0 && (
        <section>
          <h3>{d.activities} <span className="dim">{f.number(activities.length)}</span></h3>
          <ul className="def-activities">
            {activities.map((one) => {
              const [id, mode, count] = [textOf(one["id"]), textOf(one["agent_mode"]) || "MANUAL", working.counts.get(textOf(one["id"])) ?? 0];
              const role = roles.find((each) => each["id"] === one["role"] || each["name"] === one["role"]);
              const Icon = mode === "MANUAL" ? UserRound : Bot;
              return (
                <li key={id}><button type="button" onClick={() => onPick(id)}>
                  <Icon size={15} aria-hidden /><span className="grow"><b>{textOf(one["name"]) || id}</b><span className="dim">{[t.work.modes[mode] ?? mode, role ? textOf(role["name"]) : textOf(one["role"])].filter(Boolean).join(" · ")}</span></span>
                  {count > 0 && <span className="def-here" title={t.inspect.now}>{t.inspect.nowN(f.number(count), working.more)}</span>}
                </button></li>
              );
            })}
          </ul>
        </section>
      )}
      {roles.length > 0 && (
        <section>
          <h3>{d.roles}</h3>
          <ul className="def-children">{roles.map((one) => <li key={textOf(one["id"])}><b>{textOf(one["name"])}</b> {textOf(one["assignment_rule"]) && <span className="dim">{t.inspect.rules[textOf(one["assignment_rule"])] ?? t.inspect.ruleTo(person(textOf(one["assignment_rule"]), t))}</span>}</li>)}</ul>
        </section>
      )}
      {activities.length === 0 && process.children.length === 0 && <p className="dim">{d.emptyProcess}</p>}
    </div>
  );
}

const numberOf = (value: Json | undefined): number | null => (typeof value === "number" ? value : null);

/** Who asks for it and where it comes from, and what it would change. */
function Pending({ version, against, process, onPick }: { version: VersionWhole; against: Against; process: Process; onPick: (node: string) => void }): ReactNode {
  const { t, f } = useWords();
  const d = t.definitions;
  const origin = process.origin as Dict;
  const active = against.version;
  const found = against.told?.filter((one) => one.collection !== "definition");
  const mined = origin["source"] === "process_mining";
  const read = origin["source"] === "extracted";
  const share = (value: Json | undefined) => (numberOf(value) === null ? null : `${f.number(Math.round((numberOf(value) ?? 0) * 1000) / 10)}%`);
  const rows: [string, string | null][] = mined
    ? [[d.log, textOf(origin["event_log_id"])], [d.algorithm, textOf(origin["algorithm"])], [d.fitness, share(origin["fitness"])], [d.precision, share(origin["precision"])], [d.cases, numberOf(origin["case_count"]) === null ? null : f.number(numberOf(origin["case_count"]) ?? 0)]]
    : read ? [[d.sure, share(origin["confidence"])], [d.readBy, origin["by"] === "rules" ? d.byRules : textOf(origin["by"])]] : [];
  const Icon = mined ? FileSearch : read ? Sparkles : Hourglass;
  return (
    <section className="def-pending" aria-label={d.pendingTitle}>
      <h3><Icon size={16} aria-hidden />{mined ? d.pendingMined : read ? d.pendingRead : d.pendingTitle}</h3>
      <p>{d.askedBy(version.created_by ? person(version.created_by, t) : d.nobody)} <span className="dim"><Ago time={version.created_at} /></span></p>
      {rows.some(([, value]) => value) && <dl>{rows.flatMap(([name, value]) => (value ? [<div key={name} className="kv"><dt>{name}</dt><dd>{value}</dd></div>] : []))}</dl>}
      {textOf(origin["note"]) && <p className="dim">{textOf(origin["note"])}</p>}
      <h3>{active ? (active.status === "active" ? d.againstActive(active.version) : d.against(active.version)) : against.other ? d.againstBase(against.other.name) : d.againstNothing}</h3>
      {(active || against.other) && (found ? <Differences all={found} onPick={onPick} /> : <Skeleton h={24} n={3} />)}
      {read && <Evidence origin={origin} document={version.document} onPick={onPick} />}
    </section>
  );
}

/** Which words of the text an element was read from. */
export function Evidence({ origin, document, onPick }: { origin: Dict; document: Dict; onPick?: (node: string) => void }): ReactNode {
  const { t } = useWords();
  const evidence = origin["evidence"];
  const said = evidence !== null && typeof evidence === "object" && !Array.isArray(evidence) ? Object.entries(evidence) : [];
  const all = [...listOf(document["activities"]), ...listOf(document["gateways"]), ...listOf(document["events"])];
  const named = said.flatMap(([id, words]) => { const one = all.find((each) => each["id"] === id); return one ? [{ id, name: textOf(one["name"]) || id, words: textOf(words) }] : []; });
  if (named.length === 0) return null;
  return (
    <>
      <h3>{t.definitions.evidence}</h3>
      <ul className="def-evidence">{named.map((one) => <li key={one.id}>{onPick ? <button type="button" className="linklike" onClick={() => onPick(one.id)}>{one.name}</button> : <b>{one.name}</b>}<q>{one.words}</q></li>)}</ul>
    </>
  );
}
