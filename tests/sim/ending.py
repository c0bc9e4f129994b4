"""What must hold when everything has ended: the store is sound, everybody was told, and it is as the model says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.app.maintenance.verify import verify
from penstock.kernel.state import CANCELLED, STATUS
from tests.sim.faults import Violation
from tests.sim.watch import Shadow

if TYPE_CHECKING:
    from tests.sim.sim import Sim

DAY_MS = 86_400_000


def final(sim: Sim) -> None:
    wrong = verify(sim.store).violations
    if wrong:
        raise Violation(wrong[0].check, f"verify: {wrong[0].detail} ({len(wrong)} in all)")
    if sim.people.inbox:
        raise Violation("H9", f"commands {sorted(sim.people.inbox)} of the inbox were never answered")
    _outbox(sim)
    for shadow in sim.runs():
        _as_the_model(sim, shadow)


def _outbox(sim: Sim) -> None:
    """H10: what was to be told is told at least once, in order."""
    for _ in range(100 if sim.publish else 0):
        if not sim.store.outbox_left():
            break
        sim.clock.at += DAY_MS
        sim.guarded(sim.deliver)
    ids = {s.st.run: s.no for s in sim.runs()}
    told = [(ids[run], seq) for run, seq in sim.delivered]
    if set(told) != set(sim.watch.published):
        raise Violation("H10", f"{sorted(set(sim.watch.published) ^ set(told))} were not told, or not said")
    first: dict[tuple[int, int], int] = {}
    for i, one in enumerate(told):
        first.setdefault(one, i)
    order = sorted(first, key=lambda one: first[one])
    for run in ids.values():
        mine = [seq for no, seq in order if no == run]
        if mine != sorted(mine):
            raise Violation("H10", f"run {run} was told in the order {mine}")


def _as_the_model(sim: Sim, shadow: Shadow) -> None:
    """K20: whatever happened on the way, a tame net ends as the model says."""
    work = sim.workload_of(shadow.no)
    st = shadow.st
    if not work.tame or st.status == CANCELLED or sim.plan.fired["resolve"] or sim.plan.fired["cancel_firing"]:
        return
    status, variables = work.expected()
    mine = {k: v for k, v in {**st.vars, **st.names}.items() if k != "by_hand"}
    if STATUS[st.status] != status or mine != variables:
        raise Violation("K20", f"run {shadow.no}: {STATUS[st.status]} {mine}, the model says {status} {variables}")
