/** Reading JSON values whose shape is not known. */
import type { Dict, Json } from "./types";

export const isDict = (value: unknown): value is Dict => value !== null && typeof value === "object" && !Array.isArray(value);
export const listOf = (value: Json | undefined): Dict[] => (Array.isArray(value) ? value.filter(isDict) : []);
export const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
