"""Stand-ins for systems outside that the seed's workflows call (C-66, C-81): a laboratory, a store of parts (dev)."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.app.runs.queries import Queries
from penstock.errors import SampleNotFound, StandInAbsent
from penstock.store.messages import MessageRow

#: the laboratory takes so long, unless somebody sends its result before
ANALYSED_MS = 5_000
_LAB, _PARTS, _RESULT = "outbox:lab", "outbox:inventory", "lab.result.completed"
_SAMPLE = "sample-"  # as the template lab_sample_request names it
_LOOKED = 1000  # so many results and messages are looked through
_unpack, _pack = msgspec.msgpack.decode, msgspec.msgpack.encode


class LabSample(msgspec.Struct):
    """`status` is in_progress or completed."""

    sample_id: str
    status: str
    requested_at: int
    completed_at: int | None = None
    result: Any = None


class ReleasedParts(msgspec.Struct):
    reservation_id: str
    status: str
    reason: str
    released_at: int


def lab_result(door: Queries, sample: str, now: int) -> LabSample:
    """The result of a sample that a run has asked for: that of an event, if one came, else a good result after a
    while. Raises StandInAbsent, SampleNotFound."""
    _here(door, "laboratory")
    run = sample.removeprefix(_SAMPLE)
    asked = door.store.messages(door.tenant, run, _LOOKED) if sample.startswith(_SAMPLE) and run else []
    at = next((message.at for message in asked if message.target == _LAB), None)
    if at is None:
        raise SampleNotFound(id=sample)
    for event in reversed(door.store.events(door.tenant, _RESULT, since=at, limit=_LOOKED)):
        result = _unpack(event.body)
        if isinstance(result, dict) and result.get("sample_id") == sample:
            return LabSample(sample, "completed", at, event.at, result.get("result", result))
    if now - at < ANALYSED_MS:
        return LabSample(sample, "in_progress", at)
    return LabSample(sample, "completed", at, at + ANALYSED_MS, "pass")


def release_parts(door: Queries, reservation: str, reason: str, now: int) -> ReleasedParts:
    """Release reserved parts: noted in the outbox, once for a reservation. Raises StandInAbsent."""
    _here(door, "store of parts")
    key, body = f"inventory/{door.tenant}/{reservation}", {"reservation_id": reservation, "reason": reason}
    door.store.put_message(MessageRow(key, door.tenant, "", "webhook", _PARTS, _pack(body), now))
    kept = next((message for message in door.store.messages(door.tenant, "", _LOOKED) if message.key == key), None)
    if kept is None:  # long ago
        return ReleasedParts(reservation, "released", reason, now)
    return ReleasedParts(reservation, "released", str(_unpack(kept.body)["reason"]), kept.at)


def _here(door: Queries, what: str) -> None:
    if door.store.profile() != "dev":
        raise StandInAbsent(what=what)
