/** The preview of a move: which effects stay, and which are repeated, stopped or undone. */
import { Check, CircleDashed, RefreshCw, Undo2, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { useGet } from "../api/cache";
import { query } from "../api/client";
import type { Foreseen, Preview, Run, Tone, Verb } from "../api/types";
import { Badge, Skeleton } from "../components";
import { useWords } from "../words";
import { errorText } from "../words/errorText";

const PREVIEWED = new Set<Verb>(["fork", "restart", "retry", "cancel", "compensate"]);
const LOOK: Record<Foreseen["fate"], { tone: Tone; icon: LucideIcon }> = {
  done: { tone: "done", icon: Check }, again: { tone: "held", icon: RefreshCw }, open: { tone: "moving", icon: CircleDashed }, undone: { tone: "undone", icon: Undo2 },
};
/** The order of the list: what matters most first. */
const ORDER: Foreseen["fate"][] = ["undone", "again", "open", "done"];

export interface MovePreview {
  data: Preview | undefined;
  error: unknown;
  /** How many effects the move has; the number to be typed where a move asks for one. */
  count: number;
}

export function useMovePreview(run: Run, verb: Verb, fact: number): MovePreview {
  const path = PREVIEWED.has(verb) ? `/runs/${encodeURIComponent(run.id)}/preview${query({ verb, fact: verb === "fork" ? fact : null })}` : null;
  const { data, error } = useGet<Preview>(path);
  return { data, error, count: data?.effects.filter((effect) => effect.fate !== "done").length ?? 0 };
}

export function MovePreviewList({ run, verb, preview }: { run: Run; verb: Verb; preview: MovePreview }): ReactNode {
  const { t, typeWord } = useWords();
  const w = t.run.foresee;
  if (!PREVIEWED.has(verb)) return null;
  if (preview.error) return <p className="bad" role="status">{w.failed}: {errorText(preview.error, t)}</p>;
  if (!preview.data) return <div aria-busy="true"><span className="sr">{w.loading}</span><Skeleton h={30} n={3} /></div>;
  const effects = [...preview.data.effects].sort((a, b) => ORDER.indexOf(a.fate) - ORDER.indexOf(b.fate));
  return (
    <section className="foresight" aria-label={w.title[verb]}>
      <h3>{w.title[verb]}</h3>
      {verb === "fork" && <p className="dim">{w.upTo(preview.data.fact, preview.data.of)}</p>}
      <p>{effects.length === 0 ? w.nothing : sentence(verb, preview.count, w)}</p>
      {effects.length > 0 && (
        <ul tabIndex={0} aria-label={w.title[verb]}>
          {effects.map((effect) => (
            <li key={`${effect.fate} ${effect.node}`} data-fate={effect.fate}>
              <span className="grow">{effect.label}<span className="dim"> · {typeWord(run.language, effect.type)}{effect.count > 1 && ` · ${w.times(effect.count)}`}</span></span>
              <Badge tone={LOOK[effect.fate].tone} icon={LOOK[effect.fate].icon}>{w.fate[effect.fate]}</Badge>
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
