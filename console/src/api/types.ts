/** The shapes of the HTTP contract, by hand. `npm run types` writes schema.d.ts from the server's OpenAPI beside it. */

export type Tone = "idle" | "moving" | "held" | "failed" | "done" | "undone";
export type State =
  | "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED" | "COMPENSATING" | "COMPENSATED" | "TIMEOUT";
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Dict = { [key: string]: Json };

export interface Page<T> {
  items: T[];
  next: string | null;
  total?: number;
}

export interface Me {
  user: string;
  name: string;
  tenant: string;
  roles: string[];
  groups: string[];
  permissions: string[];
  locale: string;
  zone: string;
  profile: "dev" | "production";
  version: string;
}

export interface DevUser {
  id: string;
  name: string;
  roles: string[];
}

export type WhyKind =
  | "failed" | "breaker" | "no_worker" | "dead_join" | "backoff" | "limit" | "paused" | "work" | "event" | "child" | "timer";

export interface Then {
  kind: "escalate" | "fail" | "continue" | "retry" | "path";
  to?: string | null;
}

export interface Why {
  rank: number;
  kind: WhyKind;
  node: string | null;
  label: string | null;
  who: string[];
  what: string | null;
  since: string | null;
  until: string | null;
  then: Then | null;
  attempt: number | null;
  of: number | null;
  code: string | null;
  message: string | null;
  move: Verb | null;
  run?: string | null;
}

export type Verb =
  | "signal" | "pause" | "resume" | "retry" | "restart" | "cancel" | "cancel_boundary" | "compensate" | "fork" | "resolve"
  | "edit_variable" | "approve" | "reject" | "judge" | "respond" | "skip";

export interface Move {
  verb: Verb;
  label_key: string;
  allowed: boolean;
  confirm: "A" | "B" | "C";
  effect_key: string | null;
  needs: string[];
  target?: string | null;
}

export interface RunSummary {
  id: string;
  key: string | null;
  name: string;
  title: string;
  language: string;
  version: number | string | null;
  status: string;
  state: State;
  tone: Tone;
  why: Why | null;
  more_why: number;
  result: string | null;
  node: string | null;
  started_at: string | null;
  updated_at: string;
  ended_at: string | null;
  active_ms: number;
  priority: string | number | null;
  parent: string | null;
  tenant: string;
}

export interface Failure {
  code: string;
  category: string;
  message: string;
  hint: string | null;
  node: string | null;
  detail: Json;
}

export interface Attempt {
  n: number;
  started_at: string | null;
  ended_at: string | null;
  outcome: string | null;
  code?: string | null;
  message?: string | null;
}

export interface Wait {
  since: string;
  until: string | null;
  why: string | null;
}

export interface Firing {
  id: string | number;
  node: string;
  label: string;
  type: string;
  kind: string;
  status: string;
  state: string;
  tone: Tone;
  epoch: number;
  iteration: number | null;
  scope: string | null;
  attempt: number;
  started_at: string | null;
  ended_at: string | null;
  attempts: Attempt[];
  waits: Wait[];
}

export interface Run extends Omit<RunSummary, "why" | "more_why"> {
  why: Why[];
  input: Json;
  output: Json;
  outputs: Json;
  variables: Dict;
  failure: Failure | null;
  warnings: Json[];
  firings: Firing[];
  waiting: Json[];
  moves: Move[];
  facts: number;
  trace_id: string | null;
  trigger: { type: string; source: string | null } | null;
  children: RunSummary[];
  definition: { name: string; version: number | string | null; hash: string; language: string };
  paused: boolean;
  retries: number;
}

export type Shape =
  | "start" | "end" | "task" | "work" | "choose" | "fork" | "join" | "wait" | "loop" | "call" | "undo" | "region";

export interface GraphNode {
  id: string;
  label: string;
  kind: string;
  shape: Shape;
  type: string;
  parent: string | null;
  icon: string | null;
}

export interface GraphEdge {
  id: string;
  from: string;
  to: string;
  port: string;
  label: string | null;
  back: boolean;
  skip: boolean;
}

