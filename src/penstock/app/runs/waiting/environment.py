"""What a run cannot know of itself: the time, breakers that are open, whether anybody drives the store, who waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.app.runs.queries import Queries
from penstock.app.runs.waiting.breakers import breakers
from penstock.app.runs.waiting.open_jobs import OpenJobs
from penstock.host.gate import PLACES, WaitingEffects
from penstock.host.taken_places import TakenPlaces
from penstock.store.address import driver_of

if TYPE_CHECKING:  # who only looks need not import an engine
    from penstock.host.embedded import Host


class Environment(msgspec.Struct):
    """`driven` is None where nobody can say. `parked` are effects that wait at the gate of this process, by run and
    firing: what for, and until when if that is known. `places` are those of runs that queue; None where this process
    does not give them out."""

    now: int
    breakers: dict[str, int] = {}  # open ones by name, and since when
    driven: bool | None = None
    parked: dict[tuple[int, int], tuple[str, int | None]] = {}
    places: TakenPlaces | None = None
    jobs: OpenJobs | None = None  # None where no store can be asked


def read_environment(door: Queries) -> Environment:
    """Costs one read of the gate's table, and where this process does not drive the store one look at its lock. Whoever
    asks about many runs asks once."""
    host, jobs = door.host_here, OpenJobs(door)
    opened = {
        breaker.name: breaker.opened_at or 0
        for breaker in breakers(door.store, door.tenant)
        if breaker.status == "open"
    }
    if host is not None:
        return Environment(door.now(), opened, True, held_effects(host), host.admission.places(door.tenant), jobs)
    path = getattr(door.store, "path", None)
    driven = None if path is None else driver_of(path) is not None
    return Environment(door.now(), opened, driven, door.parked_elsewhere, jobs=jobs)


def held_effects(host: Host) -> dict[tuple[int, int], tuple[str, int | None]]:
    """Effects that wait at the gate, and calls that wait for their minute to pass."""
    paced = {at: ("starts_per_minute", due) for at, (due, _, _) in host.children.paced.items()}
    return {**waiting_effects(host.dispatch.waiting), **paced}


def waiting_effects(waiting: WaitingEffects) -> dict[tuple[int, int], tuple[str, int | None]]:
    """By run and firing: what an effect waits for (a limit by its name, "dedupe"), and until when it is known."""
    waits: dict[tuple[int, int], tuple[str, int | None]] = {}
    for name, queue in waiting.queues.items():
        for flight in queue:
            limit = flight.plan.effect.concurrency
            what = "dedupe" if name.startswith("dedupe:") else name
            if limit is not None and name.startswith(PLACES):
                what = limit.name
            waits[flight.ask.loaded.no, flight.ask.firing.no] = (what, None)
    for until, _, flight in waiting.timed:
        rate = flight.plan.effect.rate
        waits[flight.ask.loaded.no, flight.ask.firing.no] = (rate.name if rate is not None else "", until)
    return waits
