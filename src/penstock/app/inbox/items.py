"""Work items as the people who decide see them: what it is about, why me, how long, and what yes and no lead to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.app.access.candidates import Who, held_by, id_of, targets_of
from penstock.app.access.roles import known_of, same_person
from penstock.app.inbox.comments import Comments, ItemActivity, ItemComment, check_eligible, two_persons
from penstock.app.inbox.item_filter import ItemFilter
from penstock.app.inbox.open_items import InboxItem, ItemHeader, OpenItem, find_open, fold_items, requester
from penstock.app.language import ItemWork, WorkRules, app_language
from penstock.app.runs.commands.moves import Move, moves
from penstock.app.runs.reading import RunReading
from penstock.app.runs.runs import Runs
from penstock.app.runs.summary import states_of, title_of
from penstock.app.runs.waiting.environment import Environment, read_environment
from penstock.app.runs.waiting.wait_context import Followup, WaitContext
from penstock.app.runs.waiting.wait_reasons import deadline
from penstock.dialects.net_nodes import is_companion
from penstock.errors import ApproverDenied, FourEyes
from penstock.net.author import author
from penstock.net.compiled import CNode, Compiled
from penstock.store.work_items import ItemRow

_DECIDING = ("approve", "reject", "judge", "respond")
#: so many are sorted by their deadlines
SORTED = 200
#: how many values are shown beside the title
DECISIVE = 5
#: of what is known about a run, these say most about it, in this order
_TELLING = ("decision", "confidence", "severity", "defect_rate", "line_id", "amount", "score", "reason")


#: what the outcome of an approval has without being asked (W-4.6, W-4.6.7)
_BY_ITSELF = frozenset({
    "status", "approver", "comment", "approved_at", "approvals", "timed_out", "escalation_level", "request_id",
})  # fmt: skip


class DecisiveField(msgspec.Struct):
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


class Delegation(msgspec.Struct):
    by: str
    to: str


class DecisionEffects(msgspec.Struct):
    """The label of what follows; None: the run ends."""

    approve: str | None
    reject: str | None


class ItemDetail(ItemHeader, kw_only=True):
    description: str
    priority: str
    status: str
    document: str
    language: str
    opened_at: int
    due_at: int | None
    due_then: Followup | None
    data: Any
    fields: list[DecisiveField]
    form: dict[str, Any] | None
    candidates: list[str]
    why_me: list[str]
    eligible: bool
    not_eligible_because: str | None
    needed: int
    approvals: list[Vote]
    escalation_level: int
    claimed_by: str | None
    comments: list[ItemComment]
    delegations: list[Delegation]
    effects: DecisionEffects
    moves: list[Move]
    etag: str
    work: ItemWork | None = None


class InboxPage(msgspec.Struct):
    items: list[ItemDetail]
    total: int
    more: bool


def page(
    door: Runs, who: Who, permissions: Iterable[str], *, mine: bool = True, kind: str | None = None,
    start: int = 0, limit: int = SORTED,
) -> InboxPage:  # fmt: skip
    """What is open, the nearest deadline first; what has none comes last, the oldest first.

    Where more than SORTED are asked for, the oldest come first: a deadline is known only from a run's state. Then
    `total` is counted from the rows, so that of what is mine it has also what I have voted on, or have asked for
    myself where two persons are wanted; a page leaves those out. Costs a count of what is open, the rows up to the end
    of the page, at most SORTED states, and a fold of the runs of one page."""
    allowed, environment = frozenset(permissions), read_environment(door)
    groups = door.store.open_groups(door.tenant, environment.now)
    if mine:

        def may(net: int, status: str) -> bool:
            return _permission(_rules(door, net), status) in allowed

        meant = ItemFilter(door, groups, who, kind=kind, free=True, may=may)
    else:
        meant = ItemFilter(door, groups, kind=kind)
    total = meant.total
    if total <= SORTED:
        nearest = _by_deadline(door, meant.rows(0, SORTED), id_of(who) if mine else None, environment)
        total, rows = len(nearest), nearest[start : start + limit]
    else:
        rows = meant.rows(start, limit)
    items = [_item(door, opened, who, allowed, environment) for opened in fold_items(door, rows)]
    return InboxPage(
        [shown_item for shown_item in items if shown_item.eligible or not mine], total, start + limit < total
    )


def _by_deadline(door: Runs, rows: list[ItemRow], user: str | None, environment: Environment) -> list[ItemRow]:
    """In the order of their deadlines; with a user, without what that one has had a say in."""
    states = states_of(door, {row.run for row in rows})
    ranked = []
    for row in rows:
        st = states.get(row.run)
        firing, asked = (st.firings.get(row.firing), st.items.get(row.firing)) if st is not None else (None, None)
        if st is None or firing is None or asked is None:
            continue
        if user is not None and (
            user in asked.votes or two_persons(asked.candidates) and same_person(door, requester(st), user)
        ):
            continue
        net = door.nets.get(row.net)
        rules = app_language(net.net.language).work_rules
        if user is not None and rules is not None and rules.busy_elsewhere(asked, user):
            continue
        due, _ = deadline(WaitContext(st, net, row.run, environment), firing, net.nodes[firing.node])
        ranked.append(((due is None, due or row.opened_at, row.run_id, row.firing), row))
    return [row for _, row in sorted(ranked, key=lambda pair: pair[0])]


def item(door: Runs, who: Who, permissions: Iterable[str], id: str) -> ItemDetail:
    """By RUN/NODE, or RUN/NODE~FIRING. Raises ItemNotFound, ItemAmbiguous."""
    return _item(door, find_open(door, id), who, frozenset(permissions), read_environment(door))


def _item(door: Runs, opened: OpenItem, who: Who, permissions: frozenset[str], environment: Environment) -> ItemDetail:
    waiting, reading = opened
    row, net, st = reading.row, reading.net, reading.state
    firing = st.firings[waiting.firing]
    node = net.nodes[firing.node]
    due_at, due_then = deadline(WaitContext(st, net, 0, environment), firing, node)
    activity = Comments(door).about(waiting)
    targets = [*targets_of(waiting.candidates), *activity.delegated]
    mine = held_by(targets, id_of(who), known_of(door, who))
    rules = app_language(net.net.language).work_rules
    because = _not_eligible(
        door, waiting, who, activity, _permission(_rules(door, row.net), waiting.status) in permissions
    )
    votes = [Vote(by, str(v.get("vote")), v.get("comment"), int(v.get("at") or 0)) for by, v in waiting.votes.items()]
    spec = node.spec.work
    needed = max(spec.quorum, len(targets_of(waiting.candidates)) if spec.all_of else 0, 1) if spec is not None else 1
    known = {name: reading.resolve(value) for name, value in {**st.vars, **st.names}.items()}
    work = rules.work_of(waiting, net, st.items[waiting.firing]) if rules is not None else None
    moves_ = [] if because is not None else _moves(reading, waiting.node, permissions)
    if rules is not None:
        due_at = due_at if due_at is not None else waiting.due_at
        moves_ = (
            rules.moves(waiting, node, st.items[waiting.firing], id_of(who), permissions) if because is None else []
        )
    version = {
        "firing": waiting.firing,
        "data": waiting.data,
        "votes": len(votes),
        "level": waiting.escalation_level,
        "status": waiting.status,
        "work": work,
    }
    return ItemDetail(
        id=waiting.id, run=waiting.run, run_title=title_of(door, row.net, net), node=waiting.node, kind=waiting.kind,
        title=waiting.title, description=waiting.description, priority=waiting.priority, status=waiting.status,
        document=waiting.document,
        language=net.net.language, opened_at=waiting.opened_at, due_at=due_at, due_then=due_then, data=waiting.data,
        fields=_decisive(waiting.data, known, st.input), form=waiting.form or form_of(net, node), candidates=targets,
        why_me=mine,
        eligible=because is None, not_eligible_because=because, needed=needed, approvals=votes,
        escalation_level=waiting.escalation_level, claimed_by=activity.claimed_by, comments=activity.comments,
        delegations=[Delegation(by, to) for by, to in activity.passed],
        effects=DecisionEffects(_follows(node, "done"), _follows(node, "rejected")),
        moves=moves_, etag=hashlib.sha256(msgspec.json.encode(version, order="sorted")).hexdigest()[:16], work=work,
    )  # fmt: skip


def _rules(door: Runs, net: int) -> WorkRules | None:
    return app_language(door.nets.get(net).net.language).work_rules


def _permission(rules: WorkRules | None, status: str) -> str:
    """The permission that whoever acts has to have."""
    return "inbox.decide" if rules is None else rules.permission(status)


def _not_eligible(door: Runs, waiting: InboxItem, who: Who, activity: ItemActivity, permitted: bool) -> str | None:
    """Why not, as a word that the console has a sentence for."""
    user = id_of(who)
    if user in waiting.votes:
        return "voted"
    try:
        check_eligible(door, waiting, who, activity)
    except ApproverDenied:
        return "target"
    except FourEyes:
        return "four_eyes"
    if activity.claimed_by not in (None, user):
        return "claimed"
    return None if permitted else "permission"


def _moves(reading: RunReading, node: str, permissions: frozenset[str]) -> list[Move]:
    deciding = (
        move for move in moves(reading, permissions=permissions) if move.target == node and move.verb in _DECIDING
    )
    return [*{choice.verb: choice for choice in deciding}.values()]  # several firings of a node have the same


def _decisive(data: Any, variables: Mapping[str, Any], given: Any) -> list[DecisiveField]:
    """The author's own data first; else what was judged and what the run began with."""
    values: dict[str, Any] = {}
    for source in (data, *variables.values(), given):
        if isinstance(source, Mapping):
            for name, value in source.items():
                if isinstance(value, str | int | float | bool) and (source is data or name in _TELLING):
                    values.setdefault(str(name), value)
    first = sorted(values, key=lambda name: _TELLING.index(name) if name in _TELLING else -1)
    return [DecisiveField(name, name.replace("_", " "), values[name]) for name in first[:DECISIVE]]


