/**
 * The shapes of the HTTP contract, by the names that the console has for them. They come from schema.d.ts, which is
 * written from the server's description of itself (`python -m tools.client`). Where the server says "a string" and the
 * console knows which words there are, the field is narrowed: only one that the server tells, and only to less.
 */
import type { components } from "./schema";

type Told = components["schemas"];
type Narrow<T, N extends { [K in keyof N]: K extends keyof T ? T[K] : never }> = Omit<T, keyof N> & N;

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Dict = { [key: string]: Json };
export type Tone = "idle" | "moving" | "held" | "failed" | "done" | "undone";
export type State =
  | "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED" | "COMPENSATING" | "COMPENSATED" | "TIMEOUT";
export type WhyKind =
  | "failed" | "breaker" | "no_worker" | "dead_join" | "backoff" | "limit" | "paused" | "work" | "event" | "child" | "timer";
/** What is done with a work item of a process. */
export type WorkVerb = "start" | "submit" | "approve" | "reject" | "rework" | "take_over" | "set_mode" | "delegate";
export type Mode = "AUTONOMOUS" | "SUPERVISED" | "MANUAL";
export type Verb =
  | "signal" | "pause" | "resume" | "retry" | "restart" | "cancel" | "cancel_boundary" | "compensate" | "fork" | "resolve"
  | "edit_variable" | "approve" | "reject" | "judge" | "respond" | "skip";
export type Shape =
  | "start" | "end" | "task" | "work" | "choose" | "fork" | "join" | "wait" | "loop" | "call" | "undo" | "region";

/** A list: what every one of them has. */
export interface Page<T> {
  items: T[];
  next: Told["RunPage"]["next"];
  total?: Told["ItemPage"]["total"];
}

export type Me = Narrow<Told["Me"], { profile: "dev" | "production" }>;
export type DevUser = Told["UserOut"];
export type SessionAsked = Told["SessionAsked"];
export type Problem = Omit<Told["Problem"], "type"> & Partial<Pick<Told["Problem"], "type">>;

// -- runs
export type Then = Narrow<Told["Then"], { kind: "escalate" | "fail" | "continue" | "retry" | "path" }>;
export type Why = Narrow<Told["WhyOut"], { kind: WhyKind; then: Then | null; move: Verb | null }>;
export type Move = Narrow<Told["MoveOut"], { verb: Verb; confirm: "A" | "B" | "C" }>;
export type RunSummary = Narrow<Told["RunSummary"], { state: State; tone: Tone; why: Why | null }>;
export type Failure = Narrow<Told["FailureOut"], { detail: Json }>;
export type Attempt = Told["AttemptOut"];
export type Wait = Told["WaitOut"];
export type Firing = Narrow<Told["FiringOut"], { tone: Tone }>;
export type FiringPage = Narrow<Told["FiringPage"], { items: Firing[] }>;
export type Run = Narrow<Told["RunOut"], {
  state: State; tone: Tone; why: Why[]; moves: Move[]; firings: Firing[]; children: RunSummary[]; failure: Failure | null;
  input: Json; output: Json; outputs: Dict; variables: Dict;
}>;
export type BatchAsked = Told["BatchAsked"];
export type BatchFilter = Told["BatchFilter"];
export type Batch = Told["BatchOut"];

// -- the picture
export type GraphNode = Narrow<Told["GraphNode"], { shape: Shape }>;
export type GraphEdge = Told["GraphEdge"];
export type NodeState = Narrow<Told["GraphState"], { tone: Tone }>;
export type Token = Told["GraphToken"];
export type Graph = Narrow<Told["GraphOut"], { nodes: GraphNode[]; states: { [node: string]: NodeState }; variables: Dict }>;
/** `tokens`: by edge, the new counts; `resting`: by node. */
export type Delta = Narrow<Told["DeltaOut"], { states: { [node: string]: NodeState }; variables: Dict }>;
export type Deltas = Narrow<Told["DeltasOut"], { snapshot: Graph; steps: Delta[] }>;
/** `fact` is its name: fired, settled, attempt.failed … */
export type Fact = Narrow<Told["FactOut"], { data: Dict }>;
export type FactPage = Narrow<Told["FactPage"], { items: Fact[] }>;
/** `level`: debug, info, warning, error. */
export type LogLine = Narrow<Told["LogLineOut"], { level: "debug" | "info" | "warning" | "error" }>;
export type LogPage = Narrow<Told["LogPage"], { items: LogLine[] }>;
/** What a move would do with the effects of one node. */
export type Foreseen = Narrow<Told["ForeseenOut"], { fate: "done" | "again" | "open" | "undone" }>;
export type Preview = Narrow<Told["PreviewOut"], { effects: Foreseen[] }>;

// -- the inbox
export type Field = Narrow<Told["FieldOut"], { value: Json; tone: Tone | null }>;
export type ItemKind = "approval" | "review" | "work";
export type Item = Narrow<Told["ItemOut"], {
  kind: ItemKind; due_then: Then | null; data: Json; fields: Field[]; form: Schema | null; moves: (Omit<Move, "verb"> & { verb: Verb | WorkVerb })[];
}>;
export type Looking = Told["LookingOut"];
/** An item as lists show it. */
export type ItemShort = Narrow<Told["ShortItemOut"], { kind: ItemKind }>;

/** The part of JSON Schema that a form is drawn from. */
export type Schema = {
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
  minItems?: number;
  pattern?: string;
  "x-unit"?: string;
  "x-labels"?: { [value: string]: string };
  oneOf?: Schema[];
};

// -- home
export type Tile = Narrow<Told["TileOut"], {
  id: "running" | "success_rate" | "approvals" | "node_error_rate" | "dead_letters" | "open_breakers"; detail: Dict;
}>;
export type Worker = Narrow<Told["WorkerOut"], { detail: Dict }>;
export type Stuck = Narrow<Told["StuckOut"], { run: RunSummary; why: Why }>;
export type Home = Narrow<Told["HomeOut"], { stuck: Stuck[]; waiting: ItemShort[]; tiles: Tile[]; workers: Worker[] }>;
export type Draft = Told["DraftOut"];

// -- definitions
export type Definition = Told["DefinitionOut"];
export type Version = Told["VersionOut"];
export type VersionWhole = Narrow<Told["VersionWhole"], { document: Dict }>;
export type Change = Narrow<Told["ChangeOut"], { before: Json; after: Json }>;
export type Diff = Narrow<Told["DiffOut"], { changes: Change[] }>;
export type Finding = Narrow<Told["FoundOut"], { severity: "error" | "warning" | "info" }>;
export type Judged = Told["JudgedOut"];
export type Inspected = Narrow<Told["InspectedOut"], { findings: Finding[]; graph: Graph | null; soundness: Judged[]; input_schema: Schema | null; document: Dict | null }>;
export type Submitted = Told["SubmittedOut"];

// -- processes
export type WorkItem = Narrow<Told["WorkitemWhole"], { draft: Json; result: Json; form: Schema | null; data: Json }>;
/** A line of a list of them. */
export type WorkLine = Told["WorkitemLine"];
export type Process = Told["ProcessDefinitionOut"];
export type ProcessLine = Told["DefinitionLine"];
export type Instance = Told["ProcessInstanceOut"];
export type UndoStep = Told["StepOut"];
export type Extracted = Narrow<Told["ExtractedOut"], { definition: Dict; findings: Finding[] }>;
export type DefinitionSaved = Told["DefinitionSaved"];
