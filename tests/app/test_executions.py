"""Executions as people see them: statuses, stages, logs; cancel and retry, and what is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline import steering
from penstock.app.pipeline.execution_lists import ExecutionFilter, execution_page
from penstock.app.pipeline.executions import Execution, execution, logs
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.pipeline.measures.usage import usage
from penstock.errors.pipeline import ExecutionNotFound, ExecutionState, PipelineScope
from penstock.executors.contract import Done, failed
from penstock.lang.pipeline.messages import messages_of
from tests.app.pipelines import EXAMPLE, Processor, a_pipeline, a_stage, driven, ended, executions, until
from tests.conformance.decision.world import go
from tests.executors import processors_of_tests as _  # noqa: F401 (TestUndo is on the shelf)

BROKEN = failed("IMAGE_BROKEN", "validation", "It is no picture.")
THREE = [a_stage("s1", 1), a_stage("s2", 2), a_stage("s3", 3)]


async def begun(door: Penstock, **more: Any) -> tuple[Penstock, str]:
    (receipt,) = await Ingest(door).take(messages_of({**EXAMPLE, **more}))
    return door.of("tnt_demo"), receipt.started[0]


def statuses(look: Execution) -> list[str | None]:
    return [stage.status for stage in look.stages]


class Gate:
    """A stage that waits until it may end."""

    def __init__(self, answer: Any = None) -> None:
        self.open, self.entered, self.answer = asyncio.Event(), asyncio.Event(), answer or {"output": {}}

    async def __call__(self) -> Any:
        self.entered.set()
        await self.open.wait()
        return self.answer


def test_f_a_9_skipped_continued_and_optional_failures_are_warnings(tmp_path: Path) -> None:
    """F-A.9, F-X.6b, F-6.2, F-6.3: SKIPPED, FAILED, FAILED, and the execution is COMPLETED."""

    async def scene() -> None:
        stages = [
            a_stage("skip", 1, on_failure="SKIP"), a_stage("go", 2, on_failure="CONTINUE"),
            a_stage("maybe", 3, is_optional=1), a_stage("last", 4),
            a_stage("never", 5, condition={"field": "size", "op": "lt", "value": 1}),
        ]  # fmt: skip
        processor = Processor(dict.fromkeys(("skip", "go", "maybe"), BROKEN))
        async with driven(tmp_path, a_pipeline(stages=stages), processor=processor) as door:
            mine, id = await begun(door)
            look = await ended(mine, id)
            assert (look.status, look.error) == ("COMPLETED", None)
            assert statuses(look) == ["SKIPPED", "FAILED", "FAILED", "COMPLETED", "SKIPPED"]
            assert [(each["stage"], each["code"]) for each in look.warnings] == [
                ("skip", "IMAGE_BROKEN"), ("go", "IMAGE_BROKEN"), ("maybe", "IMAGE_BROKEN"),
            ]  # fmt: skip
            assert (look.total_stages, look.completed_stages) == (5, 1)
            assert [log.stage_code for log in logs(mine, id)] == ["skip", "go", "maybe", "last", "never"]
            assert look.started_at is not None and look.duration_ms is not None and look.created_at <= look.started_at

    go(scene())


def test_f_a_13_resume_goes_on_at_the_stage_that_failed(tmp_path: Path) -> None:
    """F-A.13, F-A.15, F-2.7, F-2.8: the same id; the stage before it is not repeated; COMPLETED cannot be retried."""

    async def scene() -> None:
        processor = Processor({"s2": BROKEN})
        async with driven(tmp_path, a_pipeline(stages=THREE), processor=processor) as door:
            mine, id = await begun(door)
            look = await ended(mine, id)
            assert (look.status, look.error_stage, statuses(look)) == ("FAILED", "s2", ["COMPLETED", "FAILED", None])
            del processor.answers["s2"]
            assert await steering.retry(mine, id) is None
            await until(lambda: execution(mine, id).status == "COMPLETED")
            assert processor.asked == ["s1", "s2", "s2", "s3"]
            assert statuses(execution(mine, id)) == ["COMPLETED"] * 3, "as the newest attempt has left it"
            with pytest.raises(ExecutionState) as refused:
                await steering.retry(mine, id)
            assert refused.value.code == "PP-409-STATE" and refused.value.facts["state"] == "COMPLETED"

    go(scene())


def test_f_a_14_two_re_runs_at_once_are_one(tmp_path: Path) -> None:
    """F-A.14, F-X.7: one new execution with its parent, its trace and a key of its own; the other is refused."""

    async def scene() -> None:
        processor = Processor({"s2": BROKEN})
        async with driven(tmp_path, a_pipeline(stages=THREE), processor=processor) as door:
            mine, id = await begun(door)
            await ended(mine, id)
            del processor.answers["s2"]
            answers = await asyncio.gather(
                steering.retry(mine, id, "rerun"), steering.retry(mine, id, "rerun"), return_exceptions=True
            )
            (made,) = [answer for answer in answers if isinstance(answer, str)]
            assert [type(answer) for answer in answers if not isinstance(answer, str)] == [ExecutionState]
            look = await ended(mine, made)
            assert (look.status, look.trigger_type, look.parent_execution_id) == ("COMPLETED", "RETRY", id)
            assert look.trace_id == EXAMPLE["traceId"] and str(look.idempotency_key).endswith("#retry#1")
            assert execution(mine, id).status == "FAILED"
            with pytest.raises(ExecutionState):  # what was asked for is done
                await steering.retry(mine, id, "rerun")

    go(scene())


def test_f_x_7_re_runs_that_failed_may_be_followed_by_others(tmp_path: Path) -> None:
    """F-X.7: n counts the children."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(stages=THREE), processor=Processor({"s2": BROKEN})) as door:
            mine, id = await begun(door)
            await ended(mine, id)
            for number in (1, 2):
                made = await steering.retry(mine, id, "rerun")
                look = await ended(mine, str(made))
                assert (look.status, str(look.idempotency_key)[-8:]) == ("FAILED", f"#retry#{number}")

    go(scene())


