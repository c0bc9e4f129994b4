/** Diagrams: drawn by hand, with conditions, loops and persons. The general screens show all of it. */
import { Shapes } from "lucide-react";
import type { Language } from "../languages/contract";

export const diagram: Language = { name: "diagram", icon: Shapes };
