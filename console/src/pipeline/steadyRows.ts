/** Rows that stay where they are while the pointer is on them; what each of them says goes on changing. */
import type { LucideIcon } from "lucide-react";
import { useRef, useState } from "react";
import type { ExecutionPage, Tone } from "../api/types";

export interface Group {
  id: string;
  icon: LucideIcon;
  tone: Tone;
  title: string;
  about: string;
  page: ExecutionPage;
  /** The status that shows all of them. */
  more: string | null;
}

interface Steady {
  shown: Group[];
  /** Rows that are new, or belong to another group now. */
  fresh: number;
  show: () => void;
  hold: (on: boolean) => void;
}

/** `of` is what is looked for: another search is another list. */
export function useSteady(groups: Group[], of: string): Steady {
  const [held, hold] = useState(false);
  const [, again] = useState(0);
  const kept = useRef({ of, groups });
  if (!held || kept.current.of !== of) kept.current = { of, groups };
  const latest = new Map(groups.flatMap((group) => group.page.items.map((item) => [item.executionId, { item, group: group.id }] as const)));
  const before = new Map(kept.current.groups.flatMap((group) => group.page.items.map((item) => [item.executionId, group.id] as const)));
  const shown = kept.current.groups.map((group) => ({ ...group, page: { ...group.page, total: groups.find(({ id }) => id === group.id)?.page.total ?? 0, items: group.page.items.map((item) => latest.get(item.executionId)?.item ?? item) } }));
  const fresh = [...latest].filter(([id, { group }]) => before.get(id) !== group).length;
  return { shown, fresh, hold, show: () => { kept.current = { of, groups }; again((n) => n + 1); } };
}
