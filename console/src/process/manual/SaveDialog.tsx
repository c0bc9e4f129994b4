/** Asks before what was read becomes a definition: which one, and whether it may be begun. */
import { Save } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { newKey } from "../../api/client";
import type { Extracted } from "../../api/types";
import { Button } from "../../components";
import { Dialog, type Anchor } from "../../components/Dialog";
import { toast } from "../../components/toast";
import { go } from "../../shell/router";
import { errorText } from "../../words/errorText";
import { dropManual } from "./kept";
import { manualPage, save } from "./requests";
import { titleOf } from "./Review";
import { useManualWords } from "./speech";
import { standingOf } from "./standing";
import { percent, type Manual } from "./types";

interface Props {
  manual: Manual;
  read: Extracted;
  user: string;
  anchor: Anchor | null;
  onClose: () => void;
}

export function SaveDialog({ manual, read, user, anchor, onClose }: Props): ReactNode {
  const { t, m } = useManualWords();
  const [id, setId] = useState(read.id);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  const name = titleOf(read);
  const { mayBegin, certain } = standingOf(read);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const saved = await save(manual, id.trim(), `${key}${id.trim()}`);
      await dropManual(user);
      toast(m.saved(name, saved.version ?? 1));
      go(manualPage(saved.id, saved.version ?? 1));
    } catch (error) {
      setProblem(errorText(error, t));
      setBusy(false);
    }
  };
  return (
    <Dialog label={m.saveTitle(name)} look="popover" anchor={anchor} onClose={onClose}>
      <form className="move-form" onSubmit={(event) => void submit(event)}>
        <h2>{m.saveTitle(name)}</h2>
        <p>{mayBegin ? m.saveBegin : certain ? m.savePendingTwo : m.savePending(percent(read.confidence))}</p>
        <p className="dim small">{m.saveKeeps}</p>
        <label><span className="label">{m.saveId}</span><input className="input mono" value={id} required maxLength={200} onChange={(event) => { setProblem(null); setId(event.target.value); }} /></label>
        {problem && <p className="bad" role="alert">{problem}</p>}
        <div className="dialog-foot"><Button data-first onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look="primary" icon={Save} disabled={busy || !id.trim()}>{m.save}</Button></div>
      </form>
    </Dialog>
  );
}
