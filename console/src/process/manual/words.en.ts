/** The words of manuals in English. */
import { b, held } from "../../words/rich";
import type { ManualWords } from "./words.ko";

const q = (name: string): string => `‘${name}’`;
const s = (n: string | number, word: string): string => `${n} ${String(n) === "1" ? word : `${word}s`}`;

export const manualEn: ManualWords = {
  title: "Manuals", startTitle: "A process from a manual", startText: "The manual is read and drawn as a process. Every element of the drawing shows the sentence it came from and how sure it is.",
  drop: "Drop a manual here", dropHere: "Drop it here and it is read", kinds: "PDF, DOCX, HTML or text", pick: "Choose a file",
  paste: "Paste its text", pasteHint: "Korean or English", pasteSample: "For example: 1. The clerk receives the request.\n2. If the amount exceeds 1000, the manager approves it.\n3. Otherwise the clerk processes it.", readText: "Read this text",
  afterTitle: "What happens then", after: ["The text is split into sentences; steps, gateways, roles and time limits are found in it.", "Manual and drawing stand side by side, and each element is linked with its sentences.", "At 80% or more it can be saved and begun at once. Below that, somebody approves it first."],
  keptTitle: "There is a manual you have not finished", keptOpen: "Go on", keptDrop: "Discard", keptDropped: "The unfinished manual is discarded",
  empty: (name) => `${q(name)} is an empty file.`, unreadable: (name) => `${q(name)} could not be opened. Choose it again.`,
  reading: (name) => (name ? `Reading ${q(name)}` : "Reading the text"), readingText: "A long manual takes some seconds.", readingFor: (d) => `for ${d}`, stop: "Stop", failed: (name) => (name ? `${q(name)} could not be read` : "The text could not be read"), failedDo: "Check that its text can be selected and bring it again, or paste the text.", another: "Another manual", again: "Read again",
  pastedText: "Pasted text", none: "This definition was not read from a manual", noneDo: "It was made in another way, so there is no text to look at beside it.", gone: "The manual you looked at is gone", goneDo: "This browser has kept no manual. Bring it again.",
  notSaved: "Not saved", pages: (n) => s(n, "page"), sentences: (n) => s(n, "sentence"), chunks: (n) => s(n, "chunk"), elements: (n) => s(n, "element"), droppedN: (n) => `${n} dropped`, byModel: (name) => `read by the model ${name}`,
  sure: (n) => b(`${n}% sure`), sureThen: ".", mayBegin: "Once it is saved it may be begun.", begun: "It may be begun.", review: (why) => `It ${held("needs a review")} because ${why}.`, approvedAnyway: "Somebody approved it, so it may be begun.", rejected: "It was sent back.",
  and: " and ",
  why: { low: "that is less than 80%", parts: (what) => `the reading is not sure of ${what}`, error: (what) => `of a fault: ${what.replace(/[.\s]+$/, "")}`, byTwo: "two people decide here" },
  parts: { activities: "the steps", transitions: "the flows", gateways: "the conditions of the gateways", schema: "the form", evidence: "the evidence", roles: "the roles", time_limits: "the time limits" }, partIs: (name, n) => `${name} (${n}%)`,
  doubtful: (n) => `${n} to check`, nextDoubtful: "One after the other", noDoubtful: "No element is below 80%.",
  save: "Save", saveTitle: (name) => `Save ${q(name)}?`, saveBegin: "It becomes a new version of the definition and may be begun at once.", savePending: (n) => `It becomes a definition that waits for approval: at ${n}% somebody has to approve it before it can be begun.`, savePendingTwo: "It becomes a definition that waits for approval: another person has to approve it before it can be begun.", saveKeeps: "The sentences of the manual are saved with it.", saveId: "Id", saved: (name, n) => `${q(name)} is saved as v${n}`,
  toDraft: "Open as a draft", drafted: "Opened as a draft", draftUndone: "The draft is deleted", openDefinition: "Open the definition", needs: (what) => `You need the right ${what}`,
  findings: (n) => `Notes ${n}`, seeSentence: "See the sentence",
  looks: "View", drawing: "Drawing", list: "List", tables: (n) => `Tables ${n}`, dropped: (n) => `Dropped ${n}`, text: "Text",
  manual: "Manual", canvas: "The drawing of the manual", page: (n) => `Page ${n}`, chunk: (n, tokens) => `Chunk ${n} · ${tokens} tokens`, from: (n) => `The sentence that ${s(n, "element")} came from`,
  hint: "Select an element or a sentence: what belongs to it lights up.", evidence: "Evidence of what is selected", evidenceOf: "It came from", elementsOf: "Elements of this sentence", noSentence: "No sentence belongs to it, which is why it is doubtful.",
  confidence: (n) => `${n}% sure`, doubt: (n) => `${n}% sure, please check`, doubtWord: "please check",
  collection: { activities: "Step", gateways: "Gateway", events: "Event", transitions: "Flow", roles: "Role", data: "Data", decisions: "Decision table", messages: "Message", signals: "Signal", errors: "Error", lanes: "Lane", rules: "Rule" },
  drawn: { startEvent: "Start", endEvent: "End", intermediateThrowEvent: "Throwing event", intermediateCatchEvent: "Catching event", boundaryEvent: "Boundary event", task: "Task", userTask: "A person's task", manualTask: "Manual task", serviceTask: "Service", sendTask: "Send", receiveTask: "Receive", scriptTask: "Script", businessRuleTask: "Rule", callActivity: "Another process", subProcess: "Sub-process", exclusiveGateway: "One way of several", parallelGateway: "All ways at once", inclusiveGateway: "Some of several ways", eventBasedGateway: "Event gateway" },
  collections: { steps: "Steps and gateways", transitions: "Flows", roles: "Roles", data: "Data", decisions: "Decision tables", messages: "Messages", signals: "Signals", errors: "Errors", lanes: "Lanes", rules: "Rules" },
  claims: { activity: "Step", gateway: "Gateway", event: "Event", transition: "Flow", condition: "Condition", role: "Role", data: "Data", decision: "Decision table", rule: "Rule", agent_mode: "Agent mode", name: "Name", instruction: "Instruction", "data item": "Data", time_limit: "Time limit", exception: "Exception" },
  droppedAbout: "What the model claimed and the manual does not say: it was not drawn.", claimed: "The model's words",
  when: "When", then: "Then", any: "anything", hit: { UNIQUE: "one row applies", FIRST: "the first row that applies", ANY: "all that apply say the same", PRIORITY: "the most urgent answer", COLLECT: "every row that applies", "RULE ORDER": "all rows, in their order", "OUTPUT ORDER": "all rows, by their answers" }, noDrawing: "It could not be drawn, so it is shown as a list.", nothing: "No step was found in this manual.",
  seeSide: "See it beside the manual",
};
