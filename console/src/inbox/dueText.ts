/** The time that is left, as lists show it. */
import type { Words } from "../words";

export interface Due {
  text: string;
  near: boolean;
  late: boolean;
  group: "overdue" | "today" | "later" | "none";
}

const NEAR_MS = 3 * 3_600_000;

export function dueText(due: string | null, now: number, { t, f }: Pick<Words, "t" | "f">): Due {
  if (!due) return { text: t.inbox.noDue, near: false, late: false, group: "none" };
  const left = Date.parse(due) - now;
  if (left < 0) return { text: t.inbox.overdueBy(f.duration(-left)), near: true, late: true, group: "overdue" };
  const days = f.daysAhead(due, now);
  if (left < NEAR_MS) return { text: t.inbox.left(f.duration(left)), near: true, late: false, group: days === 0 ? "today" : "later" };
  if (days === 0) return { text: t.inbox.todayAt(f.clock(due)), near: false, late: false, group: "today" };
  if (days === 1) return { text: t.inbox.tomorrowAt(f.clock(due)), near: false, late: false, group: "later" };
  return { text: days < 7 ? f.weekday(due) : f.day(due), near: false, late: false, group: "later" };
}
