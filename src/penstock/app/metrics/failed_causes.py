"""Dead letters by cause: runs of every language that ended badly and wait for a person, counted by why they did."""

from __future__ import annotations

import msgspec

from penstock.app.runs.queries import Queries
from penstock.app.runs.reading import RunReading
from penstock.app.runs.summary import load_readings, title_of
from penstock.kernel.state import FAILED
from penstock.store.run_lists import Cause

DAY_MS = 86_400_000
#: how long what has failed is kept before it is forgotten (F-X.27)
KEPT_MS = 30 * DAY_MS
#: the axis that all causes share: so many pieces of this length, up to now
PIECES, PIECE_MS = 60, 2 * 3_600_000
#: so many causes are told, those with the most runs first
MOST = 200
#: trying again does the same again: somebody has to change a document, an input or a right
_SAME_AGAIN = frozenset({"validation", "permanent", "authorization", "business"})
_LIMIT = "RESOURCE_LIMIT"


class FailedCause(msgspec.Struct, kw_only=True):
    """`curable`: trying again may help. `pieces` are how many came in each piece of the axis. `run` is the last one."""

    language: str
    name: str
    title: str
    node: str
    label: str
    code: str
    message: str
    count: int
    first_at: int
    last_at: int
    curable: bool
    pieces: list[int]
    run: str


class FailedCauses(msgspec.Struct, kw_only=True):
    """`total` of all causes, also of those that are not told. The axis begins at `axis_from`."""

    items: list[FailedCause]
    causes: int
    total: int
    kept_days: int
    axis_from: int
    piece_ms: int


def failed_causes(door: Queries) -> FailedCauses:
    """Costs the runs that failed in the last 30 days, of which only an index is read, and a state per cause."""
    store, tenant, now = door.store, door.tenant, door.now()
    since, axis_from = now - KEPT_MS, now - PIECES * PIECE_MS
    together: dict[tuple[str, str, str], list[Cause]] = {}
    for cause in store.causes(tenant, FAILED, since):
        name = door.nets.get(cause.net).net.name
        together.setdefault((name, cause.node, cause.code), []).append(cause)
    ranked = sorted(together.items(), key=lambda item: (-sum(cause.count for cause in item[1]), item[0]))
    shown = ranked[:MOST]
    last = [max(cause.last_run for cause in causes) for _, causes in shown]
    readings = {reading.row.no: reading for reading in load_readings(door, last)}
    pieces: dict[tuple[int, str, str], list[int]] = {}
    for net, node, code, piece, count in store.cause_pieces(tenant, FAILED, axis_from, PIECE_MS):
        pieces.setdefault((net, node, code), [0] * (PIECES + 1))[min(piece, PIECES)] += count
    items = [
        _told(door, key, causes, readings[number], pieces) for (key, causes), number in zip(shown, last, strict=True)
    ]
    total = sum(cause.count for _, causes in ranked for cause in causes)
    return FailedCauses(
        items=items, causes=len(ranked), total=total, kept_days=KEPT_MS // DAY_MS, axis_from=axis_from,
        piece_ms=PIECE_MS,
    )  # fmt: skip


def _told(
    door: Queries, key: tuple[str, str, str], causes: list[Cause], reading: RunReading,
    pieces: dict[tuple[int, str, str], list[int]],
) -> FailedCause:  # fmt: skip
    (name, node, code), failure, net = key, reading.state.failure, reading.net
    drawn = net.by_id.get(node)
    own = [pieces[cause.net, node, code] for cause in causes if (cause.net, node, code) in pieces]
    return FailedCause(
        language=net.net.language, name=name, title=title_of(door, reading.row.net, net), node=node,
        label=drawn.label if drawn is not None else node, code=code,
        message=failure.message if failure is not None else "", count=sum(cause.count for cause in causes),
        first_at=min(cause.first_at for cause in causes), last_at=max(cause.last_at for cause in causes),
        curable=code != _LIMIT and (failure is None or failure.category not in _SAME_AGAIN),
        pieces=[sum(column) for column in zip(*own, strict=True)] if own else [0] * (PIECES + 1), run=reading.row.id,
    )  # fmt: skip
