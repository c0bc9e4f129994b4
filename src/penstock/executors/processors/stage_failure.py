"""What is told of a stage that has failed: short, without personal data; the rest lies in its log (F-X.16, F-X.34)."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.executors.contract import Failed, failed
from penstock.executors.parts.personal_data import masked

MESSAGE_BYTES = 4 * 1024
DETAIL_BYTES = 16 * 1024
#: what of a detail is never left out
_KEPT = ("log_ref", "usage", "worker_id", "status")


def told(outcome: Failed) -> Failed:
    failure = outcome.failure
    detail = masked_value(failure.detail)
    if detail is not None and len(msgspec.json.encode(detail)) > DETAIL_BYTES:
        detail = {name: detail[name] for name in _KEPT if name in detail} if isinstance(detail, dict) else None
    return failed(failure.code, failure.category, short(masked(failure.message)), detail)


def short(message: str) -> str:
    return message.encode(errors="replace")[:MESSAGE_BYTES].decode(errors="ignore")


def is_long(message: str) -> bool:
    return len(message.encode(errors="replace")) > MESSAGE_BYTES


def masked_value(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {name: masked_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked_value(each) for each in value]
    return value
