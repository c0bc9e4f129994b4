/** What differs between two versions, or from what is in force: said per element first, then line by line. */
import { Minus, Pencil, Plus, type LucideIcon } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Change, Dict, Diff, Json, Process, Version, VersionWhole } from "../api/types";
import { Badge, Failed, Skeleton } from "../parts";
import { useParam } from "../shell/router";
import { useWords } from "../words";
import { Compared } from "./Compared";
import { isDict, listOf, textOf } from "./element";
import { definitionPath } from "./sending";

type Kind = "added" | "removed" | "changed";

/** One element that differs: which, how, and its fields before and after. */
export interface Differing {
  kind: Kind;
  collection: string;
  id: string;
  name: string;
  fields: { name: string; before: Json; after: Json }[];
}

const COLLECTIONS = ["activities", "gateways", "events", "transitions", "roles", "data", "lanes", "messages", "signals", "errors", "escalations"];
/** What the server gives, or where things are drawn: it is not what the process does. */
const QUIET = ["version", "diagram", "extensions", "tenant_id"];
const LOOK: Record<Kind, { tone: "done" | "failed" | "held"; icon: LucideIcon }> = { added: { tone: "done", icon: Plus }, removed: { tone: "failed", icon: Minus }, changed: { tone: "held", icon: Pencil } };

const same = (a: Json | undefined, b: Json | undefined): boolean => JSON.stringify(sorted(a ?? null)) === JSON.stringify(sorted(b ?? null));
const sorted = (value: Json): Json => (Array.isArray(value) ? value.map(sorted) : isDict(value) ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key] ?? null)])) : value);

/** Of two ProcessDefinitions, by the ids of their elements. */
export function differing(before: Dict, after: Dict): Differing[] {
  const out: Differing[] = [];
  for (const collection of COLLECTIONS) {
    const idOf = (one: Dict) => textOf(one["id"]) || textOf(one["name"]);
    const [old, now] = [before, after].map((one) => new Map(listOf(one[collection]).map((each) => [idOf(each), each]))) as [Map<string, Dict>, Map<string, Dict>];
    for (const [id, one] of now) {
      const was = old.get(id);
      const fields = was ? [...new Set([...Object.keys(was), ...Object.keys(one)])].filter((name) => !same(was[name], one[name])).map((name) => ({ name, before: was[name] ?? null, after: one[name] ?? null })) : [];
      if (!was || fields.length > 0) out.push({ kind: was ? "changed" : "added", collection, id, name: called(one, id), fields });
    }
    for (const [id, one] of old) if (!now.has(id)) out.push({ kind: "removed", collection, id, name: called(one, id), fields: [] });
  }
  const top = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !COLLECTIONS.includes(name) && !QUIET.includes(name) && !same(before[name], after[name]));
  if (top.length > 0) out.push({ kind: "changed", collection: "definition", id: "", name: "", fields: top.map((name) => ({ name, before: before[name] ?? null, after: after[name] ?? null })) });
  return out;
}

const called = (one: Dict, id: string): string => textOf(one["name"]) || (one["source"] ? `${textOf(one["source"])} → ${textOf(one["target"])}` : id);
const brief = (value: Json): string => { const text = typeof value === "string" ? value : JSON.stringify(value); return text.length > 90 ? `${text.slice(0, 90)}…` : text; };

export function Differences({ all, onPick }: { all: Differing[]; onPick?: (node: string) => void }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  if (all.length === 0) return <p className="dim">{d.same}</p>;
  return (
    <ul className="def-differences">
      {all.map((one) => {
        const { tone, icon } = LOOK[one.kind];
        const kind = d.collection[one.collection] ?? one.collection;
        const seen = onPick && one.kind !== "removed" && ["activities", "gateways", "events"].includes(one.collection);
        return (
          <li key={`${one.collection} ${one.id}`} data-change={one.kind}>
            <p><Badge tone={tone} icon={icon}>{d.change[one.kind]}</Badge> {one.name ? <><span className="dim">{kind}</span> {seen ? <button type="button" className="linklike" onClick={() => onPick(one.id)}>{one.name}</button> : <b>{one.name}</b>}</> : <b>{kind}</b>}</p>
            {one.fields.map((field) => <p key={field.name} className="def-field"><span className="dim">{d.fieldNames[field.name] ?? field.name}</span> {field.before !== null && field.before !== "" && <del>{brief(field.before)}</del>} {field.after !== null && field.after !== "" && <ins>{brief(field.after)}</ins>}</p>)}
          </li>
        );
      })}
    </ul>
  );
}

