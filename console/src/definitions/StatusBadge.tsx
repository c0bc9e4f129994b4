/** The status of a version: icon, word and colour. */
import { Archive, Check, CircleCheck, Hourglass, Pencil, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import type { Tone } from "../api/types";
import { Badge } from "../components";
import { useWords } from "../words";

const LOOK: Record<string, { tone: Tone; icon: LucideIcon }> = {
  draft: { tone: "idle", icon: Pencil }, pending_approval: { tone: "held", icon: Hourglass }, approved: { tone: "moving", icon: Check },
  active: { tone: "done", icon: CircleCheck }, deprecated: { tone: "idle", icon: Archive },
};

export function StatusBadge({ status }: { status: string }): ReactNode {
  const { t } = useWords();
  const { tone, icon } = LOOK[status] ?? { tone: "idle" as const, icon: Pencil };
  return <Badge tone={tone} icon={icon}>{t.definitions.status[status] ?? status}</Badge>;
}
