"""Attempts of an execution (F-X.7): how each began and ended, told by a run's facts; a resume keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.kernel.fact_lines import FactLine

#: how an attempt began, when it is not the first: by itself, or by hand
RETRY, RESUME = "RETRY", "RESUME"
_BEGINS = frozenset({"start", "retry_allowed", "operator_retry"})
_ENDS = frozenset({"PENDING", "COMPLETED", "FAILED", "CANCELLED", "COMPENSATED"})


class StageError(msgspec.Struct, rename="camel"):
    code: str
    message: str
    category: str = ""


class ExecutionAttempt(msgspec.Struct, rename="camel"):
    """One of `execution_context.attempts`. `trigger` is what began it: the execution's own, RETRY or RESUME."""

    attempt: int
    trigger: str
    status: str
    retry_count: int
    started_at: int
    completed_at: int | None = None
    error: StageError | None = None
    error_stage: str | None = None


def stage_error(failure: Mapping[str, Any]) -> StageError:
    return StageError(
        str(failure.get("code", "")), str(failure.get("message", "")), str(failure.get("category", "") or "")
    )


class AttemptStory:
    """`number` is that of the attempt that goes on or comes next."""

    def __init__(self) -> None:
        self.told: list[ExecutionAttempt] = []
        self.number, self.retries, self.trigger = 1, 0, ""

    def reopened(self, line: FactLine) -> None:
        self.number += 1
        self.retries = int(line.data["retries"])
        self.trigger = RETRY if self.retries else RESUME

    def moved(self, line: FactLine) -> None:
        to, failure = str(line.data["to"]), line.data.get("failure")
        last = self.told[-1] if self.told else None
        if to == "RUNNING" and line.data.get("event") in _BEGINS:
            self.told.append(ExecutionAttempt(self.number, self.trigger, "RUNNING", self.retries, line.at))
        elif to in _ENDS and last is not None and last.completed_at is None:
            last.completed_at = line.at
            last.status = _status(to, failure)
            if failure and last.status in ("FAILED", "TIMEOUT"):
                last.error, last.error_stage = stage_error(failure), str(failure.get("node") or "") or None


def _status(to: str, failure: Mapping[str, Any] | None) -> str:
    if to in ("PENDING", "FAILED"):
        return "TIMEOUT" if (failure or {}).get("category") == "timeout" else "FAILED"
    return "COMPLETED" if to == "COMPLETED" else "CANCELLED"
