"""Process instances and their work items: begun, looked at, and moved on by people (P-3.2, P-4, P-X.13..15, P-X.40)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from penstock.app.access.candidates import Who, id_of, may_act
from penstock.app.access.roles import inactive, known_of
from penstock.app.access.starters import check_may_start
from penstock.app.inbox.comments import Comments, ItemComment, check_eligible, target_of
from penstock.app.inbox.open_items import InboxItem, asked_of
from penstock.app.process.definitions import Processes
from penstock.app.runs.commands.answers import check_result
from penstock.app.runs.long.read_limits import LOOP_FACTS
from penstock.dialects.process import words
from penstock.dialects.process.instance import Instance, Passage, WorkItem, initiator
from penstock.errors import (
    NoBranch,
    NodeNotFound,
    ProcessBranch,
    ProcessChanged,
    ProcessNotFound,
    ProcessScope,
    ProcessState,
    ProcessUnreadable,
    Refused,
    RunAmbiguous,
    RunNotFound,
    StatusConflict,
)
from penstock.host.blobs import Blobs
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.state import STATUS
from penstock.lifecycle.work_item import WORK_ITEM
from penstock.net.author import author
from penstock.net.compiled import Compiled
from penstock.net.model import Net
from penstock.store.contract import Store
from penstock.store.releases import ReleaseRow
from penstock.store.run_store import JournalRow, RunRow
from penstock.store.work_items import WorkRow

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries
    from penstock.app.runs.runs import Runs

SUPERVISED, AUTONOMOUS = "SUPERVISED", "AUTONOMOUS"
OPEN = ("TODO", "IN_PROGRESS", "SUBMITTED", "REWORK")
_PASSED_BY = ("route", "start", "end", "undo")
_FIRED = (F.FIRED, F.FIRED_VIA, F.PASSED)
_TRIES = 20
#: so many facts make an instance long, and so many of these stay folded
_LONG, _KEPT = 200, 16
_folded: WeakKeyDictionary[Store, OrderedDict[str, Instance]] = WeakKeyDictionary()
_unpack = msgspec.msgpack.decode


class LocatedItem(msgspec.Struct, frozen=True):
    """A work item in the store: its run, its row, and what it asks."""

    run: RunRow
    row: WorkRow
    net: Compiled
    prompt: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.row.run_id}~{self.row.firing}"

    @property
    def node(self) -> str:
        return author(self.net.nodes[self.row.node])

    @property
    def item(self) -> str:
        """As the inbox calls it."""
        return f"{self.row.run_id}/{self.node}~{self.row.firing}"


class WorkItems:
    """Of one door's tenant."""

    def __init__(self, door: Runs) -> None:
        self.door = door

    # -- looking -------------------------------------------------------------------------------------------------------

    def run(self, id: str) -> RunRow:
        return run_of(self.door, id)

    def instance(self, id: str) -> tuple[RunRow, Instance]:
        row = run_of(self.door, id)
        return row, folded(self.door, row)

    def find(self, id: str) -> LocatedItem:
        run, _, firing = id.rpartition("~")
        try:
            row = run_of(self.door, run)
        except ProcessNotFound:
            raise ProcessNotFound(what="work item", name=id) from None
        number = int(firing) if firing.isdecimal() and len(firing) < 10 else -1
        work = next(iter(self.door.store.work_of(row.no, number)), None)
        if work is None:
            raise ProcessNotFound(what="work item", name=id)
        net = self.door.net_of(self.door.hash_of(row.net))
        prompt = _unpack(work.prompt)
        return LocatedItem(row, work, net, prompt if isinstance(prompt, dict) else {})

    def get(self, id: str) -> tuple[WorkItem, list[ItemComment], list[Passage]]:
        """Whole, with what was said about it, and its history."""
        located = self.find(id)
        instance = folded(self.door, located.run)
        row = located.row
        comments = Comments(self.door).of(f"{row.run_id}/{located.node}", row.firing, only=True).comments
        history = [passage for passage in instance.history if passage.workitem_id == located.id]
        return instance.items[row.firing], comments, history

    def each(
        self, *, status: Iterable[str] = (), assignee: str | None = None, after: tuple[int, int] = (0, 0),
        limit: int = 50,
    ) -> list[WorkRow]:  # fmt: skip
        """In the order in which their instances began. Nothing is folded."""
        wanted = list(dict.fromkeys(status)) or list(words.ITEMS)
        return self.door.store.work_items(self.door.tenant, wanted, assignee=assignee, after=after, limit=limit)

    # -- beginning and ending ------------------------------------------------------------------------------------------

    async def initiate(
        self, id: str, *, by: Who, initiator: str | None = None, input: Mapping[str, Any] | None = None,
        modes: Mapping[str, str] | None = None, version: int | None = None, key: str | None = None,
        start_event: str | None = None,
    ) -> str:  # fmt: skip
        """P-3.2.1: the instance's id, when its first work items are there. `modes` by activity (P-X.40). `start_event`
        says in which of several ways it begins."""
        row = Processes(self.door).startable(id, version)
        net = self.door.net_of(self.door.hash_of(row.net)).net
        check_may_start(self.door, net, by)
        self._may_switch(row, modes or {}, by)
        trigger = {"type": "process", "source": f"user:{id_of(by)}", "initiator": initiator or id_of(by)}
        if start_event is not None:
            trigger["start_event"] = _start_event(net, start_event)
        start = self.door.start if self.door.drives else self.door.hand_in
        try:
            return await start(
                self.door.hash_of(row.net), dict(input or {}), key=key, trigger=trigger, modes=modes or None
            )
        except Refused as refused:
            if not modes or type(refused) is not Refused:
                raise
            raise ProcessUnreadable(why=f"mode_overrides: {refused}") from refused

    def _may_switch(self, row: ReleaseRow, modes: Mapping[str, str], by: Who) -> None:
        """P-X.40, P-X.14: whoever does without somebody's approval could have given it."""
        alone = {activity for activity, mode in modes.items() if mode == AUTONOMOUS}
        for activity in msgspec.json.decode(row.document).get("activities") or () if alone else ():
            if activity.get("id") in alone and activity.get("agent_mode") == SUPERVISED:
                self._approves((activity.get("orchestration") or {}).get("approvers"), by)

    async def terminate(self, id: str) -> None:
        row = run_of(self.door, id)
        try:
            await self.door.cancel(row.id)
        except StatusConflict as refused:
            raise self._ended(row, "terminate") from refused

    async def compensate(self, id: str) -> None:
        """P-X.20: undo what was done, or go on with what could not be undone."""
        row = run_of(self.door, id)
        try:
            await self.door.compensate(row.id)
        except Refused as refused:
            why = f"Cannot compensate instance {row.id}: {refused.facts.get('why') or refused}"
            raise ProcessState(why=why, status=status_of(run_of(self.door, id))) from refused

    def _ended(self, row: RunRow, verb: str) -> ProcessState:
        status = status_of(run_of(self.door, row.id))
        return ProcessState(why=f"Cannot {verb} instance in {status} status", status=status)

    # -- work items ----------------------------------------------------------------------------------------------------

    async def start(self, id: str, *, by: Who, version: int | None = None) -> None:
        """P-X.13: whoever begins has it."""
        await self._act(lambda: self._mine(id, by, version), "start", by, version)

    async def submit(self, id: str, result: Any = None, *, by: Who, version: int | None = None) -> list[str]:
        """P-3.2.3: the elements that come next. All of it is one commit, or nothing is."""

        def mine() -> LocatedItem:
            located = self._mine(id, by, version, verb="submit")
            if located.row.status == "IN_PROGRESS" and located.row.mode == "MANUAL":
                if (other := located.row.assignee) not in (None, id_of(by)):
                    raise ProcessState(why=f"{other} is on it; take it over first", status=located.row.status)
            check_result(located.prompt, result, located.id)
            return located

        return self.next_nodes(await self._act(mine, "submit", by, version, {} if result is None else result))

    async def approve(
        self, id: str, *, by: Who, comment: str | None = None, overrides: Mapping[str, Any] | None = None,
        version: int | None = None,
    ) -> list[str]:  # fmt: skip
        """P-X.14: the draft is the result, with what the approver has changed."""

        def approvable() -> LocatedItem:
            located = self._approvable(id, by, version)
            if overrides:
                check_result(located.prompt, dict(overrides), located.id, whole=False)
            return located

        changed = dict(overrides) if overrides else None
        return self.next_nodes(await self._act(approvable, "approve", by, version, changed, comment))

    async def reject(self, id: str, *, by: Who, comment: str, version: int | None = None) -> None:
        """P-X.14: REWORK, then TODO; the draft and the comment stay readable."""
        await self._act(lambda: self._approvable(id, by, version), "reject", by, version, None, comment)

    async def rework(self, id: str, *, by: Who, comment: str | None = None, version: int | None = None) -> None:
        """P-X.15: also of finished work, while nobody has begun with what came of it."""
        await self._act(lambda: self._approvable(id, by, version), "rework", by, version, None, comment)

    async def take_over(self, id: str, *, by: Who, comment: str | None = None, version: int | None = None) -> None:
        """P-X.40: the agent is stopped, and the person has it."""
        await self._act(lambda: self._mine(id, by, version), "take_over", by, version, None, comment)

    async def set_mode(self, id: str, mode: str, *, by: Who, version: int | None = None) -> None:
        """P-X.40. Where the definition wants somebody to approve, nobody else can do without it."""

        def switchable() -> LocatedItem:
            located = self._mine(id, by, version)
            if mode == AUTONOMOUS and located.prompt.get("agent_mode") == SUPERVISED:
                self._approves(located.prompt.get("approvers"), by)
            return located

        await self._act(switchable, "set_mode", by, version, mode)

    async def delegate(
        self, id: str, to: str, *, by: Who, comment: str | None = None, version: int | None = None
    ) -> None:
        """Somebody else may do it, and is the assignee where it is one person. Raises TargetNotFound."""

        def mine() -> LocatedItem:
            located = self._mine(id, by, version)
            work = located.net.nodes[located.row.node].spec.work
            calls = work is not None and work.alone
            _allowed(located.row.status, "delegate", ("TODO",) if calls else OPEN)
            return located

        located = mine()
        Comments(self.door).delegate(located.item, by, to, comment)
        if located.row.status != "SUBMITTED":
            await self._act(mine, "reassign", by, version, target_of(to), comment)

    def comment(self, id: str, text: str, *, by: Who) -> None:
        located = self.find(id)
        _allowed(located.row.status, "comment", OPEN)
        Comments(self.door).comment(located.item, by, text)

    def next_nodes(self, located: LocatedItem) -> list[str]:
        """P-3.2.10: what was reached in the commit in which the item was done, gateways looked through."""
        for turn in self.door.store.journal(located.run.no, located.row.version):
            facts = F.decode_facts(turn.body)
            for i, f in enumerate(facts):
                if f[0] == F.WORK_MOVED and f[1] == located.row.firing and f[2] == "DONE":
                    return _reached(located, facts[i + 1 :])
        return []

    # -- who and whether -----------------------------------------------------------------------------------------------

    def _seen(self, id: str, version: int | None) -> LocatedItem:
        located = self.find(id)
        if version is not None and version != located.row.version:
            raise _changed(located, located.row.version, version)
        return located

    def _mine(self, id: str, by: Who, version: int | None, *, verb: str = "") -> LocatedItem:
        """P-X.13: those whom it is for; where it is for nobody in particular, anybody of the tenant who may work."""
        located = self._seen(id, version)
        if verb:
            _allowed(located.row.status, verb, [s for s in WORK_ITEM.sources(verb) if s in OPEN])
        if located.row.status in OPEN:
            check_eligible(self.door, self._waiting(located), by)
        return located

    def _approvable(self, id: str, by: Who, version: int | None) -> LocatedItem:
        """P-X.14: not the agent that has done it, and of those whom the activity names, where it names some, or to whom
        one of them has passed it on."""
        located, user = self._seen(id, version), id_of(by)
        if user in (located.prompt.get("agent"), "agent"):
            raise ProcessScope(why=f"{user} has done it, and cannot decide about it")
        named = located.prompt.get("approvers") or ()
        remarks = Comments(self.door).about(self._waiting(located))
        self._approves([*named, *(to for to, of in remarks.standing if of in named)], by)
        return located

    def _approves(self, named: Any, by: Who) -> None:
        user = id_of(by)
        allowed = getattr(by, "permissions", None)  # whoever works on the store itself has none, and may
        if inactive(self.door, user) or allowed is not None and "process.approve" not in allowed:
            raise ProcessScope(why=f"{user} may not approve")
        if named and not may_act({"targets": named}, user, known_of(self.door, by)):
            raise ProcessScope(why=f"{user} is none of its approvers")

    def _waiting(self, located: LocatedItem) -> InboxItem:
        row, asked = located.row, asked_of(located.row)
        return InboxItem(
            id=located.item, run=row.run_id, node=located.node, kind="work",
            title=str(located.prompt.get("title") or ""),
            firing=row.firing, document=located.net.net.name, status=row.status, opened_at=row.opened_at,
            candidates=None if asked is None else _unpack(asked),
        )  # fmt: skip

    async def _act(
        self, look: Callable[[], LocatedItem], verb: str, by: Who, version: int | None, data: Any = None,
        comment: str | None = None,
    ) -> LocatedItem:  # fmt: skip
        """`look` finds the item and refuses what may not be. What it has seen is what is decided on: where somebody was
        faster it looks again, unless the caller has said which version they mean."""
        tries = _TRIES
        while True:
            located, tries = look(), tries - 1
            try:
                await self._send(located, verb, id_of(by), data, comment)
                return located
            except ProcessChanged:
                if version is not None or not tries:
                    raise
            except ProcessState:
                now = self.find(located.id).row.version
                if version is not None and version != now:
                    raise _changed(located, now, version) from None
                raise

    async def _send(self, located: LocatedItem, verb: str, by: str, data: Any, comment: str | None) -> None:
        asked = C.work(located.row.firing, verb, by, data, comment, located.row.version)
        try:
            await self.door.command(located.run.id, asked)
        except ProcessChanged:
            raise
        except NoBranch as refused:
            raise ProcessBranch(node=refused.facts.get("node") or located.node) from refused
        except StatusConflict as refused:
            status = self.find(located.id).row.status
            if refused.facts.get("what") == "run":
                raise self._ended(located.run, verb) from refused
            raise _cannot(verb, status) from refused
        except NodeNotFound as refused:
            raise _cannot(verb, located.row.status) from refused
        except Refused as refused:
            raise ProcessState(why=str(refused), status=located.row.status) from refused


