"""How long a workflow of 200 nodes takes to be checked and released; prints one line of JSON."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from penstock.app.penstock import Penstock
from penstock.lang.compile import check_document

NODES = 200


def workflow(count: int, version: int = 1) -> dict[str, Any]:
    """A chain of reads, judgments, switches and alerts; every version has expressions of its own."""
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for i in range(count // 4):
        data, judge, switch, act = f"data_{i}", f"judge_{i}", f"switch_{i}", f"action_{i}"
        rows, verdict = f"rows_{version}_{i}", f"verdict_{version}_{i}"
        nodes += [
            {
                "id": data, "type": "DATA",
                "source": {"type": "sql", "query": f"SELECT * FROM fact_daily_defect_{i} WHERE line_id = :line_id"},
                "params": {"line_id": "${input.line_id}"}, "output": {"variable": rows},
            },
            {
                "id": judge, "type": "JUDGMENT",
                "policy": {"type": "RULE_ONLY", "rule_pack_id": "defect_rules_v3"},
                "input": {"data": f"${{{rows}}}"}, "output": {"variable": verdict},
            },
            {
                "id": switch, "type": "SWITCH", "expression": f"${{{verdict}.decision}}",
                "cases": [{"value": "critical", "goto": act}, {"value": "warning", "goto": act}],
                "default": {"goto": act},
            },
            {
                "id": act, "type": "ACTION", "channel": {"type": "slack"},
                "template": {"id": "warning_alert", "params": {"rate": f"${{{rows}[0].defect_rate}}"}},
                "conditions": {"execute_if": f"{verdict}.decision != 'normal' && fn.length({rows}) > 0"},
            },
        ]  # fmt: skip
        edges += [{"from": data, "to": judge}, {"from": judge, "to": switch}]
        if i:
            edges.append({"from": f"action_{i - 1}", "to": data})
    return {"id": "wf_bench", "version": version, "nodes": nodes, "edges": edges}


def check(text: bytes) -> float:
    begun = time.perf_counter()
    _, findings = check_document(text, name="wf_bench")
    took = time.perf_counter() - begun
    assert not [one for one in findings if one.severity == "error"], findings[:3]
    return took


def main() -> None:
    text = json.dumps(workflow(NODES)).encode()
    checks = [check(text) for _ in range(10)]
    unseen = [check(json.dumps(workflow(NODES, version)).encode()) for version in range(2, 7)]
    releases = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(5):
            door = Penstock(Path(folder) / f"{i}.db", drive=False).open()
            door.load_sample()
            begun = time.perf_counter()
            door.release(text, name="wf_bench")
            releases.append(time.perf_counter() - begun)
            door.close()
    print(json.dumps({
        "workload": "workflow", "nodes": NODES, "bytes": len(text),
        "first_check_ms": round(checks[0] * 1000, 1), "check_ms": round(min(checks) * 1000, 1),
        "unseen_check_ms": round(min(unseen) * 1000, 1),
        "first_release_ms": round(releases[0] * 1000, 1), "release_ms": round(min(releases) * 1000, 1),
        "aim": {"check_ms": 20, "release_ms": 100},
    }))  # fmt: skip


if __name__ == "__main__":
    main()
