"""Remarks: who is on a work item, who gave it back or passed it on, and what was said about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from penstock.app.access.candidates import Who, held_by, id_of, may_act, target_for, targets_of
from penstock.app.access.roles import Standing, same_person, standing, target_exists
from penstock.app.inbox.open_items import InboxItem, find
from penstock.app.runs.queries import Queries
from penstock.errors import ApproverDenied, BadInput, FourEyes, ItemClaimed, TargetNotFound
from penstock.host.clock import Clock
from penstock.store.drafts import RemarkRow

_LONGEST = 4000
_TRIES = 20


class ItemComment(msgspec.Struct, frozen=True):
    by: str
    at: int
    text: str


class ItemActivity(msgspec.Struct):
    """What the remarks about one item come to. Of claims and delegations those of its present round count."""

    claimed_by: str | None = None
    delegated: list[str] = []
    comments: list[ItemComment] = []
    #: to whom it was passed on → for which of the item's targets
    stands_for: dict[str, str | None] = {}
    #: the same, of everybody who has passed it on
    standing: list[tuple[str, str | None]] = []
    #: who has passed it on, and to whom
    passed: list[tuple[str, str]] = []
    last: int = 0


class Comments:
    def __init__(self, door: Queries, clock: Clock | None = None) -> None:
        self.door, self.clock = door, clock or door

    def of(self, item: str, firing: int | None = None, *, only: bool = False) -> ItemActivity:
        """By RUN/NODE, whole; `firing` leaves out who was on it in another round, `only` also what was said then."""
        return _activity(self.door.store.remarks(self.door.tenant, [item]), firing, only)

    def about(self, item: InboxItem) -> ItemActivity:
        """What was said in earlier rounds stays with it; what is said about another that is open does not."""
        return self.of(item.key, item.firing, only=item.id != item.key)

    def each(self, items: Iterable[tuple[str, int]]) -> dict[tuple[str, int], ItemActivity]:
        """By RUN/NODE and firing, in one look; those about which nothing was said are left out."""
        known = list(items)
        by_item: dict[str, list[RemarkRow]] = {}
        for row in self.door.store.remarks(self.door.tenant, {item for item, _ in known}):
            by_item.setdefault(row.item, []).append(row)
        return {(item, no): _activity(by_item[item], no) for item, no in known if item in by_item}

    def claim(self, id: str, by: Who) -> ItemActivity:
        """One holder at a time. Again by the same one changes nothing. Raises ItemClaimed, ApproverDenied."""
        item = find(self.door, id)
        check_eligible(self.door, item, by, self.about(item))
        return self._add(item, id_of(by), "claim", {})

    def release(self, id: str, by: Who, *, force: bool = False) -> ItemActivity:
        """Give it back; `force`: somebody else's, by whoever may. Raises ItemClaimed where it is another's."""
        return self._add(find(self.door, id), id_of(by), "release", {}, force)

    def delegate(self, id: str, by: Who, to: str, comment: str | None = None) -> ItemActivity:
        """Let others decide as well: user:…, role:… or group:…; a name alone is a user with @, else a role. Whoever was
        on it is not any more. Raises TargetNotFound, ApproverDenied, ItemClaimed."""
        item = find(self.door, id)
        actor, activity = standing(self.door, by), self.about(item)
        check_eligible(self.door, item, by, activity, actor)
        target = target_of(to)
        if not target_exists(self.door, target):
            raise TargetNotFound(target=to)
        stands = stands_for(actor, item, activity)
        body = {"to": target, "for": stands, "text": _text(comment or "", empty=True)}
        return self._add(item, id_of(by), "delegate", body)

    def comment(self, id: str, by: Who, text: str) -> ItemActivity:
        return self._add(find(self.door, id), id_of(by), "comment", {"text": _text(text)})

    def _add(self, item: InboxItem, by: str, kind: str, body: dict[str, Any], force: bool = False) -> ItemActivity:
        """The number says what was known when it was written: if somebody was faster, it is looked at anew."""
        store, tenant = self.door.store, self.door.tenant
        packed = msgspec.msgpack.encode({**body, "firing": item.firing})
        for _ in range(_TRIES):
            activity = self.about(item)
            held = activity.claimed_by
            if kind != "comment" and held not in (None, by) and not force:
                raise ItemClaimed(by=held, item=item.id)
            if kind == "claim" and held == by or kind == "release" and held is None:
                return activity
            row = RemarkRow(tenant, item.key, activity.last + 1, by, self.clock.now(), kind, packed)
            if store.add_remark(row):
                return self.about(item)
        raise ItemClaimed(by="Somebody else", item=item.id)


def _activity(rows: Iterable[RemarkRow], firing: int | None, only: bool = False) -> ItemActivity:
    activity = ItemActivity()
    for row in rows:
        body, activity.last = msgspec.msgpack.decode(row.body), row.no
        of_this = firing is None or body.get("firing") == firing
        if body.get("text") and (of_this or not only):
            activity.comments.append(ItemComment(row.by, row.at, body["text"]))
        if not of_this:
            continue
        if row.kind == "claim":
            activity.claimed_by = row.by
        elif row.kind in ("release", "delegate"):
            activity.claimed_by = None
        if row.kind == "delegate":
            activity.standing.append((body["to"], body.get("for")))
        if row.kind == "delegate" and body["to"] not in activity.stands_for:
            activity.delegated.append(body["to"])
            activity.passed.append((row.by, body["to"]))
            activity.stands_for[body["to"]] = body.get("for")
    return activity


def target_of(to: str) -> str:
    """A target, whole: a name alone is a user with @, else a role."""
    return to if to.partition(":")[0] in ("user", "role", "group") else f"{'user' if '@' in to else 'role'}:{to}"


def _text(text: str, *, empty: bool = False) -> str:
    kept = text.replace("\0", "").strip()
    if len(kept) > _LONGEST or not kept and not empty:
        raise BadInput(what="the comment", why=f"it has 1 to {_LONGEST} characters")
    return kept


# ---- who may decide --------------------------------------------------------------------------------------------------


def check_eligible(
    door: Queries, item: InboxItem, who: Who, activity: ItemActivity | None = None, actor: Standing | None = None
) -> None:
    """Those whom the document names, and those to whom it was passed on; not who asked for it, where the document wants
    two persons (C-32, A3), nor who was registered and is not active any more. Raises ApproverDenied, FourEyes."""
    activity = Comments(door).about(item) if activity is None else activity
    user, known, inactive = standing(door, who) if actor is None else actor
    if inactive or not may_act(item.candidates, user, known) and not held_by(activity.delegated, user, known):
        raise ApproverDenied(user=user, item=item.id)
    if two_persons(item.candidates):
        if same_person(door, item.requested_by, user):
            raise FourEyes(user=user, what=f"«{item.id}»", why="somebody else must, who has not asked for it")
        if not getattr(who, "approves", True):
            why = "the key was made by somebody else, and such a key cannot approve"
            raise FourEyes(user=user, what=f"«{item.id}»", why=why)


def check_may_decide(door: Queries, item: InboxItem, who: Who, actor: Standing | None = None) -> ItemActivity:
    """The same, and nobody else is on it. Raises ItemClaimed besides."""
    actor = standing(door, who) if actor is None else actor
    activity = Comments(door).about(item)
    check_eligible(door, item, who, activity, actor)
    if activity.claimed_by not in (None, actor.user):
        raise ItemClaimed(by=activity.claimed_by, item=item.id)
    return activity


def stands_for(actor: Standing, item: InboxItem, activity: ItemActivity) -> str | None:
    """The target that a vote of theirs counts for: their own, else that of whoever has passed it on to them, so that
    where each target must approve, a delegate stands for one of them and not for one more."""
    own = target_for(item.candidates, actor.user, actor.known, item.votes)
    if own is not None or not targets_of(item.candidates):
        return own
    return next((activity.stands_for[target] for target in held_by(activity.delegated, actor.user, actor.known)), None)


def two_persons(candidates: Any) -> bool:
    return isinstance(candidates, dict) and candidates.get("allow_self_approval") is False
