/** Working on a draft: accepting, answering, undoing and doing again, and what happens when another person was faster. */
import { useCallback, useRef, useState } from "react";
import { useGet } from "../../api/cache";
import { ApiError, call } from "../../api/client";
import { fileText } from "../../api/fileText";
import type { Dict } from "../../api/types";
import { toast } from "../../components/toast";
import { errorText } from "../../words/errorText";
import { accept, answer, draftPath, replaceFile, undo } from "./requests";
import { nameOf, titleOf } from "./sentences";
import { useDraftWords } from "./speech";
import { hasProposal, type Answered, type Draft, type Todo } from "./types";

/** What somebody else did while I worked. */
export interface Conflict {
  changed: { todo: Todo; undone: boolean }[];
  /** What I was about to answer; it can be sent again while its to-do is open. */
  mine: Answered | null;
}

export interface DraftWork {
  draft: Draft;
  busy: boolean;
  conflict: Conflict | null;
  /** The to-do whose answer was refused, and why. */
  refused: { key: string; text: string } | null;
  take: (todo: Todo, proposal: number) => Promise<boolean>;
  write: (todo: Todo, written: Dict) => Promise<boolean>;
  takeAll: () => Promise<boolean>;
  undo: (todo?: Todo) => Promise<boolean>;
  redo: () => Promise<boolean>;
  replace: (file: File) => Promise<boolean>;
  canUndo: boolean;
  canRedo: boolean;
  resend: () => void;
  settle: () => void;
}

export function useDraftWork(id: string): { work: DraftWork | null; error: unknown; reload: () => void } {
  const { t, d } = useDraftWords();
  const { data, error, reload } = useGet<Draft>(draftPath(id));
  const latest = useRef<Draft | undefined>(undefined);
  latest.current = data;
  const [busy, setBusy] = useState(false);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [refused, setRefused] = useState<DraftWork["refused"]>(null);
  const [undone, setUndone] = useState<Answered[]>([]);

  const attempt = useCallback(async (act: (draft: Draft) => Promise<Draft>, mine: Answered | null): Promise<Draft | null> => {
    const before = latest.current;
    if (!before) return null;
    setBusy(true);
    setRefused(null);
    try {
      const after = await act(before);
      setConflict(null);
      latest.current = after;
      return after;
    } catch (problem) {
      if (problem instanceof ApiError && problem.status === 409) {
        const now = await call<Draft>(draftPath(id)).catch(() => null);
        reload();
        setConflict({ changed: now ? changesBetween(before, now) : [], mine });
      } else if (mine) setRefused({ key: mine.key, text: errorText(problem, t) });
      else toast(errorText(problem, t), { bad: true });
      return null;
    } finally {
      setBusy(false);
    }
  }, [id, t]);

  if (!data) return { work: null, error, reload };
  const send = async (answered: Answered, says: (what: string) => string): Promise<boolean> => {
    const todo = data.todos.find(({ key }) => key === answered.key);
    const after = await attempt((draft) => answer(draft, [answered]), answered);
    if (!after || !todo) return false;
    setUndone([]);
    toast(says(titleOf(todo, t).foreign ? nameOf(todo) : `‘${nameOf(todo)}’`), { act: { text: t.common.undo, run: () => void takeBack([todo.key]) } });
    return true;
  };
  const takeBack = async (keys: (string | null)[]): Promise<boolean> => {
    for (const key of keys) {
      const before = latest.current;
      const after = await attempt((draft) => undo(draft, key), null);
      if (!before || !after) return false;
      const open = new Map(after.todos.filter(({ state }) => state === "open").map((todo) => [todo.key, todo]));
      const gone = before.todos.flatMap((todo) => { const now = open.get(todo.key); return todo.state === "done" && now ? [answeredAs(todo, now)] : []; });
      setUndone((list) => [...list, ...gone]);
    }
    toast(d.undone);
    return true;
  };
  const work: DraftWork = {
    draft: data, busy, conflict, refused,
    take: (todo, proposal) => send({ key: todo.key, proposal, answer: null }, d.taken),
    write: (todo, written) => send({ key: todo.key, proposal: null, answer: written }, d.answered),
    takeAll: async () => {
      const keys = data.todos.filter(hasProposal).map(({ key }) => key);
      const after = await attempt((draft) => accept(draft, false), null);
      if (!after) return false;
      setUndone([]);
      toast(d.allTaken(keys.length), { act: { text: t.common.undo, run: () => void takeBack([...keys].reverse()) } });
      return true;
    },
    undo: (todo) => takeBack([todo?.key ?? null]),
    redo: async () => {
      const last = undone.at(-1);
      if (!last || !(await attempt((draft) => answer(draft, [last]), last))) return false;
      setUndone((list) => list.slice(0, -1));
      toast(d.redone);
      return true;
    },
    replace: async (file) => {
      const after = await attempt(async (draft) => replaceFile(draft, file.name, await fileText(file, t.error.notIn)), null);
      if (after) { setUndone([]); toast(d.replaced); }
      return after !== null;
    },
    canUndo: data.moves.includes("undo"), canRedo: undone.length > 0,
    resend: () => { const mine = conflict?.mine; if (mine) void send(mine, mine.proposal === null ? d.answered : d.taken); },
    settle: () => setConflict(null),
  };
  return { work, error, reload };
}

/** The answer as it was given, so that it can be given again: only what is open has proposals. */
function answeredAs(todo: Todo, open: Todo): Answered {
  const proposal = todo.by_proposal ? open.proposals.findIndex((each) => JSON.stringify(each.answer) === JSON.stringify(todo.answer)) : -1;
  return proposal >= 0 ? { key: todo.key, proposal, answer: null } : { key: todo.key, proposal: null, answer: todo.answer };
}

function changesBetween(before: Draft, now: Draft): Conflict["changed"] {
  const known = new Map(before.todos.map((todo) => [todo.key, todo]));
  return now.todos.flatMap((todo): Conflict["changed"] => {
    const was = known.get(todo.key);
    if (todo.state === "done" && JSON.stringify(was?.answer ?? null) !== JSON.stringify(todo.answer)) return [{ todo, undone: false }];
    return was?.state === "done" && todo.state === "open" ? [{ todo, undone: true }] : [];
  });
}
