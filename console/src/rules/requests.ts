/** Addresses of the test bench, and what is asked of it. */
import { call, query } from "../api/client";
import type { Dict, FeelValue, Json, Trial } from "../api/types";

export const PACKS = "/rule-bench?limit=200";
export const packPath = (id: string, version: string | null): string => `/rule-bench/${encodeURIComponent(id)}${query({ version })}`;

export interface TrialAsked {
  data: Json;
  context: Json;
  version?: string;
  draft?: Dict;
}
export const tryPack = (id: string, asked: TrialAsked, signal: AbortSignal): Promise<Trial> => call(`/rule-packs/${encodeURIComponent(id)}/test`, { method: "POST", body: asked, signal });

export interface FeelAsked {
  text: string;
  context: Dict;
  kind: "expression" | "unary_tests";
  value?: Json;
  strict: boolean;
}
export const tryFeel = (asked: FeelAsked, signal: AbortSignal): Promise<FeelValue> => call("/feel", { method: "POST", body: asked, signal });

/** Where the pages are. */
export const RULES_PAGE = "/ops/rules";
export const packPage = (id: string, version?: string): string => `${RULES_PAGE}/${encodeURIComponent(id)}${query({ version })}`;
