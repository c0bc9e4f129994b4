"""How many judgments and conditions a core does in a second, beside zen-engine and a bare Python function.

    python bench/rules.py [--passes 3]

Ratios are of the same run; nothing is asserted. zen-engine is measured where it is installed.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

from penstock.executors.parts.rules.evaluate import compile_pack
from penstock.expr import compile_expression
from penstock.feel import compile_unary_tests

CONDITION = "a.b >= 0.85 && c == 'x'"
VIEW = {"a": {"b": 0.9}, "c": "x"}
DATA = [{"line_id": "L01", "defect_rate": 0.031, "defect_count": 12, "shift": "day", "temperature": 71.5}] * 3
SECONDS = 0.7


def pack_of(rules: int) -> dict[str, Any]:
    """Half of the rules over the last row, a quarter over each row, a quarter over the whole."""
    forms = [
        {"scope": "latest", "when": "defect_rate > threshold && shift == 'day'"},
        {"scope": "each", "when": "temperature >= threshold || defect_count > 100"},
        {"scope": "latest", "when": "defect_rate >= params.low && item.line_id == 'L01'", "params": {"low": 0.5}},
        {"scope": "dataset", "when": "fn.length(data) > 10 && context.line == 'L02'"},
    ]
    listed = [
        {"id": f"R{n}", "threshold": 80 + n, "decision": "warning", "reasoning": "rule ${threshold}", **forms[n % 4]}
        for n in range(rules - 1)
    ]
    last = {"id": "R", "scope": "latest", "when": "defect_rate > threshold", "threshold": 0.03, "decision": "critical"}
    return {"id": "bench", "version": str(rules), "rules": [*listed, {**last, "reasoning": "${defect_rate}"}]}


def table_of(lines: int) -> dict[str, Any]:
    rules = [{"when": [f"[{n / 100}..{(n + 1) / 100})", "'night'"], "then": ["warning", 0.9]} for n in range(lines - 1)]
    inputs = [{"expression": "defect_rate"}, {"expression": "shift"}]
    outputs = [{"name": "decision"}, {"name": "confidence"}]
    rules.append({"when": [">= 0.03", "'day'"], "then": ["critical", 0.9]})
    return {"id": "table", "table": {"inputs": inputs, "outputs": outputs, "hit_policy": "F", "rules": rules}}


def per_second(call: Callable[[], Any], batch: int = 200) -> float:
    """Calls in a second: the best of as many batches as fit into the time."""
    call()
    best, until = 0.0, time.perf_counter() + SECONDS
    gc.disable()
    while time.perf_counter() < until:
        began = time.perf_counter()
        for _ in range(batch):
            call()
        best = max(best, batch / (time.perf_counter() - began))
    gc.enable()
    return best


def workloads() -> dict[str, Callable[[], Any]]:
    judge, table = compile_pack(pack_of(20)), compile_pack(table_of(20))
    context = {"line": "L01"}
    run = compile_expression(CONDITION).run
    test = compile_unary_tests("[0.02..0.05)").matches
    assert test(0.03) and run(VIEW) and judge.judge(DATA, context).decision == "critical"
    assert table.judge(DATA[0]).decision == "critical"
    found: dict[str, Callable[[], Any]] = {
        "judgments, 20 rules": lambda: judge.judge(DATA, context),
        "judgments, table of 20 lines": lambda: table.judge(DATA[0], context),
        "condition": lambda: run(VIEW),
        "condition, bare Python": lambda: VIEW["a"]["b"] >= 0.85 and VIEW["c"] == "x",  # type: ignore[index]
        "unary test": lambda: test(0.03),
    }
    if importlib.util.find_spec("zen") is not None:
        zen: Any = importlib.import_module("zen")
        compiled = zen.compile_expression("a.b >= 0.85 and c == 'x'")
        found["condition, zen-engine"] = lambda: compiled.evaluate(VIEW)
        unary = zen.compile_unary_expression("[0.02..0.05)")
        found["unary test, zen-engine"] = lambda: unary.evaluate({"$": 0.03})
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--passes", type=int, default=1, help="repeat, interleaved; the best of each is printed")
    passes = parser.parse_args(arguments).passes
    calls = workloads()
    best = dict.fromkeys(calls, 0.0)
    for _ in range(passes):
        for name, call in calls.items():
            best[name] = max(best[name], per_second(call))
    for name, speed in best.items():
        print(json.dumps({"workload": name, "per_s": round(speed)}))
    ours, bare = best["condition"], best["condition, bare Python"]
    ratios = {"python": platform.python_version(), "condition of bare Python": round(ours / bare, 2)}
    for what in ("condition", "unary test"):
        if f"{what}, zen-engine" in best:
            ratios[f"{what} of zen-engine"] = round(best[what] / best[f"{what}, zen-engine"], 2)
    print(json.dumps(ratios))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
