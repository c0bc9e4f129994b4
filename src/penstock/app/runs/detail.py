"""One run with all that its page shows: its firings with attempts and waits, reasons, moves, what it called."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from penstock.app.drawing.tone import node_tone
from penstock.app.runs.attempts import Attempt, WaitPeriod
from penstock.app.runs.commands.moves import Move, moves
from penstock.app.runs.queries import Queries
from penstock.app.runs.run_view import FiringView, PendingWait, RunFold
from penstock.app.runs.search import Filters, find_runs
from penstock.app.runs.summary import RunSummary, summary
from penstock.app.runs.waiting.environment import read_environment
from penstock.app.runs.waiting.wait_context import WaitReason
from penstock.app.runs.waiting.why import why
from penstock.kernel.state import PHASE
from penstock.lifecycle.firing import UNIT_WORDS
from penstock.net.compiled import Compiled

_CHILDREN = 50
#: so many firings are told with a run: the newest, and besides them all that have not ended
NEWEST = 200
#: what to do about a failure, by its category
_HINTS = {
    "transient": "It may pass by itself; try it again.",
    "external": "Another system did not do its part: look at it, then try again.",
    "timeout": "It took longer than it may: look at what was waited for, then try again.",
    "validation": "A value does not fit: correct the document or the input, and start anew.",
    "authorization": "A secret or a permission is missing: give it, then try again.",
    "business": "Somebody or a rule has decided so.",
    "permanent": "Trying again as it is will not help: correct what it names first.",
}


class FiringDetail(msgspec.Struct, kw_only=True):
    """One execution of an author's node; `status` is the language's word, `state` the house's. `number` grows in the
    order in which they began."""

    id: str
    number: int
    node: str
    label: str
    type: str
    kind: str
    status: str
    state: str
    tone: str
    epoch: int
    iteration: int
    scope: str
    attempt: int
    started_at: int
    ended_at: int | None
    attempts: list[Attempt]
    waits: list[WaitPeriod]


class Definition(msgspec.Struct, kw_only=True):
    name: str
    version: int | None
    hash: str
    language: str


class RunDetail(msgspec.Struct, kw_only=True):
    """`run` is its line in a list; the rest is what only its page shows. Of many firings only the newest are told, and
    those that have not ended; below the number `older` there are more. Both counts are of all."""

    run: RunSummary
    input: Any
    output: Any
    outputs: dict[str, Any]
    variables: dict[str, Any]
    failure: dict[str, Any] | None
    warnings: list[dict[str, Any]]
    firings: list[FiringDetail]
    older: int | None
    firing_count: int
    attempt_count: int
    waiting: list[PendingWait]
    why: list[WaitReason]
    moves: list[Move]
    facts: int
    trace_id: str
    trigger: dict[str, Any] | None
    children: list[RunSummary]
    definition: Definition
    paused: bool
    retries: int


def detail(door: Queries, run: str, permissions: Collection[str] | None = None, *, newest: int = NEWEST) -> RunDetail:
    """Costs one fold of its journal, one of each run that it calls and waits for, and a search for its children."""
    reading, environment = door.reading(run), read_environment(door)
    view, reasons = door.view_of(reading), why(door, reading, environment)
    row, st, net = reading.row, reading.state, reading.net
    trigger, run_firings = st.options.get("trigger"), Firings(reading.fold)
    firings, older = run_firings.newest(newest)
    return RunDetail(
        run=summary(door, reading, environment, reasons), why=reasons,
        moves=moves(reading, permissions=permissions, settings=door.settings), input=reading.resolve(st.input),
        output=view.output, outputs=view.outputs, variables=view.variables, failure=_failure(view.failure),
        warnings=view.warnings, firings=firings, older=older, firing_count=len(run_firings.shown),
        attempt_count=run_firings.attempts(), waiting=view.waiting,
        children=find_runs(door, Filters(parent=row.id), None, _CHILDREN)[0],
        definition=Definition(
            name=net.net.name, version=net.net.declares.version or None, hash=net.hash, language=net.net.language
        ),
        trigger=trigger if isinstance(trigger, dict) else None, facts=st.n, trace_id=st.trace or row.id,
        paused=st.paused, retries=st.retries,
    )  # fmt: skip


def _failure(failure: dict[str, Any] | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    category = str(failure.get("category") or "permanent")
    return {"detail": None, "node": None, **failure, "category": category, "hint": _HINTS.get(category)}


def firing_page(door: Queries, run: str, below: int | None, limit: int) -> tuple[list[FiringDetail], int | None]:
    """Newest first, those below a number; and the number below which there are more."""
    fold = door.fold(door.row(run))
    if fold.reader.st.n == 0:
        return [], None
    firings = Firings(fold)
    places = [place for place, (number, _) in enumerate(firings.shown) if below is None or number < below]
    page = [firings.one(place) for place in reversed(places[-limit:])]
    return page, page[-1].number if len(places) > limit else None


class Firings:
    """What a run has done. The page of a firing costs its own parts, not those of all others."""

    def __init__(self, fold: RunFold) -> None:
        assert fold.reader.net is not None, "a run that is known has a net"
        self.fold, self.net, self.shown = fold, fold.reader.net, fold.shown()
        self.live = {fold.reader.firing_id(f): f for f in fold.reader.st.firings.values()}
        self.parts: dict[int, list[str]] = {}
        for id, number in fold.numbers.items():
            self.parts.setdefault(number, []).append(id)

    def newest(self, most: int) -> tuple[list[FiringDetail], int | None]:
        """In the order in which they began; and the number below which those begin that are left out."""
        first = max(len(self.shown) - most, 0)
        kept = [place for place in range(first) if self.shown[place][1].ended_at is None][-most:]
        details = [self.one(place) for place in (*kept, *range(first, len(self.shown)))]
        return details, self.shown[first][0] if first else None

    def attempts(self) -> int:
        past = self.fold.attempt_history
        return sum(len(past.attempts.get(part, ())) for n, _ in self.shown for part in self.parts.get(n, ()))

    def one(self, place: int) -> FiringDetail:
        fold, (number, shown) = self.fold, self.shown[place]
        was, live = fold.firings[number], self.live.get(fold.ids[number])
        state = UNIT_WORDS[PHASE[live.phase]] if live is not None and was.ended_at is None else was.status
        parts = self.parts.get(number, [])
        return _firing(self.net, fold, shown, number, state, parts)


def _firing(net: Compiled, fold: RunFold, shown: FiringView, number: int, state: str, parts: list[str]) -> FiringDetail:
    node, past = net.by_id.get(shown.node), fold.attempt_history
    return FiringDetail(
        id=fold.ids[number], number=number, node=shown.node, label=node.label if node is not None else shown.node,
        type=shown.type,
        kind=node.spec.kind if node is not None else "", status=shown.status, state=state, tone=node_tone(state),
        epoch=shown.epoch, iteration=shown.iteration, scope=shown.scope, attempt=shown.attempt,
        started_at=shown.started_at, ended_at=shown.ended_at,
        attempts=[period for part in parts for period in past.attempts.get(part, ())],
        waits=[period for part in parts for period in past.rests.get(part, ())],
    )  # fmt: skip
