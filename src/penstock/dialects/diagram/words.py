"""The words of people who draw: run statuses (D-X.8), node states (D-8.1), events (D-X.22).

They are for people and for subscribers. Nothing here drives a run.
"""

from __future__ import annotations

from penstock.dialects.contract import Words

#: The house's run statuses → D-X.8. A diagram undoes nothing, so the words of compensation are those of its ends.
RUN = {
    "CREATED": "PENDING",
    "PENDING": "PENDING",
    "RUNNING": "RUNNING",
    "WAITING": "WAITING",
    "COMPENSATING": "RUNNING",
    "COMPLETED": "COMPLETED",
    "FAILED": "FAILED",
    "CANCELLED": "CANCELLED",
    "COMPENSATED": "CANCELLED",
    "TIMEOUT": "FAILED",
}

#: The house's words for units of work → node states (P-X.30). MAXITER_REACHED is a matter of counters: `node_state`.
UNIT = {
    "QUEUED": "PENDING",
    "RUNNING": "RUNNING",
    "RETRYING": "RUNNING",
    "WAITING": "RUNNING",
    "SUCCEEDED": "COMPLETED",
    "FAILED": "FAILED",
    "SKIPPED": "SKIPPED",
    "CANCELLED": "SKIPPED",
}

#: The seed's own words for the states.
STATES_KO = {
    "PENDING": "아직 실행되지 않음",
    "RUNNING": "실행 중",
    "COMPLETED": "정상 완료",
    "FAILED": "실행 오류",
    "MAXITER_REACHED": "반복 한계 도달",
    "SKIPPED": "실행되지 않음(조건 분기)",
}
STATES = tuple(STATES_KO)

EVENTS = (
    "run.started", "run.waiting", "run.completed", "run.failed", "run.cancelled",
    "node.started", "node.completed", "node.failed", "node.maxiter_reached", "node.skipped",
    "token.published", "token.consumed", "token.absorbed", "token.expired", "token.discarded",
    "branch.decided",
)  # fmt: skip

#: Events after which a token is no longer there: with them published and consumed come out even (D-A.18).
GONE = ("token.consumed", "token.absorbed", "token.expired", "token.discarded")


def node_state(
    unit: str | None, *, runs: int = 0, max_iter: int | None = None, cyclic: bool = True, ended: bool = False
) -> str:
    """What is shown for a node. `unit` is the house's word for its last firing, None if it never fired; `runs` counts
    its firings in the epoch of the last one; `cyclic` tells whether it lies on a cycle: a limit of one outside a loop
    is no limit anybody has reached (D-X.5). When the run has `ended`, what never executed was skipped (D-X.8)."""
    if unit is None:
        return "SKIPPED" if ended else "PENDING"
    state = UNIT.get(unit, "PENDING")
    if state == "COMPLETED" and max_iter is not None and runs >= max_iter and (cyclic or max_iter > 1):
        return "MAXITER_REACHED"
    return state


WORDS = Words(run=RUN, unit=UNIT, events=EVENTS)
