"""The page of one run: firings with their attempts and waits, reasons, moves, children."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from penstock.app.runs.detail import detail
from tests.app.scenes import LOOP, opened
from tests.conformance.decision.world import DEFECT, MANAGER, T0, Wire, World, go


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


def test_attempts_and_waits_of_the_seeds_workflow(tmp_path: Path, wire: Wire) -> None:
    """C-66, W-10.2.1: every attempt with its times and what it failed with, every wait with its reason; what failed
    twice and then succeeded, and a person who took a minute."""
    wire.forget()
    world = World(tmp_path, wire).plant()
    world.sure(0.6)

    async def scene() -> None:
        async with world.open() as door:
            wire.trouble["slack"] = 2
            run = await door.run(DEFECT)
            await door.later(10_000)
            waits = detail(door, run, {"inbox.decide"})
            assert [one.verb for one in waits.moves] == ["approve", "reject"] and [one.kind for one in waits.why] == [
                "work"
            ]
            assert waits.run.state == "WAITING" and waits.definition.version == 2 and waits.input == {"line_id": "L01"}
            await door.later(60_000)
            await door.decide(run, "approved", MANAGER)
            found = detail(door, run)
            firings = {one.node: one for one in found.firings}
            slack = firings["action_slack_emergency"]
            assert [(a.n, a.outcome, a.code, a.started_at - T0) for a in slack.attempts] == [
                (1, "failed", "HTTP_5XX", 0), (2, "failed", "HTTP_5XX", 5000), (3, "done", None, 10_000),
            ]  # fmt: skip
            assert [(w.why, w.since - T0, (w.until or 0) - T0) for w in slack.waits] == [
                ("backoff", 0, 5000), ("backoff", 5000, 10_000),
            ]  # fmt: skip
            asked = firings["request_approval"]
            assert [(w.why, (w.until or 0) - w.since) for w in asked.waits] == [("work", 60_000)] and not asked.attempts
            assert (asked.state, asked.status, asked.tone, asked.kind) == ("SUCCEEDED", "succeeded", "done", "work")
            assert len(firings["judge_quality"].attempts) == 2  # what it reads is fetched first
            assert "end" not in firings and found.why == [] and msgspec.json.encode(found)

    go(scene())


def test_rounds_of_a_loop_are_firings(tmp_path: Path) -> None:
    """D-X.21: one firing for each round, with its number."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            run = await door.start(door.release(LOOP))
            await door.wait(run, timeout=60)
            rounds = [(one.iteration, one.status) for one in detail(door, run).firings if one.node == "PersonJob"]
            assert rounds == [(1, "COMPLETED"), (2, "COMPLETED"), (3, "COMPLETED")]

    go(scene())
