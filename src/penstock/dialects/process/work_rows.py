"""Rows of work items by which processes list them (P-X.13): tenant, assignee, agent and mode."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.kernel import fact as F
from penstock.kernel.state import Firing
from penstock.store.run_store import Batch
from penstock.store.work_items import AGENT

AUTONOMOUS = "AUTONOMOUS"


class WorkRows:
    """The rows of one run, from its facts."""

    def __init__(self, run: int, tenant: str) -> None:
        self.run, self.tenant = run, tenant

    def settled(self, fact: Any, firing: Firing, at: int, batch: Batch) -> None:
        """A firing that ends moves its item by a fact of its own."""

    def turn(self, facts: Iterable[Any], first: int, at: int, batch: Batch) -> None:
        for seq, f in enumerate(facts, first):
            if f[0] == F.WORK_OPENED:
                self._open(f, seq, batch)
            elif f[0] == F.WORK_MOVED:
                mode = f[8] if len(f) > 8 else None
                batch.work_moved.append((f[2], assignee_of(f), mode, seq, self.run, f[1]))

    def _open(self, f: Any, seq: int, batch: Batch) -> None:
        """A firing that is revived opens its item anew: moves of the former one in the same batch must not reach it."""
        if batch.work_moved:
            batch.work_moved = [move for move in batch.work_moved if move[4] != self.run or move[5] != f[1]]
        agent = f[3].get("agent") if isinstance(f[3], dict) else None
        mode = (f[6] if len(f) > 6 else "") or AUTONOMOUS  # what has no mode is done by the engine
        batch.work_new.append((self.run, f[1], self.tenant, "TODO", agent, only_candidate(f[4]), mode, seq))


def only_candidate(candidates: Any) -> str | None:
    """P-X.13: the one person for whom an item is, where it is for one."""
    targets = candidates.get("targets") if isinstance(candidates, dict) else None
    only = targets[0] if isinstance(targets, list | tuple) and len(targets) == 1 else None
    return only[5:] if isinstance(only, str) and only.startswith("user:") else None


def assignee_of(f: Any) -> str | None:
    """Who has an item after it was moved; None: who had it before, "": nobody."""
    event, by = f[3], f[4]
    if event in ("start", "submit_for_approval") and by == "agent":
        return AGENT
    if event in ("start", "take_over", "submit"):
        return str(by) if by else None
    if event == "reassign":
        given = f[10] if len(f) > 10 else f[9] if len(f) > 9 else None  # journals of before `target` have it as `why`
        return only_candidate({"targets": [given]}) or ""
    return None
