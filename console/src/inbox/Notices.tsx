/** Notices above an item: somebody else decided, it changed, a decision was lost or refused, the browser is offline. */
import { Copy, RefreshCw, Send, TriangleAlert, WifiOff } from "lucide-react";
import type { ReactNode } from "react";
import { stale } from "../api/cache";
import type { Item } from "../api/types";
import { Button } from "../components";
import { useWords } from "../words";
import { person } from "../words/why";
import { closedBy } from "./closedBy";
import type { useDecision } from "./decision";
import type { Drafting } from "./drafts";

interface Props {
  item: Item;
  decision: ReturnType<typeof useDecision>;
  drafting: Drafting;
  offline: boolean;
  phone: boolean;
  onNext: () => void;
}

export function Notices({ item, decision, drafting, offline, phone, onNext }: Props): ReactNode {
  const words = useWords();
  const { t } = words;
  const { fate, pending } = decision;
  return (
    <>
      {fate.kind === "taken" && (
        <div className="notice tone-held" role="alert">
          <TriangleAlert size={18} aria-hidden />
          <div className="grow"><b>{closedBy(fate.problem, words) ?? t.inbox.taken}</b><p>{t.inbox.takenText}</p></div>
          <Button onClick={() => { decision.reset(); stale(`/inbox/${item.run}`); }}>{t.common.retry}</Button><Button onClick={onNext}>{t.inbox.takenNext}</Button>
        </div>
      )}
      {fate.kind === "changed" && (
        <div className="notice tone-held" role="alert">
          <RefreshCw size={18} aria-hidden />
          <div className="grow"><b>{t.inbox.changed}</b>{changes(item, fate.before, words).map((sentence) => <p key={sentence}>{sentence}</p>)}<p>{t.inbox.changedText}</p></div>
          <Button look="primary" onClick={decision.reset}>{t.inbox.changedSeen}</Button>
        </div>
      )}
      {drafting.theirs && (
        <div className="notice tone-held" role="alert">
          <Copy size={18} aria-hidden />
          <div className="grow"><b>{t.inbox.twice}</b><p>{t.inbox.twiceText}</p><p className="twice">“{drafting.theirs.comment || drafting.theirs.say || JSON.stringify(drafting.theirs.form)}”</p></div>
          <Button onClick={() => drafting.choose(false)}>{t.inbox.useTheirs}</Button><Button onClick={() => drafting.choose(true)}>{t.inbox.useMine}</Button>
        </div>
      )}
      {fate.kind === "refused" && <div className="notice tone-failed" role="alert"><TriangleAlert size={18} aria-hidden /><div className="grow"><b>{fate.problem.detail || fate.problem.title}</b><p>{fate.problem.hint} <code>{fate.problem.code}</code></p></div></div>}
      {pending && (
        <div className="notice tone-held" role="alert">
          <WifiOff size={18} aria-hidden />
          <div className="grow"><b>{t.inbox.lost}</b><p>{t.inbox.lostText}</p></div>
          <Button onClick={decision.discard}>{t.inbox.discard}</Button><Button look="primary" icon={Send} disabled={offline} onClick={decision.resend}>{t.inbox.resend}</Button>
        </div>
      )}
      {phone && offline && item.eligible && !pending && <p className="notice tone-held" role="status"><WifiOff size={18} aria-hidden /><b>{t.inbox.offlineDisabled}</b></p>}
      {item.escalation_level > 0 && <p className="notice tone-held"><TriangleAlert size={18} aria-hidden /><b>{t.inbox.escalated}</b></p>}
    </>
  );
}

/** What others did since I opened it. */
function changes(item: Item, before: Item, { t, f }: ReturnType<typeof useWords>): string[] {
  const votes = item.approvals.filter((approval) => !before.approvals.some((old) => old.by === approval.by));
  return [
    ...votes.map((vote) => (/reject/i.test(vote.decision) ? t.inbox.rejectedBy : t.inbox.approvedBy)(person(vote.by, t), f.clock(vote.at))),
    ...(item.escalation_level > before.escalation_level ? [t.inbox.escalated] : []),
  ];
}
