/** The picture of a piece of work in lists. */
import { Bot, ClipboardPen, ListChecks, Rocket, Scale, Siren, UserCheck, type LucideIcon } from "lucide-react";
import type { Item } from "../api/types";

export function itemIcon(item: Pick<Item, "kind" | "priority" | "node" | "title"> & { work?: Item["work"] }): LucideIcon {
  if (item.work && item.work.mode !== "MANUAL") return Bot;
  if (item.kind === "review") return Scale;
  if (item.kind === "work") return ClipboardPen;
  if (/deploy|release|배포/i.test(`${item.node} ${item.title}`)) return Rocket;
  if (/agent|draft|초안/i.test(item.node)) return Bot;
  if (/urgent|critical|high|긴급|alarm|emergency/i.test(`${item.priority} ${item.title}`)) return Siren;
  return item.kind === "approval" ? UserCheck : ListChecks;
}
