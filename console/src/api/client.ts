/** The HTTP client: every request goes through here, and errors tell what to do. */
import type { Problem } from "./types";

export const BASE = "/api/v1";

export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
  }
  get status(): number {
    return this.problem.status;
  }
}

/** There was no answer; whether the request arrived is not known. */
export class Offline extends Error {
  constructor() {
    super("offline");
  }
}

export interface RequestOptions {
  method?: string;
  body?: unknown;
  key?: string;
  etag?: string;
  signal?: AbortSignal;
  /** Sent even if the page is closed meanwhile. */
  keepalive?: boolean;
}

function disconnected(error: unknown): never {
  if (error instanceof DOMException && error.name === "AbortError") throw error;
  throw new Offline();
}

export async function call<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const method = options.method ?? "GET";
  const headers: Record<string, string> = { Accept: "application/json", "Accept-Language": document.documentElement.lang || "ko" };
  if (method !== "GET") headers["X-Penstock"] = "1";
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (options.key) headers["Idempotency-Key"] = options.key;
  if (options.etag) headers["If-Match"] = options.etag;
  let answer: Response;
  try {
    answer = await fetch(BASE + path, {
      method,
      headers,
      credentials: "same-origin",
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
      signal: options.signal,
      keepalive: options.keepalive,
    });
  } catch (error) {
    disconnected(error);
  }
  if (answer.status === 204) return undefined as T;
  const text = await answer.text().catch(disconnected);
  if (!answer.ok) throw new ApiError(problemOf(answer, text));
  return (text ? JSON.parse(text) : undefined) as T;
}

/** The text of an answer that is not JSON, such as a drawing. */
export async function text(path: string): Promise<string> {
  const answer = await fetch(BASE + path, { credentials: "same-origin" }).catch(disconnected);
  const body = await answer.text().catch(disconnected);
  if (!answer.ok) throw new ApiError(problemOf(answer, body));
  return body;
}

export const post = <T>(path: string, body: unknown = {}, key: string = newKey()): Promise<T> =>
  call<T>(path, { method: "POST", body, key });

/** An Idempotency-Key: made once per decision and kept until an answer came. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

export function query(of: Record<string, string | number | boolean | null | undefined>): string {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(of))
    if (value !== null && value !== undefined && value !== "") out.set(name, String(value));
  const text = out.toString();
  return text ? `?${text}` : "";
}

function problemOf(answer: Response, text: string): Problem {
  try {
    const body = JSON.parse(text) as Partial<Problem>;
    if (typeof body === "object" && body !== null && typeof body.code === "string")
      return { title: body.code, detail: "", ...body, status: answer.status } as Problem;
  } catch {
    // a proxy answered in its own words
  }
  const trace = answer.headers.get("x-request-id");
  return { title: answer.statusText, status: answer.status, code: `HTTP-${answer.status}`, detail: "", trace_id: trace };
}
