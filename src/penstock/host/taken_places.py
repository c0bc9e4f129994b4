"""Places for runs that queue, and why one of them is not admitted; who only looks imports no engine for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from penstock.net.model import Net

#: the setting: how many runs of queued nets are under way at once
SLOTS = "admission.slots"
#: in a net's limits: how many of its own
PER_NET = "executions"
#: the limit of a tenant: how many of its runs
PER_TENANT = "admitted_runs"


class FullLimit(NamedTuple):
    """A limit that has no place now: its name, and how many places it has."""

    name: str
    places: int


class TakenPlaces(NamedTuple):
    """What is under way, as one tenant sees it, and how much may be."""

    taken: int
    slots: int
    of_tenant: int
    tenant_places: int
    of_net: Mapping[str, int]

    def full(self, net: Net) -> list[FullLimit]:
        """Why a run of that net is not admitted now, the narrowest first. None is full: others come first, or it is
        about to begin."""
        most = net.limits.get(PER_NET)
        limits = [(PER_NET, self.of_net.get(net.name, 0), most)] if most is not None else []
        limits += [(PER_TENANT, self.of_tenant, self.tenant_places), (SLOTS, self.taken, self.slots)]
        return [FullLimit(name, places) for name, taken, places in limits if taken >= places]
