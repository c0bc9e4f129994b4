/**
 * The types of the HTTP API under the console's names. They come from schema.d.ts, which is generated from the server's
 * OpenAPI document (`python -m tools.client`). Where the server says "a string" and the console knows the possible
 * values, the field is narrowed.
 */
import type { components } from "./schema";

type Schemas = components["schemas"];
type Narrow<T, N extends { [K in keyof N]: K extends keyof T ? T[K] : never }> = Omit<T, keyof N> & N;

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Dict = { [key: string]: Json };
export type Tone = "idle" | "moving" | "held" | "failed" | "done" | "undone";
export type State =
  | "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED" | "COMPENSATING" | "COMPENSATED" | "TIMEOUT";
export type WhyKind =
  | "failed" | "breaker" | "no_worker" | "dead_join" | "backoff" | "limit" | "paused" | "work" | "event" | "job" | "child" | "timer";
/** Moves of a work item. */
export type WorkVerb = "start" | "submit" | "approve" | "reject" | "rework" | "take_over" | "set_mode" | "delegate";
export type AgentMode = "AUTONOMOUS" | "SUPERVISED" | "MANUAL";
export type Verb =
  | "signal" | "pause" | "resume" | "retry" | "restart" | "cancel" | "cancel_boundary" | "compensate" | "fork" | "resolve"
  | "edit_variable" | "approve" | "reject" | "judge" | "respond" | "skip";
export type Shape =
  | "start" | "end" | "task" | "work" | "choose" | "fork" | "join" | "wait" | "loop" | "call" | "undo" | "region";

/** A page of a list. */
export interface Page<T> {
  items: T[];
  next: Schemas["RunPage"]["next"];
  total?: Schemas["ItemPage"]["total"];
}

export type Me = Narrow<Schemas["Me"], { profile: "dev" | "production" }>;
export type DevUser = Schemas["UserOut"];
export type SessionAsked = Schemas["SessionAsked"];
export type Problem = Omit<Schemas["Problem"], "type"> & Partial<Pick<Schemas["Problem"], "type">>;

// -- runs
export type Then = Narrow<Schemas["Then"], { kind: "escalate" | "fail" | "continue" | "retry" | "path" }>;
export type Why = Narrow<Schemas["WhyOut"], { kind: WhyKind; then: Then | null; move: Verb | null }>;
export type Move = Narrow<Schemas["MoveOut"], { verb: Verb; confirm: "A" | "B" | "C" }>;
export type RunSummary = Narrow<Schemas["RunSummary"], { state: State; tone: Tone; why: Why | null }>;
export type Failure = Narrow<Schemas["FailureOut"], { detail: Json }>;
export type Attempt = Schemas["AttemptOut"];
export type Wait = Schemas["WaitOut"];
export type Firing = Narrow<Schemas["FiringOut"], { tone: Tone }>;
export type FiringPage = Narrow<Schemas["FiringPage"], { items: Firing[] }>;
export type Run = Narrow<Schemas["RunOut"], {
  state: State; tone: Tone; why: Why[]; moves: Move[]; firings: Firing[]; children: RunSummary[]; failure: Failure | null;
  input: Json; output: Json; outputs: Dict; variables: Dict;
}>;
export type BatchAsked = Schemas["BatchAsked"];
export type BatchFilter = Schemas["BatchFilter"];
export type Batch = Schemas["BatchOut"];
export type BatchProgress = Schemas["BatchState"];
export type Care = Schemas["CareAsked"];
export type Proposal = Schemas["ProposalSeen"];

