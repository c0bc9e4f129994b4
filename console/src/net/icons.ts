/** Icons of node types: the language's own, else the server's name where it gives one, else by the author's word, else by the shape. */
import {
  Bell, BookOpen, Flag, Send, Box, CalendarClock, ChartLine, Clock3, Code, Database, FileText, Globe, Hash, Hourglass, Mail, MessageSquare, Play, Plug,
  Repeat, Rocket, Scale, Split, Square, Timer, Undo2, UserCheck, UserPen, Waypoints, Webhook, Workflow, Wrench, Zap, Bot, Combine, Siren, ListChecks,
  type LucideIcon,
} from "lucide-react";
import type { Shape } from "../api/types";
import { languageOf } from "../languages";

const BY_NAME: Record<string, LucideIcon> = {
  bell: Bell, book: BookOpen, box: Box, calendar: CalendarClock, "calendar-clock": CalendarClock, chart: ChartLine, "chart-line": ChartLine, clock: Clock3, code: Code,
  database: Database, file: FileText, "file-text": FileText, globe: Globe, hash: Hash, hourglass: Hourglass, mail: Mail, message: MessageSquare,
  "message-square": MessageSquare, play: Play, plug: Plug, repeat: Repeat, rocket: Rocket, scale: Scale, split: Split, stop: Square, timer: Timer, undo: Undo2,
  "undo-2": Undo2, user: UserCheck, "user-check": UserCheck, "user-pen": UserPen, webhook: Webhook, workflow: Workflow, wrench: Wrench, zap: Zap, bot: Bot, combine: Combine, siren: Siren,
  "list-checks": ListChecks, waypoints: Waypoints, flag: Flag, person: UserCheck, layers: Workflow, send: Send, bolt: Zap, fork: Split, merge: Combine,
};

const BY_TYPE: Record<string, LucideIcon> = {
  DATA: Database, JUDGMENT: Scale, ACTION: Zap, SWITCH: Split, PARALLEL: Split, APPROVAL: UserCheck, WAIT: Hourglass, MCP: Plug, BI: ChartLine, DEPLOY: Rocket,
  ROLLBACK: Undo2, SIMULATE: Waypoints, COMPENSATION: Undo2, START: Play, END: Square,
  slack: Hash, sms: MessageSquare, email: Mail, webhook: Webhook, database: Database, robot: Bot, pagerduty: Siren, sql: Database, http: Globe, api: Globe, file: FileText, code: Code,
  llm: Bot, ask: UserPen, job: Box,
};
const BY_SHAPE: Record<Shape, LucideIcon> = {
  start: Play, end: Square, task: Box, work: UserCheck, choose: Split, fork: Split, join: Combine, wait: Hourglass, loop: Repeat, call: Workflow, undo: Undo2, region: Split,
};

export function nodeIcon(language: string, { icon, type, shape }: { icon?: string | null; type: string; shape: Shape }): LucideIcon {
  return languageOf(language).nodeIcons?.[type] ?? (icon ? BY_NAME[icon] : undefined) ?? BY_TYPE[type] ?? BY_TYPE[type.toUpperCase()] ?? BY_SHAPE[shape] ?? Box;
}
