"""What a simulation costs: stored judgments replayed against a pack, by the version in production and by the candidate.

    python -m bench.simulate                          10,000 judgments, 20 rules
    python -m bench.simulate --judgments 2000 --rules 100

Prints one line of JSON. Figures are never asserted; what is counted is. The aim is 10,000 judgments against a pack of
20 rules in less than five seconds, reading, judging twice, statistics and the stored report included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors.contract import Done, Request, Services
from penstock.executors.simulate import SimulateExecutor
from penstock.host.secrets import SecretPlaces
from penstock.host.tenants import StoredTenant
from penstock.store.artifacts import ArtifactRow
from penstock.store.simulations import PastJudgmentRow
from penstock.store.sqlite import Sqlite

_pack = msgspec.msgpack.Encoder().encode
NOW = 1_700_000_000_000


def rule_pack(version: str, rules: int, shift: float) -> dict[str, Any]:
    """Rules of which most say nothing of most rows, as it is in a plant."""
    listed = [
        {
            "id": f"r{n}", "scope": "each", "when": f"item.v{n % 5} >= threshold", "threshold": 0.9 + shift + n / 200,
            "decision": "critical" if n % 3 == 0 else "warning", "confidence": 0.8, "reasoning": "v = ${item.v0}",
        }
        for n in range(rules)
    ]  # fmt: skip
    return {"id": "bench", "version": version, "status": "approved", "rules": listed}


def fill(store: Sqlite, judgments: int, rules: int) -> None:
    chance = random.Random(judgments)
    packs = [rule_pack("1", rules, 0.05), rule_pack("2", rules, 0.0)]
    store.put_artifacts(
        [ArtifactRow("t", "rule_pack", "bench", pack["version"], "approved", _pack(pack), NOW) for pack in packs]
    )
    policy = {"type": "RULE_ONLY", "rule_pack_id": "bench"}
    rows = []
    for n in range(judgments):
        data = [{"line_id": "L01", **{f"v{field}": chance.random() for field in range(5)}}]
        body = {"input": {"data": data, "context": {}, "policy": policy}, "output": {"decision": "normal"}}
        rows.append(PastJudgmentRow("t", f"p{n:07}", "bench", "normal", _pack(body), NOW - 1 - n))
    store.put_past_judgments(rows)


class OldVersion:
    """The first version is in production."""

    def current(self, type: str, id: str, *, environment: str, line: str = "") -> str:
        return "1"


async def replay(judgments: int, rules: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        store = Sqlite(Path(folder) / "store.db")
        fill(store, judgments, rules)
        tenant = StoredTenant("t", store, SecretPlaces({}, environment={}), lambda: NOW)
        tenant.deployments = OldVersion()  # type: ignore[assignment]
        services = Services(output_dir=Path(folder), input_dir=Path(folder), tenant=lambda name: tenant)
        args = {
            "mode": {"type": "replay", "replay": {"sample_size": judgments}},
            "candidate": {"artifact": {"type": "rule_pack", "id": "bench"}},
        }
        request = Request(key="k", tenant="t", run="r", node="n", executor="simulate", args=args, at=NOW)
        __import__("scipy.stats")  # loaded once per process
        began = time.perf_counter()
        outcome = await SimulateExecutor().run(request, services)
        seconds = time.perf_counter() - began
        store.close()
    assert isinstance(outcome, Done), outcome
    summary = outcome.body["summary"]
    assert summary["total_samples"] == judgments
    return {
        "workload": "replay", "judgments": judgments, "rules": rules, "seconds": round(seconds, 3),
        "us_per_judgment": round(seconds / judgments * 1e6, 1),
        "changed": outcome.body["risk_assessment"]["changed_decisions"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, default=10_000)
    parser.add_argument("--rules", type=int, default=20)
    asked = parser.parse_args()
    print(json.dumps(asyncio.run(replay(asked.judgments, asked.rules))))


if __name__ == "__main__":
    main()