// -- the graph
export type GraphNode = Narrow<Schemas["GraphNode"], { shape: Shape }>;
export type GraphEdge = Schemas["GraphEdge"];
export type NodeState = Narrow<Schemas["GraphState"], { tone: Tone }>;
export type Token = Schemas["GraphToken"];
export type Graph = Narrow<Schemas["GraphOut"], { nodes: GraphNode[]; states: { [node: string]: NodeState }; variables: Dict }>;
/** `tokens`: by edge, the new counts; `resting`: by node. */
export type Delta = Narrow<Schemas["DeltaOut"], { states: { [node: string]: NodeState }; variables: Dict }>;
export type Deltas = Narrow<Schemas["DeltasOut"], { snapshot: Graph; steps: Delta[] }>;
/** `fact` is its name: fired, settled, attempt.failed … */
export type Fact = Narrow<Schemas["FactOut"], { data: Dict }>;
export type MomentPage = Schemas["MomentPage"];
export type FactPage = Narrow<Schemas["FactPage"], { items: Fact[] }>;
/** `level`: debug, info, warning, error. */
export type LogLine = Narrow<Schemas["LogLineOut"], { level: "debug" | "info" | "warning" | "error" }>;
export type LogPage = Narrow<Schemas["LogPage"], { items: LogLine[] }>;
/** What a move would do with the effects of a node. */
export type Foreseen = Narrow<Schemas["ForeseenOut"], { fate: "done" | "again" | "open" | "undone" }>;
export type Preview = Narrow<Schemas["PreviewOut"], { effects: Foreseen[] }>;

// -- the inbox
export type Field = Narrow<Schemas["FieldOut"], { value: Json; tone: Tone | null }>;
export type ItemKind = "approval" | "review" | "work";
export type Item = Narrow<Schemas["ItemOut"], {
  kind: ItemKind; due_then: Then | null; data: Json; fields: Field[]; form: Schema | null; moves: (Omit<Move, "verb"> & { verb: Verb | WorkVerb })[];
}>;
export type Looking = Schemas["LookingOut"];
/** An item as lists show it. */
export type ItemShort = Narrow<Schemas["ShortItemOut"], { kind: ItemKind }>;

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
export type Tile = Narrow<Schemas["TileOut"], {
  id: "running" | "success_rate" | "approvals" | "node_error_rate" | "dead_letters" | "open_breakers"; detail: Dict;
}>;
export type Worker = Narrow<Schemas["WorkerOut"], { detail: Dict }>;
export type Stuck = Narrow<Schemas["StuckOut"], { run: RunSummary; why: Why }>;
export type Home = Narrow<Schemas["HomeOut"], { stuck: Stuck[]; waiting: ItemShort[]; tiles: Tile[]; workers: Worker[] }>;
export type Limit = Schemas["LimitOut"];
export type Breaker = Schemas["BreakerOut"];
export type FailedCauses = Schemas["FailedCausesOut"];

// -- pipelines
type StageWords = "STARTED" | "RUNNING" | "COMPLETED" | "FAILED" | "SKIPPED" | "TIMEOUT";
type ExecutionWords = "PENDING" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMEOUT";
export type StageShort = Narrow<Schemas["StageBrief"], { status: StageWords | null }>;
export type Stage = Narrow<Schemas["StageLogOut"], { status: StageWords | null; output: Json; usage: Dict }>;
export type ExecutionShort = Narrow<Schemas["ExecutionBrief"], { status: ExecutionWords; stages: StageShort[]; why: Why[] }>;
export type Execution = Narrow<Schemas["ExecutionOut"], { status: ExecutionWords; stages: Stage[]; why: Why[]; warnings: { stage: string; status: string; code: string; message: string }[] }>;
export type ExecutionPage = Narrow<Schemas["ExecutionPageOut"], { items: ExecutionShort[] }>;
export type PipelineOverview = Schemas["OverviewOut"];
export type DayUsage = Schemas["DayUsageOut"];
export type DeadMessages = Schemas["DeadPageOut"];
export type Redriven = Schemas["RedrivenOut"];

