/** Who closed an item, when and how, as a sentence: the votes in the run's journal say it. */
import { useEffect, useState } from "react";
import { call } from "../api/client";
import type { FactPage, Json } from "../api/types";
import { useSession } from "../shell/session";
import { useWords } from "../words";

interface Closed {
  by: string;
  at: string;
  decision: string;
}

/** Null until it is known, or when nobody decided: the run may have ended by itself. */
export function useClosed(run: string, node: string, on: boolean): string | null {
  const { t, f } = useWords();
  const { users } = useSession();
  const [closed, setClosed] = useState<Closed | null>(null);
  useEffect(() => {
    if (!on) return;
    let gone = false;
    call<FactPage>(`/runs/${encodeURIComponent(run)}/facts?limit=500`).then((page) => !gone && setClosed(lastVote(page, node)), () => undefined);
    return () => { gone = true; };
  }, [run, node, on]);
  if (!closed) return null;
  const who = users.find((user) => user.id === closed.by)?.name ?? closed.by;
  const at = f.clock(closed.at);
  if (/reject/i.test(closed.decision)) return t.inbox.rejectedBy(who, at);
  return /approve/i.test(closed.decision) ? t.inbox.approvedBy(who, at) : t.inbox.decidedBy(who, at, closed.decision);
}

function lastVote(page: FactPage, node: string): Closed | null {
  const moved = page.items.findLast((fact) => fact.fact === "work.moved" && fact.node === node && typeof fact.data["by"] === "string" && fact.data["by"] !== "");
  if (!moved) return null;
  const by = String(moved.data["by"]);
  const voted = page.items.findLast((fact) => fact.fact === "work.moved" && fact.node === node && voteOf(fact.data["votes"], by) !== null);
  return { by, at: moved.at, decision: voteOf(voted?.data["votes"], by) ?? String(moved.data["event"] ?? "") };
}

function voteOf(votes: Json | undefined, by: string): string | null {
  if (!votes || typeof votes !== "object" || Array.isArray(votes)) return null;
  const mine = votes[by];
  return mine && typeof mine === "object" && !Array.isArray(mine) && typeof mine["vote"] === "string" ? mine["vote"] : null;
}
