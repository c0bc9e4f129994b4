/** The icon of an item in lists. */
import { Bot, ClipboardPen, ListChecks, Rocket, Scale, Siren, UserCheck, type LucideIcon } from "lucide-react";
import type { Item } from "../api/types";
import { itemPartsOf } from "../languages";

type Shown = Pick<Item, "kind" | "priority" | "node" | "title"> & Partial<Pick<Item, "language" | "work">>;

export function itemIcon(item: Shown): LucideIcon {
  const own = itemPartsOf(item)?.icon({ work: item.work ?? null });
  if (own) return own;
  if (item.kind === "review") return Scale;
  if (item.kind === "work") return ClipboardPen;
  if (/deploy|release|배포/i.test(`${item.node} ${item.title}`)) return Rocket;
  if (/agent|draft|초안/i.test(item.node)) return Bot;
  if (/urgent|critical|high|긴급|alarm|emergency/i.test(`${item.priority} ${item.title}`)) return Siren;
  return item.kind === "approval" ? UserCheck : ListChecks;
}
