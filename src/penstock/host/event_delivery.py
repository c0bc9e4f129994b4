"""An event on its way: whom it has reached, and who begins by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.dialects import dialect_of
from penstock.errors import PenstockError
from penstock.executors.contract import News
from penstock.executors.publish import PREFIX
from penstock.kernel.run import Run
from penstock.kernel.trigger import matches
from penstock.net.model import Net
from penstock.store.events import EventRow
from penstock.store.releases import ReleaseRow

_unpack = msgspec.msgpack.decode


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
    start_event: str = ""


def listeners(event: EventRow, release: ReleaseRow, net_of: Callable[[int], Net]) -> list[Listener]:
    """How the language of a release lets an event begin it."""
    net = net_of(release.net)
    return [Listener(release, *start) for start in dialect_of(net.language).event_starts(event, release, net)]


def envelope(event: EventRow, payload: Any) -> dict[str, Any]:
    """W-3.2.6: what a run that an event has started sees as sys.trigger."""
    return {"type": "event", "id": event.id, "source": event.source, "payload": payload, "at": event.at}


def told_by(event: EventRow, run: Run) -> bool:
    """Has the run itself told it? Then what waited in it at that moment has it, and what waits since does not."""
    return event.id.startswith(f"{PREFIX}{run.st.tenant}/{run.st.run}/")


def hears(run: Run, news: News) -> bool:
    """Does a run wait now for what it has told itself? A message finds its one receiver by the intake."""
    for wait in run.st.waits.values():
        firing = run.st.firings[wait.firing]
        node = run.net.nodes[firing.node]
        if wait.name == news.name and not node.spec.triggers[wait.trigger].one:
            if matches(run, firing, node, wait, news.payload):
                return True
    return False


def begun_by(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event that a run began with; {} when it was none."""
    trigger = options.get("trigger")
    return trigger if type(trigger) is dict and trigger.get("type") == "event" else {}