def form_of(net: Compiled, node: CNode) -> dict[str, Any] | None:
    """The schema of what somebody is asked to fill in, where the document has one. What a decision says by itself, such
    as who decided and when, is not asked for."""
    known = net.net.declares.policies.get("nodes", {}).get(author(node), {})
    schema = known.get("answer") if isinstance(known, Mapping) else None
    if not isinstance(schema, Mapping):
        return None
    asked = {name: part for name, part in (schema.get("properties") or {}).items() if name not in _BY_ITSELF}
    needed = [name for name in schema.get("required") or () if name in asked]
    return {**schema, "properties": asked, "required": needed} if asked else None


def _follows(node: CNode, port: str) -> str | None:
    """Through the other parts of what the author drew as one node; where a branch is over, after its scope."""
    here, seen = [(node, port)], set[str]()
    while here:
        part, name = here.pop(0)
        seen.add(part.id)
        ways = [way.dst for way in part.ports.get(name, ()) if not is_companion(way.dst)]
        others = [way for way in ways if author(way) != author(part)]
        on = next((other for other in others if other.spec.kind != "end"), None)
        if on is not None:
            return on.net.by_id.get(author(on), on).label
        here += [(way, "done") for way in ways if way not in others and way.id not in seen]
        if (others or name not in part.ports) and part.scope and part.scope not in seen:
            here.append((part.net.by_id[part.scope], "done"))
    return None
