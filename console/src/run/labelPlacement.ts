/** Where the labels of the timeline go: none lies on another, none leaves its row. */
import { textWidth } from "../net/size";

export interface Label {
  key: string;
  look: string;
  text: string;
  /** Where its middle would be, in px. */
  at: number;
  /** May be moved to the right rather than be left out. */
  moves?: boolean;
}

export interface PlacedLabel extends Label {
  left: number;
  right: number;
}

const GAP = 8;

/** Places labels in their order; one that finds no room is left out. `to` is the last px that may be used. */
export function placeLabels(labels: Iterable<Label>, to: number): PlacedLabel[] {
  const placed: PlacedLabel[] = [];
  const over = (left: number, right: number) => placed.find((other) => left < other.right + GAP && right + GAP > other.left);
  for (const label of labels) {
    const width = textWidth(label.text, 12) + 4;
    let left = Math.max(0, Math.min(label.at - width / 2, to - width));
    const hit = over(left, left + width);
    if (hit && label.moves && hit.right + GAP + width <= to) left = hit.right + GAP;
    if (!over(left, left + width)) placed.push({ ...label, left, right: left + width });
  }
  return placed;
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
