"""The history of the sample tenant and a model that was discovered from it, for the console's pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PROCESS = "claim_handling"
#: the change that is chosen in the picture, counted from 1
CHOSEN = 2


def discovered(request: Any, base: str) -> str:
    """The id of a model of the sample's log, once the log is there."""
    mining = f"{base}/api/v1/processes/mining"
    for _ in range(120):
        if request.get(f"{mining}/{PROCESS}").json().get("cases"):
            break
        time.sleep(0.5)
    answer = request.post(f"{mining}/{PROCESS}:discover", data={}, headers={"X-Penstock": "1"})
    if not answer.ok:
        raise SystemExit(f"{PROCESS}: {answer.status} {answer.text()}")
    return str(answer.json()["model_id"])


def take_map(shoot: Callable[[str], None]) -> None:
    shoot(f"/mining/{PROCESS}?paths=14")


def take_diff(model: str, shoot: Callable[[str], None]) -> None:
    shoot(f"/mining/{PROCESS}/diff/{model}?change={CHOSEN}")
