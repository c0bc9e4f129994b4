"""How many decisions of DMN a core makes in a second, beside zen-engine, and how long a large model takes to compile.

    python bench/dmn.py [--seconds 2]

Nothing is asserted. zen-engine is measured where it is installed (`pip install zen-engine`).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from penstock.executors.parts.rules.dmn import read_model

DATA = {"rate": 200, "shift": "day"}
LINES = 100
HEAD = '<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" id="m" name="m" namespace="urn:bench">'


def input_data(name: str, type: str) -> str:
    return f'<inputData id="{name}" name="{name}"><variable name="{name}" typeRef="{type}"/></inputData>'


def dmn_table(lines: int) -> bytes:
    """A table of which only the last line hits, with two inputs: the same that zen-engine gets."""
    rows = "".join(
        f'<rule id="r{n}"><inputEntry><text>[{n}..{n + 1})</text></inputEntry><inputEntry><text>"night"</text>'
        f"</inputEntry><outputEntry><text>{n}</text></outputEntry></rule>"
        for n in range(lines - 1)
    )
    last = '<rule id="last"><inputEntry><text>&gt;= 3</text></inputEntry><inputEntry><text>"day"</text></inputEntry>'
    columns = "".join(
        f'<input><inputExpression typeRef="{type}"><text>{name}</text></inputExpression></input>'
        for name, type in (("rate", "number"), ("shift", "string"))
    )
    needs = "".join(
        f'<informationRequirement><requiredInput href="#{name}"/></informationRequirement>'
        for name in ("rate", "shift")
    )
    table = f'{columns}<output name="o"/>{rows}{last}<outputEntry><text>-1</text></outputEntry></rule>'
    decision = f'<decision id="d" name="d"><variable name="d"/>{needs}<decisionTable hitPolicy="UNIQUE">{table}'
    inputs = input_data("rate", "number") + input_data("shift", "string")
    return f"{HEAD}{inputs}{decision}</decisionTable></decision></definitions>".encode()


def zen_table(lines: int) -> str:
    rows = [{"_id": f"r{n}", "a": f"[{n}..{n + 1})", "b": '"night"', "o": str(n)} for n in range(lines - 1)]
    rows.append({"_id": "last", "a": ">= 3", "b": '"day"', "o": "-1"})
    content = {
        "hitPolicy": "first",
        "inputs": [{"id": "a", "name": "a", "field": "rate"}, {"id": "b", "name": "b", "field": "shift"}],
        "outputs": [{"id": "o", "name": "o", "field": "o"}],
        "rules": rows,
    }
    nodes = [
        {"id": "in", "name": "in", "type": "inputNode"},
        {"id": "t", "name": "t", "type": "decisionTableNode", "content": content},
        {"id": "out", "name": "out", "type": "outputNode"},
    ]
    edges = [{"id": f"{a}-{b}", "sourceId": a, "targetId": b, "type": "edge"} for a, b in (("in", "t"), ("t", "out"))]
    return json.dumps({"nodes": nodes, "edges": edges})


def dmn_chain(decisions: int) -> bytes:
    first = "<literalExpression><text>1</text></literalExpression>"
    made = [f'<decision id="d0" name="decision 0"><variable name="decision 0"/>{first}</decision>']
    made += [
        f'<decision id="d{n}" name="decision {n}"><variable name="decision {n}" typeRef="number"/>'
        f'<informationRequirement><requiredDecision href="#d{n - 1}"/></informationRequirement>'
        f"<literalExpression><text>decision {n - 1} * 2 + count([1, 2, 3])</text></literalExpression></decision>"
        for n in range(1, decisions)
    ]
    return f"{HEAD}{''.join(made)}</definitions>".encode()


def per_second(call: Callable[[], Any], seconds: float) -> float:
    """Calls in a second: the best of as many batches as fit into the time."""
    best, until = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        for _ in range(100):
            call()
        best = max(best, 100 / (time.perf_counter() - began))
    return best


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=2.0)
    seconds = parser.parse_args(arguments).seconds
    model = read_model(dmn_table(LINES))
    if model.evaluate("d", DATA).value != -1:
        return 1
    ours = per_second(lambda: model.evaluate("d", DATA), seconds)
    print(json.dumps({"workload": f"table of {LINES} lines", "per_s": round(ours)}))
    if importlib.util.find_spec("zen") is not None:
        zen: Any = importlib.import_module("zen")
        decision = zen.ZenEngine().create_decision(zen_table(LINES))
        if decision.evaluate(DATA)["result"] != {"o": -1}:
            return 1
        theirs = per_second(lambda: decision.evaluate(DATA), seconds)
        print(json.dumps({"workload": f"table of {LINES} lines, zen-engine", "per_s": round(theirs)}))
    source = dmn_chain(500)
    began = time.perf_counter()
    large = read_model(source)
    findings = large.check()
    print(json.dumps({"workload": "500 decisions, read and compiled", "s": round(time.perf_counter() - began, 3)}))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
