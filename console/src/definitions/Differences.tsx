/** The elements that differ between two documents, with their fields before and after. */
import { Minus, Pencil, Plus, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import type { Json } from "../api/types";
import { Badge } from "../components";
import type { Difference } from "../languages/contract";
import { useWords } from "../words";

const LOOK: Record<Difference["kind"], { tone: "done" | "failed" | "held"; icon: LucideIcon }> = { added: { tone: "done", icon: Plus }, removed: { tone: "failed", icon: Minus }, changed: { tone: "held", icon: Pencil } };
const LONGEST = 90;

/** A value in one line. */
export function brief(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

export function Differences({ all, onPick }: { all: Difference[]; onPick?: (node: string) => void }): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  if (all.length === 0) return <p className="dim">{d.same}</p>;
  return (
    <ul className="def-differences">
      {all.map(({ kind, collection, id, name, drawn, fields }) => {
        const { tone, icon } = LOOK[kind];
        const type = d.collection[collection] ?? collection;
        return (
          <li key={`${collection} ${id}`} data-change={kind}>
            <p><Badge tone={tone} icon={icon}>{d.change[kind]}</Badge> {name ? <><span className="dim">{type}</span> {onPick && drawn ? <button type="button" className="linklike" onClick={() => onPick(id)}>{name}</button> : <b>{name}</b>}</> : <b>{type}</b>}</p>
            {fields.map((field) => <p key={field.name} className="def-field"><span className="dim">{d.fieldNames[field.name] ?? field.name}</span> {field.before !== null && field.before !== "" && <del>{brief(field.before)}</del>} {field.after !== null && field.after !== "" && <ins>{brief(field.after)}</ins>}</p>)}
          </li>
        );
      })}
    </ul>
  );
}
