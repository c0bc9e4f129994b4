"""Doors and documents for tests of pipelines: definitions, messages, and processors that answer at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from penstock.app.penstock import Penstock
from penstock.app.pipeline import execution_lists
from penstock.app.pipeline.definitions import define
from penstock.app.pipeline.execution_lists import ExecutionFilter
from penstock.app.pipeline.executions import Execution, execution
from penstock.executors.contract import Done, Failed, Outcome, Request, Services

#: F-3.7, word for word
EXAMPLE: dict[str, Any] = {
    "type": "s3.object.created", "bucket": "bkt", "key": "path/to/object", "size": 123456, "mime": "image/png",
    "tenantId": "tnt_demo", "organizationId": 123, "uploaderUserContextId": 9001,
    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "occurredAt": "2025-10-22T10:20:30Z",
}  # fmt: skip


def a_stage(code: str, order: int, **more: Any) -> dict[str, Any]:
    return {
        "stage_code": code, "stage_name": code.title(), "sequence_order": order, "processor_type": "Copy",
        "max_retries": 0, **more,
    }  # fmt: skip


def a_pipeline(code: str = "IMG_BASIC", **more: Any) -> dict[str, Any]:
    stages = [a_stage("first", 1), a_stage("second", 2)]
    return {
        "pipeline_code": code, "pipeline_name": "Pictures", "file_type": "IMAGE", "priority": 7, "max_retries": 0,
        "stages": stages, **more,
    }  # fmt: skip


class Processor:
    """Answers every stage at once, as `answers` says; what it was asked is kept."""

    name = "processor"

    def __init__(self, answers: Mapping[str, Any] | None = None) -> None:
        self.answers: dict[str, Any] = dict(answers or {})
        self.asked: list[str] = []

    async def run(self, request: Request, services: Services) -> Outcome:
        stage = str(request.args.get("stage"))
        self.asked.append(stage)
        answer = self.answers.get(stage, {"output": {"stage": stage}, "output_ref": None})
        if callable(answer):
            answer = await answer()
        return answer if isinstance(answer, Done | Failed) else Done(answer)


@asynccontextmanager
async def driven(
    folder: Path, *documents: dict[str, Any], processor: Any = None, store: str = "", **more: Any
) -> AsyncIterator[Penstock]:
    """`store` is an address of a database, for another one than a file in the folder."""
    async with Penstock(store or folder / "s.db", **more) as door:
        door.add_executor(processor or Processor())
        for document in documents:
            define(door, document)
        yield door


async def until(condition: Callable[[], bool], most: float = 30) -> None:
    async with asyncio.timeout(most):
        while not condition():
            await asyncio.sleep(0.01)


async def ended(door: Penstock, run: str) -> Execution:
    await until(lambda: execution(door, run).completed_at is not None)
    return execution(door, run)


def executions(
    door: Penstock, *, status: str | None = None, code: str | None = None, since: int | None = None,
    until: int | None = None, limit: int = 20,
) -> list[Execution]:  # fmt: skip
    """The newest first."""
    wanted = ExecutionFilter(status=(status,) if status else (), pipeline=code, since=since, until=until)
    return list(execution_lists.executions(door, wanted, 0, limit))