export interface NodeState {
  state: string;
  status: string;
  tone: Tone;
  count: number;
  attempt: number;
  ms: number | null;
  note: string | null;
}

export interface Token {
  edge: string | null;
  node: string | null;
  count: number;
  epochs: number[];
}

export interface Graph {
  hash: string;
  name: string;
  language: string;
  direction: string;
  at: number;
  of: number;
  time: string | null;
  nodes: GraphNode[];
  edges: GraphEdge[];
  tokens: Token[];
  states: { [node: string]: NodeState };
  taken: string[];
  not_taken: string[];
  variables: Dict;
}

export interface Delta {
  fact: number;
  at: string;
  kind: string;
  node: string | null;
  /** By edge, the new counts; `resting` by node. */
  tokens: { [edge: string]: number };
  resting?: { [node: string]: number };
  states: { [node: string]: NodeState };
  variables: Dict;
  gone?: string[];
  taken: string[];
  not_taken?: string[];
}

export interface Deltas {
  from: number;
  to: number;
  of: number;
  snapshot: Graph;
  steps: Delta[];
}

export interface Fact {
  seq: number;
  at: string;
  /** Its name: fired, settled, attempt.failed … */
  fact: string;
  node: string;
  edge: string;
  scope: string;
  epoch: number;
  data: Dict;
}

export interface FactPage {
  items: Fact[];
  next: number | null;
  of: number;
}

export interface Field {
  key: string;
  label: string;
  value: Json;
  unit?: string | null;
  tone?: Tone | null;
}

export interface Item {
  id: string;
  run: string;
  run_title: string;
  node: string;
  kind: "approval" | "review" | "work";
  title: string;
  description: string;
  priority: string;
  status: string;
  document: string;
  language: string;
  opened_at: string;
  due_at: string | null;
  due_then: Then | null;
  data: Json;
  fields: Field[];
  form: Schema | null;
  candidates: string[];
  why_me: string[];
  eligible: boolean;
  not_eligible_because: string | null;
  needed: number;
  approvals: { by: string; decision: string; comment: string | null; at: string }[];
  escalation_level: number;
  claimed_by: string | null;
  comments: { by: string; at: string; text: string }[];
  effects: { approve: string | null; reject: string | null };
  moves: Move[];
  etag: string;
}

/** The part of JSON Schema that a form is drawn from. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: { [key: string]: Schema };
  required?: string[];
  items?: Schema;
  enum?: Json[];
  const?: Json;
  default?: Json;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  "x-unit"?: string;
  "x-labels"?: { [value: string]: string };
  oneOf?: Schema[];
}

export interface Tile {
  id: "running" | "success_rate" | "approvals" | "node_error_rate" | "dead_letters" | "open_breakers";
  value: number | null;
  unit: string | null;
  threshold: number | null;
  alarm: boolean;
  detail: Json;
  series: (number | null)[];
}

/** An item as lists show it. */
export interface ItemShort {
  id: string;
  run: string;
  run_title: string;
  node: string;
  kind: Item["kind"];
  title: string;
  priority: string;
  opened_at: string;
  candidates: string[];
  due_at: string | null;
  fields?: Field[];
}

export interface Home {
  at: string;
  headline: { stuck: number; waiting: number; flowing: number; ended_24h: number; completed_24h: number };
  stuck: { run: RunSummary; why: Why }[];
  waiting: ItemShort[];
  tiles: Tile[];
  workers: { name: string; state: string; detail: Json }[];
  hours: { at: string; done: number; held: number; failed: number }[];
  slowest: { node_type: string; p95_ms: number; count: number }[];
  by_language: { language: string; running: number; waiting: number; stuck: number; undoing: number }[];
  schedules: { name: string; next_at: string; title: string }[];
}

export interface Problem {
  type?: string;
  title: string;
  status: number;
  code: string;
  detail: string;
  where?: Json;
  hint?: string | null;
  reason?: Json;
  state?: Json;
  findings?: Json[];
  /** Of a closed item: who closed it, how and when. */
  decided?: { by: string | null; decision: string | null; at: string };
  trace_id?: string | null;
}
