"""All projected rows of a run again, from its journal: what every run has, and what its language derives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.dialects import dialect_of
from penstock.dialects.contract import ProjectedRun
from penstock.kernel.state import State
from penstock.net.compiled import Compiled
from penstock.store import projection
from penstock.store.projection import Following, Projector
from penstock.store.run_store import Batch, JournalRow, RunRow


def rows_of(
    row: RunRow, journal: Iterator[JournalRow], batch: Batch, net_of: Callable[[str], Compiled],
    resolve: Callable[[Any], Any] = lambda body: body,
) -> State:  # fmt: skip
    """`resolve` gives the value of a body that is stored by reference."""
    made: Projector | None = None

    def projector_of(hash_: str) -> Projector | None:
        nonlocal made
        net = net_of(hash_)
        if isinstance(made, Following):
            made.follow(net)
            return made
        of = ProjectedRun(
            row.no, row.id, row.tenant, net, resolve, None, row.key, row.parent, row.priority, row.created_at
        )
        made = dialect_of(net.net.language).projector(of)
        return made

    return projection.rows_of(row, journal, batch, projector_of)
