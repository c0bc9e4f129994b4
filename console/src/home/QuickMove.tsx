/** The best move of a stuck run, made from home with the same dialog as on the run's page. */
import "../run/run.css";
import { useEffect, useRef, type ReactNode } from "react";
import { useGet } from "../api/cache";
import type { Run, Verb } from "../api/types";
import { useMoves } from "../run/moves";
import { go } from "../shell/router";

interface Props {
  run: string;
  verb: Verb;
  node: string | null;
  from: Element;
}

export default function QuickMove({ run, ...rest }: Props): ReactNode {
  const { data, error } = useGet<Run>(`/runs/${encodeURIComponent(run)}`);
  useEffect(() => {
    if (error && !data) go(`/runs/${run}`); // it says there what is wrong
  }, [error, data, run]);
  return data ? <Asking run={data} {...rest} /> : null;
}

function Asking({ run, verb, node, from }: Omit<Props, "run"> & { run: Run }): ReactNode {
  const { ask, dialog } = useMoves(run);
  const asked = useRef(false);
  useEffect(() => {
    if (asked.current) return;
    asked.current = true;
    const fit = run.moves.filter((move) => move.verb === verb);
    const move = fit.find((move) => move.target === node) ?? fit[0];
    if (move) ask(move, from);
    else go(`/runs/${run.id}`); // it has gone on meanwhile
  });
  return dialog;
}
