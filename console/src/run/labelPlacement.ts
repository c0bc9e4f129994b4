/** Where the timeline's words go: none lies on another, none leaves its row. */
import { textWidth } from "../net/size";

export interface Asked {
  key: string;
  look: string;
  text: string;
  /** Where its middle would be, in px. */
  at: number;
  /** Rather a little to the right than not at all. */
  moves?: boolean;
}

export interface Placed extends Asked {
  left: number;
  right: number;
}

const GAP = 8;

/** The first asked are the first placed; who finds no room is left out. `to` is the last px that may be used. */
export function placed(asked: Iterable<Asked>, to: number): Placed[] {
  const out: Placed[] = [];
  const over = (left: number, right: number) => out.find((one) => left < one.right + GAP && right + GAP > one.left);
  for (const one of asked) {
    const width = textWidth(one.text, 12) + 4;
    let left = Math.max(0, Math.min(one.at - width / 2, to - width));
    const hit = over(left, left + width);
    if (hit && one.moves && hit.right + GAP + width <= to) left = hit.right + GAP;
    if (!over(left, left + width)) out.push({ ...one, left, right: left + width });
  }
  return out;
}

export type Side = "inside" | "right" | "left" | "none";

/** Inside its bar when it fits, else in the free room right of it, else left of it. All in px. */
export function sideOf(text: string, bar: { left: number; right: number }, free: { left: number; right: number }): Side {
  const width = textWidth(text, 11.5) + GAP;
  if (!text) return "none";
  if (bar.right - bar.left >= width + 4) return "inside";
  if (free.right - bar.right >= width + GAP) return "right";
  return bar.left - free.left >= width + GAP ? "left" : "none";
}
