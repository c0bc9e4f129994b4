/** What a move would do, before it is made: which effects stay done and which are done again, stopped or undone. */
import { Check, CircleDashed, RefreshCw, Undo2, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { useGet } from "../api/cache";
import { query } from "../api/client";
import type { Foreseen, Preview, Run, Tone, Verb } from "../api/types";
import { Badge, Skeleton } from "../components";
import { useWords } from "../words";
import { errorText } from "../words/errorText";

const TELLS = new Set<Verb>(["fork", "restart", "retry", "cancel", "compensate"]);
const LOOK: Record<Foreseen["fate"], { tone: Tone; icon: LucideIcon }> = {
  done: { tone: "done", icon: Check }, again: { tone: "held", icon: RefreshCw }, open: { tone: "moving", icon: CircleDashed }, undone: { tone: "undone", icon: Undo2 },
};
/** What somebody must know first stands first. */
const ORDER: Foreseen["fate"][] = ["undone", "again", "open", "done"];

export interface Foresight {
  data: Preview | undefined;
  error: unknown;
  /** How many things the move does: what is typed where a count must be typed. */
  count: number;
}

export function useForesight(run: Run, verb: Verb, fact: number): Foresight {
  const path = TELLS.has(verb) ? `/runs/${encodeURIComponent(run.id)}/preview${query({ verb, fact: verb === "fork" ? fact : null })}` : null;
  const { data, error } = useGet<Preview>(path);
  return { data, error, count: data?.effects.filter((one) => one.fate !== "done").length ?? 0 };
}

export function ForesightView({ run, verb, of }: { run: Run; verb: Verb; of: Foresight }): ReactNode {
  const { t, typeWord } = useWords();
  const w = t.run.foresee;
  if (!TELLS.has(verb)) return null;
  if (of.error) return <p className="bad" role="status">{w.failed}: {errorText(of.error, t)}</p>;
  if (!of.data) return <div aria-busy="true"><span className="sr">{w.loading}</span><Skeleton h={30} n={3} /></div>;
  const effects = [...of.data.effects].sort((a, b) => ORDER.indexOf(a.fate) - ORDER.indexOf(b.fate));
  return (
    <section className="foresight" aria-label={w.title[verb]}>
      <h3>{w.title[verb]}</h3>
      {verb === "fork" && <p className="dim">{w.upTo(of.data.fact, of.data.of)}</p>}
      <p>{effects.length === 0 ? w.nothing : sentence(verb, of.count, w)}</p>
      {effects.length > 0 && (
        <ul tabIndex={0} aria-label={w.title[verb]}>
          {effects.map((one) => (
            <li key={`${one.fate} ${one.node}`} data-fate={one.fate}>
              <span className="grow">{one.label}<span className="dim"> · {typeWord(run.language, one.type)}{one.count > 1 && ` · ${w.times(one.count)}`}</span></span>
              <Badge tone={LOOK[one.fate].tone} icon={LOOK[one.fate].icon}>{w.fate[one.fate]}</Badge>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function sentence(verb: Verb, count: number, w: ReturnType<typeof useWords>["t"]["run"]["foresee"]): string {
  if (verb === "compensate") return count ? w.undone(count) : w.noneUndone;
  if (verb === "cancel") return count ? w.open(count) : w.noneOpen;
  return count ? w.again(count) : w.noneAgain;
}
