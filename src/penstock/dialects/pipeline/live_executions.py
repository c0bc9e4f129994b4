"""Rows of the executions that a host drives: what the facts of each turn add to its commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.dialects.contract import HostServices, LiveRun, ProjectedRun
from penstock.dialects.pipeline.execution_rows import ExecutionRows
from penstock.dialects.pipeline.follow_ups import keep_object
from penstock.kernel import fact as F
from penstock.kernel.fact import Fact
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED
from penstock.net.compiled import Compiled
from penstock.store.run_store import Batch


class LiveExecutions:
    def __init__(self, services: HostServices) -> None:
        self.services = services
        self.rows: dict[int, ExecutionRows] = {}  # of executions that have begun and not ended

    def write(self, live: LiveRun, run: Run, facts: list[Fact], now: int, batch: Batch) -> None:
        known = run.st.n - len(facts)
        rows = self.rows.pop(live.no, None) or self._told(live, run, known)
        rows = self._turn(rows, live, facts, known + 1, now, batch)
        for key, text in rows.large.of_turn.items():
            keep_object(live, run.st.n, key, text, batch)
        if rows.begun and run.st.status < COMPLETED:
            self.rows[live.no] = rows

    def rolled_back(self) -> None:
        """What was heard has not happened."""
        self.rows.clear()

    def _told(self, live: LiveRun, run: Run, known: int) -> ExecutionRows:
        """As the store knows it."""
        rows = self._new(live, run.net, live.started_at)
        for turn in self.services.store.journal(live.no) if live.in_store and known else ():
            if turn.seq_from <= known:
                rows = self._turn(rows, live, F.decode_facts(turn.body), turn.seq_from, turn.at, Batch())
        return rows

    def _turn(
        self, rows: ExecutionRows, live: LiveRun, facts: Sequence[Any], first: int, at: int, batch: Batch
    ) -> ExecutionRows:
        """What begins, or goes over to another version, is told by its own net."""
        for fact in facts:
            if fact[0] in (F.STARTED, F.MIGRATED):
                hash_ = fact[3] if fact[0] == F.STARTED else fact[1]
                rows = self._new(live, self.services.net_of(hash_), live.started_at if live.in_store else at)
        rows.turn(facts, first, at, batch)
        return rows

    def _new(self, live: LiveRun, net: Compiled, created_at: int) -> ExecutionRows:
        resolve = self.services.resolver(live.tenant)
        return ExecutionRows(
            ProjectedRun(
                live.no, live.id, live.tenant, net, resolve, None, live.key, live.parent, live.priority, created_at
            )
        )