// -- plans
export type TaskStatus = "pending" | "in_progress" | "completed" | "cancelled" | "failed";
export type TaskVerb = "execute" | "cancel" | "complete" | "retry" | "review-approve" | "review-reject" | "force-complete";
export type WorkflowStatus = "idle" | "running" | "paused" | "completed";
export type WorkflowVerb = "start" | "stop" | "stop-now" | "resume" | "reset";
export type HealthStatus = "unknown" | "healthy" | "warning" | "error";
export type Project = Narrow<Schemas["ProjectOut"], { status: WorkflowStatus; health: HealthStatus }>;
export type Task = Narrow<Schemas["TaskOut"], { status: TaskStatus; moves: TaskVerb[] }>;
export type Criterion = Schemas["CriterionOut"];
export type TaskExecution = Narrow<Schemas["TaskExecutionOut"], { status: "pending" | "running" | "completed" | "failed" }>;
export type TaskDetail = Narrow<Schemas["TaskDetailOut"], { task: Task; executions: TaskExecution[] }>;
export type TaskAgent = Narrow<Schemas["TaskAgentOut"], { status: "idle" | "busy" }>;
export type Workflow = Narrow<Schemas["WorkflowStateOut"], { status: WorkflowStatus; moves: WorkflowVerb[] }>;
export type Deadlock = Schemas["DeadlockOut"];
export type Sync = Narrow<Schemas["SyncOut"], { findings: Dict[] }>;
export type SessionLine = Narrow<Schemas["SessionLineOut"], { kind: "message" | "tool" | "result" | "error" | "raw" | "system" | "progress"; data: Json }>;
export type SessionLog = Narrow<Schemas["SessionLogOut"], { lines: SessionLine[] }>;
export type HealthIssue = Narrow<Schemas["HealthIssueOut"], { kind: "stuck" | "zombie" | "failure" | "missing"; level: "warning" | "error" }>;
export type Health = Narrow<Schemas["HealthOut"], { status: HealthStatus; issues: HealthIssue[] }>;
export type Report = Narrow<Schemas["ReportOut"], { body: Dict }>;

// -- deployments
export type DeploymentStatus = "in_progress" | "paused" | "rolled_back" | "succeeded" | "failed";
export type DeploymentMove = "pause" | "resume" | "promote" | "rollback";
export type MetricName = "error_rate" | "latency_p99_ms" | "anomaly_score";
/** Why a deployment was paused, failed or taken back. */
export type DeploymentReason = Narrow<Schemas["DeploymentReason"], { metric: MetricName | null }>;
export type VersionMetrics = Schemas["MeasuredOut"];
export type MetricPoint = Schemas["MeasuredAtOut"];
export type DeploymentStage = Narrow<Schemas["StageOut"], { status: "done" | "now" | "next" | "stopped" }>;
export type DeploymentEvent = Schemas["DeploymentEventOut"];
export type DeploymentShort = Narrow<Schemas["DeploymentSummaryOut"], { status: DeploymentStatus; reason: DeploymentReason | null }>;
export type Deployment = Narrow<Schemas["DeploymentOut"], {
  status: DeploymentStatus; reason: DeploymentReason | null; stages: DeploymentStage[]; criteria: { error_rate_max?: number; latency_p99_max_ms?: number } | null; triggers: { [metric in MetricName]?: number } | null;
  notify: { on_start?: boolean; on_complete?: boolean; on_rollback?: boolean; channels?: string[] }; moves: (Omit<Schemas["DeploymentMoveOut"], "move"> & { move: DeploymentMove })[];
}>;

// -- simulations
export type Recommendation = "deploy" | "review" | "reject" | "insufficient_data";
export type Compared = { metric: string; baseline: number | { [name: string]: number } | null; simulated: number | { [name: string]: number } | null };
export type SimulationTest = {
  name: string; statistic: number | null; p_value: number | null; significant: boolean;
  effect_size: { name: string; value: number; magnitude: "negligible" | "small" | "medium" | "large" } | null;
};
/** What W-4.13 names; `transitions`: rows are what was decided, columns what would have been; `labelled`: by people. */
export type SimulationResult = {
  summary: { total_samples: number; baseline_accuracy: number | null; simulated_accuracy: number | null; improvement: number | null; statistical_significance: boolean };
  detailed_comparison: Compared[]; risk_assessment: { level: string; changed_decisions: number; new_false_negatives: number }; recommendation: Recommendation;
  test: SimulationTest | null; transitions: { decisions: string[]; counts: number[][] } | null; labelled: number;
};
export type Simulation = Narrow<Schemas["SimulationOut"], { result: SimulationResult }>;
export type SimulatedJudgment = Schemas["SimulatedJudgmentOut"];

