/** What the model claimed and the manual does not say, each with its reason. */
import { ShieldX } from "lucide-react";
import type { ReactNode } from "react";
import { Tag } from "../../components";
import { useManualWords } from "./speech";
import type { Dropped } from "./types";

export function DroppedList({ dropped }: { dropped: Dropped[] }): ReactNode {
  const { m } = useManualWords();
  return (
    <div className="manual-dropped">
      <p className="dim">{m.droppedAbout}</p>
      <ul>
        {dropped.map(({ kind, name, quote, why }, i) => (
          <li key={i} className="card">
            <ShieldX size={16} aria-hidden />
            <div>
              <p><b>{name || quote}</b> <Tag>{m.claims[kind] ?? m.collection[kind] ?? kind}</Tag></p>
              <p>{why}</p>
              {quote && name && <p className="dim small">{m.claimed}: <q>{quote}</q></p>}
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}
