/** Opens the drawing of a manual in the room of drafts, where what is missing in it is finished; at once, with Undo. */
import { PencilLine } from "lucide-react";
import { useState, type ReactNode } from "react";
import { newKey } from "../../api/client";
import { Button } from "../../components";
import { toast } from "../../components/toast";
import { go } from "../../shell/router";
import { may, useSession } from "../../shell/session";
import { errorText } from "../../words/errorText";
import { pageOf } from "../draft/find";
import { openAsDraft, removeDraft } from "./requests";
import { useManualWords } from "./speech";

/** `back`: where Undo returns to. */
export function DraftButton({ title, bpmn, back }: { title: string; bpmn: string; back: string }): ReactNode {
  const { t, m } = useManualWords();
  const { me } = useSession();
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  if (!bpmn || !may(me, "definition.write")) return null;
  const open = async () => {
    setBusy(true);
    try {
      const draft = await openAsDraft(title, bpmn, key);
      const undo = () => void removeDraft(draft).then(() => { toast(m.draftUndone); go(back); }, (error: unknown) => toast(errorText(error, t), { bad: true }));
      toast(m.drafted, { act: { text: t.common.undo, run: undo } });
      go(pageOf(draft, draft.version));
    } catch (error) {
      toast(errorText(error, t), { bad: true });
      setBusy(false);
    }
  };
  return <Button icon={PencilLine} disabled={busy} onClick={() => void open()}>{m.toDraft}</Button>;
}
