/** What the console says about deployments and simulation reports, in English. */
import type { DeploymentWords } from "./deployments.ko";
import { b, done, failed, held, moving, undone } from "./rich";

const plural = (n: string, one: string, many = `${one}s`): string => (n === "1" ? `${n} ${one}` : `${n} ${many}`);

export const deploymentsEn: DeploymentWords = {
  title: "Deployments", reports: "Simulation reports",
  artifact: { rule_pack: "rules", model: "model", prompt: "prompt", config: "settings", workflow: "workflow" },
  environment: { production: "Production", staging: "Staging" }, allLines: "all lines",
  strategy: { immediate: "At once", canary: "Step by step", blue_green: "Side by side, then switched", rolling: "Line by line" },
  status: { in_progress: "Rolling out", paused: "Paused", rolled_back: "Rolled back", succeeded: "Out to all", failed: "Failed" },
  metric: { error_rate: "Error rate", latency_p99_ms: "p99", anomaly_score: "Anomaly score" },
  headline: {
    within: (what, percent) => `The new ${what} at ${moving(percent)}: ${done("within limits")}`,
    over: (what, percent, metric) => `The new ${what} at ${moving(percent)}: ${held(`${metric} is over its promote limit`)}`,
    back: (what, percent, metric) => `The new ${what} at ${moving(percent)}: ${failed(`${metric} is over its roll-back limit`)}`,
    few: (what, percent) => `The new ${what} at ${moving(percent)}: ${held("no samples yet")}`,
    unlimited: (what, percent) => `The new ${what} at ${moving(percent)}`,
    paused: (what, percent) => `The new ${what} at ${moving(percent)}: ${held("paused")}`,
    tookItselfBack: (metric, value, limit, to) => `${failed(`${metric} ${value}`)} passed the limit ${limit}, so it ${failed("rolled itself back")}${to ? ` to ${to}` : ""}`,
    takenBack: (who, to) => `${undone("Rolled back")}${to ? ` to ${to}` : ""}${who ? ` by ${who}` : ""}`,
    succeeded: (what, id) => `The new ${what} of ${id}: used by ${done("every run")}`,
    failed: (what) => `The new ${what} ${failed("could not be rolled out")}`,
    missed: (what, metric, value, limit) => `${failed(`${metric} ${value}`)} passed the limit ${limit}, so the new ${what} ${failed("went no further")}`,
  },
  timeOnly: "There are no samples yet, so only time is looked at.", noLimits: "There are no limits, so only time is looked at.", startedAt: (at) => `started ${at}`, endedAt: (at) => `ended ${at}`, run: "Run", rollout: "Rollout run",
  move: { pause: "Pause", resume: "Resume", promote: (to) => `To ${to} now`, finish: "Finish now", rollback: (to) => (to ? `Roll back to ${to}` : "Roll back") },
  mayNot: "missing", askFor: "Ask", asked: "The request is copied. Paste it into your messenger.", askText: (what, permission, address) => `Please: "${what}". It needs the right ${permission}: ${address}`,
  askMove: { pause: "Pause the rollout?", resume: "Resume the rollout?", promote: (to) => `Promote to ${to} now?`, rollback: (to) => (to ? `Roll back to ${to}?` : "Roll back?") },
  effect: {
    pause: (percent) => [`It stays at ${percent}. The clock stops.`, "Resumed, it goes on with the time that was left."],
    resume: (percent) => [`It goes on at ${percent} with the time that was left.`, "Both limits are looked at again."],
    promote: (to) => [`The new version takes ${to} of new runs, without waiting for the rest of the time.`, "Runs that were judged stay as they are.", "It is recorded with your name."],
  },
  rollbackEffects: (to, counted, scope) => [`From the next judgment on, ${b(scope)} uses ${to} only.`, `What the new version has judged, ${b(plural(counted, "judgment"))}, stays. Nothing is judged again.`, "This deployment ends. Deploy again to try again. It is recorded with your name."],
  rollbackReason: "Reason", typeVersion: (to) => `Type ${to} to confirm`, didMove: { pause: "Paused", resume: "Resumed", promote: "Promoted", rollback: "Rolled back" },
  stages: "Stages", now: "Now", stopped: "Paused", taken: "Taken back", broken: "Failed", stageLines: (lines) => lines,
  stagePassed: (from, to) => `${from}–${to}`, counted: (counted, total) => `${b(counted)} of ${total}`, passedWith: (rate, p99) => `Passed with ${rate} errors, p99 ${p99}`, passedTime: "Passed by time alone", passedByHand: "Promoted by hand", endedWith: (rate, p99) => `${rate} errors, p99 ${p99}`,
  sinceNow: (from, d) => `Since ${from}, ${d}`, passedOf: (all, d) => `${d} of ${all} passed`, stoppedClock: "The clock stands still", risesIn: (d, at) => `${b(`in ${d}`)}, at ${at}`, risesAt: (at) => `at ${at}`, risesSoon: "Any moment now", waitsForResume: "After it is resumed", neverCame: "Never came",
  risesIf: "By itself, if within limits then", risesByTime: "By itself, by time alone", endsAt: (at) => `Ends at ${at}`, isLast: "The rollout ends here", keepsOld: (version) => `${version} stays, to roll back to`, stageSays: (n, of, what, word) => `stage ${n} of ${of}, ${what}, ${word}`, stageWord: { done: "passed", now: "now", next: "not yet", stopped: "paused" },
  metrics: "Metrics by version", window: "Period", thisStage: "This stage", sinceStart: "Since start", columns: { metric: "Metric", limits: "Limits", flow: "Over time", verdict: "Verdict" }, isNew: (what) => `new ${what}`,
  about: { error_rate: "failed judgments", latency_p99_ms: "judgment time", anomaly_score: "0–1" }, ofSamples: (n, of) => `${n} / ${of}`, median: (ms) => `median ${ms}`, usual: (n) => `usual ${n}`, most: (n) => `most ${n}`,
  promoteAt: "Promote", rollBackAt: "Roll back", noPromote: "no promote limit", noRollBack: "no roll-back limit",
  verdict: { within: "Within", over: "Over promote limit", back: "Over roll-back limit", few: "No samples", unlimited: "No limit" }, tooFew: "Too few samples",
  samples: "Samples", samplesOf: (n) => `this stage ${n}`, samplesAll: (n) => `in all ${n}`, target: (percent) => `target ${percent}`, splitBy: "split by run id", splitByLine: "split by line", even: "Even", uneven: "Uneven", noSamples: "none yet", chartSays: (metric, before, after, limit) => `${metric} over time: before ${before}, new ${after}${limit ? `, limit ${limit}` : ""}`,
  itself: "What happens by itself", willRise: (at, to, checked) => (checked ? `At ${at} it goes to ${b(to)}, if within limits` : `At ${at} it goes to ${b(to)}, by time alone`), willEnd: (at, checked) => (checked ? `At ${at} it ends, if within limits` : `At ${at} it ends`), willGoBack: (to) => `If ${b("any")} roll-back limit is passed, it goes back to ${to ? b(to) : "the version before"} at once`, wontGoBack: "It does not roll itself back. A person does", willTell: (what, how) => `Tells ${how}: ${what}`, tells: { start: "start", complete: "end", rollback: "roll back" }, nothingItself: "It has ended. Nothing more happens", pausedItself: "While it is paused it does not go up", channel: { slack: "Slack", email: "email", sms: "SMS", teams: "Teams", pagerduty: "PagerDuty", webhook: "webhook" },
  history: "History", historyAll: (n) => `All ${n}`, historyLess: "Fewer", by: (who) => `by ${who}`,
  event: {
    begin: (percent) => `Began at ${b(percent)}`, advance: (percent) => `Up to ${b(percent)}`, promote: (percent, who) => `Promoted to ${b(percent)}${who ? ` by ${who}` : ""}`, pause: (_percent, who) => `Paused${who ? ` by ${who}` : ""}`, resume: (_percent, who) => `Resumed${who ? ` by ${who}` : ""}`, complete: () => "Out to all, ended", roll_back: (_percent, who) => (who ? `Rolled back by ${who}` : "Rolled itself back"), fail: () => "Failed",
  }, withNumbers: (rate, p99) => `${rate} errors, p99 ${p99}`,
  list: {
    some: (going, stopped) => (stopped === "0" ? `${moving(plural(going, "rollout"))} under way` : going === "0" ? `${held(plural(stopped, "rollout"))} paused` : `${moving(plural(going, "rollout"))} under way, ${held(stopped)} paused`), quiet: "Nothing is being rolled out", about: "How far each new version is out, and when it goes further.", none: "No deployments yet", noneDo: "Rules, models, prompts and settings that you roll out are shown here.", noneMatch: "No deployment matches", filter: "Filter by status",
    columns: { what: "What", status: "Status", progress: "How far", where: "Where", next: "Next or why", started: "Started" }, nextAt: (d) => `next stage in ${d}`, nextSoon: "next stage any moment", endsIn: (d) => `ends in ${d}`,
  },
  simulation: {
    title: "Simulation report", none: "There is no simulation of this version", noneDo: "Replay past judgments with a SIMULATE node or the command to see it here.", recommendation: { deploy: "Deploy", review: "Review first", reject: "Do not deploy", insufficient_data: "Not enough data" },
    mode: { replay: "Replay", what_if: "What if", monte_carlo: "Monte Carlo", dry_run: "Dry run" }, lastDays: (d) => `replay of ${d}`, judgments: (n) => plural(n, "judgment"), against: (version) => `against ${version}`,
    chance: "The difference may be chance.", real: { negligible: "The difference is real, but very small.", small: "The difference is real, but small.", medium: "The difference is real, and not small.", large: "The difference is real, and large." }, realPlain: "The difference is real.", unchanged: "No judgment changed.", empty: "There are no stored judgments in this period to compare.", untested: "There is no test result to compare with.",
    misses: { less: "Fewer defects are missed.", half: "Missed defects fall by more than half.", more: "More defects are missed.", same: "As many defects are missed." }, alarms: { less: "There are fewer false alarms.", more: "There are a few more false alarms.", same: "There are as many false alarms." },
    changed: "Changed", changedN: (n) => plural(n, "judgment"), pValue: "p-value", effect: "Effect size", significant: "significant", notSignificant: "may be chance", magnitude: { negligible: "very small", small: "small", medium: "medium", large: "large" }, effectName: { cramers_v: "Cramér’s V", cohens_d: "Cohen’s d", ks_d: "D" }, test: { chi_square: "χ²", t_test: "t", ks_test: "D" }, noTest: "no test",
    matrix: "What becomes what", matrixAxes: (before, after) => `rows ${before} · columns ${after}`, cell: (before, after) => ` from ${before} to ${after}`, cellTitle: (before, after) => `${before} → ${after}`, noMatrix: "No judgments were compared.",
    labels: "Against people's answers", noLabels: "Nobody has labelled these judgments, so accuracy cannot be told. Labels that people give are shown here.", compared: { accuracy: "Accuracy", false_negative_rate: "Missed", false_positive_rate: "False alarms", precision: "Precision", recall: "Recall", f1_score: "F1", processing_time: "Judgment time" }, moved: (before, after) => `from ${before} to ${after}`,
    newMisses: (n) => `${b(n)} newly missed ${n === "1" ? "defect" : "defects"}`, noNewMisses: "No newly missed defects", see: "See", open: "Open", judgmentsTitle: "Changed judgments", missesTitle: "Newly missed defects", label: "Person's answer", when: "When", line: "Line", run: "Run", moreJudgments: (n) => `the first ${n} are shown`, noJudgments: "No judgments are stored.", all: "All metrics", distribution: "Judgments by answer", before: "Before", after: "New", difference: "Difference", points: "pp", notFound: "There is no such report",
  },
};
