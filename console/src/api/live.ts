/**
 * One stream per browser. A tab that holds the lock reads `GET /stream` and passes events on; the others listen.
 * When it closes, the next tab takes the lock and goes on after the last event that any tab has received.
 */
import { useSyncExternalStore } from "react";
import { BASE } from "./client";
import type { Dict } from "./types";

export interface RunEvent {
  run: string;
  name: string;
  state: string;
  tone: string;
  facts: number;
  at: string;
}

export type LiveEvent =
  | { kind: "run"; data: RunEvent }
  | { kind: "inbox"; data: { count: number } }
  | { kind: "looking"; data: { item: string } }
  /** What only one language tells, under its own name: `subject:verb`. */
  | { kind: "named"; name: string; data: Dict }
  | { kind: "reset" }
  | { kind: "hello" }
  | { kind: "ping" };

export type Liveness = "live" | "stale" | "offline";

type Broadcast = { id: string | null; event: LiveEvent } | { down: boolean };

const STALE_MS = 15_000;
/** A try without an answer in this time has failed. */
const ANSWER_MS = 5000;
/** The pause before the next try: after the stream broke off, after a failed try (the second means offline), after a refusal. */
const BROKEN_MS = 1000;
const FAILED_MS = 2000;
const REFUSED_MS = 8000;
const listeners = new Set<(event: LiveEvent) => void>();
const watchers = new Set<() => void>();
const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("penstock.live");
let lastId: string | null = null;
let lastHeard = Date.now();
let liveness: Liveness = "live";
let started = false;
let down = false;

export function onLive(listener: (event: LiveEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useLiveness(): Liveness {
  return useSyncExternalStore(
    (listener) => {
      watchers.add(listener);
      return () => watchers.delete(listener);
    },
    () => liveness,
  );
}

/** Who may not read the stream asks again every few seconds. */
const ASKED_MS = 5000;

export function startLive(streams: boolean): void {
  if (started) return;
  started = true;
  if (!streams) {
    window.setInterval(() => receive(null, { kind: "reset" }), ASKED_MS);
    return;
  }
  channel?.addEventListener("message", ({ data }: MessageEvent<Broadcast>) => {
    if ("down" in data) setDown(data.down);
    else receive(data.id, data.event);
  });
  window.addEventListener("online", updateLiveness);
  window.addEventListener("offline", updateLiveness);
  window.setInterval(updateLiveness, 1000);
  // Without a secure context there is no lock: then every tab reads its own stream.
  if (navigator.locks) void navigator.locks.request("penstock.live", () => read());
  else void read();
}

function receive(id: string | null, event: LiveEvent): void {
  if (id) lastId = id;
  lastHeard = Date.now();
  updateLiveness();
  listeners.forEach((listener) => listener(event));
}

function setDown(now: boolean): void {
  const back = down && !now;
  if (back) lastHeard = Date.now();
  down = now;
  updateLiveness();
  if (back) listeners.forEach((listener) => listener({ kind: "reset" })); // what failed meanwhile is asked again
}

function updateLiveness(): void {
  const now: Liveness = down || !navigator.onLine ? "offline" : Date.now() - lastHeard > STALE_MS ? "stale" : "live";
  if (now === liveness) return;
  liveness = now;
  watchers.forEach((watcher) => watcher());
}

async function read(): Promise<never> {
  for (let failed = 0; ; ) {
    const answer = await open();
    // a server that refuses is there; a gateway that answers for a dead server is not
    failed = !answer || answer.status >= 500 ? failed + 1 : 0;
    if (failed === 0 || failed === 2) broadcastDown(failed > 0);
    const body = answer?.ok ? answer.body : null;
    if (body) {
      lastHeard = Date.now();
      await follow(body).catch(() => undefined);
    }
    const pause = body ? BROKEN_MS : failed ? FAILED_MS : REFUSED_MS;
    await new Promise((done) => setTimeout(done, pause * (0.9 + Math.random() * 0.2))); // not all browsers at once
  }
}

async function open(): Promise<Response | null> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (lastId) headers["Last-Event-ID"] = lastId;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ANSWER_MS);
  try {
    return await fetch(`${BASE}/stream`, { headers, credentials: "same-origin", signal: late.signal });
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** Tells all tabs whether the server answers. */
function broadcastDown(now: boolean): void {
  channel?.postMessage({ down: now } satisfies Broadcast);
  setDown(now);
}

async function follow(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    // A connection that is silent for long is dead, even if it was not closed.
    const chunk = await Promise.race([reader.read(), silence()]);
    if (chunk === null || chunk.done) {
      reader.cancel().catch(() => undefined); // it may have broken meanwhile
      return;
    }
    rest = (rest + chunk.value).replace(/\r\n?/g, "\n");
    const frames = rest.split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) parseFrame(frame);
  }
}

function silence(): Promise<null> {
  return new Promise((done) => setTimeout(() => done(null), STALE_MS * 2));
}

function parseFrame(frame: string): void {
  let id: string | null = null;
  let kind = "message";
  let data = "";
  for (const line of frame.split("\n")) {
    if (line.startsWith("id:")) id = line.slice(3).trim();
    else if (line.startsWith("event:")) kind = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5).trim();
  }
  const event = eventOf(kind, data);
  if (!event) {
    lastHeard = Date.now(); // a comment is a sign of life too
    return;
  }
  channel?.postMessage({ id, event } satisfies Broadcast);
  receive(id, event);
}

function eventOf(kind: string, data: string): LiveEvent | null {
  if (kind === "ping" || kind === "reset") return { kind };
  // The greeting tells where the stream begins: answers fetched before the first greeting may be older than that.
  if (kind === "hello") return { kind: lastId === null ? "hello" : "ping" };
  if (kind === "run") return { kind, data: JSON.parse(data) as RunEvent };
  if (kind === "inbox") return { kind, data: JSON.parse(data) as { count: number } };
  if (kind === "looking") return { kind, data: JSON.parse(data) as { item: string } };
  if (/^\w+:\w+$/.test(kind)) return { kind: "named", name: kind, data: JSON.parse(data) as Dict };
  return null;
}
