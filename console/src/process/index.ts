/** Processes: BPMN drawings, work items of people and agents, compensation, and models that were mined or extracted. */
import { BookOpenText, Bot, Code, GitBranch, GitFork, Mail, Scale, Send, UserPen, Workflow } from "lucide-react";
import { lazy } from "react";
import type { Page, ProcessLine, WorkLine } from "../api/types";
import type { Language, WaitingItem } from "../languages/contract";
import type { Dictionary } from "../words/ko";
import { person } from "../words/why";
import { compareProcesses } from "./compare";
import { findDraft } from "./draft/find";
import { draftsPath } from "./draft/requests";
import { itemTone, OPEN_STATUSES } from "./itemTone";
import { ADDRESSES, bpmnPath, startInstance, submit, workItemPath } from "./requests";
import { StartModes } from "./StartModes";
import { WorkItemView } from "./WorkItemView";

export const process: Language = {
  name: "process",
  icon: GitBranch,
  // the server's icon of every task is a person's
  nodeIcons: { humanTask: UserPen, userTask: UserPen, manualTask: UserPen, serviceTask: Bot, scriptTask: Code, businessRuleTask: Scale, sendTask: Send, receiveTask: Mail, callActivity: Workflow },
  drawing: {
    view: "bpmn", text: "BPMN", icon: Workflow, path: bpmnPath,
    ofInspected: (inspected) => inspected.bpmn,
    View: lazy(() => import("./bpmn/Drawing")),
  },
  document: {
    recognises: (document) => "process_definition_id" in document,
    title: (document) => { const title = document["process_definition_name"] ?? undefined; return title === undefined ? undefined : String(title); },
    mayBeUnsound: true,
    submit,
    start: { send: startInstance, Options: StartModes },
    compare: compareProcesses,
    tags: { path: "/processes/definitions?limit=200", read: (answer, t) => new Map((answer as Page<ProcessLine>).items.flatMap(({ id, type }) => (type === "base" ? [] : [[id, t.definitions.types[type] ?? type]]))) },
    waiting: {
      path: `/processes/workitems?status=${OPEN_STATUSES.join(",")}&limit=200`, permission: "inbox.read",
      read: (answer, t) => { const page = answer as Page<WorkLine>; return { items: page.items.map((item) => waitingItem(item, t)), more: page.next !== null }; },
    },
    Element: lazy(() => import("./ElementDetails")),
    PlainText: lazy(() => import("./PlainText")),
  },
  items: {
    permissions: { approve: "process.approve", reject: "process.approve", respond: "process.work" },
    workVerbs: new Set(["start", "submit", "approve", "reject", "take_over"]),
    staysOpen: new Set(["reject", "rework", "take_over"]),
    changedCode: "PROC-409-VERSION",
    path: (item, verb) => `${workItemPath(item.work?.id ?? "")}:${verb}`,
    icon: (item) => (item.work && item.work.mode !== "MANUAL" ? Bot : null),
    View: WorkItemView, // in the first load: an item can be opened without a connection
  },
  drafts: {
    path: draftsPath, find: findDraft,
    Import: lazy(() => import("./draft/Drafts").then(({ ImportButton }) => ({ default: ImportButton }))), List: lazy(() => import("./draft/Drafts")), Page: lazy(() => import("./draft/DraftPage")),
  },
  addresses: ADDRESSES,
  rooms: [{
    path: "manuals", text: (t) => t.nav.manuals, icon: BookOpenText, permission: "definition.write", key: "e",
    Page: lazy(() => import("./manual/Room")), canvas: (parts) => parts[0] !== undefined,
  }, {
    path: "mining", text: (t) => t.nav.mining, icon: GitFork, permission: "definition.read", key: "m",
    Page: lazy(() => import("./mining/Room")), canvas: (parts) => parts[0] !== undefined,
  }],
  run: () => import("./run").then(({ runParts }) => runParts),
  definition: () => import("./definition").then(({ definitionParts }) => definitionParts),
};

function waitingItem({ id, proc_inst_id: run, activity_id: node, assignee, role, created_at: since, status }: WorkLine, t: Dictionary): WaitingItem {
  const who = assignee === "agent" ? t.work.byAgent : assignee ? person(assignee, t) : role ? person(role, t) : t.inspect.nobody;
  return { id, run, node, who, isId: !!assignee && person(assignee, t) === assignee, since, status, tone: itemTone(status) };
}
