"""An event on its way: whom it has reached, and who begins by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.errors import PenstockError
from penstock.net.model import Net
from penstock.store.contract import EventRow, ReleaseRow

_unpack = msgspec.msgpack.decode
_unjson = msgspec.json.decode


class Reached(msgspec.Struct):
    """Whom an event has reached: ids of runs. `taken_by` is the one run that has it as a message."""

    resumed: list[str] = []
    started: list[str] = []
    warnings: list[str] = []
    taken_by: str = ""


class Delivery:
    """An event on its way. `left` counts who must still be heard of; when everybody has it who may hear it, it is
    `settled` who takes it as a message."""

    def __init__(self, event: EventRow, runs: list[int]) -> None:
        self.event, self.payload = event, _unpack(event.body)
        self.left, self.settled = len(runs) + 1, False
        self.begins = True  # may it begin a process?
        self.runs = runs  # that wait for it, by number
        self.refused: set[int] = set()  # of these, those that would have taken it and could not
        self.reached = Reached()
        self.told: list[Callable[[PenstockError | None], None]] = []


class Listener(msgspec.Struct, frozen=True):
    """A release that an event begins, if it fits. A message begins one run and only where nobody takes it."""

    release: ReleaseRow
    wanted: Any
    message: bool
    key: str


def begins_of(net: Net) -> Mapping[str, Any]:
    """What begins a process by itself, as its language says it; {} for nothing."""
    about = net.declares.policies.get("process")
    found = about.get("begins") if isinstance(about, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def listener(event: EventRow, release: ReleaseRow, net: Callable[[int], Net]) -> Listener:
    """A process is begun by an event once, whatever version is in force when it is told again."""
    if release.kind is None:
        wanted = _unjson(release.document)["trigger"].get("config", {}).get("filter")
        return Listener(release, wanted, False, f"event:{event.id}:{release.name}:{release.version}")
    begins = begins_of(net(release.net))
    trigger = str(begins.get("trigger"))
    return Listener(release, begins.get("correlation"), trigger == "message", f"{trigger}:{event.id}:{release.name}")


def envelope(event: EventRow, payload: Any) -> dict[str, Any]:
    """W-3.2.6: what a run that an event has started sees as sys.trigger."""
    return {"type": "event", "id": event.id, "source": event.source, "payload": payload, "at": event.at}


def begun_by(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event that a run began with; {} when it was none."""
    trigger = options.get("trigger")
    return trigger if type(trigger) is dict and trigger.get("type") == "event" else {}
