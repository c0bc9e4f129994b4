"""Processes with jobs, and a door to them, for tests."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.app.jobs.jobs import ActivatedJob, Asked
from penstock.app.penstock import Penstock, Release

Part = dict[str, Any]
CHARGE: Part = {"id": "charge", "name": "Charge the card", "type": "serviceTask", "job": "charge-card"}
START, END = {"id": "s", "position": "start"}, {"id": "e", "position": "end"}


def on_loop(test: Callable[..., Any]) -> Callable[..., None]:
    """A test on a loop of its own; one that has a `door` gets one of a fresh store."""
    asked = inspect.signature(test).parameters
    has_door = "door" in asked

    @functools.wraps(test)
    def run(**given: Any) -> None:
        async def with_door() -> None:
            async with Penstock(given.pop("tmp_path") / "s.db") as door:
                await test(door=door, **given)

        asyncio.run(with_door() if has_door else test(**given))

    kept = [parameter for name, parameter in asked.items() if name != "door"]
    fresh = [inspect.Parameter("tmp_path", inspect.Parameter.KEYWORD_ONLY, annotation=Path)] if has_door else []
    run.__signature__ = inspect.Signature([*kept, *fresh])  # type: ignore[attr-defined]
    return run


def a_process(*activities: Part, events: tuple[Part, ...] = (), flows: tuple[tuple[str, str], ...] = ()) -> bytes:
    """From the start through these activities to the end; more events, and the ways from them."""
    row = ["s", *(activity["id"] for activity in activities if not activity.get("is_for_compensation")), "e"]
    ways = [*zip(row, row[1:], strict=False), *flows]
    return json.dumps({
        "process_definition_id": "order", "process_definition_name": "Order", "activities": list(activities),
        "events": [START, END, *events],
        "transitions": [{"id": f"t{n}", "source": a, "target": b} for n, (a, b) in enumerate(ways)],
    }).encode()  # fmt: skip


def released(door: Penstock, *activities: Part, **more: Any) -> Release:
    return door.release(a_process(*activities, **more), name="order.json")


def at(boundary: str, activity: str, trigger: str, **more: Any) -> Part:
    return {"id": boundary, "position": "boundary", "attached_to": activity, "trigger": trigger, **more}


async def take(door: Penstock, *types: str, wait_ms: int = 20_000, **more: Any) -> list[ActivatedJob]:
    given = {"types": types or ("charge-card",), "worker": "w", "wait_ms": wait_ms, **more}
    return await door.jobs.activate(Asked(**given))
