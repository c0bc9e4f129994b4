"""The inbox: what waits for people, and their decisions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.look import Watcher
from penstock.app.people import held_by, may_act
from penstock.app.queries import Queries
from penstock.app.remarks import Remarks, may_decide, stands_for
from penstock.app.votes import fitting
from penstock.errors import (
    ApproverDenied,
    BadInput,
    FourEyes,
    ItemAmbiguous,
    ItemClaimed,
    ItemDecided,
    ItemNotFound,
    RunAmbiguous,
    RunNotFound,
)
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.item import moment
from penstock.lang.decision.words import APPROVAL
from penstock.net.author import author

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

_unpack = msgspec.msgpack.decode
DECISIONS = ("normal", "warning", "critical", "unknown")


class Waiting(msgspec.Struct, kw_only=True):
    """One thing that waits for somebody. `id` is RUN/NODE; a beginning of the run that is enough will do."""

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


def waiting(door: Queries, user: str | None = None) -> list[Waiting]:
    """Everything open of the tenant, oldest first; of one user if asked for."""
    found = list(_open(door))
    if user is None:
        return found
    body, said = user_of(door, user), Remarks(door).of_all(found)
    return [one for one in found if may_act(one.candidates, user, body) or held_by(said[one.id].delegated, user, body)]


def _open(door: Queries) -> Iterator[Waiting]:
    rows = door.store.items()
    runs = {row.no: row for row, _ in door.store.load({item[0] for item in rows})}
    for run, firing, _, status, prompt, candidates, _, opened_at, _ in rows:
        row = runs.get(run)
        if row is None or row.tenant != door.tenant:
            continue
        watcher = door.watcher(row)
        held = watcher.reader.st.firings.get(firing)
        if held is None or watcher.reader.net is None:
            continue
        node = watcher.reader.net.nodes[held.node]
        asked = _unpack(prompt)
        said = asked if isinstance(asked, dict) else {"title": asked}
        item = watcher.reader.st.items[firing]
        kind = str(said.get("kind", "work"))
        if kind == "approval":
            status = "escalated" if item.level else APPROVAL[status]  # C-34: those who may decide now are others
        yield Waiting(
            id=f"{row.id}/{author(node)}", run=row.id, node=author(node), kind=kind,
            title=str(said.get("title") or node.label), firing=firing, document=watcher.reader.net.net.name,
            status=status, opened_at=opened_at, description=str(said.get("description") or ""),
            priority=str(said.get("priority") or "normal"), data=said.get("data"),
            candidates=None if candidates is None else _unpack(candidates), escalation_level=item.level,
            due_at=_due(watcher, firing), votes=item.votes,
        )  # fmt: skip


def _due(watcher: Watcher, firing: int) -> int | None:
    """When its time is over: the last timer that it has set."""
    timers = [t.due for t in watcher.reader.st.timers.values() if t.firing == firing]
    return max(timers, default=None)


def find(door: Queries, id: str) -> Waiting:
    """By RUN/NODE, or by RUN alone where only one thing waits; RUN is an id, a beginning of it, or a key."""
    run, _, node = id.partition("/")
    with contextlib.suppress(RunNotFound, RunAmbiguous):
        run = door.row(run).id  # a key is as good as an id
    found = [one for one in _open(door) if one.run.startswith(run) and node in ("", one.node)]
    exact = [one for one in found if one.run == run]
    found = exact or found
    if not found:
        raise _decided(door, run, node) or ItemNotFound(item=id)
    if len(found) > 1:
        raise ItemAmbiguous(item=id, known=", ".join(one.id for one in found[:5]))
    return found[0]


def _decided(door: Queries, run: str, node: str) -> ItemDecided | None:
    """W-4.6.5: who was late hears who has decided, and when."""
    try:
        row = door.row(run)
    except (RunNotFound, RunAmbiguous):
        return None
    net = door.watcher(row).reader.net
    assert net is not None
    closed = [
        (moved_at, name, by, firing)
        for _, firing, no, _, _, _, by, _, moved_at in door.store.items(open_only=False, run=row.no)
        if no < len(net.nodes) and (name := author(net.nodes[no])) and node in ("", name)
    ]
    if not closed:
        return None
    at, name, by, firing = max(closed, key=lambda one: one[0])
    how = f"{by} decided it" if by else "it ended without a decision"
    verdict = _verdict(door, row.no, firing, by) if by else None
    return ItemDecided(item=f"{row.id}/{name}", how=how, at=moment(at), by=by, decision=verdict)


def _verdict(door: Queries, run: int, firing: int, by: str) -> str | None:
    """How somebody voted or judged; None of an answer, which is no decision. The table of items does not keep it."""
    for turn in reversed([*door.store.journal(run)]):
        for said in reversed(F.decode_facts(turn.body)):
            if said[0] == F.WORK_MOVED and said[1] == firing and by in (said[6] or {}):
                return str(said[6][by]["vote"])
            if said[0] == F.SETTLED and said[1] == firing and isinstance(said[7], dict) and "reviewer" in said[7]:
                return str(said[7]["decision"])
    return None


def user_of(door: Queries, user: str) -> Mapping[str, Any] | None:
    for row in door.store.artifacts(door.tenant, "user"):
        if row.id == user:
            body: Mapping[str, Any] = _unpack(row.body)
            return body
    return None


def anybody(door: Queries, item: Waiting) -> str | None:
    """The first registered user who may decide and has not voted: what a laptop uses when nobody says who it is."""
    for row in door.store.artifacts(door.tenant, "user"):
        if row.id not in item.votes:
            with contextlib.suppress(ApproverDenied, FourEyes, ItemClaimed):
                may_decide(door, item, row.id)
                return row.id
    return None


def decision(
    door: Queries, item: Waiting, verdict: str, by: str, comment: str | None, confidence: float = 1.0
) -> C.Command:
    """The command of an approval or a rejection. Raises ApproverDenied where somebody else must decide, ItemClaimed
    where somebody else is on it, FourEyes where whoever asked for it may not decide it."""
    said = may_decide(door, item, by)
    if item.kind == "review":
        if verdict not in DECISIONS:
            why = f"a review gives one of {', '.join(DECISIONS)}"
            raise BadInput(what="the decision", why=why, hint=f"Write --decision {'|'.join(DECISIONS)}.")
        return C.work(item.firing, "submit", by, _judged(verdict, by, comment, confidence))
    data: dict[str, Any] = {"vote": verdict, "comment": comment}
    target = stands_for(door, item, by, said)
    if target is not None:
        data["target"] = target
    return C.work(item.firing, "vote", by, fitting(door, item, by, data))


def _judged(decision: str, by: str, comment: str | None, confidence: float) -> dict[str, Any]:
    """C-52: a person's verdict has the form of every other."""
    return {
        "decision": decision, "confidence": confidence, "reasoning": comment or "", "matched_rules": [],
        "recommendations": [], "decided_by": "human", "reviewer": by, "needs_review": False,
    }  # fmt: skip


