"""A process that starts itself twice, for ever: another tenant goes on as if nothing was."""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from tools.attacks.contract import AttackResult
from tools.attacks.two_tenants import LOUD, PLAIN, QUIET, TwoTenants, beside, figures

#: begun by a message, and sends it twice
AGAIN: dict[str, Any] = {
    "process_definition_id": "again",
    "process_definition_name": "Again",
    "activities": [],
    "events": [
        {"id": "s", "name": "S", "position": "start", "trigger": "signal", "signal": "again"},
        {"id": "t1", "name": "T1", "position": "throw", "trigger": "signal", "signal": "again"},
        {"id": "t2", "name": "T2", "position": "throw", "trigger": "signal", "signal": "again"},
    ],
    "transitions": [
        {"id": "f1", "source": "s", "target": "t1"},
        {"id": "f2", "source": "t1", "target": "t2"},
    ],
}
SECONDS = 20.0


def run(seconds: float = SECONDS) -> AttackResult:
    with tempfile.TemporaryDirectory() as folder:
        site = TwoTenants(Path(folder))
        site.start()
        try:
            plain = site.define(QUIET, PLAIN)
            quiet = site.quiet_times(plain)
            site.define(LOUD, AGAIN)

            def attack() -> None:
                with site.of(LOUD) as client, suppress(httpx2.TimeoutException):
                    for i in range(20):  # whoever floods waits behind its own flood, and need not
                        client.post("/events", json={"source": "again", "payload": {}, "id": f"first{i}"}, timeout=1)
                time.sleep(seconds)

            loud, health = beside(site, plain, attack)
            with site.of(LOUD) as client:
                runs = client.get("/home").json()
            result = {**figures(quiet, loud, health), "memory MB": round(site.memory_mb())}
            result["its runs"] = str(runs.get("counts") or runs.get("runs") or "")[:60]
            good = loud.p95 <= 3 * quiet.p95 and health.p95 < 0.1
            return AttackResult("self-starting", "ok" if good else "bad", result)
        finally:
            site.stop()
