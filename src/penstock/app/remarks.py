"""Remarks: who is on a work item, who gave it back or passed it on, and what was said about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.people import held_by, may_act, target_for, targets_of
from penstock.app.roles import target_exists, user_of
from penstock.errors import ApproverDenied, BadInput, FourEyes, ItemClaimed, TargetNotFound
from penstock.host.clock import Clock, SystemClock
from penstock.store.contract_admin import RemarkRow

if TYPE_CHECKING:
    from penstock.app.inbox import Waiting
    from penstock.app.queries import Queries

_LONGEST = 4000
_TRIES = 20


class Remark(msgspec.Struct, frozen=True):
    by: str
    at: int
    text: str


class Said(msgspec.Struct):
    """What the remarks about one item come to. Of claims and delegations those of its present round count."""

    claimed_by: str | None = None
    delegated: list[str] = []
    comments: list[Remark] = []
    #: to whom it was passed on → for which of the item's targets
    stands_for: dict[str, str | None] = {}
    last: int = 0


class Remarks:
    def __init__(self, door: Queries, clock: Clock | None = None) -> None:
        self.door, self.clock = door, clock or SystemClock()

    def of(self, item: str, firing: int | None = None) -> Said:
        """By RUN/NODE, whole; `firing` leaves out who was on it in an earlier round."""
        return _said(self.door.store.remarks(self.door.tenant, [item]), firing)

    def of_all(self, items: Iterable[Waiting]) -> dict[str, Said]:
        """By id, in one look."""
        known = {one.id: one.firing for one in items}
        rows = self.door.store.remarks(self.door.tenant, known)
        return {id: _said([row for row in rows if row.item == id], firing) for id, firing in known.items()}

    def claim(self, id: str, by: str) -> Said:
        """One holder at a time. Again by the same one changes nothing. Raises ItemClaimed, ApproverDenied."""
        item = self._open(id)
        eligible(self.door, item, by, self.of(item.id, item.firing))
        return self._add(item, by, "claim", {})

    def release(self, id: str, by: str, *, force: bool = False) -> Said:
        """Give it back; `force`: somebody else's, by whoever may. Raises ItemClaimed where it is another's."""
        return self._add(self._open(id), by, "release", {}, force)

    def delegate(self, id: str, by: str, to: str, comment: str | None = None) -> Said:
        """Let others decide as well: user:…, role:… or group:…; a name alone is a user with @, else a role. Whoever was
        on it is not any more. Raises TargetNotFound, ApproverDenied, ItemClaimed."""
        item = self._open(id)
        said = self.of(item.id, item.firing)
        eligible(self.door, item, by, said)
        target = to if to.partition(":")[0] in ("user", "role", "group") else f"{'user' if '@' in to else 'role'}:{to}"
        if not target_exists(self.door, target):
            raise TargetNotFound(target=to)
        body = {"to": target, "for": stands_for(self.door, item, by, said), "text": _text(comment or "", empty=True)}
        return self._add(item, by, "delegate", body)

    def comment(self, id: str, by: str, text: str) -> Said:
        return self._add(self._open(id), by, "comment", {"text": _text(text)})

    def _open(self, id: str) -> Waiting:
        from penstock.app.inbox import find

        return find(self.door, id)

    def _add(self, item: Waiting, by: str, kind: str, body: dict[str, Any], force: bool = False) -> Said:
        """The number says what was known when it was written: if somebody was faster, it is looked at anew."""
        store, tenant = self.door.store, self.door.tenant
        packed = msgspec.msgpack.encode({**body, "firing": item.firing})
        for _ in range(_TRIES):
            said = self.of(item.id, item.firing)
            held = said.claimed_by
            if kind != "comment" and held not in (None, by) and not force:
                raise ItemClaimed(by=held, item=item.id)
            if kind == "claim" and held == by or kind == "release" and held is None:
                return said
            row = RemarkRow(tenant, item.id, said.last + 1, by, self.clock.now(), kind, packed)
            if store.add_remark(row):
                return self.of(item.id, item.firing)
        raise ItemClaimed(by="Somebody else", item=item.id)


def _said(rows: Iterable[RemarkRow], firing: int | None) -> Said:
    said = Said()
    for row in rows:
        body, said.last = msgspec.msgpack.decode(row.body), row.no
        if body.get("text"):
            said.comments.append(Remark(row.by, row.at, body["text"]))
        if firing is not None and body.get("firing") != firing:
            continue
        if row.kind == "claim":
            said.claimed_by = row.by
        elif row.kind in ("release", "delegate"):
            said.claimed_by = None
        if row.kind == "delegate" and body["to"] not in said.stands_for:
            said.delegated.append(body["to"])
            said.stands_for[body["to"]] = body.get("for")
    return said


def _text(text: str, *, empty: bool = False) -> str:
    kept = text.replace("\0", "").strip()
    if len(kept) > _LONGEST or not kept and not empty:
        raise BadInput(what="the comment", why=f"it has 1 to {_LONGEST} characters")
    return kept


# ---- who may decide --------------------------------------------------------------------------------------------------


def eligible(door: Queries, item: Waiting, user: str, said: Said | None = None) -> None:
    """Those whom the document names, and those to whom it was passed on; not who asked for it, where the document wants
    two persons (C-32, A3). Raises ApproverDenied, FourEyes."""
    said = Remarks(door).of(item.id, item.firing) if said is None else said
    body = user_of(door, user)
    if not may_act(item.candidates, user, body) and not held_by(said.delegated, user, body):
        raise ApproverDenied(user=user, item=item.id)
    if _two_persons(item.candidates) and requester(door, item.run) == user:
        raise FourEyes(user=user, what=f"«{item.id}»")


def may_decide(door: Queries, item: Waiting, user: str) -> Said:
    """The same, and nobody else is on it. Raises ItemClaimed besides."""
    said = Remarks(door).of(item.id, item.firing)
    eligible(door, item, user, said)
    if said.claimed_by not in (None, user):
        raise ItemClaimed(by=said.claimed_by, item=item.id)
    return said


def stands_for(door: Queries, item: Waiting, user: str, said: Said) -> str | None:
    """The target that a vote of theirs counts for: their own, else that of whoever has passed it on to them, so that
    where each target must approve, a delegate stands for one of them and not for one more."""
    body = user_of(door, user)
    own = target_for(item.candidates, user, body, item.votes)
    if own is not None or not targets_of(item.candidates):
        return own
    return next((said.stands_for[one] for one in held_by(said.delegated, user, body)), None)


def _two_persons(candidates: Any) -> bool:
    return isinstance(candidates, dict) and candidates.get("allow_self_approval") is False


def requester(door: Queries, run: str) -> str | None:
    """Who has started a run, where a person did."""
    trigger = door.watcher(door.row(run)).reader.st.options.get("trigger")
    source = trigger.get("source") if isinstance(trigger, dict) else None
    kind, _, name = str(source or "").partition(":")
    return name if kind == "user" and name else None
