"""Which open work items are meant: counted by groups, read by pages. Most of what is open nobody asks for at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from penstock.app.access.candidates import Who, held_by, id_of, may_act
from penstock.app.access.roles import known_of
from penstock.app.inbox.comments import Comments, ItemActivity
from penstock.app.inbox.open_items import MOST, asked_of, key_of
from penstock.app.runs.queries import Queries
from penstock.net.compiled import CNode
from penstock.store.work_items import GroupKey, ItemGroup, ItemRow

#: Of more groups than these all rows are read: each is a condition of the question.
_GROUPS = 100


class ItemFilter:
    """Of a tenant; with a user what that one may decide, or what was passed on to them, `free`: without what another
    one is on; of one kind if asked for; `may`: of those nets and statuses. Whether somebody may decide is told by the
    candidates, of which there are few; only items that somebody took or passed on are looked at one by one."""

    def __init__(
        self, door: Queries, groups: Iterable[ItemGroup], who: Who | None = None, *, kind: str | None = None,
        free: bool = False, may: Callable[[int, str], bool] = lambda net, status: True,
    ) -> None:  # fmt: skip
        self.door, self.who, self.kind, self.free, self.may = door, who, kind, free, may
        counted = Counter[GroupKey]()
        for group in groups:
            counted[group.key] += group.count
        self.chosen = self._chosen(counted)
        self.every = len(self.chosen) == len(counted)
        self.whole: list[ItemRow] | None = None
        if self._by_row(counted):
            self.whole = self._fitting(door.store.open_items(door.tenant, MOST))
            self.total = len(self.whole)
            return
        spoken = [] if who is None else door.store.open_items(door.tenant, MOST, spoken=True)
        fits = self._fitting(spoken)
        mine = {(row.run, row.firing) for row in fits}
        self.more = [row for row in fits if _key(row) not in self.chosen]
        self.less = {(r.run, r.firing) for r in spoken if _key(r) in self.chosen and (r.run, r.firing) not in mine}
        self.total = sum(counted[key] for key in self.chosen) + len(self.more) - len(self.less)

    def rows(self, start: int, limit: int) -> list[ItemRow]:
        """From this place on, the oldest first. Costs the rows up to there."""
        if self.whole is not None:
            return self.whole[start : start + limit]
        store, most = self.door.store, start + limit + len(self.less)
        of = None if self.every else self.chosen
        opened = store.open_items(self.door.tenant, most, of=of) if self.chosen else []
        kept = [row for row in opened if (row.run, row.firing) not in self.less]
        return sorted((*kept, *self.more), key=lambda row: (row.opened_at, row.run, row.firing))[start : start + limit]

    def _chosen(self, groups: Iterable[GroupKey]) -> set[GroupKey]:
        user, body = (None, None) if self.who is None else (id_of(self.who), known_of(self.door, self.who))
        named: dict[bytes | None, bool] = {}
        chosen = set[GroupKey]()
        for net, node, status, packed in groups:
            if not self.may(net, status) or self.kind is not None and self._kind(net, node) != self.kind:
                continue
            if user is not None and packed not in named:
                named[packed] = may_act(None if packed is None else msgspec.msgpack.decode(packed), user, body)
            if user is None or named[packed]:
                chosen.add((net, node, status, packed))
        return chosen

    def _by_row(self, groups: Iterable[GroupKey]) -> bool:
        """Can groups not tell, or would there be too many to ask for?"""
        if self.kind is not None and any(self._kind(net, node) is None for net, node, *_ in groups):
            return True
        return not self.every and len(self.chosen) > _GROUPS

    def _fitting(self, rows: list[ItemRow]) -> list[ItemRow]:
        allowed = [row for row in rows if self.may(row.net, row.status) and self.kind in (None, kind_of(row.prompt))]
        return allowed if self.who is None else rows_for(self.door, allowed, self.who, free=self.free)

    def _kind(self, net: int, node: int) -> str | None:
        nodes = self.door.nets.get(net).nodes
        return _asked(nodes[node]) if node < len(nodes) else None  # it came here from another net


def _key(row: ItemRow) -> GroupKey:
    return (row.net, row.node, row.status, row.candidates)


def _asked(node: CNode) -> str | None:
    """The kind of its items, as the document says it; None: only an item can tell."""
    prompt = node.spec.work.prompt if node.spec.work is not None else None
    if not isinstance(prompt, dict):
        return "work"
    kind = prompt.get("kind", "work")
    return kind if isinstance(kind, str) and "$expr" not in prompt else None


class _Kind(msgspec.Struct):
    kind: str = "work"


_kind = msgspec.msgpack.Decoder(_Kind)


def kind_of(prompt: bytes) -> str:
    """Approval, review or work. The rest of what is asked, which may be long, is not read."""
    try:
        return _kind.decode(prompt).kind
    except msgspec.MsgspecError:  # a text alone
        return "work"


def rows_for(door: Queries, rows: list[ItemRow], who: Who, *, free: bool = False) -> list[ItemRow]:
    """Those that somebody may decide, or that were passed on to them; `free`: without what another one is on. Told from
    the rows and the remarks: no run is folded."""
    user, body = id_of(who), known_of(door, who)
    named: dict[bytes | None, bool] = {}  # most have the same candidates as others
    keys = [(key_of(door, row), row.firing) for row in rows]
    activities, nothing = Comments(door).each(keys), ItemActivity()
    meant = []
    for row, key in zip(rows, keys, strict=True):
        packed, about = asked_of(row), activities.get(key, nothing)
        if packed not in named:
            named[packed] = may_act(None if packed is None else msgspec.msgpack.decode(packed), user, body)
        if free and about.claimed_by not in (None, user):
            continue
        if named[packed] or held_by(about.delegated, user, body):
            meant.append(row)
    return meant