export interface Against {
  /** The version it is compared with; null: it is another definition's, or there is none. */
  version: Version | null;
  /** What is compared with, once it is there. */
  document: Dict | undefined;
  /** Of another definition, which a mined model is meant to improve: its id and its name. */
  other: { id: string; name: string } | null;
  error: unknown;
  told: Differing[] | null;
}

/** What a version is compared with: the chosen one, else what is in force when it waits for approval, else the one before. */
export function useAgainst(version: VersionWhole, all: Version[], language: string, process: Process | undefined): Against {
  const [wanted] = useParam("against");
  const others = all.filter((one) => one.version !== version.version);
  const waits = version.status === "pending_approval";
  const usual = (waits ? others.find((one) => one.status === "active") : undefined) ?? others.find((one) => one.version < version.version) ?? others[0];
  const base = others.find((one) => String(one.version) === wanted) ?? usual ?? null;
  const origin = isDict((process?.origin ?? null) as Json) ? (process?.origin as Dict) : {};
  const id = base === null ? textOf(origin["base_proc_def_id"]) : "";
  const own = useGet<VersionWhole>(base ? definitionPath(version.name, base.version) : null);
  const far = useGet<Process>(id ? `/processes/definitions/${encodeURIComponent(id)}` : null);
  const document = base ? own.data?.document : id ? (far.data?.definition as Dict | undefined) : undefined;
  const told = useMemo(() => (language === "process" && document ? differing(document, version.document) : null), [language, document, version.document]);
  return { version: base, document, other: id ? { id, name: far.data?.name ?? id } : null, error: own.error ?? far.error, told };
}

/** By element of the drawing, how it differs. */
export const marksOf = (told: Differing[] | null): Map<string, "added" | "changed"> => new Map((told ?? []).flatMap((one) => (one.kind !== "removed" && ["activities", "gateways", "events"].includes(one.collection) ? [[one.id, one.kind]] : [])));

export function Changes({ version, all, against, language, text, onPick }: { version: VersionWhole; all: Version[]; against: Against; language: string; text: string; onPick: (node: string) => void }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const [, setWanted] = useParam("against");
  const others = all.filter((one) => one.version !== version.version);
  const process = language === "process";
  const base = against.version;
  const diff = useGet<Diff>(base && !process ? `${definitionPath(version.name)}/diff?from=${base.version}&to=${version.version}` : null);
  if (!base && !against.other) return <p className="dim pad-small">{d.firstVersion}</p>;
  const error = against.error ?? diff.error;
  return (
    <>
      {base ? (
        <label className="def-against"><span>{d.againstLabel}</span>
          <select className="input" value={base.version} onChange={(event) => setWanted(event.target.value)}>{others.map((one) => <option key={one.version} value={one.version}>v{one.version} · {d.status[one.status] ?? one.status}</option>)}</select>
        </label>
      ) : <p className="pad-small"><b>{d.againstBase(against.other?.name ?? "")}</b></p>}
      {!against.document || (!process && !diff.data) ? (error ? <Failed error={error} /> : <div className="pad-small"><Skeleton h={24} n={6} /></div>) : (
        <>
          {against.told && <div className="pad-small"><Differences all={against.told} onPick={onPick} /></div>}
          {diff.data && <Plain changes={diff.data.changes} />}
          <Compared before={JSON.stringify(against.document, null, 2)} after={text} />
        </>
      )}
    </>
  );
}

function Plain({ changes }: { changes: Change[] }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  return (
    <ul className="def-changes">
      {changes.map((one, i) => <li key={i}><span className={one.change === "added" ? "ink-done" : one.change === "removed" ? "ink-failed" : "ink-held"}>{d.change[one.change] ?? one.change}</span> <b>{one.what}</b> {one.what !== one.pointer && <code className="dim">{one.pointer}</code>}{one.change === "changed" && <span className="dim"> {brief(one.before)} → {brief(one.after)}</span>}</li>)}
    </ul>
  );
}
