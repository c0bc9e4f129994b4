/** The places of tasks in the drawing of dependencies: a task stands right of all it waits for. */
import type { Task } from "./types";

export interface Placed {
  id: string;
  x: number;
  y: number;
}

export interface Edge {
  from: string;
  to: string;
  optional: boolean;
  removed: boolean;
  /** Both ends still wait for each other, directly or by others. */
  cyclic: boolean;
}

export const BOX = { w: 190, h: 58, gapX: 62, gapY: 16 };

export interface Drawn {
  nodes: Placed[];
  edges: Edge[];
  cyclic: Set<string>;
  w: number;
  h: number;
}

export function draw(tasks: Task[]): Drawn {
  const known = new Set(tasks.map((task) => task.id));
  const rough = tasks.flatMap((task) => task.dependsOn.filter((each) => known.has(each.id)).map((each) => ({ from: each.id, to: task.id, optional: each.optional, removed: each.removed, waits: task.status === "pending" && !each.resolved && !each.removed })));
  const component = components(tasks.map((task) => task.id), rough.filter((edge) => edge.waits));
  const edges = rough.map(({ waits, ...edge }) => ({ ...edge, cyclic: waits && component.get(edge.from) === component.get(edge.to) }));
  const cyclic = new Set(edges.filter((edge) => edge.cyclic).flatMap((edge) => [edge.from, edge.to]));
  const layer = layersOf(tasks.map((task) => task.id), edges);
  const columns: string[][] = [];
  for (const { id } of tasks) (columns[layer.get(id) ?? 0] ??= []).push(id);
  order(columns, edges);
  const nodes = columns.flatMap((column, x) => column.map((id, y) => ({ id, x: x * (BOX.w + BOX.gapX), y: y * (BOX.h + BOX.gapY) })));
  const tall = Math.max(0, ...columns.map((column) => column?.length ?? 0));
  return { nodes, edges, cyclic, w: Math.max(1, columns.length) * (BOX.w + BOX.gapX) - BOX.gapX, h: tall * (BOX.h + BOX.gapY) - BOX.gapY };
}

/** The longest way to each task; of a cycle, the edge that closes it counts for nothing. */
function layersOf(ids: string[], edges: Edge[]): Map<string, number> {
  const into = new Map<string, string[]>();
  for (const { from, to, removed } of edges) if (!removed) into.set(to, [...(into.get(to) ?? []), from]);
  const layer = new Map<string, number>();
  for (const first of ids) {
    const stack: { id: string; next: number; most: number }[] = layer.has(first) ? [] : [{ id: first, next: 0, most: 0 }];
    const open = new Set(stack.map((each) => each.id));
    while (stack.length) {
      const top = stack[stack.length - 1] as (typeof stack)[number];
      const before = into.get(top.id)?.[top.next];
      if (before === undefined) {
        stack.pop();
        open.delete(top.id);
        layer.set(top.id, top.most);
        continue;
      }
      const found = layer.get(before);
      if (found !== undefined || open.has(before)) {
        top.next += 1;
        if (found !== undefined) top.most = Math.max(top.most, found + 1);
      } else {
        stack.push({ id: before, next: 0, most: 0 });
        open.add(before);
      }
    }
  }
  return layer;
}

/** Each task near those it waits for, so that few edges cross. */
function order(columns: string[][], edges: Edge[]): void {
  const into = new Map<string, string[]>();
  for (const { from, to } of edges) into.set(to, [...(into.get(to) ?? []), from]);
  const row = new Map<string, number>();
  columns.forEach((column, x) => {
    if (x > 0) {
      const middle = new Map(column.map((id, y) => { const rows = (into.get(id) ?? []).map((each) => row.get(each)).filter((each) => each !== undefined); return [id, rows.length ? rows.reduce((a, b) => a + b, 0) / rows.length : y] as const; }));
      column.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0));
    }
    column.forEach((id, y) => row.set(id, y));
  });
}

/** Strongly connected components (Tarjan, without recursion): by task the number of its own. */
function components(ids: string[], edges: { from: string; to: string }[]): Map<string, number> {
  const out = new Map<string, string[]>();
  for (const { from, to } of edges) out.set(from, [...(out.get(from) ?? []), to]);
  const [index, low, found] = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()];
  const held: string[] = [];
  let count = 0;
  for (const first of ids) {
    const work = index.has(first) ? [] : [{ id: first, next: 0 }];
    while (work.length) {
      const top = work[work.length - 1] as (typeof work)[number];
      if (top.next === 0) { index.set(top.id, count); low.set(top.id, count++); held.push(top.id); }
      const to = out.get(top.id)?.[top.next++];
      if (to !== undefined) {
        if (!index.has(to)) work.push({ id: to, next: 0 });
        else if (!found.has(to)) low.set(top.id, Math.min(low.get(top.id) ?? 0, index.get(to) ?? 0));
        continue;
      }
      work.pop();
      const above = work[work.length - 1];
      if (above) low.set(above.id, Math.min(low.get(above.id) ?? 0, low.get(top.id) ?? 0));
      if (low.get(top.id) === index.get(top.id)) for (let one: string | undefined; one !== top.id; ) { one = held.pop(); if (one === undefined) break; found.set(one, index.get(top.id) ?? 0); }
    }
  }
  return found;
}
