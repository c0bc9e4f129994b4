/** Sentences with emphasis: dictionaries hold plain text, in which control characters mark the parts. */
import { Fragment, type ReactNode } from "react";

const OPEN = "\u0001";
const CLOSE = "\u0002";
const MARK = { b: "b", failed: "f", held: "h" } as const;

export const b = (text: string | number): string => `${OPEN}b${text}${CLOSE}`;
export const failed = (text: string): string => `${OPEN}f${text}${CLOSE}`;
export const held = (text: string): string => `${OPEN}h${text}${CLOSE}`;
export const plain = (text: string): string => text.replace(/\u0001./g, "").replace(/\u0002/g, "");

export function Rich({ text }: { text: string }): ReactNode {
  const parts = text.split(/(\u0001[^\u0002]*\u0002)/);
  return parts.map((part, i) => {
    if (!part.startsWith(OPEN)) return <Fragment key={i}>{part}</Fragment>;
    const kind = part[1];
    const inner = part.slice(2, -1);
    if (kind === MARK.failed) return <span key={i} className="ink-failed">{inner}</span>;
    if (kind === MARK.held) return <span key={i} className="ink-held">{inner}</span>;
    return <b key={i}>{inner}</b>;
  });
}
