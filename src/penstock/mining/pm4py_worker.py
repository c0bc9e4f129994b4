"""The process in which pm4py works: one question as JSON in, one answer as JSON out. It imports nothing of Penstock."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC
from pathlib import Path
from typing import Any

_OPERATORS = {"->": "sequence", "X": "xor", "+": "parallel", "*": "loop"}
_DEVIATION = 10_000  # what pm4py counts for one


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")  # what the library prints goes elsewhere
    os.dup2(2, 1)
    question = json.loads(sys.stdin.read())
    try:
        import pm4py
    except ImportError:
        answer: dict[str, Any] = {"missing": True}
    else:
        try:
            answer = _answer(pm4py, question)
        except Exception as wrong:  # said to who asked
            answer = {"error": f"{type(wrong).__name__}: {wrong}"[:300]}
    print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)  # threads of the library may go on


def _answer(pm4py: Any, question: dict[str, Any]) -> dict[str, Any]:
    variants = [(case, cases) for case, cases in json.loads(Path(question["log"]).read_text(encoding="utf-8"))]
    if question["ask"] == "tree":
        tree = pm4py.discover_process_tree_inductive(_log(pm4py, variants), noise_threshold=question["noise"])
        return {"tree": _tree(tree)}
    file = Path(question["folder"]) / "model.bpmn"
    file.write_text(question["bpmn"], encoding="utf-8")
    net = pm4py.convert_to_petri_net(pm4py.read_bpmn(str(file)))
    once = _log(pm4py, [(case, 1) for case, _ in variants])
    if question["ask"] == "token":
        found = pm4py.conformance_diagnostics_token_based_replay(once, *net)
        costs = [0 if one["trace_is_fit"] else None for one in found]
        shares, bounded = [one["trace_fitness"] for one in found], 0
    else:
        costs, shares = _aligned(once, net, question["alignment_s"])
        bounded = costs.count(None)
    weighed = [(share, cases) for share, (_, cases) in zip(shares, variants) if share is not None]  # noqa: B905
    of = sum(cases for _, cases in weighed)
    return {
        "fitness": sum(share * cases for share, cases in weighed) / of if of else 0.0,
        "precision": pm4py.precision_token_based_replay(_log(pm4py, variants), *net),
        "costs": costs, "bounded": bounded, "version": pm4py.__version__,
    }  # fmt: skip


def _aligned(log: Any, net: tuple[Any, Any, Any], seconds: float) -> tuple[list[int | None], list[float | None]]:
    from pm4py.algo.conformance.alignments.petri_net import algorithm

    costs: list[int | None] = []
    shares: list[float | None] = []
    parameters = {"max_align_time_trace": seconds}
    for trace in log:
        found = algorithm.apply_trace(trace, *net, parameters=parameters)
        costs.append(None if found is None else found["cost"] // _DEVIATION)
        shares.append(None if found is None else found["fitness"])
    return costs, shares


def _log(pm4py: Any, variants: list[tuple[list[str], int]]) -> Any:
    from datetime import datetime, timedelta

    from pm4py.objects.log.obj import Event, EventLog, Trace

    log, begin = EventLog(), datetime(2020, 1, 1, tzinfo=UTC)
    for case, cases in variants:
        for _ in range(cases):
            trace = Trace(attributes={"concept:name": str(len(log))})
            for i, activity in enumerate(case):
                trace.append(Event({"concept:name": activity, "time:timestamp": begin + timedelta(seconds=i)}))
            log.append(trace)
    return log


def _tree(tree: Any) -> dict[str, Any]:
    if tree.operator is None:
        return {"operator": "silent"} if tree.label is None else {"operator": "activity", "activity": tree.label}
    operator = _OPERATORS[tree.operator.value]
    children = [_tree(child) for child in tree.children]
    if operator == "loop" and len(children) > 2:
        children = [children[0], {"operator": "xor", "children": children[1:]}]
    return {"operator": operator, "children": children}


if __name__ == "__main__":
    main()
