/**
 * One stream per browser. A tab that holds the lock reads `GET /stream` and passes events on; the others listen.
 * When it closes, the next one takes the lock and goes on after the last event that anybody saw.
 */
import { useSyncExternalStore } from "react";
import { BASE } from "./client";

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
  | { kind: "reset" }
  | { kind: "hello" }
  | { kind: "ping" };

export type Liveness = "live" | "stale" | "offline";

type Passed = { id: string | null; event: LiveEvent } | { down: boolean };

const STALE_MS = 15_000;
/** A try that got no answer in this time has failed. */
const ANSWER_MS = 5000;
/** Until it is opened again: after it broke off, after a try that failed (the second makes it offline), after a refusal. */
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

export function startLive(): void {
  if (started) return;
  started = true;
  channel?.addEventListener("message", ({ data }: MessageEvent<Passed>) => {
    if ("down" in data) turn(data.down);
    else heard(data.id, data.event);
  });
  window.addEventListener("online", judge);
  window.addEventListener("offline", judge);
  window.setInterval(judge, 1000);
  // Without a secure context there is no lock: then every tab reads its own stream.
  if (navigator.locks) void navigator.locks.request("penstock.live", () => read());
  else void read();
}

function heard(id: string | null, event: LiveEvent): void {
  if (id) lastId = id;
  lastHeard = Date.now();
  judge();
  listeners.forEach((listener) => listener(event));
}

function turn(now: boolean): void {
  const back = down && !now;
  if (back) lastHeard = Date.now();
  down = now;
  judge();
  if (back) listeners.forEach((listener) => listener({ kind: "reset" })); // what failed meanwhile is asked again
}

function judge(): void {
  const now: Liveness = down || !navigator.onLine ? "offline" : Date.now() - lastHeard > STALE_MS ? "stale" : "live";
  if (now === liveness) return;
  liveness = now;
  watchers.forEach((watcher) => watcher());
}

async function read(): Promise<never> {
  for (let failed = 0; ; ) {
    const answer = await open();
    // who refuses me is there all the same; a gateway that speaks for a dead server is not
    failed = !answer || answer.status >= 500 ? failed + 1 : 0;
    if (failed === 0 || failed === 2) tellAll(failed > 0);
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

/** For every tab: whether the server answers. */
function tellAll(now: boolean): void {
  channel?.postMessage({ down: now } satisfies Passed);
  turn(now);
}

async function follow(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    // A connection that says nothing for long is dead, though nobody told us.
    const got = await Promise.race([reader.read(), silence()]);
    if (got === null || got.done) {
      void reader.cancel();
      return;
    }
    rest = (rest + got.value).replace(/\r\n?/g, "\n");
    const frames = rest.split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) take(frame);
  }
}

function silence(): Promise<null> {
  return new Promise((done) => setTimeout(() => done(null), STALE_MS * 2));
}

function take(frame: string): void {
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
  channel?.postMessage({ id, event } satisfies Passed);
  heard(id, event);
}

function eventOf(kind: string, data: string): LiveEvent | null {
  if (kind === "ping" || kind === "reset") return { kind };
  // The greeting says where the stream begins: what was asked for before the first one may be older than that.
  if (kind === "hello") return { kind: lastId === null ? "hello" : "ping" };
  if (kind === "run") return { kind, data: JSON.parse(data) as RunEvent };
  if (kind === "inbox") return { kind, data: JSON.parse(data) as { count: number } };
  if (kind === "looking") return { kind, data: JSON.parse(data) as { item: string } };
  return null;
}
