/** The time axis: true to scale, or with idle stretches folded to a break mark of fixed width. */

export interface Fold {
  from: number;
  to: number;
  /** Where the break is drawn, 0..1. */
  x: number;
}

export interface Scale {
  x: (time: number) => number;
  time: (x: number) => number;
  folds: Fold[];
  ticks: { at: number; x: number }[];
  from: number;
  to: number;
}

const FOLD_SHARE = 0.075;
const AHEAD_SHARE = 0.13;

/** `busy` are the stretches of work; a `due` time after `to` has its own part of a folded axis. */
export function scaleOf(from: number, to: number, due: number | null, busy: [number, number][], folded: boolean): Scale {
  const past = Math.max(to, from + 20);
  const end = due !== null && due > past && !folded ? due : past;
  const ahead = due !== null && due > past && folded ? AHEAD_SHARE : 0;
  const idle = folded ? idleOf(from, end, busy) : [];
  const active = end - from - idle.reduce((sum, [a, b]) => sum + (b - a), 0);
  const room = Math.max(0.2, 1 - ahead - idle.length * FOLD_SHARE);
  const per = room / Math.max(1, active);
  const width = idle.length ? (1 - ahead - room) / idle.length : 0;
  // pieces of the axis, each a straight line
  const pieces: { t0: number; t1: number; x0: number; x1: number; fold: boolean; ahead?: boolean }[] = [];
  let t = from;
  let x = 0;
  const straight = (until: number) => {
    if (until <= t) return;
    pieces.push({ t0: t, t1: until, x0: x, x1: x + (until - t) * per, fold: false });
    x += (until - t) * per;
    t = until;
  };
  for (const [a, b] of idle) {
    straight(a);
    pieces.push({ t0: a, t1: b, x0: x, x1: x + width, fold: true });
    x += width;
    t = b;
  }
  straight(end);
  if (ahead && due !== null) pieces.push({ t0: end, t1: due, x0: 1 - ahead, x1: 1, fold: false, ahead: true });
  const at = (time: number): number => {
    const piece = pieces.find((piece) => time <= piece.t1) ?? pieces.at(-1);
    if (!piece) return 0;
    return Math.min(1, Math.max(0, piece.x0 + ((time - piece.t0) / Math.max(1, piece.t1 - piece.t0)) * (piece.x1 - piece.x0)));
  };
  const back = (position: number): number => {
    const piece = pieces.find((piece) => position <= piece.x1) ?? pieces.at(-1);
    if (!piece) return from;
    return piece.t0 + ((position - piece.x0) / Math.max(1e-9, piece.x1 - piece.x0)) * (piece.t1 - piece.t0);
  };
  const folds = pieces.filter((piece) => piece.fold).map((piece) => ({ from: piece.t0, to: piece.t1, x: (piece.x0 + piece.x1) / 2 }));
  return { x: at, time: back, folds, ticks: ticksOf(pieces, active), from, to: due ?? end };
}

function idleOf(from: number, to: number, busy: [number, number][]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [a, b] of [...busy].sort((stretch, two) => stretch[0] - two[0])) {
    const last = merged.at(-1);
    if (last && a <= last[1]) last[1] = Math.max(last[1], b);
    else merged.push([a, b]);
  }
  const work = merged.reduce((sum, [a, b]) => sum + (b - a), 0);
  // a stretch is idle when it is long both beside all the work and for a person
  const long = Math.max(3000, work * 0.6);
  const margin = Math.max(5, work * 0.06);
  const out: [number, number][] = [];
  let at = from;
  for (const [a, b] of [...merged, [to, to] as [number, number]]) {
    if (a - at > long) out.push([at + (at === from ? 0 : margin), a - margin]);
    at = Math.max(at, b);
  }
  return out;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000];

function ticksOf(pieces: { t0: number; t1: number; x0: number; x1: number; fold: boolean; ahead?: boolean }[], active: number): { at: number; x: number }[] {
  const step = STEPS.find((size) => active / size <= 6) ?? 604_800_000;
  const out: { at: number; x: number }[] = [];
  for (const piece of pieces) {
    if (piece.fold || piece.ahead) continue;
    for (let t = Math.ceil(piece.t0 / step) * step; t <= piece.t1; t += step)
      out.push({ at: t, x: piece.x0 + ((t - piece.t0) / Math.max(1, piece.t1 - piece.t0)) * (piece.x1 - piece.x0) });
  }
  return out;
}
