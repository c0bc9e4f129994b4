/** The line of an expression with one character marked; characters are counted from 1, as the server counts them. */
import type { ReactNode } from "react";

const AROUND = 60;

export function Place({ text, position }: { text: string; position: number }): ReactNode {
  const letters = Array.from(text); // a letter beyond the first plane is one character for the server, and two here
  const at = Math.min(Math.max(position - 1, 0), letters.length);
  const begin = letters.lastIndexOf("\n", at - 1) + 1;
  const end = letters.indexOf("\n", at);
  const line = letters.slice(begin, end < 0 ? undefined : end);
  const column = at - begin;
  const from = Math.max(0, column - AROUND);
  return (
    <pre className="feel-place mono" tabIndex={0}>
      {from > 0 && "…"}{line.slice(from, column).join("")}<mark>{line[column] ?? " "}</mark>{line.slice(column + 1, column + AROUND).join("")}{line.length > column + AROUND && "…"}
    </pre>
  );
}
