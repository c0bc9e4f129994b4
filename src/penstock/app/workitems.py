"""Process instances and their work items: begun, looked at, and moved on by people (P-3.2, P-4, P-X.13..15, P-X.40)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.answers import fitting
from penstock.app.inbox import Waiting
from penstock.app.people import Who, id_of, may_act
from penstock.app.processes import Processes
from penstock.app.remarks import Remark, Remarks, eligible
from penstock.app.roles import inactive, known_of
from penstock.errors import (
    NoBranch,
    NodeNotFound,
    ProcessBranch,
    ProcessChanged,
    ProcessNotFound,
    ProcessScope,
    ProcessState,
    Refused,
    RunAmbiguous,
    RunNotFound,
    StatusConflict,
)
from penstock.host.blobs import Blobs
from penstock.host.instance import Instance, Passage, WorkItem
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.lang.process import words
from penstock.lifecycle.work_item import WORK_ITEM
from penstock.net.author import author
from penstock.net.compiled import Compiled
from penstock.store.contract import RunRow
from penstock.store.contract_lists import WorkRow

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock
    from penstock.app.queries import Queries

OPEN = ("TODO", "IN_PROGRESS", "SUBMITTED", "REWORK")
_PASSED_BY = ("route", "start", "end", "undo")
_FIRED = (F.FIRED, F.FIRED_VIA, F.PASSED)
_unpack = msgspec.msgpack.decode


class Found(msgspec.Struct, frozen=True):
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

    def __init__(self, door: Penstock) -> None:
        self.door = door

    # -- looking -------------------------------------------------------------------------------------------------------

    def run(self, id: str) -> RunRow:
        return run_of(self.door, id)

    def instance(self, id: str) -> tuple[RunRow, Instance]:
        row = run_of(self.door, id)
        return row, folded(self.door, row)

    def find(self, id: str) -> Found:
        run, _, firing = id.rpartition("~")
        try:
            row = run_of(self.door, run)
        except ProcessNotFound:
            raise ProcessNotFound(what="work item", name=id) from None
        number = int(firing) if firing.isdecimal() and len(firing) < 10 else -1
        found = next((one for one in self.door.store.work_of(row.no) if one.firing == number), None)
        if found is None:
            raise ProcessNotFound(what="work item", name=id)
        net = self.door.net_of(self.door.hash_of(row.net))
        prompt = _unpack(found.prompt)
        return Found(row, found, net, prompt if isinstance(prompt, dict) else {})

    def get(self, id: str) -> tuple[WorkItem, list[Remark], list[Passage]]:
        """Whole, with what was said about it, and its history."""
        found = self.find(id)
        whole = folded(self.door, found.run)
        said = Remarks(self.door).of(f"{found.row.run_id}/{found.node}", found.row.firing, only=True).comments
        return whole.items[found.row.firing], said, [one for one in whole.history if one.workitem_id == found.id]

    def each(
        self, *, status: Iterable[str] = (), assignee: str | None = None, after: tuple[int, int] = (0, 0),
        limit: int = 50,
    ) -> list[WorkRow]:  # fmt: skip
        """In the order in which their instances began. Nothing is folded."""
        wanted = list(dict.fromkeys(status)) or list(words.ITEMS)
        return self.door.store.work_items(self.door.tenant, wanted, assignee=assignee, after=after, limit=limit)

    # -- beginning and ending ------------------------------------------------------------------------------------------

    async def initiate(
        self, id: str, *, by: str, initiator: str | None = None, input: Mapping[str, Any] | None = None,
        modes: Mapping[str, str] | None = None, version: int | None = None, key: str | None = None,
    ) -> str:  # fmt: skip
        """P-3.2.1: the instance's id, when its first work items are there."""
        row = Processes(self.door).startable(id, version)
        trigger = {"type": "process", "source": f"user:{by}", "initiator": initiator or by}
        start = self.door.start if self.door.drives else self.door.hand_in
        return await start(
            self.door.hash_of(row.net), dict(input or {}), key=key, trigger=trigger, modes=modes or None
        )  # fmt: skip

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
            raise ProcessState(why=why, status=words.RUN[self.door.look(row.id).internal_status]) from refused

    def _ended(self, row: RunRow, verb: str) -> ProcessState:
        status = folded(self.door, row).status
        return ProcessState(why=f"Cannot {verb} instance in {status} status", status=status)

    # -- work items ----------------------------------------------------------------------------------------------------

    async def start(self, id: str, *, by: Who, version: int | None = None) -> None:
        """P-X.13: whoever begins has it."""
        await self._act(self._mine(id, by, version), "start", id_of(by))

    async def submit(self, id: str, result: Any = None, *, by: Who, version: int | None = None) -> list[str]:
        """P-3.2.3: the elements that come next. All of it is one commit, or nothing is."""
        found = self._mine(id, by, version, verb="submit")
        if found.row.status == "IN_PROGRESS" and found.row.mode == "MANUAL":
            if found.row.assignee not in (None, id_of(by)):
                raise ProcessState(why=f"{found.row.assignee} is on it; take it over first", status=found.row.status)
        fitting(found.prompt, result, found.id)
        await self._act(found, "submit", id_of(by), {} if result is None else result)
        return self.next_nodes(found)

    async def approve(
        self, id: str, *, by: Who, comment: str | None = None, overrides: Mapping[str, Any] | None = None,
        version: int | None = None,
    ) -> list[str]:  # fmt: skip
        """P-X.14: the draft is the result, with what the approver has changed."""
        found = self._approvable(id, by, version)
        if overrides:
            fitting(found.prompt, dict(overrides), found.id, whole=False)
        await self._act(found, "approve", id_of(by), dict(overrides) if overrides else None, comment)
        return self.next_nodes(found)

    async def reject(self, id: str, *, by: Who, comment: str, version: int | None = None) -> None:
        """P-X.14: REWORK, then TODO; the draft and the comment stay readable."""
        await self._act(self._approvable(id, by, version), "reject", id_of(by), None, comment)

    async def rework(self, id: str, *, by: Who, comment: str | None = None, version: int | None = None) -> None:
        """P-X.15: also of finished work, while nobody has begun with what came of it."""
        await self._act(self._approvable(id, by, version), "rework", id_of(by), None, comment)

    async def take_over(self, id: str, *, by: Who, comment: str | None = None, version: int | None = None) -> None:
        """P-X.40: the agent is stopped, and the person has it."""
        await self._act(self._mine(id, by, version), "take_over", id_of(by), None, comment)

    async def set_mode(self, id: str, mode: str, *, by: Who, version: int | None = None) -> None:
        await self._act(self._mine(id, by, version), "set_mode", id_of(by), mode)

    async def delegate(self, id: str, to: str, *, by: Who, comment: str | None = None) -> None:
        """Somebody else may do it, and is the assignee where it is one person. Raises TargetNotFound."""
        found = self._mine(id, by, None)
        _allowed(found.row.status, "delegate", OPEN)
        said = Remarks(self.door).delegate(found.item, by, to, comment)
        if found.row.status != "SUBMITTED":
            await self._act(found, "reassign", id_of(by), said.delegated[-1], comment)

    def comment(self, id: str, text: str, *, by: Who) -> None:
        found = self.find(id)
        _allowed(found.row.status, "comment", OPEN)
        Remarks(self.door).comment(found.item, by, text)

    def next_nodes(self, found: Found) -> list[str]:
        """P-3.2.10: what was reached in the commit in which the item was done, gateways looked through."""
        for turn in self.door.store.journal(found.run.no, found.row.version):
            facts = F.decode_facts(turn.body)
            for i, f in enumerate(facts):
                if f[0] == F.WORK_MOVED and f[1] == found.row.firing and f[2] == "DONE":
                    return _reached(found, facts[i + 1 :])
        return []

    # -- who and whether -----------------------------------------------------------------------------------------------

    def _seen(self, id: str, version: int | None) -> Found:
        found = self.find(id)
        if version is not None and version != found.row.version:
            raise ProcessChanged(what=f"Work item {found.id}", version=found.row.version, given=version)
        return found

    def _mine(self, id: str, by: Who, version: int | None, *, verb: str = "") -> Found:
        """P-X.13: those whom it is for; where it is for nobody in particular, anybody of the tenant who may work."""
        found = self._seen(id, version)
        if verb:
            _allowed(found.row.status, verb, [s for s in WORK_ITEM.sources(verb) if s in OPEN])
        if found.row.status in OPEN:
            eligible(self.door, self._waiting(found), by)
        return found

    def _approvable(self, id: str, by: Who, version: int | None) -> Found:
        """P-X.14: not the agent that has done it, and of those whom the activity names, where it names some."""
        found, user = self._seen(id, version), id_of(by)
        if inactive(self.door, user) or user in (found.prompt.get("agent"), "agent"):
            raise ProcessScope(why=f"{user} has done it, and cannot decide about it")
        named = found.prompt.get("approvers")
        if named and not may_act({"targets": named}, user, known_of(self.door, by)):
            raise ProcessScope(why=f"{user} is none of its approvers")
        return found

    def _waiting(self, found: Found) -> Waiting:
        row = found.row
        return Waiting(
            id=found.item, run=row.run_id, node=found.node, kind="work", title=str(found.prompt.get("title") or ""),
            firing=row.firing, document=found.net.net.name, status=row.status, opened_at=row.opened_at,
            candidates=None if row.candidates is None else _unpack(row.candidates),
        )  # fmt: skip

    async def _act(
        self, found: Found, verb: str, by: str, data: Any = None, comment: str | None = None
    ) -> None:  # fmt: skip
        try:
            await self.door.command(found.run.id, C.work(found.row.firing, verb, by, data, comment))
        except NoBranch as refused:
            raise ProcessBranch(node=refused.facts.get("node") or found.node) from refused
        except StatusConflict as refused:
            status = self.find(found.id).row.status
            if refused.facts.get("what") == "run":
                raise self._ended(found.run, verb) from refused
            raise _cannot(verb, status) from refused
        except NodeNotFound as refused:
            raise _cannot(verb, found.row.status) from refused
        except Refused as refused:
            raise ProcessState(why=str(refused), status=found.row.status) from refused


