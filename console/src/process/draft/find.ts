/** Drafts that are not released yet, and the one that an address means. */
import type { Page } from "../../api/types";
import type { DraftLine } from "./types";

export const openDrafts = (answer: unknown): DraftLine[] => (answer as Page<DraftLine>).items.filter(({ status }) => status !== "released");

/** By its own id, or by a definition that it becomes. */
export function findDraft(answer: unknown, name: string): string | null {
  const drafts = openDrafts(answer);
  return (drafts.find(({ id }) => id === name) ?? drafts.find(({ definitions }) => definitions[0]?.id === name) ?? drafts.find(({ definitions }) => definitions.some(({ id }) => id === name)))?.id ?? null;
}

/** The address of its page: what it is called there, and the version that it becomes. */
export const pageOf = (draft: DraftLine, version: number): string => `/definitions/${encodeURIComponent(draft.definitions[0]?.id ?? draft.id)}/v/${version}`;
