"""A run in a line: what it is, how it stands, why it rests or what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from penstock.app.access.idempotency import shown_key
from penstock.app.drawing.tone import run_state, run_tone
from penstock.app.runs.long.read_limits import LOOP_FACTS, is_long
from penstock.app.runs.queries import Queries
from penstock.app.runs.reading import RunReading
from penstock.app.runs.run_view import run_word
from penstock.app.runs.waiting.environment import Environment
from penstock.app.runs.waiting.wait_context import WaitReason
from penstock.app.runs.waiting.why import why, why_listed
from penstock.dialects import dialect_of
from penstock.dialects.net_nodes import is_companion
from penstock.expr.calendar import moment_at, text_of_moment
from penstock.host.blobs import Blobs
from penstock.kernel.state import COMPLETED, State
from penstock.net.author import author
from penstock.net.compiled import Compiled
from penstock.store.run_store import RunRow

_LONGEST = 160  # of a result
_FIRST = ("decision", "status", "result", "title")  # what people want to read first of an output
_TITLES: dict[str, str] = {}  # by hash of the net; a document never changes its own


class RunSummary(msgspec.Struct, kw_only=True):
    """`status` is a word of the language, `state` of the house. `why` is the gravest reason for which it rests, of
    `more_why` others; `result` is what came of it, in a few words. `node` is where it is."""

    id: str
    key: str | None
    name: str
    title: str
    language: str
    version: int | None
    status: str
    state: str
    tone: str
    why: WaitReason | None
    more_why: int
    result: str | None
    node: str | None
    started_at: int
    updated_at: int
    ended_at: int | None
    active_ms: int
    priority: int
    parent: str | None
    tenant: str


def load_readings(door: Queries, numbers: Iterable[int]) -> list[RunReading]:
    """Many runs by their numbers, read at once: their checkpoints, and what came after. No journal is read from its
    beginning where there is a checkpoint; costs some tenths of a millisecond each."""
    return [door.reading(row, turns) for row, turns in door.store.load(numbers)]


def states_of(door: Queries, numbers: Iterable[int]) -> dict[int, State]:
    return {reading.row.no: reading.state for reading in load_readings(door, numbers)}


def summaries(door: Queries, rows: list[RunRow], environment: Environment) -> list[RunSummary]:
    """One fold for each run that has not ended, as long as all of them have no more facts than a read may fold; the
    others, and those that have ended, are read from their states."""
    states = {reading.row.no: reading for reading in load_readings(door, [row.no for row in rows])}
    left, lines = LOOP_FACTS, []
    for row in rows:
        reading = states.get(row.no) or door.reading(row)  # else its first turn is still to come
        reasons, cost = why_within(door, reading, environment, left)
        left -= cost
        lines.append(summary(door, reading, environment, reasons))
    return lines


def why_within(door: Queries, reading: RunReading, environment: Environment, left: int) -> tuple[list[WaitReason], int]:
    """Why it rests, exact where its facts and those of the runs that it has called are no more than that; and how many
    they are."""
    row = reading.row
    facts = reading.state.n
    if row.status >= COMPLETED or facts > left or is_long(door.store, row, left):
        return why_listed(reading, environment), 0
    return why(door, reading, environment), facts


def summary(door: Queries, reading: RunReading, environment: Environment, reasons: list[WaitReason]) -> RunSummary:
    """A run's line in a list; `reasons` are why it waits, the gravest first."""
    row, st, net = reading.row, reading.state, reading.net
    state = run_state(row.status)
    ended = row.status >= COMPLETED
    return RunSummary(
        id=row.id, key=shown_key(row.key), name=net.net.name, title=title_of(door, row.net, net),
        language=net.net.language,
        version=net.net.declares.version or None, status=run_word(net.net.language, state), state=state,
        tone=run_tone(state, paused=st.paused), why=reasons[0] if reasons else None, more_why=max(len(reasons) - 1, 0),
        result=result_of(door, st) if ended else None, node=_node(st, net, reasons), started_at=row.created_at,
        updated_at=max(row.updated_at, st.at), ended_at=row.updated_at if ended else None,
        active_ms=active_ms(st, environment.now), priority=row.priority, parent=row.parent or None, tenant=row.tenant,
    )  # fmt: skip


def active_ms(st: State, now: int) -> int:
    """Time in which it worked, and did not wait."""
    going = max(now - st.active_since, 0) if st.active_since >= 0 and st.status < COMPLETED else 0
    return st.active_ms + going


def title_of(door: Queries, number: int, net: Compiled) -> str:
    """The name that the document gives itself for people; else its id. Costs one read of the document, once."""
    known = _TITLES.get(net.hash)
    if known is None:
        known = dialect_of(net.net.language).title(net.net, lambda: door.store.net(number).source)
        if len(_TITLES) > 10_000:
            _TITLES.clear()
        _TITLES[net.hash] = known
    return known or net.net.name


def _node(st: State, net: Compiled, reasons: list[WaitReason]) -> str | None:
    """Where it is: where its gravest reason lies, else where something works."""
    if reasons and reasons[0].node is not None and reasons[0].run is None:
        return reasons[0].node
    working = (net.nodes[firing.node] for firing in st.firings.values() if not firing.kids)
    return next((author(node) for node in working if not is_companion(node)), None)


# ---- what came of it -------------------------------------------------------------------------------------------------


def result_of(door: Queries, st: State) -> str | None:
    """A few words: what it gave out, or what it ended with."""
    if st.failure is not None and run_state(st.status) != "COMPLETED":
        return _cut(f"{st.failure.code}: {st.failure.message}")
    root = st.scopes.get(0)
    output: Any = st.results or (root.last if root is not None else None)
    return brief(Blobs(door.store).resolve(door.tenant, output)) if output is not None else None


def brief(value: Any) -> str | None:
    """Three scalars of a value, what decides first."""
    if not isinstance(value, dict):
        return _cut(_text(value)) if isinstance(value, str | int | float | bool) else None
    scalars = [(name, scalar) for name, scalar in _scalars(value, "", 2) if scalar not in (None, "")]
    scalars.sort(key=lambda pair: _rank(pair[0]))
    return _cut(", ".join(f"{_last(name)}: {_text(scalar)}" for name, scalar in scalars[:3])) or None


def _scalars(value: dict[str, Any], stem: str, deep: int) -> Iterable[tuple[str, Any]]:
    for name, part in value.items():
        if name.startswith("_"):  # how it was delivered is not what came of it
            continue
        if isinstance(part, dict) and deep > 0:
            yield from _scalars(part, f"{stem}{name}.", deep - 1)
        elif isinstance(part, str | int | float | bool):
            yield f"{stem}{name}", part


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _rank(name: str) -> int:
    last = _last(name)
    return _FIRST.index(last) if last in _FIRST else len(_FIRST) + name.count(".")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


def moment(ms: int | None) -> str | None:
    """A time as people and programs read it: ISO 8601, UTC, milliseconds."""
    return None if ms is None else text_of_moment(moment_at(ms))