def run_of(door: Queries, id: str) -> RunRow:
    """An instance by its whole id. A run of another language is none."""
    try:
        row = door.row(id)
    except (RunNotFound, RunAmbiguous):
        raise ProcessNotFound(what="process instance", name=id) from None
    if row.id != id or not of_process(door, id):
        raise ProcessNotFound(what="process instance", name=id)
    return row


def of_process(door: Queries, run: str) -> bool:
    return door.net_of(door.hash_of(door.row(run).net)).net.language == "process"


def folded(door: Queries, row: RunRow) -> Instance:
    """To be read, and not to be changed: long ones are kept, and whoever asks again pays for what is new."""
    kept = _folded.setdefault(door.store, OrderedDict())
    made = kept.pop(row.id, None) or Instance(door.net_of, Blobs(door.store).of(row.tenant))
    for turn in door.store.journal(row.no, made.st.n):
        made.turn(turn.at, turn.seq_from, F.decode_facts(turn.body))
    if made.net is None:  # its first turn is still to come
        made.net, made.st.run = door.net_of(door.hash_of(row.net)), row.id
    if made.st.n >= _LONG:
        kept[row.id] = made
        if len(kept) > _KEPT:
            kept.popitem(last=False)
    return made


async def fold_ahead(door: Queries, run: str) -> None:
    """A long instance is folded in slices before it is worked with, and kept."""
    row = run_of(door, run.partition("~")[0])
    kept = _folded.setdefault(door.store, OrderedDict())
    made = kept.get(row.id)
    if door.store.facts_of(row.no) - (made.st.n if made is not None else 0) <= LOOP_FACTS:
        return
    ahead = made or Instance(door.net_of, Blobs(door.store).of(row.tenant))

    def take(turn: JournalRow) -> None:
        if turn.seq_from == ahead.st.n + 1:  # else somebody who could not wait has been here
            ahead.turn(turn.at, turn.seq_from, F.decode_facts(turn.body))

    await door.fold_in_slices(door.store.journal(row.no, ahead.st.n), take)
    kept[row.id] = ahead
    if len(kept) > _KEPT:
        kept.popitem(last=False)


