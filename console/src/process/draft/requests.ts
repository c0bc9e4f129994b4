/** The addresses of drafts in the API, and what is asked of them. */
import { put, stale } from "../../api/cache";
import { call, newKey, post } from "../../api/client";
import type { Answered, Draft, Released } from "./types";

export const DRAFTS = "/processes/drafts";
export const draftsPath = `${DRAFTS}?limit=200`;
export const draftPath = (id: string): string => `${DRAFTS}/${encodeURIComponent(id)}`;
/** The text of the file as it is now, or with every proposal taken. */
export const draftFilePath = (id: string, accepted: boolean): string => `${draftPath(id)}/bpmn?accepted=${accepted}`;

/** The definitions that it becomes, as they are now or with every proposal taken. */
export const draftDefinitionsPath = (id: string, accepted: boolean): string => `${draftPath(id)}/definitions?accepted=${accepted}`;

/** The draft is what the server answered: it is shown at once. */
function kept(draft: Draft): Draft {
  put(draftPath(draft.id), draft);
  stale(`${draftPath(draft.id)}/definitions`);
  stale(draftsPath);
  return draft;
}

export const importFile = async (name: string, text: string, key: string): Promise<Draft> => kept(await post<Draft>(DRAFTS, { name, text }, key));
export const answer = async (draft: Draft, answers: Answered[]): Promise<Draft> => kept(await post<Draft>(`${draftPath(draft.id)}:answer`, { number: draft.number, answers }));
export const accept = async (draft: Draft, dryRun: boolean): Promise<Draft> => {
  const accepted = await post<Draft>(`${draftPath(draft.id)}:accept`, { number: draft.number, dry_run: dryRun });
  return dryRun ? accepted : kept(accepted);
};
export const undo = async (draft: Draft, key: string | null): Promise<Draft> => kept(await post<Draft>(`${draftPath(draft.id)}:undo`, { number: draft.number, key }));
export const replaceFile = async (draft: Draft, name: string, text: string): Promise<Draft> => kept(await call<Draft>(draftPath(draft.id), { method: "PUT", body: { number: draft.number, name, text }, key: newKey() }));

export async function removeDraft(draft: Draft): Promise<void> {
  await call(`${draftPath(draft.id)}?number=${draft.number}`, { method: "DELETE", key: newKey() });
  stale(draftsPath);
}

/** What has become of it is shown where the draft was, which is why the list of drafts is not asked again yet. */
export const leaveDraft = (): void => stale(draftsPath);

/** `pending`: another person approves it first. `unsound`: its author accepts that a run may never end. */
export async function release(draft: Draft, pending: boolean, unsound: boolean, key: string): Promise<Released> {
  const released = await post<Released>(`${draftPath(draft.id)}:release`, { number: draft.number, pending, unsound }, key);
  stale("/definitions", "/processes/definitions");
  return released;
}
