"""Who may start a run by hand: whom its document names. Events, times and calls are nobody, and are not asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.app.access.candidates import Who, for_anybody, may_act
from penstock.app.access.roles import standing
from penstock.errors import StarterDenied
from penstock.net.model import Net

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

#: who starts something at the command line and has not said who they are
UNNAMED = "cli"


def check_may_start(door: Queries, net: Net, who: Who | None) -> None:
    """`None`: no person starts it. Raises StarterDenied."""
    candidates = net.declares.policies.get("starters")
    if who is None or for_anybody(candidates):
        return
    user, known, inactive = standing(door, who)
    if inactive or not may_act(candidates, user, known):
        raise StarterDenied(user=user, name=net.name)
