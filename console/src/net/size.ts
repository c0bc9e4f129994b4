/** The size of a node, known before it is rendered, so that nothing is measured and nothing jumps. */
import type { GraphNode, Shape } from "../api/types";

export interface Size {
  w: number;
  h: number;
}

/** The width of a text at `px`, near enough: Korean letters are square, Latin ones about half. */
export function textWidth(text: string, px: number): number {
  let width = 0;
  for (const letter of text) width += letter > "\u1100" ? 0.9 : /[ilj.,:'|!fIrt1 ]/.test(letter) ? 0.34 : /[mwMW@]/.test(letter) ? 0.84 : /[A-Z0-9_]/.test(letter) ? 0.63 : 0.56;
  return width * px * 1.04;
}

const PLAIN: Partial<Record<Shape, Size>> = { start: { w: 30, h: 30 }, end: { w: 30, h: 30 }, fork: { w: 12, h: 56 }, join: { w: 12, h: 56 } };

/** Room for a second line such as "판정 · 9.3초"; what is longer is cut, so words never move a net. */
const SUB = 80;

export function sizeOf(node: GraphNode): Size {
  const plain = PLAIN[node.shape];
  if (plain) return plain;
  const text = Math.max(textWidth(node.label, 13.2), SUB);
  const choose = node.shape === "choose";
  const w = Math.round(Math.min(230, Math.max(choose ? 104 : 116, text + (choose ? 70 : node.shape === "work" ? 62 : 55))));
  return { w, h: choose ? 52 : 48 };
}
