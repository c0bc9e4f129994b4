/** The list as a file for a spreadsheet: all that match, page by page, with the sentence that the screen shows. */
import { call } from "../api/client";
import type { Page, RunSummary } from "../api/types";
import { plain } from "../words/rich";
import { pageOf } from "./rows";

/** The most rows that a file has. */
export const MOST = 10_000;
const COLUMNS = ["id", "key", "name", "title", "language", "version", "status", "state", "node", "started_at", "updated_at", "ended_at", "active_ms", "priority", "parent"] as const;

export interface Collected {
  rows: RunSummary[];
  /** There were more. */
  cut: boolean;
}

export async function collect(path: string, onCount: (n: number) => void): Promise<Collected> {
  const runs = new Map<string, RunSummary>(); // a run that moved between two pages counts once
  let page = await call<Page<RunSummary>>(`${path}${path.includes("?") ? "&" : "?"}limit=200`);
  for (;;) {
    for (const run of page.items) runs.set(run.id, run);
    onCount(runs.size);
    if (page.next === null || runs.size >= MOST) return { rows: [...runs.values()].slice(0, MOST), cut: page.next !== null || runs.size > MOST };
    page = await pageOf(path, page.next);
  }
}

export function csvOf(rows: RunSummary[], sentence: (run: RunSummary) => string): string {
  const lines = rows.map((run) => [...COLUMNS.map((name) => run[name]), plain(sentence(run))].map(cell).join(","));
  return `\ufeff${[...COLUMNS, "why"].join(",")}\r\n${lines.map((line) => `${line}\r\n`).join("")}`; // the mark tells Excel that it is UTF-8
}

/** Quotes a cell; a text that a spreadsheet would take for a formula stays a text. */
export function cell(value: string | number | null): string {
  if (value === null) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function download(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
