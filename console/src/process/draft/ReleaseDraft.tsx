/** Releases a finished draft: all definitions of its drawing at once, active right away or after an approval. */
import { Rocket } from "lucide-react";
import { useState, type FormEvent, type ReactNode } from "react";
import { ApiError, newKey } from "../../api/client";
import { Button, Tag } from "../../components";
import { Dialog } from "../../components/Dialog";
import { may, useSession } from "../../shell/session";
import { errorText } from "../../words/errorText";
import { release } from "./requests";
import { useDraftWords } from "./speech";
import { isUnsound, type Draft, type Released } from "./types";

export function ReleaseDraft({ draft, onDone, onConflict, onClose }: { draft: Draft; onDone: (released: Released) => void; onConflict: () => void; onClose: () => void }): ReactNode {
  const { t, d } = useDraftWords();
  const { me } = useSession();
  const allowed = may(me, "definition.activate");
  const [pending, setPending] = useState(!allowed);
  const [unsound, setUnsound] = useState(false);
  const [key] = useState(newKey);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const doubtful = isUnsound(draft);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      onDone(await release(draft, pending, unsound, `${key}${pending ? "p" : ""}${unsound ? "u" : ""}`));
    } catch (error) {
      setProblem(errorText(error, t));
      setBusy(false);
      if (error instanceof ApiError && error.status === 409) onConflict();
    }
  };
  return (
    <Dialog label={d.releaseTitle(draft.name)} onClose={onClose}>
      <form className="move-form" onSubmit={(event) => void submit(event)}>
        <h2>{d.releaseTitle(draft.name)}</h2>
        <p>{draft.definitions.length > 1 ? d.releaseMany(draft.definitions.length) : d.releaseOne}</p>
        <ul className="release-list">{draft.definitions.map((definition) => <li key={definition.id}><b>{definition.name}</b><span className="dim mono">{definition.id}</span><Tag>v{draft.version}</Tag></li>)}</ul>
        <fieldset className="release-how">
          <legend className="label">{d.releaseHow}</legend>
          <label className={!pending ? "choice choice-on" : "choice"}><input type="radio" name="how" checked={!pending} disabled={!allowed} onChange={() => setPending(false)} /><span><b>{d.releaseNow}</b><span className="dim small">{allowed ? d.releaseNowAbout : d.needs("definition.activate")}</span></span></label>
          <label className={pending ? "choice choice-on" : "choice"}><input type="radio" name="how" checked={pending} onChange={() => setPending(true)} /><span><b>{d.releasePending}</b><span className="dim small">{d.releasePendingAbout}</span></span></label>
        </fieldset>
        {doubtful && <label className="def-meant"><input type="checkbox" checked={unsound} onChange={(event) => setUnsound(event.target.checked)} />{d.releaseUnsound}</label>}
        <p className="dim small">{d.releaseText}</p>
        {problem && <p className="bad" role="alert">{problem}</p>}
        <div className="dialog-foot"><Button data-first onClick={onClose}>{t.inbox.notNow}</Button><Button type="submit" look="primary" icon={Rocket} disabled={busy || (doubtful && !unsound)}>{d.releaseDo}</Button></div>
      </form>
    </Dialog>
  );
}
