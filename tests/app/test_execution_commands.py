"""The commands that every run has, given to executions: they obey the pipeline's own rules by whichever door."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline.executions import execution
from penstock.app.runs.commands.bulk import BulkCommand, command_many
from penstock.app.runs.detail import detail
from penstock.errors import BadInput
from penstock.errors.pipeline import ExecutionState
from tests.app.pipelines import Processor, a_pipeline, a_stage, driven, ended
from tests.app.test_executions import BROKEN, THREE, Gate, begun, go, statuses

ALL = frozenset({"run.steer", "run.start", "run.edit"})


def offered(door: Penstock, run: str) -> set[str]:
    return {move.verb for move in detail(door, run).moves if move.target is None}


@pytest.mark.parametrize("mode", ["now", "boundary"])
def test_f_2_6_cancels_of_runs_let_the_stage_end(tmp_path: Path, mode: str) -> None:
    """F-2.6, F-X.8: whatever mode is asked for, the stage that works is not stopped; asked again it is accepted."""

    async def scene() -> None:
        gate = Gate()
        processor = Processor({"s1": gate})
        async with driven(tmp_path, a_pipeline(stages=THREE), processor=processor) as door:
            mine, id = await begun(door)
            await gate.entered.wait()
            assert offered(mine, id) >= {"cancel"} and not offered(mine, id) & {"cancel_boundary", "retry"}
            for _ in range(2):
                await mine.cancel(id, mode=mode)
            look = execution(mine, id)
            assert (look.status, look.cancel_requested) == ("RUNNING", True)
            gate.open.set()
            look = await ended(mine, id)
            assert (look.status, statuses(look)) == ("CANCELLED", ["COMPLETED", None, None])
            assert processor.asked == ["s1"]
            with pytest.raises(ExecutionState) as refused:
                await mine.cancel(id, mode=mode)
            assert refused.value.facts["state"] == "CANCELLED"

    go(scene())


@pytest.mark.parametrize("allowed", [False, True])
def test_f_x_8_runs_that_wait_for_their_turn_are_cancelled_as_the_setting_says(tmp_path: Path, allowed: bool) -> None:
    """F-2.6, F-A.11, F-X.8: by the generic command, and many at once, tried and done."""

    async def scene() -> None:
        gate = Gate()
        settings = {"admission.slots": 1, "pipelines.allow_cancel_pending": allowed}
        processor = Processor({"s1": gate})
        async with driven(tmp_path, a_pipeline(stages=THREE), processor=processor, settings=settings) as door:
            mine, first = await begun(door)
            await gate.entered.wait()
            _, second = await begun(door, key="b")
            command = BulkCommand(verb="cancel", user="kim", permissions=ALL)
            tried = await command_many(mine, command, [first, second])
            assert (tried.count, [each.code for each in tried.refused]) == (
                (2, []) if allowed else (1, ["PP-409-STATE"])
            )
            assert ("cancel" in offered(mine, second)) is allowed
            if allowed:
                await mine.cancel(second)
                assert execution(mine, second).status == "CANCELLED"
            else:
                with pytest.raises(ExecutionState) as refused:
                    await mine.cancel(second)
                assert refused.value.facts["state"] == "PENDING"
                assert execution(mine, second).status == "PENDING"
            done = await command_many(mine, command, [first], dry_run=False)
            assert done.count == 1 and execution(mine, first).status == "RUNNING"
            gate.open.set()
            assert (await ended(mine, first)).status == "CANCELLED"
            assert (await ended(mine, second)).status == ("CANCELLED" if allowed else "COMPLETED")

    go(scene())


def test_f_2_7_retries_of_runs_resume_the_execution_and_wait_for_their_turn(tmp_path: Path) -> None:
    """F-2.7, F-X.7, F-S.5: «here» is resume; from the start is another execution, so it is refused and not offered."""

    async def scene() -> None:
        processor = Processor({"s2": BROKEN})
        async with driven(tmp_path, a_pipeline(stages=THREE), processor=processor) as door:
            mine, id = await begun(door)
            await ended(mine, id)
            assert offered(mine, id) >= {"retry"} and "restart" not in offered(mine, id)
            with pytest.raises(BadInput) as refused:
                await mine.retry(id, how="restart")
            assert "rerun" in str(refused.value.facts["hint"])
            assert execution(mine, id).status == "FAILED"
            del processor.answers["s2"]
            await mine.retry(id)
            look = await ended(mine, id)
            assert (look.status, processor.asked) == ("COMPLETED", ["s1", "s2", "s2", "s3"])
            with pytest.raises(ExecutionState) as late:
                await mine.retry(id)
            assert late.value.facts["state"] == "COMPLETED"

    go(scene())


def test_f_2_7_stages_that_failed_and_went_on_are_not_tried_again_while_it_runs(tmp_path: Path) -> None:
    async def scene() -> None:
        gate = Gate()
        stages = [a_stage("s1", 1, on_failure="CONTINUE"), a_stage("s2", 2)]
        async with driven(tmp_path, a_pipeline(stages=stages), processor=Processor({"s1": BROKEN, "s2": gate})) as door:
            mine, id = await begun(door)
            await gate.entered.wait()
            assert not [move for move in detail(mine, id).moves if move.verb == "retry"]
            with pytest.raises(ExecutionState):
                await mine.retry(id)
            gate.open.set()
            assert (await ended(mine, id)).status == "COMPLETED"

    go(scene())
