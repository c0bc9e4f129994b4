"""Uses of deployed things: whatever becomes of an attempt, what it has used is in the facts, and counted (C-58)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.executors.contract import Request, failed
from penstock.store.deployment_tables import ARTIFACT_USE
from tests.host.rig import QUICK, Fn, Rig, chain, ended, go, task

USE = {
    "type": "model", "id": "m", "version": "2", "environment": "production", "line": "L01", "deployment": "dep_1",
}  # fmt: skip


def uses_of(rig: Rig, work: Any, **fields: Any) -> tuple[str, list[tuple[Any, ...]]]:
    async def using(request: Request) -> Any:
        request.used.append({**USE, "decision": "done", "confidence": 0.5})
        return await work(request)

    async def scene() -> tuple[str, list[tuple[Any, ...]]]:
        async with rig.driving(Fn(using)) as host:
            run: str = host.start(host.release(chain(task("a", **fields))), None)
            await ended(host, run)
            rows = [dict(zip(ARTIFACT_USE.names, row, strict=True)) for row in host.store.projected(ARTIFACT_USE, run)]
            return run, [
                (row["version"], row["line"], row["decision"], row["confidence"], row["failed"]) for row in rows
            ]

    return go(scene())


async def answers(request: Request) -> Any:
    return "yes"


async def fails(request: Request) -> Any:
    return failed("X", "permanent", "no", {"why": "because"})


async def breaks(request: Request) -> Any:
    raise ValueError("broken")


async def hangs(request: Request) -> Any:
    await asyncio.sleep(30)


@pytest.mark.parametrize(
    ("work", "counted"),
    [
        (answers, ("2", "L01", "done", 500, 0)),
        (fails, ("2", "L01", "", 500, 1)),
        (breaks, ("2", "L01", "", 500, 1)),
        (hangs, ("2", "L01", "", 500, 1)),
    ],
)
def test_every_end_of_an_attempt_is_counted(rig: Rig, work: Any, counted: tuple[Any, ...]) -> None:
    """Also where the executor could not say anything any more: a version that hangs or breaks has its errors."""
    assert uses_of(rig, work, timeout_ms=60)[1] == [counted]


def test_attempts_that_are_tried_again_count_once(rig: Rig) -> None:
    async def second(request: Request) -> Any:
        return "yes" if request.attempt > 1 else failed("X", "transient", "not yet")

    assert uses_of(rig, second, retry=QUICK)[1] == [("2", "L01", "done", 500, 0)]


def test_a_failure_keeps_what_it_says_itself(rig: Rig) -> None:
    run, _ = uses_of(rig, fails)
    (settled,) = [fact for fact in rig.facts(run, "settled") if fact["failure"]]
    assert settled["failure"][4]["why"] == "because"