def test_f_a_10_cancel_lets_the_stage_end_and_no_other_begin(tmp_path: Path) -> None:
    """F-A.10, F-A.11, F-2.3, F-2.6, F-X.8: asked again meanwhile it is accepted; ended ones are refused."""

    async def scene() -> None:
        gate = Gate()
        processor = Processor({"s1": gate})
        async with driven(tmp_path, a_pipeline(stages=THREE), processor=processor) as door:
            mine, id = await begun(door)
            await gate.entered.wait()
            assert statuses(execution(mine, id)) == ["RUNNING", None, None]
            await steering.cancel(mine, id)
            await steering.cancel(mine, id)
            assert (execution(mine, id).status, execution(mine, id).cancel_requested) == ("RUNNING", True)
            gate.open.set()
            look = await ended(mine, id)
            assert (look.status, statuses(look)) == ("CANCELLED", ["COMPLETED", None, None])
            assert processor.asked == ["s1"]
            for verb in (steering.cancel, steering.retry):
                with pytest.raises(ExecutionState):
                    await verb(mine, id)

    go(scene())


def test_f_a_11_what_waits_for_its_turn_cannot_be_cancelled_unless_a_setting_says_so(tmp_path: Path) -> None:
    """F-X.8"""

    async def scene() -> None:
        gate = Gate()
        settings = {"admission.slots": 1}
        processor = Processor({"s1": gate})
        async with driven(tmp_path, a_pipeline(stages=THREE), processor=processor, settings=settings) as door:
            mine, first = await begun(door)
            await gate.entered.wait()
            _, second = await begun(door, key="b")
            assert execution(mine, second).status == "PENDING"
            with pytest.raises(ExecutionState) as refused:
                await steering.cancel(mine, second)
            assert refused.value.facts["state"] == "PENDING"
            gate.open.set()
            assert [(await ended(mine, id)).status for id in (first, second)] == ["COMPLETED"] * 2

    go(scene())


def test_f_a_16_executions_of_other_tenants_are_refused_and_not_listed(tmp_path: Path) -> None:
    """F-A.16, F-X.22, F-9.8"""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as door:
            mine, id = await begun(door)
            await ended(mine, id)
            other = door.of("tenant_b")
            assert executions(other) == [] and len(executions(mine)) == 1
            with pytest.raises(PipelineScope):
                execution(other, id)
            for wrong in ("00000000-0000-7000-8000-000000000000", id[:30], "odd/../name"):
                with pytest.raises(ExecutionNotFound):
                    execution(other, wrong)

    go(scene())


def test_f_6_1_executions_are_listed_by_status_pipeline_and_time(tmp_path: Path) -> None:
    async def scene() -> None:
        processor = Processor({"x1": BROKEN})
        other = a_pipeline("OTHER", file_type="PDF", stages=[a_stage("x1", 1)])
        async with driven(tmp_path, a_pipeline(), other, processor=processor) as door:
            mine, good = await begun(door)
            _, bad = await begun(door, key="b.pdf", mime="application/pdf")
            for id in (good, bad):
                await ended(mine, id)
            assert [line.execution_id for line in executions(mine)] == [bad, good]
            assert [line.execution_id for line in executions(mine, status="FAILED")] == [bad]
            assert [line.execution_id for line in executions(mine, code="IMG_BASIC")] == [good]
            at = executions(mine)[1].created_at
            assert executions(mine, until=at) == [] and len(executions(mine, since=at)) == 2
            assert len(executions(mine, limit=1)) == 1

    go(scene())