def status_of(row: RunRow) -> str:
    """P-X.30: how an instance stands, without a look at its facts."""
    return words.RUN[STATUS[row.status]]


def instance_body(row: RunRow, instance: Instance) -> dict[str, Any]:
    """An instance as people ask for it: how it stands, its work items, its history, and what was undone."""
    assert instance.net is not None
    st, failure = instance.st, instance.failure
    return {
        "id": row.id, "proc_def_id": instance.net.net.name, "proc_def_version": version_of(instance.net),
        "tenant_id": row.tenant, "status": instance.status, "compensation_status": instance.compensation_status,
        "initiator_id": initiator(st), "variables": {name: instance.whole(value) for name, value in st.vars.items()},
        "parent_inst_id": row.parent or None,
        "failed_activity_id": instance.failed_activity if failure is not None else None,
        "failure_reason": failure.message or failure.code if failure is not None else None, "version": st.n,
        "started_at": instance.started_at or row.created_at, "completed_at": instance.ended_at,
        "workitems": list(instance.items.values()), "history": instance.history,
        "compensation": {
            "status": instance.compensation_status, "steps": instance.steps(),
            "results": instance.compensation_results(),
        },
        "compensation_steps": instance.compensation_results(),
    }  # fmt: skip


def _start_event(net: Net, id: str) -> str:
    known = net.declares.policies.get("process", {}).get("starts", ())
    if id not in known:
        ways = f"it begins with {', '.join(known)}" if known else "it begins in one way"
        raise ProcessUnreadable(why=f"start_event: «{id}» does not begin this process; {ways}")
    return id


def version_of(net: Compiled) -> int:
    return int(net.net.declares.version or 1)


def _changed(located: LocatedItem, now: int, given: int) -> ProcessChanged:
    return ProcessChanged(what=f"Work item {located.id}", version=now, given=given)


def _allowed(status: str, verb: str, allowed: Iterable[str]) -> None:
    if status not in allowed:
        raise _cannot(verb, status)


def _cannot(verb: str, status: str) -> ProcessState:
    """P-3.2.4, word for word."""
    return ProcessState(why=f"Cannot {verb.replace('_', ' ')} workitem in {status} status", status=status)


def _reached(located: LocatedItem, facts: list[Any]) -> list[str]:
    reached: dict[str, None] = {}
    for f in facts:
        if f[0] == F.WORK_MOVED and f[2] == "DONE" and f[1] != located.row.firing:
            break  # somebody else's, in the same commit
        if f[0] in _FIRED:
            node = located.net.nodes[f[2]]
            name = author(node)
            if node.spec.kind not in _PASSED_BY and not name.startswith(".") and not (f[0] == F.FIRED and f[9] >= 0):
                reached[name] = None
    return list(reached)
