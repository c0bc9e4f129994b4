/** What is left of a draft in one sentence, and the two ways to take all its proposals. */
import { CheckCheck, CircleCheck, Eye, EyeOff, ListTodo } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "../../components";
import { Rich } from "../../words/rich";
import { nameOf } from "./sentences";
import { useDraftWords } from "./speech";
import { hasProposal, openTodos, type Draft } from "./types";

interface Props {
  draft: Draft;
  preview: boolean;
  mayWrite: boolean;
  busy: boolean;
  onPreview: () => void;
  onAcceptAll: () => void;
}

export function WhyBar({ draft, preview, mayWrite, busy, onPreview, onAcceptAll }: Props): ReactNode {
  const { d } = useDraftWords();
  const open = openTodos(draft);
  const needed = open.filter(({ required }) => required);
  const ready = open.filter(hasProposal).length;
  const optional = open.length - needed.length;
  const without = needed.filter((todo) => !hasProposal(todo)).map((todo) => `${todo.kind === "timer_value" ? d.timer(nameOf(todo)) : `‘${nameOf(todo)}’`}`);
  const sentence = preview ? d.previewing(ready) : needed.length > 0 ? d.left(needed.length, needed.filter(hasProposal).length, without) : draft.todos.length > 0 ? d.leftNone(draft.version) : d.leftNothing(draft.version);
  const Icon = preview ? Eye : needed.length > 0 ? ListTodo : CircleCheck;
  return (
    <div className={`draft-why ${preview ? "draft-why-preview" : needed.length > 0 ? "tone-held" : "tone-done"}`} role="status">
      <Icon size={18} aria-hidden />
      <p className="grow"><Rich text={sentence} />{!preview && optional > 0 && <span className="dim"> {d.leftOptional(optional)}</span>}</p>
      {(ready > 0 || preview) && <Button icon={preview ? EyeOff : Eye} aria-pressed={preview} onClick={onPreview}>{preview ? d.previewEnd : d.preview}</Button>}
      {ready > 0 && mayWrite && <Button look="primary" icon={CheckCheck} disabled={busy} onClick={onAcceptAll}>{d.acceptAll(ready)}</Button>}
    </div>
  );
}
