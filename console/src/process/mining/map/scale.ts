/** How numbers of the map become widths and steps of colour. */
import type { ActivityStats, FlowStats } from "../types";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A wait is in step 1 below the first limit, and in step 5 above the last. */
export const WAIT_LIMITS = [HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR] as const;
/** Work is measured on a scale of its own: it takes minutes where waiting takes days. */
export const WORK_LIMITS = [10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR] as const;

const stepOf = (value: number, limits: readonly number[]): number => 1 + limits.filter((limit) => value >= limit).length;

export const waitStep = (ms: number | null): number => stepOf(ms ?? 0, WAIT_LIMITS);
export const workStep = (ms: number | null): number => stepOf(ms ?? 0, WORK_LIMITS);
/** Which fifth of the greatest count it is in. */
export const countStep = (count: number, most: number): number => Math.max(1, Math.min(5, Math.ceil((5 * count) / Math.max(1, most))));

const THIN = 1.5;
const THICK = 8.5;

/** In px: by count, from the rarest path to the most frequent one. */
export const widthOf = (count: number, most: number): number => THIN + (THICK - THIN) * Math.sqrt(count / Math.max(1, most)) ** 1.4;

/** The share that agents did; null when it is not known who did it. */
export const agentShare = ({ human, agent }: ActivityStats): number | null => (human + agent > 0 ? agent / (human + agent) : null);

export const mostOf = (flows: FlowStats[]): number => Math.max(1, ...flows.map(({ count }) => count));