def test_f_8_3_usage_is_summed_by_tenant_and_day(tmp_path: Path) -> None:
    """F-8.3, F-X.35"""

    async def scene() -> None:
        used = {"wall_ms": 10, "cpu_ms": 5, "peak_rss": 7, "bytes_in": 3, "bytes_out": 2}
        processor = Processor({"first": {"output": {}, "usage": used}, "second": {"output": {}, "usage": used}})
        rates = {"pipelines.rates.cpu_ms": 0.5}
        async with driven(tmp_path, a_pipeline(), processor=processor, settings=rates) as door:
            for key in ("a", "b"):
                mine, id = await begun(door, key=key)
                await ended(mine, id)
            assert [stage.cost for stage in execution(mine, id).stages] == [2.5, 2.5], (
                "F-X.35: what it cost, by the rates"
            )
            (day,) = usage(mine)
            assert (day.tenant_id, day.executions, day.completed, day.cpu_ms, day.bytes_in) == (
                "tnt_demo",
                2,
                2,
                20,
                12,
            )
            assert (day.peak_rss, day.cost) == (7, 10.0) and usage(door) == []

    go(scene())


def test_f_x_7_resumed_executions_wait_for_their_turn_and_keep_their_attempts(tmp_path: Path) -> None:
    """F-S.5, F-2.7, F-X.7: PENDING with retry_count 0 and no error while another has the place; then in the order of
    priority and age; earlier attempts are told with their errors."""

    async def scene() -> None:
        gate = Gate()
        processor = Processor({"s2": BROKEN, "hold": gate})
        failing = a_pipeline("FAILS", stages=THREE, max_retries=1, retry_delay_seconds=0)
        holding = a_pipeline("HOLDS", stages=[a_stage("hold", 1)], file_type="PDF", priority=7)
        settings = {"admission.slots": 1}
        async with driven(tmp_path, failing, holding, processor=processor, settings=settings) as door:
            mine, id = await begun(door)
            look = await ended(mine, id)
            assert (look.status, look.retry_count) == ("FAILED", 1)
            assert [(each.status, each.retry_count) for each in look.attempts] == [("FAILED", 0), ("FAILED", 1)]
            _, first = await begun(door, key="b.pdf", mime="application/pdf")
            _, later = await begun(door, key="c.pdf", mime="application/pdf")
            await gate.entered.wait()
            asked = len(processor.asked)
            del processor.answers["s2"]
            assert await steering.retry(mine, id, "resume") is None
            look = execution(mine, id)
            assert (look.status, look.retry_count, look.error, look.error_stage) == ("PENDING", 0, None, None)
            with pytest.raises(ExecutionState) as refused:
                await steering.retry(mine, id, "resume")
            assert refused.value.facts["state"] == "PENDING"
            gate.open.set()
            for each in (first, later, id):
                assert (await ended(mine, each)).status == "COMPLETED"
            assert processor.asked[asked:] == ["s2", "s3", "hold"], "the oldest of one priority comes first"
            look = execution(mine, id)
            errors = [None if each.error is None else each.error.code for each in look.attempts]
            assert errors == ["IMAGE_BROKEN", "IMAGE_BROKEN", None]
            assert [each.status for each in look.attempts] == ["FAILED", "FAILED", "COMPLETED"]
            assert [each.trigger for each in look.attempts] == ["UPLOAD", "RETRY", "RESUME"]

    go(scene())


def test_f_x_6_what_waits_for_its_next_attempt_counts_it(tmp_path: Path) -> None:
    """F-X.6: retry_count++ and back to PENDING with next_attempt_at; the error fields are kept."""

    async def scene() -> None:
        definition = a_pipeline(stages=THREE, max_retries=2, retry_delay_seconds=3600)
        async with driven(tmp_path, definition, processor=Processor({"s2": BROKEN})) as door:
            mine, id = await begun(door)
            await until(lambda: execution(mine, id).retry_count == 1)
            look = execution(mine, id)
            assert (look.status, look.error_stage) == ("PENDING", "s2")
            assert look.error is not None and look.error.code == "IMAGE_BROKEN"
            assert look.next_attempt_at is not None and look.next_attempt_at > door.now() + 3_000_000

    go(scene())


