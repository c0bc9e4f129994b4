"""The inbox: what waits for people, and their decisions."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from penstock.app.access.candidates import Who, id_of
from penstock.app.access.roles import each_user, same_person, standing
from penstock.app.inbox.comments import check_may_decide, stands_for
from penstock.app.inbox.item_filter import rows_for
from penstock.app.inbox.open_items import MOST, InboxItem, find, find_open, fold_items
from penstock.app.runs.queries import Queries
from penstock.app.runs.reading import RunReading
from penstock.app.runs.runs import Runs
from penstock.errors import AnswerInvalid, ApproverDenied, BadInput, FourEyes, ItemClaimed
from penstock.executors.shape import present
from penstock.kernel import command as C
from penstock.kernel.work_item import decided, enough, read_vote

DECISIONS = ("normal", "warning", "critical", "unknown")


def open_items(door: Queries, who: Who | None = None) -> list[InboxItem]:
    """Everything open of the tenant, oldest first; of one user if asked for. Costs a fold of each run."""
    rows = door.store.open_items(door.tenant, MOST)
    return [fold_item.item for fold_item in fold_items(door, rows if who is None else rows_for(door, rows, who))]


def anybody(door: Queries, item: InboxItem) -> str | None:
    """The first registered user who may decide and has not voted: what a laptop uses when nobody says who it is."""
    for user in (registered["id"] for registered in each_user(door)):
        if user not in item.votes:
            with contextlib.suppress(ApproverDenied, FourEyes, ItemClaimed):
                check_may_decide(door, item, user)
                return str(user)
    return None


def decision(
    door: Queries, item: InboxItem, verdict: str, who: Who, comment: str | None, confidence: float = 1.0,
    value: dict[str, Any] | None = None, reading: RunReading | None = None,
) -> C.Command:  # fmt: skip
    """The command of an approval or a rejection; `reading`: its run, where that is in hand. Raises ApproverDenied where
    somebody else must decide, ItemClaimed where somebody else is on it, FourEyes where whoever asked for it may not
    decide it."""
    actor = standing(door, who)
    activity, by = check_may_decide(door, item, who, actor), actor.user
    by = next((voter for voter in item.votes if same_person(door, voter, by)), by)  # nobody votes twice
    if item.kind == "review":
        if verdict not in DECISIONS:
            why = f"a review gives one of {', '.join(DECISIONS)}"
            raise BadInput(what="the decision", why=why, hint=f"Write --decision {'|'.join(DECISIONS)}.")
        return C.work(item.firing, "submit", by, _judged(verdict, by, comment, confidence))
    data: dict[str, Any] = {"vote": verdict, "comment": comment}
    if value:
        data["value"] = value
    target = stands_for(actor, item, activity)
    if target is not None:
        data["target"] = target
    return C.work(item.firing, "vote", by, _checked_vote(reading or door.reading(item.run), item, by, data))


def _checked_vote(reading: RunReading, item: InboxItem, by: str, data: dict[str, Any]) -> dict[str, Any]:
    """The vote as it was given. Raises AnswerInvalid where it would decide, and what comes of it does not fit
    `output.schema` (W-4.6, W-4.0.3): nobody decides in vain. Who had nothing to say has no comment, and not one that is
    null."""
    net, held = reading.net, reading.state.items.get(item.firing)
    schema = net.net.declares.policies.get("nodes", {}).get(item.node, {}).get("answer")
    spec = net.nodes[reading.state.firings[item.firing].node].spec.work if held is not None else None
    if schema is None or held is None or spec is None or by in held.votes:
        return data  # whoever has voted already hears of that
    vote = read_vote(data, item.opened_at)  # any moment will do to see whether it fits
    with_it = msgspec.structs.replace(held, votes={**held.votes, by: vote})
    if vote["vote"] == "approved" and not enough(with_it.votes, spec, held.candidates):
        return data
    from penstock.executors.parts.json_schema import schema_failure

    wrong = schema_failure(present(decided(with_it, vote["vote"], by, vote["at"], item.id)), schema)
    if wrong is not None:
        raise AnswerInvalid(item=item.id, why=wrong.failure.message.rstrip("."))
    return data


def _judged(decision: str, by: str, comment: str | None, confidence: float) -> dict[str, Any]:
    """C-52: a person's verdict has the form of every other."""
    return {
        "decision": decision, "confidence": confidence, "reasoning": comment or "", "matched_rules": [],
        "recommendations": [], "decided_by": "human", "reviewer": by, "needs_review": False,
    }  # fmt: skip


class Inbox:
    """The work items of one door's tenant."""

    def __init__(self, door: Runs) -> None:
        self.door = door

    def each(self, user: Who | None = None) -> list[InboxItem]:
        """Everything open, oldest first; of one user if asked for."""
        return open_items(self.door, user)

    def get(self, id: str) -> InboxItem:
        """By its id, or by RUN alone where only one thing waits."""
        return find(self.door, id)

    async def approve(
        self, id: str, *, by: Who, comment: str | None = None, value: dict[str, Any] | None = None, exact: bool = False
    ) -> InboxItem:
        """What was approved, as it stood before; `value` is what its form asks for. `exact`: a beginning of the run's
        id will not do. Raises ApproverDenied where somebody else must decide."""
        return await self._decide(id, "approved", by, comment, value=value, exact=exact)

    async def reject(
        self, id: str, *, by: Who, comment: str | None = None, value: dict[str, Any] | None = None, exact: bool = False
    ) -> InboxItem:
        return await self._decide(id, "rejected", by, comment, value=value, exact=exact)

    async def judge(
        self, id: str, decision: str, *, by: Who, comment: str | None = None, confidence: float = 1.0,
        exact: bool = False,
    ) -> InboxItem:  # fmt: skip
        """Give a review its verdict: normal, warning, critical or unknown."""
        return await self._decide(id, decision, by, comment, confidence, exact=exact)

    async def answer(self, id: str, value: Any, *, by: Who) -> InboxItem:
        """Give what waits the answer that it asks for. Only who may decide it may answer."""
        item = find(self.door, id)
        check_may_decide(self.door, item, by)
        await self.door.respond(item.run, item.firing_name, value, by=id_of(by))
        return item

    async def _decide(
        self, id: str, verdict: str, by: Who, comment: str | None, confidence: float = 1.0,
        value: dict[str, Any] | None = None, exact: bool = False,
    ) -> InboxItem:  # fmt: skip
        opened = find_open(self.door, id, exact=exact)
        command = decision(self.door, opened.item, verdict, by, comment, confidence, value, opened.reading)
        await self.door.command(opened.reading.row, command)
        return opened.item
