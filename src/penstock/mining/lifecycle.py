"""What of a case's raw events was done: pairs start with complete, takes suspended time out, sorts by time.

A transition of the standard's life cycle that says that nothing was done (scheduled, assigned, skipped, withdrawn,
aborted) is no event of the map. A transition that the standard does not know is an event like a completed one: logs of
ticket systems write their own states there.
"""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

from penstock.mining.event import Event
from penstock.mining.log_findings import LogFindings

COMPLETE = ""
_KNOWN = {
    "": COMPLETE, "complete": COMPLETE, "start": "start", "suspend": "suspend", "resume": "resume",
    "schedule": "ahead", "assign": "ahead", "reassign": "ahead", "autoskip": "undone", "manualskip": "undone",
    "withdraw": "undone", "ate_abort": "undone", "pi_abort": "undone", "completed": COMPLETE, "started": "start",
}  # fmt: skip


class RawEvent(NamedTuple):
    activity: str
    at: int
    transition: str = COMPLETE  # start, suspend, resume, ahead, undone
    resource: str = ""
    mode: str = ""
    started: int | None = None
    instance: str = ""  # tells those of the same activity apart
    paused: int = 0


def transition_of(text: str) -> str:
    return _KNOWN.get(text.strip().lower(), COMPLETE)


class _Open:
    __slots__ = ("paused", "resource", "since", "started")

    def __init__(self, raw: RawEvent) -> None:
        self.started, self.resource, self.paused = raw.at, raw.resource, 0
        self.since: int | None = None  # suspended since


def done_events(case: str, line: int, raws: list[RawEvent], findings: LogFindings) -> tuple[Event, ...]:
    """In the order of their moments; what is odd is noted."""
    before = raws[0].at if raws else 0
    for raw in raws:
        if raw.at < before:
            findings.note("log_times_backwards", case, line)
            raws.sort(key=itemgetter(1))
            break
        before = raw.at
    if any(raw.transition for raw in raws):
        return _paired(case, line, raws, findings)
    return tuple(_event(case, line, raw, raw.started, raw.paused, raw.resource, findings) for raw in raws)


def _event(
    case: str, line: int, raw: RawEvent, started: int | None, paused: int, resource: str, findings: LogFindings
) -> Event:
    if started is not None and started > raw.at:
        findings.note("log_duration_negative", case, line)
        started = None
    return Event(raw.activity, raw.at, started, resource, raw.mode, paused)


def _paired(case: str, line: int, raws: list[RawEvent], findings: LogFindings) -> tuple[Event, ...]:
    events: list[Event] = []
    begun: dict[tuple[str, str], list[_Open]] = {}
    undone = 0
    for raw in raws:
        key = (raw.activity, raw.instance)
        if raw.transition == COMPLETE:
            own = _taken(begun, key, raw.resource)
            started, paused, resource = raw.started, raw.paused, raw.resource
            if own is not None:
                started = own.started if started is None else started
                paused = paused or own.paused + (0 if own.since is None else raw.at - own.since)
                resource = resource or own.resource
            events.append(_event(case, line, raw, started, paused, resource, findings))
        elif raw.transition == "start":
            begun.setdefault(key, []).append(_Open(raw))
        elif raw.transition == "undone":
            undone += 1
            _taken(begun, key, raw.resource)
        elif raw.transition != "ahead":
            _pause(begun.get(key), raw)
    if undone:
        findings.note("log_not_done", case, line, undone)
    left = sum(len(each) for each in begun.values())
    if left:
        findings.note("log_never_completed", case, line, left)
    return tuple(events)


def _taken(begun: dict[tuple[str, str], list[_Open]], key: tuple[str, str], resource: str) -> _Open | None:
    """The oldest that this person has begun, else the oldest."""
    waiting = begun.get(key)
    if not waiting:
        return None
    own = next((each for each in waiting if resource and each.resource == resource), waiting[0])
    waiting.remove(own)
    return own


def _pause(waiting: list[_Open] | None, raw: RawEvent) -> None:
    for each in waiting or ():
        if raw.transition == "suspend" and each.since is None:
            each.since = raw.at
            return
        if raw.transition == "resume" and each.since is not None:
            each.paused += raw.at - each.since
            each.since = None
            return