class Inbox:
    """The work items of one door's tenant."""

    def __init__(self, door: Penstock) -> None:
        self.door = door

    def each(self, user: str | None = None) -> list[Waiting]:
        """Everything open, oldest first; of one user if asked for."""
        return waiting(self.door, user)

    def get(self, id: str) -> Waiting:
        """By RUN/NODE, or by RUN alone where only one thing waits."""
        return find(self.door, id)

    async def approve(self, id: str, *, by: str, comment: str | None = None) -> Waiting:
        """What was approved, as it stood before. Raises ApproverDenied where somebody else must decide."""
        return await self._decide(id, "approved", by, comment)

    async def reject(self, id: str, *, by: str, comment: str | None = None) -> Waiting:
        return await self._decide(id, "rejected", by, comment)

    async def judge(
        self, id: str, decision: str, *, by: str, comment: str | None = None, confidence: float = 1.0
    ) -> Waiting:
        """Give a review its verdict: normal, warning, critical or unknown."""
        return await self._decide(id, decision, by, comment, confidence)

    async def answer(self, id: str, value: Any, *, by: str) -> Waiting:
        """Give what waits the answer that it asks for. Only who may decide it may answer."""
        item = find(self.door, id)
        may_decide(self.door, item, by)
        await self.door.respond(item.run, item.node, value, by=by)
        return item

    async def _decide(self, id: str, verdict: str, by: str, comment: str | None, confidence: float = 1.0) -> Waiting:
        item = find(self.door, id)
        await self.door.command(item.run, decision(self.door, item, verdict, by, comment, confidence))
        return item