def test_f_a_8_stages_out_of_time_end_the_execution_as_timeout(tmp_path: Path) -> None:
    """F-A.8, F-2.2, F-2.4: the stage and the execution are TIMEOUT, what hangs is gone; a retry is accepted."""

    async def scene() -> None:
        gate = Gate()  # never opened
        stopped = asyncio.Event()

        async def hangs() -> Any:
            try:
                return await gate()
            finally:
                stopped.set()

        processor = Processor({"s1": hangs})
        stages = [a_stage("s1", 1, timeout_seconds=1), a_stage("s2", 2)]
        async with driven(tmp_path, a_pipeline(stages=stages), processor=processor) as door:
            mine, id = await begun(door)
            look = await ended(mine, id)
            assert (look.status, look.error_stage, statuses(look)) == ("TIMEOUT", "s1", ["TIMEOUT", None])
            await stopped.wait()
            assert [line.status for line in executions(mine, status="TIMEOUT")] == ["TIMEOUT"]
            with pytest.raises(ExecutionState) as refused:
                await steering.cancel(mine, id)
            assert refused.value.facts["state"] == "TIMEOUT"  # F-X.8: as it stands
            del processor.answers["s1"]
            assert await steering.retry(mine, id) is None
            await until(lambda: execution(mine, id).status == "COMPLETED")
            assert [each.status for each in execution(mine, id).attempts] == ["TIMEOUT", "COMPLETED"]

    go(scene())


def test_f_a_11_settings_let_what_waits_be_cancelled(tmp_path: Path) -> None:
    """F-X.8, F-A.11: PENDING → CANCELLED with pipelines.allow_cancel_pending, also while it waits for its next attempt;
    the place it never had is nobody's loss."""

    async def scene() -> None:
        gate = Gate()
        settings = {"admission.slots": 1, "pipelines.allow_cancel_pending": True}
        definition = a_pipeline(stages=THREE, max_retries=1, retry_delay_seconds=3600)
        processor = Processor({"s1": gate, "s2": BROKEN})
        async with driven(tmp_path, definition, processor=processor, settings=settings) as door:
            mine, first = await begun(door)
            await gate.entered.wait()
            _, second = await begun(door, key="b")
            await steering.cancel(mine, second)
            assert execution(mine, second).status == "CANCELLED"
            gate.open.set()
            await until(lambda: execution(mine, first).retry_count == 1)
            await steering.cancel(mine, first)
            look = execution(mine, first)
            assert (look.status, look.retry_count) == ("CANCELLED", 1), "F-X.6: counted when it was put back"
            assert processor.asked == ["s1", "s2"]
            del processor.answers["s2"]
            _, third = await begun(door, key="c")
            assert (await ended(mine, third)).status == "COMPLETED"

    go(scene())


def test_f_x_8_cancelled_executions_are_rolled_back_in_reverse(tmp_path: Path) -> None:
    """F-X.8, F-S.4, F-2.6: what has no way back is left as it is; a way back that fails is told and prevents nothing; a
    cancel asked for meanwhile is the same one."""

    async def scene() -> None:
        gate, back = Gate(), Gate()
        undone: list[str] = []

        class Undoing(Processor):
            async def run(self, request: Any, services: Any) -> Any:
                if "undo" not in request.args:
                    return await super().run(request, services)
                undone.append(f"{request.args['stage']}: {request.result['output']['stage']}")
                if request.args["stage"] == "s3":
                    await back()
                    return failed("STILL_THERE", "permanent", "It cannot be taken back.")
                return Done(None)

        processor = Undoing({"s4": gate})
        own = {"processor_type": "TestUndo"}
        stages = [
            a_stage("s1", 1, **own), a_stage("s2", 2), a_stage("s3", 3, **own), a_stage("s4", 4),
            a_stage("s5", 5, **own),
        ]  # fmt: skip
        async with driven(tmp_path, a_pipeline(stages=stages), processor=processor) as door:
            mine, id = await begun(door)
            await gate.entered.wait()
            await steering.cancel(mine, id)
            gate.open.set()
            await back.entered.wait()
            assert execution(mine, id).status == "RUNNING"
            await steering.cancel(mine, id)
            back.open.set()
            look = await ended(mine, id)
            assert (look.status, undone) == ("CANCELLED", ["s3: s3", "s1: s1"])
            assert statuses(look) == ["COMPLETED"] * 4 + [None] and processor.asked == ["s1", "s2", "s3", "s4"]
            (told,) = [each for each in mine.reading(mine.row(id)).state.incidents if each[1] == "s3"]
            assert told[0] == "COMPENSATION_STEP_FAILED" and told[2]["code"] == "STILL_THERE"

    go(scene())


def test_f_6_1_lists_look_at_executions_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-6.1, F-9.2: the rows of executions say which there are; no run of another language is looked at."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as door:
            mine, id = await begun(door)
            await ended(mine, id)
            looked: list[Any] = []
            monkeypatch.setattr(mine.store, "find_runs", lambda *given: looked.append(given) or [])
            assert [look.execution_id for look in executions(mine)] == [id] and looked == []
            page = await execution_page(mine, ExecutionFilter(), 0, 20)
            assert [look.execution_id for look in page.items] == [id] and looked == [], "the same list"

    go(scene())
