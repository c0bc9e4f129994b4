/** All elements in groups, each with how sure it is; the one that is selected shows its sentences. The only view on a phone. */
import { GitCommitHorizontal, Sheet, UserRound, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { nodeIcon } from "../../net/icons";
import type { DrawingFile } from "../draft/drawingFile";
import { shapeOf } from "../draft/StepList";
import { Quotes } from "./Evidence";
import type { Links } from "./links";
import { elementName, kindOf } from "./names";
import { inReadingOrder } from "./order";
import { useManualWords } from "./speech";
import { Sure } from "./Sure";
import { keyOf, type ManualRead, type ReadElement, type Sentence } from "./types";

interface Props {
  read: ManualRead;
  file: DrawingFile;
  links: Links;
  lit: Set<string>;
  selected: ReadElement | null;
  onElement: (element: ReadElement | null) => void;
  onSentence: (sentence: Sentence) => void;
}

const STEPS = "steps";
const ICONS: Record<string, LucideIcon> = { transitions: GitCommitHorizontal, roles: UserRound, decisions: Sheet };
const DRAWN = ["activities", "gateways", "events"];

export function ElementList({ read, file, links, lit, selected, onElement, onSentence }: Props): ReactNode {
  const { m } = useManualWords();
  const groups = new Map<string, ReadElement[]>();
  for (const element of inReadingOrder(read, file)) {
    const group = DRAWN.includes(element.collection) ? STEPS : element.collection;
    groups.set(group, [...(groups.get(group) ?? []), element]);
  }
  return (
    <div className="net-list net-plain manual-list">
      {[...groups].map(([group, elements]) => (
        <section key={group} aria-label={m.collections[group] ?? group}>
          <h3>{m.collections[group] ?? group} <span className="dim">{elements.length}</span></h3>
          <ol>
            {elements.map((element) => {
              const type = file.elements.get(element.id)?.type ?? element.collection;
              const Icon = ICONS[element.collection] ?? nodeIcon("process", { type, shape: shapeOf({ type }) });
              const own = selected !== null && keyOf(selected) === keyOf(element);
              return (
                <li key={keyOf(element)}>
                  <button type="button" className={`net-step ${lit.has(keyOf(element)) ? "manual-step-lit" : ""}`} data-element={keyOf(element)} aria-pressed={own} onClick={() => onElement(own ? null : element)}>
                    <Icon size={16} strokeWidth={1.9} aria-hidden /><span className="grow"><b>{elementName(element, file, links, m)}</b><span className="dim">{kindOf(element, file, m)}</span></span><Sure element={element} />
                  </button>
                  {own && <Quotes element={element} links={links} onSentence={onSentence} />}
                </li>
              );
            })}
          </ol>
        </section>
      ))}
    </div>
  );
}
