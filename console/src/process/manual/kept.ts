/** The manual that somebody is looking at and has not saved: it stays in this browser, so that reloading loses nothing. */
import type { Extracted } from "../../api/types";
import type { Manual } from "./types";

const DATABASE = "ps-manuals";
const STORE = "kept";

/** Its answer is only kept while the page lives: it can be asked for again. */
let last: { user: string; manual: Manual; answer: Extracted | null } | null = null;

export function keptAnswer(user: string, manual: Manual): Extracted | null {
  return last?.user === user && last.manual === manual ? last.answer : null;
}

export function keepAnswer(user: string, manual: Manual, answer: Extracted): void {
  last = { user, manual, answer };
}

export async function keepManual(user: string, manual: Manual): Promise<void> {
  last = { user, manual, answer: null };
  await change((store) => store.put(manual, user));
}

export async function dropManual(user: string): Promise<void> {
  last = null;
  await change((store) => store.delete(user));
}

export async function keptManual(user: string): Promise<Manual | null> {
  if (last?.user === user) return last.manual;
  const found = ((await change((store) => store.get(user))) as Manual | undefined) ?? null;
  if (found) last = { user, manual: found, answer: null };
  return found;
}

/** A browser that keeps nothing shows the manual until the page is left. */
async function change(ask: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  try {
    const database = await answered(opened());
    try {
      return await answered(ask(database.transaction(STORE, "readwrite").objectStore(STORE)));
    } finally {
      database.close();
    }
  } catch {
    return undefined;
  }
}

function opened(): IDBOpenDBRequest {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return request;
}

function answered<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error ?? new Error("the browser keeps nothing"));
  });
}
