/**
 * What somebody typed and has not sent yet: stored on this device at once and on the server soon after, per person and
 * item, until it is sent. An event never resets it; two windows never overwrite each other without being asked.
 */
import { useEffect, useSyncExternalStore } from "react";
import { ApiError, call, Offline } from "../api/client";
import { onLive } from "../api/live";
import type { Dict, Page, StoredDraft } from "../api/types";

export interface Draft {
  comment: string;
  form: Dict;
  /** A comment that was begun in the conversation. */
  say: string;
}

/** A decision that is being sent, with its key, so that sending it again is the same decision. */
export interface Pending {
  verb: "approve" | "reject" | "judge" | "respond" | "submit" | "rework" | "take_over";
  body: Dict;
  key: string;
  /** Where it goes, if not to the inbox. */
  path?: string;
}

const EMPTY: Draft = { comment: "", form: {}, say: "" };
const SOON_MS = 500;

function read<T>(name: string): T | null {
  try {
    const text = localStorage.getItem(name);
    return text ? (JSON.parse(text) as T) : null;
  } catch {
    return null;
  }
}

function write(name: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // a full or closed storage must not stop anybody from typing
  }
}

const isEmpty = ({ comment, form, say }: Draft): boolean => !comment && !say && Object.keys(form).length === 0;
const same = (a: Draft, b: Draft): boolean => JSON.stringify(a) === JSON.stringify(b);
const draftOf = (body: unknown): Draft => ({ ...EMPTY, ...(body as Partial<Draft> | null) });

export interface View {
  draft: Draft;
  /** Nothing typed, typed a moment ago, saved on this device only, or on the server too. */
  saved: "no" | "soon" | "here" | "server";
  /** What another window of mine has written meanwhile. */
  theirs: Draft | null;
}

interface Local extends Draft {
  /** The number of the server's draft that this draft is based on. */
  base?: number | null;
  /** Changed, and not saved on the server yet. */
  dirty?: boolean;
}

/** The draft of one person for one item. Its requests are sent one after the other. */
class DraftStore {
  view: View;
  private base: number | null;
  private dirty: boolean;
  private theirs: { draft: Draft; number: number } | null = null;
  private timer = 0;
  private queue: Promise<void> = Promise.resolve();
  private known = false;
  private listeners = new Set<() => void>();

  constructor(private readonly at: string, private readonly key: string) {
    const local = read<Local>(at);
    this.base = local?.base ?? null;
    this.dirty = local ? (local.dirty ?? true) : false;
    this.view = { draft: local ? { comment: local.comment, form: local.form, say: local.say ?? "" } : EMPTY, saved: local ? "here" : "no", theirs: null };
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  set(draft: Draft): void {
    this.dirty = true;
    this.update({ draft, saved: "soon" });
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.flush(), SOON_MS);
  }

  /** Now on this device, then on the server. */
  flush(): void {
    if (this.view.saved !== "soon") return;
    window.clearTimeout(this.timer);
    this.keep();
    this.update({ saved: isEmpty(this.view.draft) ? "no" : "here" });
    this.push();
  }

  /** Takes over the server's draft, unless something typed here was not saved yet. */
  load(): void {
    this.enqueue(async () => {
      const page = await call<Page<StoredDraft>>("/drafts?limit=200");
      this.known = true;
      this.merge(page.items.find((item) => item.key === this.key));
    });
  }

  /** The draft was sent or discarded. */
  clear(): void {
    window.clearTimeout(this.timer);
    this.dirty = false;
    this.theirs = null;
    write(this.at, null);
    this.update({ draft: EMPTY, saved: "no", theirs: null });
    this.enqueue(async () => {
      if (this.base === null) return;
      this.base = null;
      await call(`/drafts/${encodeURIComponent(this.key)}`, { method: "DELETE" });
    });
  }