export type StoredDraft = Schemas["DraftOut"];

// -- definitions
export type Definition = Schemas["DefinitionOut"];
export type Version = Schemas["VersionOut"];
export type VersionWhole = Narrow<Schemas["VersionWhole"], { document: Dict }>;
export type Change = Narrow<Schemas["ChangeOut"], { before: Json; after: Json }>;
export type Diff = Narrow<Schemas["DiffOut"], { changes: Change[] }>;
export type Finding = Narrow<Schemas["FoundOut"], { severity: "error" | "warning" | "info" }>;
export type Judged = Schemas["JudgedOut"];
export type Inspected = Narrow<Schemas["InspectedOut"], { findings: Finding[]; graph: Graph | null; soundness: Judged[]; input_schema: Schema | null; document: Dict | null }>;
export type Submitted = Schemas["SubmittedOut"];

// -- processes
export type WorkItem = Narrow<Schemas["WorkitemWhole"], { draft: Json; result: Json; form: Schema | null; data: Json }>;
/** A work item in a list. */
export type WorkLine = Schemas["WorkitemLine"];
export type Process = Schemas["ProcessDefinitionOut"];
export type ProcessLine = Schemas["DefinitionLine"];
export type Instance = Schemas["ProcessInstanceOut"];
export type UndoStep = Schemas["StepOut"];
export type Extracted = Narrow<Schemas["ExtractedOut"], { definition: Dict; findings: Finding[] }>;
export type Extraction = Narrow<Schemas["ExtractionOut"], { definition: Dict }>;
export type ExtractedElement = Schemas["ExtractedElement"];
export type ManualSentence = Schemas["ManualSentence"];
export type ManualChunk = Schemas["ManualChunk"];
export type DroppedClaim = Schemas["DroppedClaim"];
export type DefinitionSaved = Schemas["DefinitionSaved"];
export type DraftProposal = Narrow<Schemas["DraftProposalOut"], { answer: Dict; facts: Dict }>;
/** `key` is the same as long as the drawing is; `no` its number along the flow, which it keeps. */
export type DraftTodo = Narrow<Schemas["DraftTodoOut"], { facts: Dict; proposals: DraftProposal[]; form: Schema; state: "open" | "done"; answer: Dict | null }>;
type DraftStatus = "open" | "finished" | "released";
export type ProcessDraftLine = Narrow<Schemas["DraftLineOut"], { status: DraftStatus }>;
/** A drawing that cannot run yet, with what is missing. */
export type ProcessDraft = Narrow<Schemas["ProcessDraftOut"], { status: DraftStatus; todos: DraftTodo[]; findings: Finding[]; soundness: Omit<Schemas["DraftSoundnessOut"], "findings"> & { findings: Finding[] } }>;
export type ProcessDraftReleased = Narrow<Schemas["DraftReleased"], { draft: ProcessDraft }>;

// -- the test bench of rules
export type Decision = "normal" | "warning" | "critical" | "unknown";
export type PackVersion = Schemas["PackVersionOut"];
export type PackSummary = Schemas["PackSummaryOut"];
export type FirstInput = Narrow<Schemas["FirstInputOut"], { origin: "test" | "judgment"; data: Json; context: Json }>;
export type PackDetail = Narrow<Schemas["PackDetailOut"], { body: Dict; first_input: FirstInput | null }>;
export type RuleVerdict = Narrow<Schemas["TrialVerdictOut"], { decision: Decision; outputs: Json }>;
export type RuleDifference = Narrow<Schemas["DifferenceOut"], { before: Json; after: Json }>;
export type PackInForce = Narrow<Schemas["InForceOut"], { verdict: RuleVerdict | null; differences: RuleDifference[] }>;
export type Trial = Narrow<Schemas["TrialOut"], { verdict: RuleVerdict | null; in_force: PackInForce | null; findings: Finding[] }>;
export type FeelValue = Narrow<Schemas["FeelOut"], { value: Json }>;
