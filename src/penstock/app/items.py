"""Work items as the people who decide see them: what it is about, why me, how long, and what yes and no lead to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.around import Around, around
from penstock.app.inbox import Waiting, find, waiting
from penstock.app.look import Watcher
from penstock.app.moves import Move, moves
from penstock.app.people import held_by, targets_of
from penstock.app.remarks import Remark, Remarks, Said, eligible
from penstock.app.resting import deadline
from penstock.app.roles import user_of
from penstock.app.seen import Seen, Then
from penstock.app.summary import title_of
from penstock.errors import ApproverDenied, FourEyes
from penstock.net.author import author
from penstock.net.compiled import CNode, Compiled

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

_DECIDING = ("approve", "reject", "judge", "respond")
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


def items(
    door: Penstock, user: str, permissions: Iterable[str], *, mine: bool = True, kind: str | None = None
) -> list[Item]:
    """What is open, the nearest deadline first; what has none comes last, the oldest first."""
    allowed, beside = frozenset(permissions), around(door)
    found = [_item(door, one, user, allowed, beside) for one in waiting(door) if kind in (None, one.kind)]
    if mine:
        found = [one for one in found if one.eligible]
    return sorted(found, key=lambda one: (one.due_at is None, one.due_at or one.opened_at, one.id))


def item(door: Penstock, user: str, permissions: Iterable[str], id: str) -> Item:
    """By RUN/NODE. Raises ItemNotFound."""
    return _item(door, find(door, id), user, frozenset(permissions), around(door))


def _item(door: Penstock, one: Waiting, user: str, permissions: frozenset[str], beside: Around) -> Item:
    row = door.row(one.run)
    watcher = door.watcher(row)
    net, st = watcher.reader.net, watcher.reader.st
    assert net is not None
    firing = st.firings[one.firing]
    node = net.nodes[firing.node]
    due_at, due_then = deadline(Seen(st, net, 0, beside, watcher), firing, node)
    remarks = Remarks(door).of(one.id, one.firing)
    targets = [*targets_of(one.candidates), *remarks.delegated]
    mine = held_by(targets, user, user_of(door, user))
    because = _not_eligible(door, one, user, remarks, permissions)
    votes = [Vote(by, str(v.get("vote")), v.get("comment"), int(v.get("at") or 0)) for by, v in one.votes.items()]
    spec = node.spec.work
    needed = max(spec.quorum, len(targets_of(one.candidates)) if spec.all_of else 0, 1) if spec is not None else 1
    known = {name: watcher.resolve(value) for name, value in {**st.vars, **st.names}.items()}
    told = {"data": one.data, "votes": len(votes), "level": one.escalation_level, "status": one.status}
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


def _not_eligible(door: Penstock, one: Waiting, user: str, said: Said, permissions: frozenset[str]) -> str | None:
    """Why not, as a word that the console has a sentence for."""
    if user in one.votes:
        return "voted"
    try:
        eligible(door, one, user, said)
    except ApproverDenied:
        return "target"
    except FourEyes:
        return "four_eyes"
    if said.claimed_by not in (None, user):
        return "claimed"
    return None if "inbox.decide" in permissions else "permission"


def _moves(watcher: Watcher, node: str, permissions: frozenset[str]) -> list[Move]:
    return [one for one in moves(watcher, permissions=permissions) if one.target == node and one.verb in _DECIDING]


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
