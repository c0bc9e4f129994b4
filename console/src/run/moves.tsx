/** Making a move of a run: confirmed by its class, then sent once. */
import { useState, type ReactNode } from "react";
import { stale } from "../api/cache";
import { newKey } from "../api/client";
import type { Move, Run, Verb } from "../api/types";
import { anchorOf, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import { go } from "../shell/router";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { MoveDialog } from "./MoveDialog";
import { sendMove } from "./sendMove";

const DECISIONS = new Set<Verb>(["approve", "reject", "judge", "respond"]);

export function useMoves(run: Run): { ask: (move: Move, from: Element | null, fact?: number) => void; dialog: ReactNode } {
  const { t } = useWords();
  const [pending, setPending] = useState<{ move: Move; anchor: Anchor | null; fact: number } | null>(null);
  const done = (move: Move, made: string | null) => {
    stale(`/runs/${run.id}`, "/runs?", "/home");
    if (made) toast(t.run.forked, { act: { text: t.run.openFork, run: () => go(`/runs/${made}`) } });
    else toast(move.verb === "pause" ? t.run.didPause : move.verb === "resume" ? t.run.didResume : t.run.did);
  };
  const atOnce = async (move: Move) => {
    try {
      await sendMove(run, move, { reason: "", name: "", value: "", fact: 0 }, newKey());
      stale(`/runs/${run.id}`);
      const back: Verb | null = move.verb === "pause" ? "resume" : move.verb === "resume" ? "pause" : null;
      toast(move.verb === "pause" ? t.run.didPause : t.run.didResume, back ? { act: { text: t.common.undo, run: () => void atOnce({ ...move, verb: back }) } } : {});
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
  };
  const ask = (move: Move, from: Element | null, fact = run.facts) => {
    if (DECISIONS.has(move.verb)) go(`/inbox/${encodeURIComponent(run.id)}/${encodeURIComponent(move.target ?? "")}`);
    else if (move.confirm === "A" && move.needs.length === 0) void atOnce(move);
    else setPending({ move, anchor: anchorOf(from), fact });
  };
  const dialog = pending && <MoveDialog key={pending.move.verb} run={run} {...pending} onClose={() => setPending(null)} onDone={(made) => { done(pending.move, made); setPending(null); }} />;
  return { ask, dialog };
}
