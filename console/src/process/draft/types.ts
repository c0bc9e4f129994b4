/** A draft: a drawing that somebody brought, with the list of what is missing until it can run. */
import type { Dict, DraftTodo, ProcessDraft } from "../../api/types";

export type { DraftProposal, DraftTodo as Todo, ProcessDraft as Draft, ProcessDraftLine as DraftLine, ProcessDraftReleased as Released } from "../../api/types";

/** What somebody answers to a to-do: a proposal by its place, or what was written. */
export interface Answered {
  key: string;
  proposal: number | null;
  answer: Dict | null;
}

export const openTodos = (draft: ProcessDraft): DraftTodo[] => draft.todos.filter((todo) => todo.state === "open");
/** What keeps it from being released, whatever its author accepts: that a run may never end can be accepted. */
export const missingTodos = (draft: ProcessDraft): DraftTodo[] => openTodos(draft).filter((todo) => todo.required && todo.kind !== "soundness");
export const isUnsound = (draft: ProcessDraft): boolean => openTodos(draft).some((todo) => todo.required && todo.kind === "soundness");
export const mayRelease = (draft: ProcessDraft): boolean => draft.status === "finished" || (missingTodos(draft).length === 0 && isUnsound(draft));
export const hasProposal = (todo: DraftTodo): boolean => todo.state === "open" && todo.proposals.length > 0;
