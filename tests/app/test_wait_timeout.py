"""C-38: how long a wait lasts that says nothing is a setting of the machine."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.errors import BadInput
from tests.app.workflows import workflow
from tests.conformance.decision.world import go

DAY = 86_400_000
EVENT = {"type": "event", "event": {"source": "lab.done"}}
MOMENT = {"type": "time", "duration_days": 3}
POLLING = {
    "type": "polling", "polling": {"endpoint": "/x", "success_condition": "response.ok", "interval_sec": 7_200},
}  # fmt: skip


def waiting(condition: dict[str, Any], **more: Any) -> dict[str, Any]:
    node = {"id": "first", "type": "WAIT", "condition": condition, **more}
    return workflow(id="wf_waits", nodes=[node], edges=[])


def _waits_ms(folder: Path, document: dict[str, Any], settings: dict[str, Any]) -> int:
    """For how long its timer is set."""

    async def scene() -> int:
        async with Penstock(folder / "store.db", settings=settings) as door:
            file = folder / "wf.json"
            file.write_text(json.dumps(document))
            run = await door.start(door.release(file))
            while not (timers := door.reading(run).state.timers):
                await asyncio.sleep(0.01)
            (due,) = {timer.due for timer in timers.values()}
            return int(due) - door.row(run).created_at

    return go(scene())


@pytest.mark.parametrize(
    ("document", "seconds", "expected"),
    [
        (waiting({"type": "manual"}), None, DAY),
        (waiting({"type": "manual"}), 60, 60_000),
        (waiting(EVENT), 90.5, 90_500),
        (waiting(EVENT, timeout={"duration_minutes": 5}), 60, 300_000),
        (waiting(MOMENT), 60, 3 * DAY),
    ],
    ids=["without the setting", "manual", "event", "it says one itself", "a moment has none"],
)
def test_c_38_the_usual_timeout_is_a_setting(
    tmp_path: Path, document: dict[str, Any], seconds: float | None, expected: int
) -> None:
    """C-38: event, polling and manual without a timeout: 24 h, configurable; time: none."""
    settings = {} if seconds is None else {"waits.timeout_s": seconds}
    assert expected <= _waits_ms(tmp_path, document, settings) < expected + 10_000


def test_c_38_it_holds_for_versions_that_are_submitted(tmp_path: Path) -> None:
    """C-38: with the net that is kept; a setting that changes later holds for what is released then."""
    afters = []
    for seconds in (60, 120):
        door = Penstock(tmp_path / "store.db", drive=False, settings={"waits.timeout_s": seconds}).open()
        try:
            for document in (waiting(POLLING), waiting({"type": "manual"})):
                version = len(afters) + 1
                row = door.releases.submit({**document, "version": version}).release
                net = door.nets.get(row.net)
                triggers = [trigger for node in net.nodes for trigger in node.spec.triggers]
                afters.append([trigger.after_ms for trigger in triggers if trigger.after_ms])
        finally:
            door.close()
    assert afters == [[60_000], [60_000], [120_000], [120_000]]


@pytest.mark.parametrize("value", [0, -1, "soon", True, 10**12])
def test_c_38_a_setting_that_is_no_time_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(BadInput, match=r"waits\.timeout_s"):
        _waits_ms(tmp_path, waiting(EVENT), {"waits.timeout_s": value})
