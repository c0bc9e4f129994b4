/** Two texts, line by line: what stayed, what went, what came. */

export interface Line {
  kind: "same" | "gone" | "new";
  text: string;
  /** Its number in the text before and after. */
  before: number | null;
  after: number | null;
}

/** More than this squared is too much for a browser that shall answer at once. */
const MOST = 1500;

export function compare(before: string, after: string): Line[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const [x, y] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const out: Line[] = [];
  let [i, j] = [0, 0];
  const put = (kind: Line["kind"]) => {
    out.push({ kind, text: (kind === "new" ? b[j] : a[i]) ?? "", before: kind === "new" ? null : i + 1, after: kind === "gone" ? null : j + 1 });
    if (kind !== "new") i++;
    if (kind !== "gone") j++;
  };
  for (let n = 0; n < head; n++) put("same");
  for (const kind of middle(x, y)) put(kind);
  for (let n = 0; n < tail; n++) put("same");
  return out;
}

function middle(x: string[], y: string[]): Line["kind"][] {
  if (x.length * y.length > MOST * MOST) return [...x.map(() => "gone" as const), ...y.map(() => "new" as const)];
  const width = y.length + 1;
  const length = new Uint16Array((x.length + 1) * width); // of the longest common rest
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--)
      length[i * width + j] = x[i] === y[j] ? 1 + (length[(i + 1) * width + j + 1] as number) : Math.max(length[(i + 1) * width + j] as number, length[i * width + j + 1] as number);
  const out: Line["kind"][] = [];
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { out.push("same"); i++; j++; }
    else if (j >= y.length || (i < x.length && (length[(i + 1) * width + j] as number) >= (length[i * width + j + 1] as number))) { out.push("gone"); i++; }
    else { out.push("new"); j++; }
  }
  return out;
}

/** Only what changed, with a little around it; null is a stretch that was left out. */
export function around(lines: Line[], room = 3): (Line | null)[] {
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - room), i + room + 1).some((one) => one.kind !== "same"));
  const out: (Line | null)[] = [];
  lines.forEach((line, i) => {
    if (near[i]) out.push(line);
    else if (out.length === 0 || out.at(-1) !== null) out.push(null);
  });
  return out;
}
