/** What kind of file something is: how it is previewed, and its icon. */
import { Archive, File, FileImage, FileJson, FileSpreadsheet, FileText, type LucideIcon } from "lucide-react";

export type Kind = "image" | "json" | "table" | "text" | "pdf" | "archive" | "other";

/** Pictures that a browser draws and that hold no script. */
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);

export function kindOf(mime: string | null | undefined, name = ""): Kind {
  const type = (mime ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (PICTURES.has(type)) return "image";
  if (type === "application/json" || type.endsWith("+json")) return "json";
  if (type === "text/csv" || type === "text/tab-separated-values" || /\.(csv|tsv)$/i.test(name)) return "table";
  if (type === "application/pdf") return "pdf";
  if (/zip|tar|compressed/.test(type)) return "archive";
  if (type.startsWith("text/") || type === "application/x-ndjson" || type === "application/xml") return "text";
  return "other";
}

const ICONS: Record<Kind, LucideIcon> = { image: FileImage, json: FileJson, table: FileSpreadsheet, text: FileText, pdf: FileText, archive: Archive, other: File };

export const fileIcon = (mime: string | null | undefined, name = ""): LucideIcon => (/sheet|excel/.test(mime ?? "") ? FileSpreadsheet : ICONS[kindOf(mime, name)]);

export const nameOf = (key: string): string => key.split("/").filter(Boolean).at(-1) ?? key;

/** The rows of a comma-separated text, at most so many; the last one may have been cut off and is left out. */
export function rowsOf(text: string, most: number, whole: boolean): string[][] {
  const comma = text.slice(0, 4000).split("\t").length > text.slice(0, 4000).split(",").length ? "\t" : ",";
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < text.length && rows.length <= most; i++) {
    const letter = text[i] as string;
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (text[i + 1] === '"') { cell += letter; i++; }
      else quoted = false;
    } else if (letter === '"' && cell === "") quoted = true;
    else if (letter === comma) { row.push(cell); cell = ""; }
    else if (letter === "\n") { rows.push([...row, cell.replace(/\r$/, "")]); row = []; cell = ""; }
    else cell += letter;
  }
  if (whole && (cell || row.length) && rows.length <= most) rows.push([...row, cell]);
  return rows;
}

/** A list of objects as rows under the names of their fields; null when it is none. */
export function tableOf(value: unknown): { head: string[]; rows: unknown[][] } | null {
  const list = Array.isArray(value) ? value : typeof value === "object" && value !== null && Array.isArray((value as { rows?: unknown }).rows) ? (value as { rows: unknown[] }).rows : null;
  if (!list || list.length === 0 || !list.every((row) => typeof row === "object" && row !== null && !Array.isArray(row))) return null;
  const head = [...new Set(list.slice(0, 50).flatMap((row) => Object.keys(row as object)))].slice(0, 12);
  return { head, rows: list.map((row) => head.map((name) => (row as Record<string, unknown>)[name])) };
}
