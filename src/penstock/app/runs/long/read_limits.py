"""Which runs are too long to be folded where the engine runs, and what their reading costs there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.errors import BadInput
from penstock.kernel.state import COMPLETED
from penstock.store.contract import Store
from penstock.store.run_store import RunRow

#: so many facts a read folds on the loop: some 10 µs each, a drawing with large values more
LOOP_FACTS = 2_000
#: so many runs that were called and have not ended are read with the one that has called them
MOST_CALLED = 20


def is_long(store: Store, row: RunRow, most: int = LOOP_FACTS) -> bool:
    """Would a read of it, and of those that it has called and waits for, fold more than that? Some look-ups by key."""
    facts = store.facts_of(row.no)
    if facts > most or row.status >= COMPLETED:
        return facts > most
    called = store.open_called(row.id, MOST_CALLED + 1)
    if len(called) > MOST_CALLED:
        return True
    for number, id in called:
        facts += store.facts_of(number)
        if facts > most or store.open_called(id, 1):
            return True
    return False


def loop_facts_of(settings: Mapping[str, Any]) -> int:
    """The setting `reads.loop_facts`. Raises BadInput."""
    most = settings.get("reads.loop_facts", LOOP_FACTS)
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise BadInput(what="the setting «reads.loop_facts»", why="it is a whole number of facts")
    return most
