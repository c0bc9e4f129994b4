"""A tenant with past judgments and two versions of a pack, and simulations upon it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors import ExecutorTable
from penstock.executors.contract import Done, Failed
from penstock.executors.simulate import SimulateExecutor
from penstock.store.simulations import LabelRow, PastJudgmentRow
from tests.executors.desk import Desk

SIMULATE = SimulateExecutor()
DAY = 24 * 3_600_000
NOW = 1_000 * DAY
PACK = "limits"

#: rate, label: what the baseline (0.05) and the candidate (0.03) say of each is plain to see
CASES = [
    (0.01, "normal"), (0.02, "normal"), (0.02, "critical"), (0.03, "normal"), (0.04, "critical"), (0.04, "critical"),
    (0.04, "normal"), (0.06, "critical"), (0.07, "critical"), (0.08, "normal"),
]  # fmt: skip


def pack(version: str, threshold: float, **more: Any) -> dict[str, Any]:
    rule = {"id": "over", "scope": "each", "when": "rate >= threshold", "threshold": threshold, "decision": "critical",
            "confidence": 0.9}  # fmt: skip
    return {"id": PACK, "version": version, "status": "approved", "rules": [rule], **more}


class Deployed:
    """What is in production."""

    def __init__(self, version: str | None = "1.0.0") -> None:
        self.version = version

    def current(self, type: str, id: str, *, environment: str, line: str = "") -> str | None:
        return self.version if environment == "production" else None


def a_desk(folder: Path) -> Desk:
    """A tenant with two versions of a pack, the first of them in production."""
    desk = Desk(folder)
    desk.tenant.things["rule_pack"] = {f"{PACK}@1.0.0": pack("1.0.0", 0.05), f"{PACK}@1.1.0": pack("1.1.0", 0.03)}
    desk.tenant.deployments = Deployed()  # type: ignore[assignment]
    return desk


def past(
    desk: Desk, *rates: float, labels: dict[int, str] | None = None, policy: dict[str, Any] | None = None,
    output: dict[str, Any] | None = None, llm: list[Any] | None = None, ago: int = DAY,
) -> None:  # fmt: skip
    """One judgment per rate, the last one the newest; labels by place."""
    rows, labelled = [], []
    for index, rate in enumerate(rates):
        decision = "critical" if rate >= 0.05 else "normal"
        body = {
            "input": {"data": [{"line_id": "L01", "rate": rate}],
                      "policy": policy or {"type": "RULE_ONLY", "rule_pack_id": PACK}},
            "output": {"decision": decision, "confidence": 0.9, "decided_by": "rule", **(output or {})},
        }  # fmt: skip
        if llm is not None and llm[index] is not None:
            body["llm"] = llm[index]
        at = NOW - ago - (len(rates) - index) * 1000
        rows.append(PastJudgmentRow("t", f"p{index:05}", PACK, decision, msgspec.msgpack.encode(body), at))
        if labels and index in labels:
            labelled.append(LabelRow("t", f"p{index:05}", labels[index], "qa", "", NOW))
    desk.tenant.store.put_past_judgments(rows)
    desk.tenant.store.put_labels(labelled)


def order(type: str = "replay", **more: Any) -> dict[str, Any]:
    mode = more.pop("mode", {})
    candidate = more.pop("candidate", {"artifact": {"type": "rule_pack", "id": PACK}})
    return {"mode": {"type": type, **mode}, "candidate": candidate, "document": "wf", **more}


def simulated(desk: Desk, args: dict[str, Any], **request: Any) -> Any:
    services = msgspec.structs.replace(desk.services, executors=ExecutorTable({}))
    return asyncio.run(SIMULATE.run(desk.request(args, **{"at": NOW, **request}), services))


def result(desk: Desk, args: dict[str, Any], **request: Any) -> dict[str, Any]:
    outcome = simulated(desk, args, **request)
    assert isinstance(outcome, Done), outcome
    return dict(outcome.body)


def failure(desk: Desk, args: dict[str, Any]) -> Any:
    outcome = simulated(desk, args)
    assert isinstance(outcome, Failed), outcome
    return outcome.failure


def metric(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in found["detailed_comparison"] if entry["metric"] == name)