  choose(mine: boolean): void {
    if (!this.theirs) return;
    this.base = this.theirs.number;
    if (mine) this.dirty = true;
    else this.take(this.theirs.draft);
    this.theirs = null;
    this.keep();
    this.update({ theirs: null, saved: mine ? "here" : "server" });
    if (mine) this.push();
  }

  private merge(onServer: StoredDraft | undefined): void {
    const theirs = onServer ? draftOf(onServer.body) : null;
    if (!onServer || !theirs) {
      this.base = null;
      if (!isEmpty(this.view.draft)) this.dirty = true;
    } else if (onServer.number === this.base || same(theirs, this.view.draft)) {
      this.dirty = this.dirty && !same(theirs, this.view.draft);
      this.base = onServer.number;
      if (!this.dirty && this.view.saved !== "soon") this.update({ saved: "server" });
    } else if (!this.dirty || isEmpty(this.view.draft)) {
      this.base = onServer.number;
      this.take(theirs);
      this.keep();
      this.update({ saved: isEmpty(theirs) ? "no" : "server" });
    } else {
      this.theirs = { draft: theirs, number: onServer.number };
      this.update({ theirs });
    }
    if (this.dirty && !this.theirs) this.push();
  }

  private take(draft: Draft): void {
    this.dirty = false;
    this.view = { ...this.view, draft };
  }

  private push(): void {
    this.enqueue(async () => {
      if (!this.known || this.theirs) return;
      const { draft } = this.view;
      if (isEmpty(draft) && this.base === null) return;
      if (!this.dirty) return this.markSaved(); // it was saved by what was loaded
      const body = { body: draft };
      const stored = await call<StoredDraft>(`/drafts/${encodeURIComponent(this.key)}`, { method: "PUT", body, etag: this.base === null ? undefined : `"${this.base}"` });
      this.base = stored.number;
      if (!same(draft, this.view.draft)) return; // more was typed meanwhile, which has a timer of its own
      this.dirty = false;
      this.keep();
      this.markSaved();
    });
  }

  private markSaved(): void {
    if (this.view.saved === "here") this.update({ saved: isEmpty(this.view.draft) ? "no" : "server" });
  }

  private enqueue(act: () => Promise<void>): void {
    this.queue = this.queue.then(act).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 412) this.load();
      else if (!(error instanceof Offline || error instanceof ApiError)) throw error;
      // else it stays here, and the next key or connection tries again
    });
  }

  private keep(): void {
    const { draft } = this.view;
    write(this.at, isEmpty(draft) && this.base === null ? null : { ...draft, base: this.base, dirty: this.dirty });
  }

  private update(part: Partial<View>): void {
    this.view = { ...this.view, ...part };
    this.listeners.forEach((listener) => listener());
  }
}

const stores = new Map<string, DraftStore>();

function storeOf(name: string, item: string): DraftStore {
  let store = stores.get(name);
  if (!store) {
    store = new DraftStore(`ps.draft.${name}`, `inbox:${item}`.replaceAll("/", ":").slice(0, 200));
    stores.set(name, store);
  }
  return store;
}

export interface Drafting extends View {
  set: (draft: Draft) => void;
  clear: () => void;
  choose: (mine: boolean) => void;
}

/** `name` is the person and the item. */
export function useDraft(name: string, item: string): Drafting {
  const store = storeOf(name, item);
  const view = useSyncExternalStore(store.subscribe, () => store.view);
  useEffect(() => {
    store.load();
    const flush = () => store.flush();
    const back = onLive((event) => event.kind === "reset" && store.load());
    window.addEventListener("pagehide", flush);
    return () => {
      window.removeEventListener("pagehide", flush);
      back();
      flush();
    };
  }, [store]);
  return { ...view, set: (draft) => store.set(draft), clear: () => store.clear(), choose: (mine) => store.choose(mine) };
}

export const readPending = (name: string): Pending | null => read<Pending>(`ps.pending.${name}`);
export const writePending = (name: string, pending: Pending | null): void => write(`ps.pending.${name}`, pending);
