/** A process at a glance: whether it waits for approval, where it belongs, its activities and who takes part. */
import { Bot, FileSearch, Hourglass, Network, Sparkles, UserRound } from "lucide-react";
import type { ReactNode } from "react";
import { listOf, textOf } from "../api/json";
import type { Dict, Json, Process, VersionWhole } from "../api/types";
import { Ago, Failed, Skeleton, Tag } from "../components";
import { Differences } from "../definitions/Differences";
import { definitionPath } from "../definitions/requests";
import type { Comparison, Waiting } from "../languages/contract";
import { Link } from "../shell/router";
import { useWords } from "../words";
import { person } from "../words/why";
import { DEFINITION } from "./compare";
import { SourceWords } from "./SourceWords";

interface Props {
  version: VersionWhole;
  comparison: Comparison;
  process: Process | undefined;
  error: unknown;
  waiting: Waiting;
  onPick: (node: string) => void;
}

export function Overview({ version, comparison, process, error, waiting, onPick }: Props): ReactNode {
  const { t, f } = useWords();
  const d = t.definitions;
  const { document } = version;
  const activities = listOf(document["activities"]);
  if (!process) return error ? <Failed error={error} /> : <div className="pad-small"><Skeleton h={28} n={6} /></div>;
  const roles = listOf(document["roles"]);
  return (
    <div className="def-overview">
      {version.status === "pending_approval" && <Pending version={version} comparison={comparison} process={process} onPick={onPick} />}
      {process.description && version.status !== "pending_approval" && <p className="pre">{process.description}</p>}
      {(!["base", "discovered"].includes(process.type) || process.parent_id || process.children.length > 0) && (
        <section>
          <h3><Network size={15} aria-hidden />{d.place}</h3>
          <p><Tag>{d.types[process.type] ?? process.type}</Tag> {process.parent_id && <>{d.under} <Link className="mono" to={definitionPath(process.parent_id)}>{process.parent_id}</Link></>}</p>
          {process.children.length > 0 && <ul className="def-children">{process.children.map((child) => <li key={child.id}><Link to={definitionPath(child.id)}><b>{child.name}</b></Link> <span className="dim">{d.types[child.type] ?? child.type}</span></li>)}</ul>}
        </section>
      )}
      {activities.length > 0 && (
        <section>
          <h3>{d.activities} <span className="dim">{f.number(activities.length)}</span></h3>
          <ul className="def-activities">
            {activities.map((activity) => {
              const [id, mode, count] = [textOf(activity["id"]), textOf(activity["agent_mode"]) || "MANUAL", waiting.counts.get(textOf(activity["id"])) ?? 0];
              const role = roles.find((candidate) => candidate["id"] === activity["role"] || candidate["name"] === activity["role"]);
              const Icon = mode === "MANUAL" ? UserRound : Bot;
              return (
                <li key={id}><button type="button" onClick={() => onPick(id)}>
                  <Icon size={15} aria-hidden /><span className="grow"><b>{textOf(activity["name"]) || id}</b><span className="dim">{[t.work.modes[mode] ?? mode, role ? textOf(role["name"]) : textOf(activity["role"])].filter(Boolean).join(" · ")}</span></span>
                  {count > 0 && <span className="def-here" title={t.inspect.now}>{t.inspect.nowN(f.number(count), waiting.more)}</span>}
                </button></li>
              );
            })}
          </ul>
        </section>
      )}
      {roles.length > 0 && (
        <section>
          <h3>{d.roles}</h3>
          <ul className="def-children">{roles.map((role) => <li key={textOf(role["id"])}><b>{textOf(role["name"])}</b> {textOf(role["assignment_rule"]) && <span className="dim">{t.inspect.rules[textOf(role["assignment_rule"])] ?? t.inspect.ruleTo(person(textOf(role["assignment_rule"]), t))}</span>}</li>)}</ul>
        </section>
      )}
      {activities.length === 0 && process.children.length === 0 && <p className="dim">{d.emptyProcess}</p>}
    </div>
  );
}

const numberOf = (value: Json | undefined): number | null => (typeof value === "number" ? value : null);

/** Who asks for it and where it comes from, and what it would change. */
function Pending({ version, comparison, process, onPick }: { version: VersionWhole; comparison: Comparison; process: Process; onPick: (node: string) => void }): ReactNode {
  const { t, f } = useWords();
  const d = t.definitions;
  const origin = process.origin as Dict;
  const other = comparison.version;
  const differences = comparison.differences?.filter(({ collection }) => collection !== DEFINITION);
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
      <h3>{other ? (other.status === "active" ? d.againstActive(other.version) : d.against(other.version)) : comparison.other ? d.againstBase(comparison.other.name) : d.againstNothing}</h3>
      {(other || comparison.other) && (differences ? <Differences all={differences} onPick={onPick} /> : <Skeleton h={24} n={3} />)}
      {read && <SourceWords evidence={origin["evidence"]} document={version.document} onPick={onPick} />}
    </section>
  );
}