def run_of(door: Queries, id: str) -> RunRow:
    """An instance by its whole id. A run of another language is none."""
    try:
        row = door.row(id)
    except (RunNotFound, RunAmbiguous):
        raise ProcessNotFound(what="process instance", name=id) from None
    if row.id != id or door.net_of(door.hash_of(row.net)).net.language != "process":
        raise ProcessNotFound(what="process instance", name=id)
    return row


def folded(door: Queries, row: RunRow) -> Instance:
    made = Instance(door.net_of, Blobs(door.store).of(row.tenant))
    for turn in door.store.journal(row.no):
        made.turn(turn.at, turn.seq_from, F.decode_facts(turn.body))
    if made.net is None:  # its first turn is still to come
        made.net, made.st.run = door.net_of(door.hash_of(row.net)), row.id
    return made


def _allowed(status: str, verb: str, allowed: Iterable[str]) -> None:
    if status not in allowed:
        raise _cannot(verb, status)


def _cannot(verb: str, status: str) -> ProcessState:
    """P-3.2.4, word for word."""
    return ProcessState(why=f"Cannot {verb.replace('_', ' ')} workitem in {status} status", status=status)


def _reached(found: Found, facts: list[Any]) -> list[str]:
    reached: dict[str, None] = {}
    for f in facts:
        if f[0] == F.WORK_MOVED and f[2] == "DONE" and f[1] != found.row.firing:
            break  # somebody else's, in the same commit
        if f[0] in _FIRED:
            node = found.net.nodes[f[2]]
            name = author(node)
            if node.spec.kind not in _PASSED_BY and not name.startswith(".") and not (f[0] == F.FIRED and f[9] >= 0):
                reached[name] = None
    return list(reached)
