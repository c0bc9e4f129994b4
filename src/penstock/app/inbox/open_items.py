"""Open work items, read from their rows and the folds of their runs; found by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from penstock.app.runs.queries import Queries
from penstock.app.runs.reading import RunReading
from penstock.dialects import dialect_of
from penstock.errors import ItemAmbiguous, ItemDecided, ItemNotFound, RunAmbiguous, RunNotFound
from penstock.kernel import fact as F
from penstock.kernel.state import State
from penstock.kernel.work_item import moment
from penstock.net.author import author
from penstock.net.compiled import Compiled
from penstock.store.run_store import RunRow
from penstock.store.work_items import ItemRow, WorkRow

_unpack = msgspec.msgpack.decode
#: So many rows of open items are read at most.
MOST = 100_000


class InboxItem(msgspec.Struct, kw_only=True):
    """One thing that waits for somebody. `id` is RUN/NODE, or RUN/NODE~FIRING while several firings of the node wait; a
    beginning of the run that is enough will do."""

    id: str
    run: str
    node: str
    kind: str  # approval, review, work
    title: str
    firing: int
    document: str
    status: str  # of an approval: pending, escalated (W-4.6); else of the work item
    opened_at: int
    description: str = ""
    priority: str = "normal"
    data: Any = None
    candidates: Any = None
    escalation_level: int = 0
    due_at: int | None = None
    votes: dict[str, dict[str, Any]] = {}
    requested_by: str | None = None
    form: dict[str, Any] | None = None  # of an activity of a process

    @property
    def key(self) -> str:
        """What remarks are kept by: it stays when others of the node open or close."""
        return f"{self.run}/{self.node}"

    @property
    def firing_name(self) -> str:
        return f"{self.node}~{self.firing}"

    @property
    def exact(self) -> str:
        """An id that is never another's."""
        return f"{self.run}/{self.firing_name}"


class ItemHeader(msgspec.Struct, kw_only=True):
    """What every list of work items says of each."""

    id: str
    run: str
    run_title: str
    node: str
    kind: str
    title: str


class OpenItem(NamedTuple):
    """A work item with the run that it was read from: whoever needs more of the run does not fold it again."""

    item: InboxItem
    reading: RunReading


class _Approvers(msgspec.Struct):
    approvers: list[str] | None = None


_approvers = msgspec.msgpack.Decoder(_Approvers)


def asked_of(row: ItemRow | WorkRow) -> bytes | None:
    """Who may act now. P-X.14: a draft is approved by those whom its activity names, else by anybody who may."""
    if row.status != "SUBMITTED":
        return row.candidates
    try:
        named = _approvers.decode(row.prompt).approvers
    except msgspec.MsgspecError:  # a text alone
        return row.candidates
    if named is None:
        return row.candidates
    return msgspec.msgpack.encode({"type": "any_of", "targets": named}) if named else None


def key_of(door: Queries, row: ItemRow) -> str:
    """RUN/NODE, which remarks are kept by: other than the id it stays as it is when others of the node close."""
    return f"{row.run_id}/{author(door.nets.get(row.net).nodes[row.node])}"


def id_in(st: State, net: Compiled, run: str, firing: int) -> str:
    """RUN/NODE, or RUN/NODE~FIRING where several firings of the node ask somebody."""
    names = {no: author(net.nodes[st.firings[no].node]) for no in st.items if no in st.firings}
    name = names[firing]
    return f"{run}/{name}" if [*names.values()].count(name) == 1 else f"{run}/{name}~{firing}"


def fold_items(door: Queries, rows: Iterable[ItemRow]) -> Iterator[OpenItem]:
    """Rows as people read them, in their order. What was closed meanwhile is left out."""
    rows = list(rows)
    numbers = {row.run for row in rows}
    loaded = door.store.load(numbers)
    readings = {run.no: door.reading(run, turns) for run, turns in loaded if run.tenant == door.tenant}
    for row in rows:
        reading = readings.get(row.run)
        item = _read(row, reading) if reading is not None else None
        if reading is not None and item is not None:
            yield OpenItem(item, reading)


def _read(item_row: ItemRow, reading: RunReading) -> InboxItem | None:
    row, st, net, firing = reading.row, reading.state, reading.net, item_row.firing
    item = st.items.get(firing)
    if item is None or firing not in st.firings:
        return None
    node, asked, status = net.nodes[st.firings[firing].node], _unpack(item_row.prompt), item_row.status
    prompt = asked if isinstance(asked, dict) else {"title": asked}
    kind = str(prompt.get("kind", "work"))
    if kind == "approval":
        words = dialect_of(net.net.language).words.approval
        status = "escalated" if item.level else words.get(status, status)  # C-34: those who may decide now are others
    packed, form, due = asked_of(item_row), prompt.get("form"), prompt.get("due")
    return InboxItem(
        id=id_in(st, net, row.id, firing), run=row.id, node=author(node), kind=kind,
        title=str(prompt.get("title") or node.label), firing=firing, document=net.net.name,
        status=status, opened_at=item_row.opened_at,
        description=str(prompt.get("description") or prompt.get("instruction") or ""),
        priority=str(prompt.get("priority") or "normal"), data=prompt.get("data"),
        candidates=None if packed is None else _unpack(packed), escalation_level=item.level,
        due_at=due if isinstance(due, int) else _due(st, firing), votes=item.votes, requested_by=requester(st),
        form=form if isinstance(form, dict) else None,
    )  # fmt: skip


