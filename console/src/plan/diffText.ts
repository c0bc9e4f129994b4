/** A difference as git writes it, by file. */

export interface DiffFile {
  name: string;
  added: number;
  removed: number;
  lines: { kind: "new" | "gone" | "same" | "place"; text: string; n: number | null }[];
}

/** Lines that are drawn at most, over all files. */
export const DRAWN = 3000;

export function filesOf(diff: string): { files: DiffFile[]; cut: boolean } {
  const files: DiffFile[] = [];
  let [at, drawn, cut] = [0, 0, false];
  for (const line of diff.split("\n")) {
    if (line.startsWith("diff --git ")) {
      files.push({ name: nameOf(line), added: 0, removed: 0, lines: [] });
      continue;
    }
    const file = files.at(-1);
    if (!file || isHead(line, file)) continue;
    const kind = line.startsWith("+") ? "new" : line.startsWith("-") ? "gone" : line.startsWith("@@") ? "place" : "same";
    if (kind === "new") file.added += 1;
    if (kind === "gone") file.removed += 1;
    if (kind === "place") at = Number(/\+(\d+)/.exec(line)?.[1] ?? 1);
    if (drawn < DRAWN) file.lines.push({ kind, text: kind === "place" ? line : line.slice(1), n: kind === "new" || kind === "same" ? at : null });
    else cut = true;
    drawn += 1;
    if (kind === "new" || kind === "same") at += 1;
  }
  return { files, cut };
}

const nameOf = (line: string): string => /^diff --git "?a\/.*? "?b\/(.*?)"?$/.exec(line)?.[1] ?? line.slice(11);

/** What stands between a file's name and its first change. */
const isHead = (line: string, file: DiffFile): boolean =>
  line === "" || line.startsWith("\\ ") || (file.lines.length === 0 && !line.startsWith("@@") && /^(index|---|\+\+\+|new file|deleted file|old mode|new mode|similarity|rename|copy|Binary|GIT binary)/.test(line));
