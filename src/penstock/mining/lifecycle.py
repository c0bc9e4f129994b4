"""What of a case's raw events was done: pairs start with complete, takes suspended time out, sorts by time.

A transition of the standard's life cycle that says that nothing was done (scheduled, assigned, skipped, withdrawn,
aborted) is no event of the map. A transition that the standard does not know is an event like a completed one: logs of
ticket systems write their own states there.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
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
    """Work that was begun and is not completed."""

    __slots__ = ("paused", "resource", "since", "started", "taken")

    def __init__(self, raw: RawEvent) -> None:
        self.started, self.resource, self.paused = raw.at, raw.resource, 0
        self.since: int | None = None  # suspended since
        self.taken = False


class _Queue:
    """Oldest first, those of one person before others. What has left another way is passed over when its turn comes:
    a case with a hundred thousand open starts costs each event the same."""

    def __init__(self, stays: Callable[[_Open], bool]) -> None:
        self._stays = stays
        self._of: dict[str, deque[_Open]] = {}

    def add(self, own: _Open) -> None:
        self._of.setdefault("", deque()).append(own)
        if own.resource:
            self._of.setdefault(own.resource, deque()).append(own)

    def next(self, resource: str) -> _Open | None:
        for person in (resource, ""):
            queue = self._of.get(person, ())
            while queue:
                own = queue.popleft()
                if self._stays(own):
                    return own
        return None


class _Begun:
    """All of one activity."""

    def __init__(self) -> None:
        self.open = _Queue(lambda own: not own.taken)
        self.running = _Queue(lambda own: not own.taken and own.since is None)
        self.suspended = _Queue(lambda own: not own.taken and own.since is not None)
        self.count = 0

    def start(self, raw: RawEvent) -> None:
        own = _Open(raw)
        self.count += 1
        self.open.add(own)
        self.running.add(own)

    def take(self, resource: str) -> _Open | None:
        own = self.open.next(resource)
        if own is not None:
            own.taken = True
            self.count -= 1
        return own

    def suspend(self, raw: RawEvent) -> None:
        own = self.running.next(raw.resource)
        if own is not None:
            own.since = raw.at
            self.suspended.add(own)

    def resume(self, raw: RawEvent) -> None:
        own = self.suspended.next(raw.resource)
        if own is not None and own.since is not None:
            own.paused += raw.at - own.since
            own.since = None
            self.running.add(own)


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
    begun: defaultdict[tuple[str, str], _Begun] = defaultdict(_Begun)
    undone = 0
    for raw in raws:
        same = begun[raw.activity, raw.instance]
        if raw.transition == COMPLETE:
            started, paused, resource = raw.started, raw.paused, raw.resource
            own = same.take(raw.resource)
            if own is not None:
                started = own.started if started is None else started
                paused = paused or own.paused + (0 if own.since is None else raw.at - own.since)
                resource = resource or own.resource
            events.append(_event(case, line, raw, started, paused, resource, findings))
        elif raw.transition == "start":
            same.start(raw)
        elif raw.transition == "suspend":
            same.suspend(raw)
        elif raw.transition == "resume":
            same.resume(raw)
        elif raw.transition == "undone":
            undone += 1
            same.take(raw.resource)
    if undone:
        findings.note("log_not_done", case, line, undone)
    left = sum(same.count for same in begun.values())
    if left:
        findings.note("log_never_completed", case, line, left)
    return tuple(events)
