/** What the open proposals would add to the drawing: it is shown before anybody takes them. */
import { askOf, choicesOf } from "./sentences";
import { placeOf, type DrawingFile } from "./drawingFile";
import { hasProposal, type Draft, type Todo } from "./types";

export interface Additions {
  /** By flow, the choice that leads along it. */
  labels: Map<string, { text: string; todo: Todo }>;
  /** By pool, the definition that it becomes. */
  pools: Map<string, { nth: number; steps: number; messages: number; todo: Todo }>;
  /** Flows that an open to-do is about. */
  flows: Set<string>;
}

export function additionsOf(draft: Draft, file: DrawingFile): Additions {
  const additions: Additions = { labels: new Map(), pools: new Map(), flows: new Set() };
  for (const todo of draft.todos) {
    if (!hasProposal(todo)) continue;
    const answer = todo.proposals[0]?.answer ?? null;
    for (const { flow, label } of choicesOf(answer, file)) {
      additions.labels.set(flow, { text: label, todo });
      additions.flows.add(flow);
    }
    if (askOf(answer)) continue;
    const place = placeOf(file, todo);
    if (file.flows.has(place)) additions.flows.add(place);
    const pool = file.elements.get(place);
    if (pool?.type !== "participant") continue;
    const messages = messagesOf(file, pool.process);
    for (const flow of messages) additions.flows.add(flow);
    const nth = draft.definitions.findIndex(({ id }) => id === pool.process) + 1;
    const steps = file.processes.find(({ id }) => id === pool.process)?.elements.length ?? 0;
    additions.pools.set(pool.id, { nth: nth || draft.definitions.length + 1, steps, messages: messages.length, todo });
  }
  return additions;
}

/** The message flows that begin or end in a process. */
export function messagesOf(file: DrawingFile, process: string): string[] {
  const inside = (id: string) => file.elements.get(id)?.process === process;
  return [...file.flows.values()].filter((flow) => flow.message && (inside(flow.source) || inside(flow.target))).map(({ id }) => id);
}
