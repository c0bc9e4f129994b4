/** The dialog before a decision: its effect, and that it is final. The safe button has the focus. */
import { Check, X } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { Button } from "../components";
import { Dialog, type Anchor } from "../components/Dialog";
import { useWords } from "../words";
import { Rich } from "../words/rich";

interface Props {
  title: string;
  effect: string;
  verb: string;
  danger: boolean;
  anchor: Anchor | null;
  comment: string;
  needsComment: boolean;
  busy: boolean;
  offline: boolean;
  onComment: (comment: string) => void;
  onClose: () => void;
  onYes: () => void;
}

export function Confirm({ title, effect, verb, danger, anchor, comment, needsComment, busy, offline, onComment, onClose, onYes }: Props): ReactNode {
  const { t } = useWords();
  const [bad, setBad] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (needsComment && !comment.trim()) setBad(true);
    else onYes();
  };
  return (
    <Dialog label={title} look="popover" anchor={anchor} onClose={onClose}>
      <form onSubmit={submit} className="move-form">
        <h2>{title}</h2>
        <p><Rich text={effect} /></p>
        {needsComment && (
          <label>
            <span className="label">{t.inbox.comment}<span className="star"> *</span></span>
            <textarea className="input" rows={3} autoFocus value={comment} aria-invalid={bad || undefined} placeholder={t.inbox.commentNeeded} onChange={(event) => { setBad(false); onComment(event.target.value); }} />
            {bad && <span className="bad" role="alert">{t.inbox.commentNeeded}</span>}
          </label>
        )}
        <p className="dim small" role={offline ? "status" : undefined}>{offline ? t.inbox.offlineDisabled : t.inbox.final}</p>
        <div className="dialog-foot">
          <Button autoFocus={!needsComment} onClick={onClose}>{t.inbox.notNow}</Button>
          <Button type="submit" look={danger ? "danger" : "primary"} icon={danger ? X : Check} disabled={busy || offline}>{verb}</Button>
        </div>
      </form>
    </Dialog>
  );
}
