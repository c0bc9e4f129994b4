"""Cancel and completion race (F-A.12): one of them wins, and what was answered is how it ends.

PENSTOCK_CANCEL_RACES says how often; 200 fit into every run of the tests.
"""

from __future__ import annotations

import asyncio
import collections
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline import steering
from penstock.app.pipeline.executions import execution, execution_row
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.errors.pipeline import ExecutionState
from penstock.executors.contract import Done, Outcome, Request, Services
from penstock.lang.pipeline.messages import messages_of
from tests.app.pipelines import EXAMPLE, a_pipeline, a_stage, driven, until
from tests.conformance.decision.world import go
from tests.servers.places import store_of

RACES = int(os.environ.get("PENSTOCK_CANCEL_RACES", "200"))
SEED = os.environ.get("PENSTOCK_SEED", "")
ENDS = frozenset({"COMPLETED", "CANCELLED", "FAILED", "COMPENSATED"})
AT_ONCE = 20


class Held:
    """A stage ends when its execution is let go."""

    name = "processor"

    def __init__(self) -> None:
        self.entered: dict[str, asyncio.Event] = collections.defaultdict(asyncio.Event)
        self.open: dict[str, asyncio.Event] = collections.defaultdict(asyncio.Event)

    async def run(self, request: Request, services: Services) -> Outcome:
        if request.args.get("stage") == "last":
            self.entered[request.run].set()
            await self.open[request.run].wait()
        return Done({"output": {}})


async def _cancelled(door: Penstock, id: str, steps: int) -> bool:
    """Whether it was accepted."""
    for _ in range(steps):
        await asyncio.sleep(0)
    try:
        await steering.cancel(door, id)
    except ExecutionState:
        return False
    return True


async def _let_go(held: Held, id: str, steps: int) -> None:
    for _ in range(steps):
        await asyncio.sleep(0)
    held.open[id].set()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.timeout(120 + RACES)
def test_f_a_12_cancel_and_completion_have_one_winner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], database: str
) -> None:
    """F-A.12, F-2.2, F-S.4, F-9.4: a 202 ends CANCELLED, a 409 ends COMPLETED, none ends twice; both happen."""
    seed = SEED or str(time.time_ns())
    draw, count = random.Random(seed), collections.Counter[str]()

    async def race(door: Penstock, held: Held, id: str) -> None:
        await held.entered[id].wait()
        accepted, _ = await asyncio.gather(
            _cancelled(door, id, draw.randrange(60)), _let_go(held, id, draw.randrange(20))
        )
        await until(lambda: execution(door, id).completed_at is not None)
        lines = door.timeline(door.reading(execution_row(door, id))).lines()
        ends = [line.data["to"] for line in lines if line.fact == "run.moved" and line.data["to"] in ENDS]
        assert ends == ["CANCELLED" if accepted else "COMPLETED"], (seed, id)
        count[ends[0]] += 1

    async def scene() -> None:
        held = Held()
        stages = [a_stage("one", 1), a_stage("last", 2)]
        more: dict[str, Any] = {"store": store_of(database), "settings": {"admission.slots": AT_ONCE}}
        async with driven(tmp_path, a_pipeline(stages=stages), processor=held, **more) as door:
            mine, left = door.of("tnt_demo"), RACES
            while left:
                wanted = min(AT_ONCE, left)
                left -= wanted
                messages = [
                    each for n in range(wanted) for each in messages_of({**EXAMPLE, "key": f"{left}/{n}.png"})
                ]  # fmt: skip
                receipts = await Ingest(door).take(messages)
                await asyncio.gather(*(race(mine, held, receipt.started[0]) for receipt in receipts))

    go(scene())
    with capsys.disabled():
        print(f"  {database}: cancel raced completion {RACES} times (seed {seed}): {dict(count)}")
    assert count.total() == RACES and (RACES < 100 or len(count) == 2)
