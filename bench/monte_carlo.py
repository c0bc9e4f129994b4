"""How fast documents are simulated: ten thousand virtual runs of a workflow of eight nodes, on one core and on all.

    python -m bench.monte_carlo [--runs 10000] [--json]

The workflow has a query, a judgment, a switch, an approval, a wait and three messages; durations and decisions are
assumed. The aim is 10 s on two cores; nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
from typing import Any

from penstock.app.releases.documents import compile_source
from penstock.app.simulation.monte_carlo import monte_carlo
from penstock.app.simulation.virtual.history import EffectSample, History, PersonSample
from penstock.net.compiled import Compiled

AIM_S = 10.0
NOW = 1_790_000_000_000


def message(id: str) -> dict[str, Any]:
    return {"id": id, "type": "ACTION", "channel": {"type": "slack"}, "message": "${input.line_id}"}


def eight_nodes() -> dict[str, Any]:
    """Every run goes through five to seven of them."""
    judged = {"type": "RULE_ONLY", "rule_pack_id": "pack"}
    cases = [{"value": "critical", "goto": "approve"}, {"value": "warning", "goto": "warn"}]
    nodes = [
        {"id": "rows", "type": "DATA", "source": {"type": "sql", "connection": "db", "query": "SELECT 1"}},
        {"id": "judge", "type": "JUDGMENT", "policy": judged, "input": {"data": "${rows}"}},
        {"id": "which", "type": "SWITCH", "expression": "${judgment_result.decision}", "cases": cases,
         "default": {"goto": "log"}},
        {"id": "approve", "type": "APPROVAL",
         "request": {"title": "Stop?", "approvers": {"type": "role", "targets": ["quality_manager"]}}},
        {"id": "cool_down", "type": "WAIT", "condition": {"type": "time", "duration_seconds": 600}},
        message("stopped"), message("warn"), message("log"),
    ]  # fmt: skip
    ways = [("rows", "judge"), ("judge", "which"), ("approve", "cool_down"), ("cool_down", "stopped"), ("warn", "log")]
    return {"id": "bench", "version": 1, "nodes": nodes, "edges": [{"from": a, "to": b} for a, b in ways]}


def learnt() -> History:
    verdicts = ("critical", "warning", "normal", "normal")
    body = {"confidence": 0.9, "reasoning": "", "needs_review": False}
    return History(
        effects={
            "rows": [EffectSample(ms, [{"defect_rate": 0.03}]) for ms in range(100, 400, 3)],
            "judge": [EffectSample(50 + i, {**body, "decision": verdicts[i % 4]}) for i in range(100)],
        },
        people={"approve": [PersonSample(minutes * 60_000, "vote", "approved") for minutes in range(5, 300, 3)]},
        runs=100,
    )  # fmt: skip


def measured(net: Compiled, runs: int, processes: int, history: History | None) -> tuple[float, float]:
    """Seconds of the clock, and of the cores: on a busy machine the second says more."""
    began, busy = time.perf_counter(), cpu_s()
    monte_carlo(
        net, inputs=[{"line_id": "L1"}], now=NOW, runs=runs, due_ms=7_200_000, processes=processes, history=history
    )
    return time.perf_counter() - began, cpu_s() - busy


def cpu_s() -> float:
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast documents are simulated.")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    net = Compiled(compile_source(json.dumps(eight_nodes()).encode(), name="bench")[0].net)
    cores = min(len(os.sched_getaffinity(0)), 2)
    measured(net, 100, 1, None)
    figures: dict[str, float] = {"runs": given.runs, "aim_s": AIM_S}
    for name, processes, history in (
        ("assumed, one process", 1, None),
        ("history, one process", 1, learnt()),
        (f"history, {cores} processes", cores, learnt()),
    ):
        figures[f"{name}: s"], figures[f"{name}: cpu s"] = measured(net, given.runs, processes, history)
    if given.json:
        print(json.dumps(figures))
        return
    print(f"{platform.python_implementation()} {sys.version.split()[0]}, {os.cpu_count()} cores")
    for name, figure in figures.items():
        print(f"{name:>28}  {figure:,.2f}")


if __name__ == "__main__":
    main()
