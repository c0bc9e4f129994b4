/** Pipelines: stages that process one file each. The general screens show all of it. */
import { FileInput } from "lucide-react";
import type { Language } from "../languages/contract";

export const pipeline: Language = { name: "pipeline", icon: FileInput };
