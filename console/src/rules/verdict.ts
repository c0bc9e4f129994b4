/** Decisions as tones, and numbers of a verdict as text. */
import type { Json, Tone } from "../api/types";
import type { Format } from "../words/format";

const TONES: Record<string, Tone> = { normal: "done", warning: "held", critical: "failed", unknown: "idle" };

export const decisionTone = (decision: string): Tone => TONES[decision] ?? "idle";
export const confidenceText = (confidence: number, f: Format): string => `${f.number(Math.round(confidence * 1000) / 10)} %`;
/** A value of a verdict as people read it. */
export const shortText = (value: Json): string => (typeof value === "string" ? value : value === null ? "–" : Array.isArray(value) && value.every((each) => typeof each === "string") ? (value.length ? value.join(", ") : "–") : JSON.stringify(value));
