/** A draft: a drawing that somebody brought, with the list of what is missing until it can run. */
import type { Dict, Finding, Schema } from "../../api/types";

export interface DraftProposal {
  kind: string;
  message: string;
  answer: Dict;
  facts: Dict;
}

export interface Todo {
  /** Its number along the flow, which it keeps. */
  no: number;
  key: string;
  kind: string;
  /** The definition that it belongs to. */
  process: string;
  /** On the drawing: an element, a flow, a pool; "" is the process itself. */
  element: string;
  element_type: string;
  name: string;
  message: string;
  hint: string;
  /** The process runs without the others. */
  required: boolean;
  facts: Dict;
  proposals: DraftProposal[];
  /** What an answer that somebody writes himself looks like; empty: only the file can be changed. */
  form: Schema;
  state: "open" | "done";
  answer: Dict | null;
  by_proposal: boolean;
  answered_by: string | null;
  answered_at: string | null;
}

export interface DraftDefinition {
  id: string;
  name: string;
  steps: number;
  flows: number;
  events: number;
}

export interface DraftSoundness {
  status: string;
  states: number;
  /** It was looked at as it is with every proposal taken. */
  with_proposals: boolean;
  findings: Finding[];
}

export interface DraftLine {
  id: string;
  /** What every change counts up. */
  number: number;
  name: string;
  file: string;
  status: "open" | "finished" | "released";
  definitions: DraftDefinition[];
  /** To-dos that keep it from running. */
  open: number;
  by_proposal: number;
  by_hand: number;
  created_by: string | null;
  created_at: string;
  updated_by: string | null;
  updated_at: string;
}

export interface Draft extends DraftLine {
  /** The one that it becomes. */
  version: number;
  counts: { pools: number; steps: number; flows: number; messages: number; lost: number };
  todos: Todo[];
  findings: Finding[];
  soundness: DraftSoundness;
  moves: string[];
}

/** What somebody answers to a to-do: a proposal by its place, or what was written. */
export interface Answered {
  key: string;
  proposal: number | null;
  answer: Dict | null;
}

export interface Released {
  draft: Draft;
  definitions: { id: string; version: number; approval_status: string }[];
}

export const openTodos = (draft: Draft): Todo[] => draft.todos.filter((todo) => todo.state === "open");
/** What keeps it from being released, whatever its author accepts: that a run may never end can be accepted. */
export const missingTodos = (draft: Draft): Todo[] => openTodos(draft).filter((todo) => todo.required && todo.kind !== "soundness");
export const isUnsound = (draft: Draft): boolean => openTodos(draft).some((todo) => todo.required && todo.kind === "soundness");
export const mayRelease = (draft: Draft): boolean => draft.status === "finished" || (missingTodos(draft).length === 0 && isUnsound(draft));
export const hasProposal = (todo: Todo): boolean => todo.state === "open" && todo.proposals.length > 0;
