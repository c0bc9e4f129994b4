/** Beside an item: why it came to me, who has answered, who else looks at it, and its comments. */
import { Eye, Send } from "lucide-react";
import { useState, type ReactNode } from "react";
import { put } from "../api/cache";
import { post } from "../api/client";
import type { Item } from "../api/types";
import { Button, Face } from "../components";
import { toast } from "../components/toast";
import { useWords } from "../words";
import { Rich } from "../words/rich";
import { errorText } from "../words/errorText";
import { people, person } from "../words/why";
import type { Drafting } from "./drafts";
import { itemPath } from "./itemPath";

export function WhyMe({ item, others }: { item: Item; others: string[] }): ReactNode {
  const { t, f } = useWords();
  const asked = item.why_me.length ? item.why_me : item.candidates;
  return (
    <section>
      <h2>{t.inbox.whyMe}</h2>
      <p className="dim"><Rich text={asked.length ? t.inbox.role(people(asked, t), item.needed, item.needed) : `${t.inbox.anybody} · ${t.inbox.neededN(item.needed)}`} /></p>
      {item.approvals.map((approval) => <p key={approval.by + approval.at} className="vote"><Face name={person(approval.by, t)} size={22} />{(/reject/i.test(approval.decision) ? t.inbox.rejectedBy : t.inbox.approvedBy)(person(approval.by, t), f.clock(approval.at))}</p>)}
      {item.claimed_by && <p className="vote"><Face name={person(item.claimed_by, t)} size={22} />{t.inbox.claimedBy(person(item.claimed_by, t))}</p>}
      <div role="status" aria-live="polite">
        {others.length > 0 && <p className="vote looking"><span className="faces">{others.slice(0, 3).map((other) => <Face key={other} name={person(other, t)} size={22} />)}</span><Eye size={14} aria-hidden />{t.inbox.looking(people(others, t))}</p>}
      </div>
    </section>
  );
}

export function Conversation({ item, drafting }: { item: Item; drafting: Drafting }): ReactNode {
  const { t, f } = useWords();
  const [busy, setBusy] = useState(false);
  const { draft, set } = drafting;
  const path = itemPath(item);
  const send = async () => {
    const text = draft.say.trim();
    if (!text) return;
    setBusy(true);
    try {
      put(path, await post<Item>(`${path}/comment`, { text }));
      set({ ...draft, say: "" });
    } catch (error) {
      toast(errorText(error, t), { bad: true });
    }
    setBusy(false);
  };
  return (
    <section className="talk">
      <h2>{t.inbox.talk}</h2>
      {item.comments.map((comment) => <p key={comment.at + comment.by}><b>{person(comment.by, t)}</b> <time className="dim" dateTime={comment.at}>{f.clock(comment.at)}</time><br />{comment.text}</p>)}
      <form onSubmit={(event) => { event.preventDefault(); void send(); }}>
        <input className="input" value={draft.say} aria-label={t.inbox.leaveComment} placeholder={t.inbox.leaveComment} onChange={(event) => set({ ...draft, say: event.target.value })} />
        {draft.say && <Button type="submit" look="icon" aria-label={t.common.send} disabled={busy}><Send size={16} aria-hidden /></Button>}
      </form>
    </section>
  );
}
