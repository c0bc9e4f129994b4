"""Work items as the people who decide see them: what it is about, why me, how long, and what yes and no lead to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.around import Around, around
from penstock.app.inbox import MOST, Open, Waiting, find_open, folded, for_whom
from penstock.app.look import Watcher
from penstock.app.moves import Move, moves
from penstock.app.people import Who, held_by, id_of, targets_of
from penstock.app.remarks import Remark, Remarks, Said, eligible, requester, two_persons
from penstock.app.resting import deadline
from penstock.app.roles import known_of
from penstock.app.seen import Seen, Then
from penstock.app.summary import states_of, title_of
from penstock.errors import ApproverDenied, FourEyes
from penstock.net.author import author
from penstock.net.compiled import CNode, Compiled
from penstock.store.contract_lists import ItemRow

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

_DECIDING = ("approve", "reject", "judge", "respond")
#: so many are sorted by their deadlines
SORTED = 200
#: how many values are shown beside the title
DECISIVE = 5
#: of what is known about a run, these say most about it, in this order
_TELLING = ("decision", "confidence", "severity", "defect_rate", "line_id", "amount", "score", "reason")


class Field(msgspec.Struct):
    key: str
    label: str
    value: Any
    unit: str | None = None
    tone: str | None = None


class Vote(msgspec.Struct):
    by: str
    decision: str
    comment: str | None
    at: int


class Effects(msgspec.Struct):
    """The label of what follows; None: the run ends."""

    approve: str | None
    reject: str | None


class Item(msgspec.Struct, kw_only=True):
    id: str
    run: str
    run_title: str
    node: str
    kind: str
    title: str
    description: str
    priority: str
    status: str
    document: str
    language: str
    opened_at: int
    due_at: int | None
    due_then: Then | None
    data: Any
    fields: list[Field]
    form: dict[str, Any] | None
    candidates: list[str]
    why_me: list[str]
    eligible: bool
    not_eligible_because: str | None
    needed: int
    approvals: list[Vote]
    escalation_level: int
    claimed_by: str | None
    comments: list[Remark]
    effects: Effects
    moves: list[Move]
    etag: str


class Page(msgspec.Struct):
    items: list[Item]
    total: int
    more: bool


def page(
    door: Penstock, who: Who, permissions: Iterable[str], *, mine: bool = True, kind: str | None = None,
    start: int = 0, limit: int = SORTED,
) -> Page:  # fmt: skip
    """What is open, the nearest deadline first; what has none comes last, the oldest first.

    Where more than SORTED are asked for, the oldest come first: a deadline is known only from a run's state. Then
    `total` is counted from the rows, so that of what is mine it has also what I have voted on, or have asked for
    myself where two persons are wanted; a page leaves those out. Costs the rows of what is open, at most SORTED states,
    and a fold of the runs of one page."""
    allowed, beside = frozenset(permissions), around(door)
    if mine and "inbox.decide" not in allowed:
        return Page([], 0, False)
    rows = [one for one in door.store.open_items(door.tenant, MOST) if kind in (None, kind_of(one.prompt))]
    if mine:
        rows = for_whom(door, rows, who, free=True)
    if len(rows) <= SORTED:
        rows = _by_deadline(door, rows, id_of(who) if mine else None, beside)
    found = [_item(door, one, who, allowed, beside) for one in folded(door, rows[start : start + limit])]
    return Page([one for one in found if one.eligible or not mine], len(rows), start + limit < len(rows))


def _by_deadline(door: Penstock, rows: list[ItemRow], user: str | None, beside: Around) -> list[ItemRow]:
    """In the order of their deadlines; with a user, without what that one has had a say in."""
    nets, states = door._held.nets, states_of(door, {one.run for one in rows})
    assert nets is not None
    found = []
    for one in rows:
        st = states.get(one.run)
        firing, asked = (st.firings.get(one.firing), st.items.get(one.firing)) if st is not None else (None, None)
        if st is None or firing is None or asked is None:
            continue
        if user is not None and (user in asked.votes or two_persons(asked.candidates) and requester(st) == user):
            continue
        net = nets.get(one.net)
        due, _ = deadline(Seen(st, net, one.run, beside), firing, net.nodes[firing.node])
        found.append(((due is None, due or one.opened_at, one.run_id, one.firing), one))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


class _Kind(msgspec.Struct):
    kind: str = "work"


_kind = msgspec.msgpack.Decoder(_Kind)


def kind_of(prompt: bytes) -> str:
    """Approval, review or work. The rest of what is asked, which may be long, is not read."""
    try:
        return _kind.decode(prompt).kind
    except msgspec.MsgspecError:  # a text alone
        return "work"


def item(door: Penstock, who: Who, permissions: Iterable[str], id: str) -> Item:
    """By RUN/NODE, or RUN/NODE~FIRING. Raises ItemNotFound, ItemAmbiguous."""
    return _item(door, find_open(door, id), who, frozenset(permissions), around(door))


def _item(door: Penstock, opened: Open, who: Who, permissions: frozenset[str], beside: Around) -> Item:
    one, row, watcher = opened
    net, st = watcher.reader.net, watcher.reader.st
    assert net is not None
    firing = st.firings[one.firing]
    node = net.nodes[firing.node]
    due_at, due_then = deadline(Seen(st, net, 0, beside, watcher), firing, node)
    remarks = Remarks(door).about(one)
    targets = [*targets_of(one.candidates), *remarks.delegated]
    mine = held_by(targets, id_of(who), known_of(door, who))
    because = _not_eligible(door, one, who, remarks, permissions)
    votes = [Vote(by, str(v.get("vote")), v.get("comment"), int(v.get("at") or 0)) for by, v in one.votes.items()]
    spec = node.spec.work
    needed = max(spec.quorum, len(targets_of(one.candidates)) if spec.all_of else 0, 1) if spec is not None else 1
    known = {name: watcher.resolve(value) for name, value in {**st.vars, **st.names}.items()}
    told = {
        "firing": one.firing,
        "data": one.data,
        "votes": len(votes),
        "level": one.escalation_level,
        "status": one.status,
    }
    return Item(
        id=one.id, run=one.run, run_title=title_of(door, row.net, net), node=one.node, kind=one.kind,
        title=one.title, description=one.description, priority=one.priority, status=one.status, document=one.document,
        language=net.net.language, opened_at=one.opened_at, due_at=due_at, due_then=due_then, data=one.data,
        fields=_decisive(one.data, known, st.input), form=form_of(net, node), candidates=targets, why_me=mine,
        eligible=because is None, not_eligible_because=because, needed=needed, approvals=votes,
        escalation_level=one.escalation_level, claimed_by=remarks.claimed_by, comments=remarks.comments,
        effects=Effects(_follows(node, "done"), _follows(node, "rejected")),
        moves=_moves(watcher, one.node, permissions) if because is None else [],
        etag=hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()[:16],
    )  # fmt: skip


def _not_eligible(door: Penstock, one: Waiting, who: Who, said: Said, permissions: frozenset[str]) -> str | None:
    """Why not, as a word that the console has a sentence for."""
    user = id_of(who)
    if user in one.votes:
        return "voted"
    try:
        eligible(door, one, who, said)
    except ApproverDenied:
        return "target"
    except FourEyes:
        return "four_eyes"
    if said.claimed_by not in (None, user):
        return "claimed"
    return None if "inbox.decide" in permissions else "permission"


def _moves(watcher: Watcher, node: str, permissions: frozenset[str]) -> list[Move]:
    found = (one for one in moves(watcher, permissions=permissions) if one.target == node and one.verb in _DECIDING)
    return [*{one.verb: one for one in found}.values()]  # several firings of a node have the same


def _decisive(data: Any, variables: Mapping[str, Any], given: Any) -> list[Field]:
    """The author's own data first; else what was judged and what the run began with."""
    found: dict[str, Any] = {}
    for source in (data, *variables.values(), given):
        if isinstance(source, Mapping):
            for name, value in source.items():
                if isinstance(value, str | int | float | bool) and (source is data or name in _TELLING):
                    found.setdefault(str(name), value)
    first = sorted(found, key=lambda name: _TELLING.index(name) if name in _TELLING else -1)
    return [Field(name, name.replace("_", " "), found[name]) for name in first[:DECISIVE]]


def form_of(net: Compiled, node: CNode) -> dict[str, Any] | None:
    """The schema of what is answered, where the document has one."""
    known = net.net.declares.policies.get("nodes", {}).get(author(node), {})
    found = known.get("answer") if isinstance(known, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else None


def _follows(node: CNode, port: str) -> str | None:
    ways = [way for way in node.ports.get(port, ()) if author(way.dst) != author(node)]
    return ways[0].dst.label if ways and ways[0].dst.spec.kind != "end" else None
