/** Sentences with emphasis: dictionaries hold plain text, in which control characters mark the parts. */
import { Fragment, type ReactNode } from "react";

const OPEN = "\u0001";
const CLOSE = "\u0002";
const INKS: Record<string, string> = { f: "ink-failed", h: "ink-held", d: "ink-done", m: "ink-moving", u: "ink-undone" };

export const b = (text: string | number): string => `${OPEN}b${text}${CLOSE}`;
export const failed = (text: string): string => `${OPEN}f${text}${CLOSE}`;
export const held = (text: string): string => `${OPEN}h${text}${CLOSE}`;
export const done = (text: string): string => `${OPEN}d${text}${CLOSE}`;
export const moving = (text: string): string => `${OPEN}m${text}${CLOSE}`;
export const undone = (text: string): string => `${OPEN}u${text}${CLOSE}`;
export const plain = (text: string): string => text.replace(/\u0001./g, "").replace(/\u0002/g, "");

export function Rich({ text }: { text: string }): ReactNode {
  const parts = text.split(/(\u0001[^\u0002]*\u0002)/);
  return parts.map((part, i) => {
    if (!part.startsWith(OPEN)) return <Fragment key={i}>{part}</Fragment>;
    const ink = INKS[part[1] ?? ""];
    const inner = part.slice(2, -1);
    return ink ? <span key={i} className={ink}>{inner}</span> : <b key={i}>{inner}</b>;
  });
}
