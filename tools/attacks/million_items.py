"""A request with a million items: refused, and where the limit is raised done in slices; the store opens again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tools.attacks.contract import AttackResult
from tools.attacks.two_tenants import LOUD, PLAIN, QUIET, TwoTenants, beside, figures

EACH: dict[str, Any] = {
    "process_definition_id": "each",
    "process_definition_name": "Each",
    "activities": [
        {
            "id": "a",
            "name": "A",
            "type": "scriptTask",
            "python_code": "result = {'n': 1}",
            "multi": {"items": "items", "item": "item"},
        }
    ],
    "transitions": [],
}
#: what the second part lets a tenant do: many items, and a body that holds them
RAISED = 20_000
SETTINGS = f"""
[tenants.{LOUD}.limits]
fan_items = {RAISED}
"""


def run(items: int = 1_000_000) -> AttackResult:
    with tempfile.TemporaryDirectory() as folder:
        site = TwoTenants(Path(folder), SETTINGS)
        site.start()
        try:
            return _attack(site, items)
        finally:
            site.stop()


def _attack(site: TwoTenants, items: int) -> AttackResult:
    each, plain = site.define(LOUD, EACH), site.define(QUIET, PLAIN)
    answers: list[str] = []

    def start(count: int) -> None:
        body = b'{"input_data": {"items": [' + b",".join([b"1"] * count) + b"]}}"
        with site.of(LOUD) as client:
            done = client.post(
                f"/processes/definitions/{each}/instances", content=body, headers={"Content-Type": "application/json"}
            )
        answers.append(f"{done.status_code} {done.json().get('code', '')}".strip())

    quiet = site.quiet_times(plain)

    def attack() -> None:
        start(items)  # the body is too large
        start(100_000)  # the body is not, the list is
        start(RAISED)  # as many as it may

    loud, health = beside(site, plain, attack)
    memory = site.memory_mb()
    site.kill()
    ready_s = site.start()
    after = site.quiet_work(plain, 10)
    result = {
        "answers": ", ".join(answers), **figures(quiet, loud, health), "memory MB": round(memory),
        "ready again s": round(ready_s, 1), "p95 then ms": round(after.p95 * 1000, 1),
    }  # fmt: skip
    good = answers[0].startswith("413") and memory < 1024 and health.p95 < 0.1 and loud.p95 <= 3 * quiet.p95
    return AttackResult("million items", "ok" if good else "bad", result)
