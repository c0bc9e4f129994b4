"""What the processors that only wait share: another executor of the house, asked on behalf of a stage."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.executors.contract import Done, Failed, Request, Services
from penstock.executors.processors.contract import ProcessorContext, ProcessorError


async def ask_executor(name: str, args: dict[str, Any], request: Request, services: Services) -> Done:
    """Raises ProcessorError with the executor's own failure."""
    executor = services.executors.get(name)
    if executor is None:
        raise ProcessorError("PROCESSOR_UNKNOWN", f"there is no executor «{name}» here", "permanent")
    asked = msgspec.structs.replace(request, executor=name, args=args, inputs=())
    outcome = await executor.run(asked, services)
    if isinstance(outcome, Failed):
        failure = outcome.failure
        raise ProcessorError(failure.code, failure.message, failure.category, failure.detail)
    return outcome if isinstance(outcome, Done) else Done(None)


def about(context: ProcessorContext) -> dict[str, Any]:
    """The stage and its file, as others are told of them."""
    return {
        "tenantId": context.tenant,
        "executionId": context.execution,
        "stage": context.stage,
        "traceId": context.trace_id,
        "file": {"bucket": context.bucket, "key": context.key, "mime": context.mime, "size": context.size},
        "params": context.params,
        "input": context.input,
    }
