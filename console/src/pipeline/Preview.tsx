/** A look into a file, loaded when it comes into view: picture, first page of a PDF, text, JSON, table, else its first bytes. Nothing in it is run. */
import { ImageOff } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Offline } from "../api/client";
import type { Dict } from "../api/types";
import { useWords } from "../words";
import { OutputFields } from "./OutputFields";
import { fileIcon, kindOf, rowsOf, tableOf, type Kind } from "./files";

/** As much of a text as is shown. */
const MOST_BYTES = 64 * 1024;
const MOST_ROWS = 100;
/** A picture that is larger is not loaded unasked. */
const MOST_PICTURE = 24 * 1024 * 1024;

interface Props {
  url: string;
  mime: string | null;
  name: string;
  size: number | null;
  /** Words for who does not see the picture. */
  alt: string;
  onShown?: (text: string) => void;
}

interface Beginning {
  bytes: Uint8Array;
  whole: boolean;
}

export function Preview({ url, mime, name, size, alt, onShown }: Props): ReactNode {
  const { t } = useWords();
  const kind = kindOf(mime, name);
  const ref = useRef<HTMLDivElement>(null);
  const seen = useSeen(ref);
  const [broken, setBroken] = useState(false);
  const Icon = fileIcon(mime, name);
  const page = kind === "pdf";
  const picture = (kind === "image" || page) && (size ?? 0) <= MOST_PICTURE;
  return (
    <div className={`preview preview-${kind}`} ref={ref}>
      {broken && !page ? <p className="preview-none"><ImageOff size={20} aria-hidden />{t.pipeline.previewBroken}</p>
        : picture && !broken ? (seen && <img src={page ? `${url}?page=true` : url} alt={alt} loading="lazy" decoding="async" onLoad={() => page && onShown?.(t.pipeline.firstPage)} onError={() => setBroken(true)} />)
        : kind === "pdf" || kind === "archive" || kind === "image" ? <p className="preview-none"><Icon size={26} strokeWidth={1.5} aria-hidden />{t.pipeline.previewNone}</p>
        : seen && <TextPreview url={url} kind={kind} onShown={onShown} onFail={() => setBroken(true)} />}
    </div>
  );
}

function TextPreview({ url, kind, onShown, onFail }: { url: string; kind: Kind; onShown?: (text: string) => void; onFail: () => void }): ReactNode {
  const { t, f } = useWords();
  const [data, setData] = useState<Beginning | null>(null);
  const shown = data && contentOf(data, kind);
  const told = shown && (shown.rows ? t.pipeline.firstRows(f.number(Math.min(shown.rows.length, MOST_ROWS)), shown.whole) : t.pipeline.firstBytes(f.bytes(shown.shown), shown.whole));
  useEffect(() => {
    const stop = new AbortController();
    beginningOf(url, stop.signal).then(setData, () => !stop.signal.aborted && onFail());
    return () => stop.abort();
    // another file is another preview
  }, [url]);
  useEffect(() => { if (told) onShown?.(told); }, [told]);
  if (!shown) return null;
  if (shown.fields) return <OutputFields value={shown.fields} />;
  if (!shown.rows) return <pre tabIndex={0}>{shown.text}</pre>;
  const [head, ...body] = shown.rows;
  return (
    <div className="preview-rows" tabIndex={0}>
      <table>
        <thead><tr>{head?.map((cell, i) => <th key={i}>{cell}</th>)}</tr></thead>
        <tbody>{body.slice(0, MOST_ROWS).map((row, i) => <tr key={i}>{row.map((cell, j) => <td key={j} className={/^-?[\d.,]+$/.test(cell) ? "num" : ""}>{cell}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

interface Content {
  text: string;
  rows: string[][] | null;
  /** A small object, shown field by field. */
  fields?: Dict;
  /** Bytes of it that are shown. */
  shown: number;
  whole: boolean;
}

function contentOf({ bytes, whole }: Beginning, kind: Kind): Content {
  const text = new TextDecoder().decode(bytes);
  if (kind === "table") return { text, rows: rowsOf(text, MOST_ROWS, whole), shown: bytes.length, whole };
  if (kind === "json") return { ...jsonContent(text, whole), shown: bytes.length, whole };
  if (kind === "text") return { text, rows: null, shown: bytes.length, whole };
  const few = bytes.slice(0, 512);
  return { text: hexOf(few), rows: null, shown: few.length, whole: whole && few.length === bytes.length };
}

function jsonContent(text: string, whole: boolean): { text: string; rows: string[][] | null; fields?: Dict } {
  if (!whole) return { text, rows: null };
  try {
    const value: unknown = JSON.parse(text);
    const table = tableOf(value);
    if (!table && typeof value === "object" && value !== null && !Array.isArray(value)) return { text, rows: null, fields: value as Dict };
    return table ? { text, rows: [table.head, ...table.rows.map((row) => row.map(cellOf))] } : { text: JSON.stringify(value, null, 2), rows: null };
  } catch {
    return { text, rows: null };
  }
}

const cellOf = (value: unknown): string => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

function hexOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const some = [...bytes.slice(at, at + 16)];
    lines.push(`${at.toString(16).padStart(6, "0")}  ${some.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(48)} ${some.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("")}`);
  }
  return lines.join("\n");
}

/** The first bytes; the rest is not waited for, whether or not the server can send a part. */
async function beginningOf(url: string, signal: AbortSignal): Promise<Beginning> {
  const answer = await fetch(url, { credentials: "same-origin", headers: { Range: `bytes=0-${MOST_BYTES - 1}` }, signal }).catch(() => { throw new Offline(); });
  if (!answer.ok || !answer.body) throw new Error(String(answer.status));
  const all = Number(/\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "")?.[1] ?? NaN);
  const reader = answer.body.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  while (size < MOST_BYTES) {
    const { done, value } = await reader.read();
    if (done) { ended = true; break; }
    parts.push(value);
    size += value.length;
  }
  if (!ended) void reader.cancel().catch(() => undefined);
  const bytes = new Uint8Array(Math.min(size, MOST_BYTES));
  let at = 0;
  for (const part of parts) {
    const room = part.subarray(0, bytes.length - at);
    bytes.set(room, at);
    at += room.length;
  }
  return { bytes, whole: ended && (Number.isNaN(all) || all <= bytes.length) };
}

/** It has come near the view once. */
function useSeen(ref: React.RefObject<HTMLElement | null>): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!ref.current) return;
    const watcher = new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) { setSeen(true); watcher.disconnect(); } }, { rootMargin: "200px" });
    watcher.observe(ref.current);
    return () => watcher.disconnect();
  }, [ref]);
  return seen;
}
