/** Asks before a version is approved, sent back, activated or deprecated; the latter two want its number typed. */
import { Archive, Check, Rocket, X, type LucideIcon } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { newKey } from "../api/client";
import type { VersionWhole } from "../api/types";
import { Button } from "../components";
import { Dialog, type Anchor } from "../components/Dialog";
import { toast } from "../components/toast";
import type { Review } from "../languages/contract";
import { useWords } from "../words";
import { errorText } from "../words/errorText";
import { decideDefinition, type ReleaseVerb } from "./requests";

export const RELEASE_ICON: Record<ReleaseVerb, LucideIcon> = { approve: Check, reject: X, activate: Rocket, deprecate: Archive };

interface Props {
  version: VersionWhole;
  /** How its language approves it, when that differs. */
  review: Review | null;
  verb: ReleaseVerb;
  /** How many runs are open. */
  open: number;
  anchor: Anchor | null;
  onClose: () => void;
}

export function ReleaseDialog({ version, review, verb, open, anchor, onClose }: Props): ReactNode {
  const { t } = useWords();
  const d = t.definitions;
  const [comment, setComment] = useState("");
  const [into, setInto] = useState(false);
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  const number = String(version.version);
  const needsNumber = verb === "activate" || verb === "deprecate";
  const send = () => {
    const idempotencyKey = `${key}${into ? "i" : ""}`;
    if (review && (verb === "approve" || verb === "reject")) return review.send(verb, comment.trim(), into, idempotencyKey);
    return decideDefinition(version.name, version.version, verb, comment.trim(), idempotencyKey);
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (verb === "reject" && !comment.trim()) { setError(t.inbox.commentNeeded); return; }
    if (needsNumber && typed.trim() !== number) { setError(t.run.typed(number)); return; }
    setBusy(true);
    try {
      await send();
      toast(d.did[verb] ?? "");
      onClose();
    } catch (problem) {
      setError(errorText(problem, t));
      setBusy(false);
    }
  };
  const reviewed = verb === "approve" ? review : null;
  return (
    <Dialog label={d.ask[verb](version.version)} look={needsNumber ? "window" : "popover"} anchor={anchor} onClose={onClose}>
      <form className="move-form" onSubmit={(event) => void submit(event)}>
        <h2>{d.ask[verb](version.version)}</h2>
        <p>{reviewed ? reviewed.effect : d.effect[verb](open)}</p>
        {reviewed?.into && <label className="def-meant"><input type="checkbox" checked={into} onChange={(event) => setInto(event.target.checked)} />{d.into(reviewed.into)}</label>}
        {(verb === "reject" || reviewed) && <label><span className="label">{t.inbox.comment}{verb === "approve" ? <span className="dim">{t.common.optional}</span> : <span className="star"> *</span>}</span><textarea data-first={verb === "reject" || undefined} className="input" rows={3} value={comment} onChange={(event) => { setError(null); setComment(event.target.value); }} /></label>}
        {needsNumber && <label><span className="label">{t.run.typed(number)}</span><input className="input" inputMode="numeric" value={typed} onChange={(event) => { setError(null); setTyped(event.target.value); }} /></label>}
        {error && <p className="bad" role="alert">{error}</p>}
        <div className="dialog-foot"><Button data-first={verb === "reject" ? undefined : true} onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look={verb === "reject" || verb === "deprecate" ? "danger" : "primary"} icon={RELEASE_ICON[verb]} disabled={busy}>{d.deed[verb]}</Button></div>
      </form>
    </Dialog>
  );
}