def _due(st: State, firing: int) -> int | None:
    """When its time is over: the last timer that it has set."""
    timers = [t.due for t in st.timers.values() if t.firing == firing]
    return max(timers, default=None)


def find(door: Queries, id: str) -> InboxItem:
    """By RUN/NODE, by RUN/NODE~FIRING where several of a node wait, or by RUN alone where only one thing waits; RUN is
    an id, a beginning of it, or a key."""
    return find_open(door, id).item


def find_open(door: Queries, id: str, *, exact: bool = False) -> OpenItem:
    """The same with its run. Only the items of that run are read. `exact`: for what is to be changed; a beginning of
    the run's id that is enough today is another's tomorrow."""
    run, _, node = id.partition("/")
    if exact:
        row = _exact_run(door, id, run)
        run, id, rows = row.id, f"{row.id}/{node}", _rows_of_run(door, row)
    else:
        rows = _rows_of(door, run)
    of_run = [*fold_items(door, rows)]
    named = [opened for opened in of_run if node in ("", opened.item.node)]
    matching = named or [opened for opened in of_run if node == opened.item.firing_name]
    if not matching:
        raise _decided(door, run, node) or ItemNotFound(item=id)
    if len(matching) > 1:
        known = ", ".join(opened.item.id for opened in matching[:5])
        raise ItemAmbiguous(item=id, known=known, hint="Write the whole id, as it is listed.")
    return matching[0]


def _rows_of(door: Queries, run: str) -> list[ItemRow]:
    try:
        row = door.row(run)  # a key is as good as an id
    except RunNotFound:
        return []
    except RunAmbiguous:  # of those with this beginning perhaps only one waits for somebody
        return [
            open_item
            for open_item in door.store.open_items(door.tenant, MOST)
            if open_item.run_id.startswith(run.lower())
        ]
    return _rows_of_run(door, row)


def _exact_run(door: Queries, id: str, run: str) -> RunRow:
    try:
        row = door.row(run)
    except (RunNotFound, RunAmbiguous):
        raise ItemNotFound(item=id) from None
    if run not in (row.id, row.key):
        raise ItemNotFound(item=id)
    return row


def _rows_of_run(door: Queries, row: RunRow) -> list[ItemRow]:
    return [
        ItemRow(row.no, row.id, row.net, firing, node, status, prompt, candidates, opened_at)
        for _, firing, node, status, prompt, candidates, _, opened_at, _ in door.store.items(run=row.no)
    ]


def _decided(door: Queries, run: str, node: str) -> ItemDecided | None:
    """W-4.6.5: who was late hears who has decided, and when."""
    try:
        row = door.row(run)
    except (RunNotFound, RunAmbiguous):
        return None
    net = door.reading(row).net
    past = [
        (moved_at, name, by, firing)
        for _, firing, no, _, _, _, by, _, moved_at in door.store.items(open_only=False, run=row.no)
        if no < len(net.nodes) and (name := author(net.nodes[no]))
    ]
    named = [entry for entry in past if node in ("", entry[1])]
    closed = named or [entry for entry in past if node == f"{entry[1]}~{entry[3]}"]
    if not closed:
        return None
    at, name, by, firing = max(closed, key=lambda entry: entry[0])
    how = f"{by} decided it" if by else "it ended without a decision"
    verdict = _verdict(door, row.no, firing, by) if by else None
    return ItemDecided(item=f"{row.id}/{name}", how=how, at=moment(at), by=by, decision=verdict)


def _verdict(door: Queries, run: int, firing: int, by: str) -> str | None:
    """How somebody voted or judged; None of an answer, which is no decision. The table of items does not keep it."""
    for turn in reversed([*door.store.journal(run)]):
        for fact in reversed(F.decode_facts(turn.body)):
            if fact[0] == F.WORK_MOVED and fact[1] == firing and by in (fact[6] or {}):
                return str(fact[6][by]["vote"])
            if fact[0] == F.SETTLED and fact[1] == firing and isinstance(fact[7], dict) and "reviewer" in fact[7]:
                return str(fact[7]["decision"])
    return None


def requester(st: State) -> str | None:
    """Who has started a run, where a person did."""
    trigger = st.options.get("trigger")
    source = trigger.get("source") if isinstance(trigger, dict) else None
    kind, _, name = str(source or "").partition(":")
    return name if kind == "user" and name else None
