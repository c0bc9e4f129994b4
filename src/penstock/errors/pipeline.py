"""What cannot be done with a pipeline and its executions, under the codes of the seed (F-10)."""

from __future__ import annotations

from typing import Any

from penstock.errors.base import PenstockError, Place
from penstock.errors.runs import StatusConflict


class MessageInvalid(PenstockError, code="PP-400-JSON"):
    """The message cannot be used: {why}."""

    hint = "Send the shape of section 3, an S3 notification or an EventBridge event; nothing was started."

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        """`problems` are pointers into the message, and what is wrong there."""
        self.problems = problems
        why = "; ".join(f"{what} (at {at or '/'})" for at, what in problems)
        super().__init__(why=why, where=Place(problems[0][0]))


class PipelineScope(PenstockError, code="PP-403-SCOPE"):
    """{why}."""

    hint = "Everybody sees the executions of their own tenant and organisation."


class ExecutionNotFound(PenstockError, code="PP-404-EXEC"):
    """There is no execution «{execution}»."""

    hint = "What there is: `penstock pipeline ls`, GET /pipelines/executions."


class ExecutionFileNotFound(PenstockError, code="PS-404-FILE"):
    """There is no such file: {why}."""

    hint = "What an execution has made: GET /pipelines/executions/{executionId}/logs."


class DeadMessageNotFound(PenstockError, code="PS-404-MESSAGE"):
    """There is no dead message «{message}»."""

    hint = "What there is: `penstock pipeline dlq`, GET /pipelines/dlq; dead messages are kept for 30 days."


class PipelineKeyConflict(PenstockError, code="PP-409-IDEMP"):
    """The idempotency key «{key}» belongs to an execution with another input."""

    hint = "Use a key once: another input needs another key."


class ExecutionState(StatusConflict, code="PP-409-STATE"):
    """{what} is {status}; {verb} is allowed only from {allowed}."""

    hint = "Look at how the execution stands now; nothing was changed."

    def __init__(self, **facts: Any) -> None:
        """F-X.8: a program reads the reason and the state."""
        super().__init__(**{"reason": "STATE_CONFLICT", "state": facts.get("status"), **facts})


class PipelineOff(PenstockError, code="PP-409-OFF"):
    """The pipeline «{pipeline}» was switched off while the file waited for others."""

    hint = "Switch it on again, or define another for the file, and send the message again."


class PipelineStorage(PenstockError, code="PP-500-IO"):
    """The storage of files cannot be used: {why}."""

    hint = "Look at the bucket and its address; the same is tried again."
    exit_code = 1
