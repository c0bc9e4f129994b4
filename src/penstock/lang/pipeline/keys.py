"""Idempotency keys of executions, by what begins them (F-X.7, F-X.11, F-X.12, F-X.18, F-X.19)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from penstock.lang.pipeline.messages import FileMessage

#: F-1.3.20
LONGEST = 150


def upload_key(message: FileMessage, pipeline_code: str) -> str:
    """A message that is told again keeps its key, a file that is uploaded again changes it."""
    etag = f"{message.etag}+{message.size}" if message.etag else ""
    which = message.version_id or etag or message.sequencer or message.occurred_at
    key = f"s3Event#{message.bucket}#{message.key}#{pipeline_code}#{which}"
    return key if len(key) <= LONGEST else f"s3Event#sha256:{_digest(key)}#{pipeline_code}"


def retry_key(key: str, number: int) -> str:
    """Of an execution that is run anew: `number` counts the children of the one that failed, from 1."""
    whole = f"{key}#retry#{number}"
    return whole if len(whole) <= LONGEST else f"sha256:{_digest(key)}#retry#{number}"


def manual_key(execution_id: str) -> str:
    return f"manual#{execution_id}"


def request_key(key: str) -> str:
    """Of an execution that a request asks for with a key of its own (F-X.19)."""
    whole = f"request#{key}"
    return whole if len(whole) <= LONGEST else f"request#sha256:{_digest(key)}"


def schedule_key(schedule_id: int | str, fire_time: str, file_id: int) -> str:
    """`fire_time` is in UTC."""
    return f"schedule#{schedule_id}#{fire_time}#{file_id}"


def dependency_key(pipeline_code: str, file_id: int, parents: Iterable[str]) -> str:
    return f"dep#{pipeline_code}#{file_id}#{_digest(','.join(sorted(parents)))[:32]}"


def action_key(place: str, pipeline_code: str) -> str:
    """Of an execution that an action begins; `place` tells the end and the action from all others."""
    return f"action#{pipeline_code}#{_digest(place)}"


def number_of(*codes: str) -> int:
    """F-1.0.1: the number of a pipeline, or of a stage of one, by which rows are joined. It is made of their codes, so
    that facts alone give it, and small enough for every reader."""
    return int.from_bytes(hashlib.sha256("/".join(codes).encode()).digest()[:7], "big") >> 3


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
