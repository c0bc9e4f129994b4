/** The query of the list of runs, from the address: for the server, and as the filter of a batch. */
import type { BatchFilter } from "../api/types";

/** The filters that live in the address. `last` is a span of time that ends now; `since` and `until` are moments. */
export const FILTERS = ["q", "state", "status", "name", "version", "language", "node", "code", "var", "parent", "last", "since", "until", "failed_node", "ended", "node_failed", "letter"] as const;
export const STATES = ["RUNNING", "WAITING", "FAILED", "COMPLETED", "CANCELLED"] as const;
export const SORTS = { newest: "", oldest: "started_at", changed: "-updated_at", unchanged: "updated_at", urgent: "-priority", calm: "priority" } as const;
const LAST: Record<string, number> = { h1: 3_600_000, h24: 86_400_000, d7: 7 * 86_400_000 };

export type RunsQuery = Partial<Record<Exclude<(typeof FILTERS)[number], "last"> | "sort", string>>;

/** A span of time becomes a moment, rounded to the minute so that the answer can be cached. */
export function runsQuery(search: URLSearchParams): RunsQuery {
  const out: RunsQuery = {};
  for (const name of [...FILTERS, "sort"] as const) {
    const value = search.get(name);
    if (value && name !== "last") out[name] = name === "var" ? variable(value) : value;
  }
  const span = LAST[search.get("last") ?? ""];
  if (span) out.since = new Date(Math.floor((Date.now() - span) / 60_000) * 60_000).toISOString();
  return out;
}

/** People write amount=5; the server reads amount:5. */
const variable = (text: string): string => (text.includes(":") ? text : text.replace(/\s*=\s*/, ":"));

/** The same as the filter of a batch; runs that begin after `now` do not belong to it. */
export function batchFilter(search: URLSearchParams, now: number): BatchFilter {
  const { state, status, version, sort: _, q, letter, ...rest } = runsQuery(search);
  return {
    ...rest, q: q ?? "", letter: letter === "true", state: [state, status].join(",").split(",").filter(Boolean),
    version: version ? Number(version) : null, until: rest.until ?? new Date(now).toISOString(),
  };
}

export const hasFilters = (search: URLSearchParams): boolean => FILTERS.some((name) => search.get(name));

/** Does the server count what fits? What only looking into each run tells, or a search by text, it does not count. */
export const isCounted = (search: URLSearchParams): boolean =>
  ["state", "name", "ended", "node_failed", "letter", "failed_node", "since", "last"].some((name) => search.get(name)) && !["q", "node", "var"].some((name) => search.get(name));
