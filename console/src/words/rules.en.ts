/** What the console says about rule packs and their test bench, in English. */
import { b, done, failed, held } from "./rich";
import type { RulesWords } from "./rules.ko";

const plural = (n: string, one: string): string => (n === "1" ? `${n} ${one}` : `${n} ${one}s`);

export const rulesEn: RulesWords = {
  title: "Rule packs", tabs: { packs: "Rule packs", feel: "FEEL" }, tabsLabel: "What to try",
  list: {
    some: (n) => `${b(plural(n, "rule pack"))} ${n === "1" ? "decides" : "decide"}`, about: "Open a pack and try an input. Nothing is stored or sent.",
    none: "No rule packs are registered", noneDo: "A rule pack that you register can be tried here.",
    columns: { pack: "Pack", force: "In force", versions: "Versions", rules: "Rules", tests: "Tests", changed: "Changed" }, noForce: "none in force", find: "Find by name or id", noneMatch: "No rule pack matches",
  },
  status: { draft: "Draft", pending: "Waits for approval", pending_approval: "Waits for approval", approved: "Approved", active: "Active", deprecated: "Deprecated" },
  inForce: "In force", version: "Version", rulesN: (n) => plural(n, "rule"), testsN: (n) => plural(n, "test"),
  headline: (version) => (version ? `Judgments use ${done(version)}` : `Not used: ${held("no version is approved")}`),
  table: {
    title: "Rules", rule: "Rule", when: "When", decision: "Decision", confidence: "Confidence", scope: { dataset: "all data", each: "each row", latest: "last row" }, off: "Off", threshold: "Threshold", matched: "Matched",
    otherwise: "When no rule matches", policy: "When several match", requires: "Needs first", result: "Result", model: "This is a DMN model. It decides as a whole.", line: "Line", none: "This pack has no rules to show",
    policies: { first: "the first rule", priority: "the rule of highest priority", severity_max: "the gravest decision", collect: "all are collected" },
  },
  bench: {
    title: "Test bench", data: "Input data", dataHint: "JSON: a list of rows, or one value", context: "Context", contextHint: "the judgment's context; may be empty", run: "Run", running: "Running", reset: "First input again",
    from: { test: (name) => `Filled in from the pack's test ${name}`, judgment: (name) => `Filled in from the last judgment (${name})` }, fromNone: "This pack has neither tests nor stored judgments. Write an input.",
    target: "What to run", saved: "Saved version", draft: "Try a draft", draftLabel: "Draft of the rule pack (JSON)", draftHint: "What you change here is not saved.", draftReset: "As the version is", badJson: (line, why) => `Line ${line} cannot be read: ${why}`, notObject: "A rule pack is written in { }.",
    idle: "Not run yet", idleDo: "Look at the input and press Run. Nothing is stored.", stale: "The input or the rules have changed. Run it again.",
  },
  result: {
    title: "Result", decided: (decision, confidence) => `The decision is ${b(decision)}, confidence ${confidence}`, failed: `${failed("It could not be judged")}`, inRule: (rule) => `Rule ${rule}`, matched: (n) => `${plural(n, "rule")} matched`, noneMatched: "No rule matched, so it is the default", reason: "Reason", recommendations: "Recommendations", outputs: "Outputs",
    against: (version) => `Against ${version}, in force`, same: "This is the version in force. There is nothing to compare.", noDifference: "It decides as the version in force", differs: (before, after) => `The version in force says ${b(before)}, this says ${b(after)}`, differsElse: "The decision is the same, its details differ", noForce: "No version is in force, so nothing was compared.", forceFailed: "The version in force cannot judge this input",
    field: { decision: "Decision", confidence: "Confidence", reasoning: "Reason", recommendations: "Recommendations", matched_rules: "Matched rules", outputs: "Outputs" }, columns: { field: "What", before: "In force", after: "This" },
    tests: "The pack's own tests", testsRight: (n, of) => `${n} of ${of} pass`, noTests: "This pack has no tests.", right: "Pass", wrong: "Differs", left: (n) => `${plural(n, "test")} too large to run here.`, findings: "Worth knowing",
  },
  feel: {
    about: "Evaluate one expression with values. Nothing is stored or sent.", headline: "Try a FEEL expression", expression: "Expression", unary: "Unary tests", kind: "Kind", text: "FEEL", value: "Value to test", valueHint: "one JSON value", context: "Context", contextHint: "JSON with names and values", strict: "Strict", strictHint: "stops where there would be no value", run: "Evaluate", running: "Evaluating",
    result: "Value", json: "JSON", type: "Type", reads: "Names read", warnings: (n) => `${plural(n, "place")} without a value`, noWarnings: "No warnings", at: (n) => `character ${n}`, idle: "Not evaluated yet", idleDo: "Write an expression and press Ctrl+Enter.", needText: "Write an expression.", notObject: "A context is written in { }.", wrong: "It could not be evaluated",
    types: { number: "number", string: "string", boolean: "boolean", list: "list", context: "context", range: "range", function: "function", date: "date", time: "time", "date and time": "date and time", "days and time duration": "days and time duration", "years and months duration": "years and months duration", Null: "null" },
  },
};
