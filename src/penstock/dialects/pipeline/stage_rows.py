"""The row of a stage log (F-1.4): what one stage of one attempt has used and made, by reference."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import msgspec

from penstock.executors.parts.personal_data import masked
from penstock.kernel.failure import Failure

#: F-X.16
INLINE_BYTES = 16 * 1024
ERROR_BYTES = 4 * 1024
REF_MOST = 512
#: facts of one run that a stage log's number has room for
_FACTS = 24
#: what is summed over attempts and stages; of `peak_rss` the largest counts
SUMMED = ("wall_ms", "cpu_ms", "bytes_in", "bytes_out", "llm_tokens")
PEAK = "peak_rss"


class StageOf(msgspec.Struct, frozen=True):
    """A stage of the definition: its code, its number, its place in the order."""

    code: str
    id: int
    place: int


class StageRow(msgspec.Struct):
    stage: StageOf
    seq: int
    attempt: int
    began: int
    status: str = "STARTED"
    ended: int | None = None
    retries: int = 0
    input_ref: str | None = None
    output_ref: str | None = None
    error: Failure | None = None
    warned: bool = False
    context: dict[str, Any] = {}
    usage: dict[str, int] = {}
    metrics: dict[str, float] = {}  # those that the stage was asked for (F-X.33)

    def columns(
        self, run: int, execution: str, tenant: str, organization: int | None, trace: str, large: LargeTexts
    ) -> tuple[Any, ...]:
        context = {"attempt": self.attempt, "sequence": self.stage.place, **self.context}
        error = self.error
        took = None if self.ended is None else self.ended - self.began
        figures = None if took is None else {**self.metrics, "duration_ms": took, "retries": self.retries}
        place = f"{self.stage.place}-{self.stage.code}/{self.attempt}"
        return (
            run, self.seq, run << _FACTS | self.seq, self.stage.id, self.stage.code,
            str(uuid.uuid5(uuid.NAMESPACE_URL, f"penstock:{execution}/{self.seq}")), tenant, organization, self.status,
            self.input_ref, self.output_ref, json_text(context),
            None if error is None else error_text(f"{error.code}: {error.message}"), log_ref(error), self.retries,
            json_text(self.usage), large.row_text(figures, f"{place}/trace"), trace, moment(self.began),
            None if self.ended is None else moment(self.ended), took,
        )  # fmt: skip

    def answered(self, body: Any) -> None:
        """What a processor has answered: references, sizes and kinds; never what it has read."""
        if not isinstance(body, dict):
            return
        self.input_ref, self.output_ref = _ref(body.get("input_ref")), _ref(body.get("output_ref"))
        self.context = {
            name: value
            for name in ("mime", "size", "log_ref")
            if isinstance(value := body.get(name), str | int) and len(str(value)) <= REF_MOST
        }
        extraction = body.get("extraction")
        if isinstance(extraction, dict):
            kind = str(extraction.get("extractionType", ""))[:100]
            sure = extraction.get("confidence")
            self.context["extraction"] = {"type": kind, "confidence": sure if isinstance(sure, int | float) else None}
        metrics = body.get("metrics")
        self.metrics = metrics if isinstance(metrics, dict) else {}
        self.use(body.get("usage"))

    def use(self, usage: Any) -> dict[str, int]:
        """Add what an attempt has used; that alone is returned."""
        return add_usage(self.usage, usage)


def add_usage(total: dict[str, int], usage: Any) -> dict[str, int]:
    if not isinstance(usage, dict):
        return {}
    new = {name: value for name in (*SUMMED, PEAK) if type(value := usage.get(name)) is int and value > 0}
    for name, value in new.items():
        total[name] = max(total.get(name, 0), value) if name == PEAK else total.get(name, 0) + value
    return new


def usage_of(failure: Failure | None) -> Any:
    return failure.detail.get("usage") if failure is not None and isinstance(failure.detail, dict) else None


def log_ref(failure: Failure | None) -> str | None:
    detail = failure.detail if failure is not None else None
    return _ref(detail.get("log_ref")) if isinstance(detail, dict) else None


def failure_of(value: Any) -> Failure | None:
    """Of a fact: a value while the run lives, a list in the journal."""
    if value is None or isinstance(value, Failure):
        return value
    return msgspec.convert(value, Failure)


def error_text(text: str) -> str:
    """F-X.16, F-X.34."""
    return masked(text).encode(errors="replace")[:ERROR_BYTES].decode(errors="ignore")


def json_text(value: Any) -> str | None:
    return msgspec.json.encode(value).decode() if value else None


class LargeTexts:
    """F-X.16: JSON of an execution that is too large for its row, by the key under which it becomes an object."""

    def __init__(self, tenant: str, execution: str) -> None:
        self.folder = f"tenants/{tenant}/executions/{execution}"
        self.of_turn: dict[str, bytes] = {}

    def row_text(self, value: Any, place: str) -> str | None:
        """What the row has of it: itself, or where it lies."""
        text = msgspec.json.encode(value) if value else b""
        if len(text) > INLINE_BYTES:
            key = f"{self.folder}/{place}.json"
            self.of_turn[key] = text
            text = msgspec.json.encode({"$ref": key})
        return text.decode() or None


def moment(at: int) -> str:
    """F-X.30: UTC, milliseconds."""
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{at % 1000:03d}Z"


def _ref(value: Any) -> str | None:
    return value[:REF_MOST] if isinstance(value, str) and value else None
