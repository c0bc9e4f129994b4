/** The difference of two texts, line by line. */

export interface DiffLine {
  kind: "same" | "gone" | "new";
  text: string;
  /** Its number in the text before and after. */
  before: number | null;
  after: number | null;
}

/** The table of a longest common subsequence has as many cells as this squared at most, so that a browser answers at once. */
const MOST = 1500;

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const [x, y] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  const add = (kind: DiffLine["kind"]) => {
    lines.push({ kind, text: (kind === "new" ? b[j] : a[i]) ?? "", before: kind === "new" ? null : i + 1, after: kind === "gone" ? null : j + 1 });
    if (kind !== "new") i++;
    if (kind !== "gone") j++;
  };
  for (let n = 0; n < head; n++) add("same");
  for (const kind of editScript(x, y)) add(kind);
  for (let n = 0; n < tail; n++) add("same");
  return lines;
}

function editScript(x: string[], y: string[]): DiffLine["kind"][] {
  if (x.length * y.length > MOST * MOST) return [...x.map(() => "gone" as const), ...y.map(() => "new" as const)];
  const width = y.length + 1;
  const length = new Uint16Array((x.length + 1) * width); // of the longest common rest
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--)
      length[i * width + j] = x[i] === y[j] ? 1 + (length[(i + 1) * width + j + 1] as number) : Math.max(length[(i + 1) * width + j] as number, length[i * width + j + 1] as number);
  const kinds: DiffLine["kind"][] = [];
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { kinds.push("same"); i++; j++; }
    else if (j >= y.length || (i < x.length && (length[(i + 1) * width + j] as number) >= (length[i * width + j + 1] as number))) { kinds.push("gone"); i++; }
    else { kinds.push("new"); j++; }
  }
  return kinds;
}

/** Only the changed lines and those near them; null stands for a stretch that was left out. */
export function changedRegions(lines: DiffLine[], context = 3): (DiffLine | null)[] {
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - context), i + context + 1).some((line) => line.kind !== "same"));
  const shown: (DiffLine | null)[] = [];
  lines.forEach((line, i) => {
    if (near[i]) shown.push(line);
    else if (shown.length === 0 || shown.at(-1) !== null) shown.push(null);
  });
  return shown;
}
