/** Asks before a draft is deleted with its answers. */
import { Trash2 } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button } from "../../components";
import { Dialog } from "../../components/Dialog";
import { toast } from "../../components/toast";
import { go } from "../../shell/router";
import { errorText } from "../../words/errorText";
import { removeDraft } from "./requests";
import { useDraftWords } from "./speech";
import type { Draft } from "./types";

export function RemoveDraft({ draft, onClose }: { draft: Draft; onClose: () => void }): ReactNode {
  const { t, d } = useDraftWords();
  const [problem, setProblem] = useState<string | null>(null);
  const remove = async () => {
    try {
      await removeDraft(draft);
      toast(d.removed);
      go("/definitions");
    } catch (error) {
      setProblem(errorText(error, t));
    }
  };
  return (
    <Dialog label={d.removeTitle} onClose={onClose}>
      <h2>{d.removeTitle}</h2>
      <p><b>{draft.name}</b> {draft.file && <span className="mono dim">{draft.file}</span>}</p>
      <p>{d.removeText}</p>
      {problem && <p className="bad" role="alert">{problem}</p>}
      <div className="dialog-foot"><Button data-first onClick={onClose}>{t.inbox.notNow}</Button><Button look="danger" icon={Trash2} onClick={() => void remove()}>{d.removeDo}</Button></div>
    </Dialog>
  );
}
