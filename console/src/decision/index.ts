/** Decisions: JSON workflows of data, judgments, actions and approvals. The general screens show all of it. */
import { Scale } from "lucide-react";
import type { Language } from "../languages/contract";

export const decision: Language = { name: "decision", icon: Scale };
