"""Proposals to raise or lower an agent's mode: made and withdrawn by the evidence, accepted or dismissed by people.

Nothing here changes a definition but `accept`, which saves its next version as every other author does. Of an activity
the cases count that were done by the versions in which it is as it is now: the same agent, mode and instruction.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from penstock.app.access.audit import AuditLog
from penstock.app.access.candidates import Who, id_of
from penstock.app.process.autonomy.assessment import MANUAL, Assessment, advised, assessed, direction
from penstock.app.process.autonomy.collection import collect, every_turn
from penstock.app.process.autonomy.rules import AutonomyRules, rules_of
from penstock.app.process.definitions import Processes, approval_of, in_force
from penstock.app.process.version_writer import PENDING, Defined, origin_of
from penstock.errors import ProcessChanged, ProcessNotFound, ProcessState, ProcessUnreadable
from penstock.lifecycle.autonomy_proposal import AUTONOMY_PROPOSAL as LIFE
from penstock.store.autonomy import AutonomyCaseRow, AutonomyProposalRow
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

#: who has proposed and withdrawn, in the audit
ACTOR = "autonomy"
_TRIES = 5
_SAME = ("agent", "agent_mode", "instruction")


class Proposal(msgspec.Struct, frozen=True):
    row: AutonomyProposalRow
    found: Assessment

    @property
    def direction(self) -> str:
        return direction(self.row.mode, self.row.proposed)


class Evaluation(msgspec.Struct, frozen=True):
    """What one evaluation has come to: runs that were read, and ids of proposals."""

    runs: int = 0
    proposed: list[str] = []
    withdrawn: list[str] = []
    accepted: list[str] = []


class AgentActivity(msgspec.Struct, frozen=True):
    """An activity of the version in force that has an agent; `versions`: those in which it is as it is now."""

    row: ReleaseRow
    raw: dict[str, Any]
    versions: frozenset[int]

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def name(self) -> str:
        return str(self.raw.get("name") or self.id)

    @property
    def agent(self) -> str:
        return str(self.raw.get("agent") or "")

    @property
    def mode(self) -> str:
        return str(self.raw.get("agent_mode") or MANUAL)


class Autonomy:
    """Of one door's tenant."""

    def __init__(self, door: Runs) -> None:
        self.door, self.store = door, door.store
        self.audit = AuditLog(door.store)

    # -- looking -------------------------------------------------------------------------------------------------------

    def each(self, *, process: str | None = None, status: str | None = None) -> list[Proposal]:
        """Newest first."""
        rows = self.store.autonomy_proposals(self.door.tenant, process=process, status=status)
        return [_proposal(row) for row in rows]

    def get(self, id: str) -> Proposal:
        row = self.store.autonomy_proposal(self.door.tenant, id)
        if row is None:
            raise ProcessNotFound(what="proposal of a mode", name=id)
        return _proposal(row)

    # -- evaluating ----------------------------------------------------------------------------------------------------

    async def evaluate(self) -> Evaluation:
        """Reads what has changed, proposes, and withdraws. The same again changes nothing. Raises BadInput for settings
        that cannot be used."""
        rules = rules_of(self.door)
        if not rules.enabled:
            return Evaluation()
        turn = every_turn()
        done = Evaluation(await collect(self.door, turn))
        by_name: dict[str, list[ReleaseRow]] = {}
        for row in self.store.releases(self.door.tenant, kind="*"):
            by_name.setdefault(row.name, []).append(row)
        opened = {(p.row.process, p.row.activity): p for p in self.each(status="open")}
        for rows in by_name.values():
            for activity in activities_of(rows):
                key = (activity.row.name, activity.id)
                self._evaluate(activity, rows, rules, opened.pop(key, None), done)
                await anext(turn)
        for gone in opened.values():
            self._withdraw(gone, "the activity has no agent any more", done)
        return done

    def _evaluate(
        self, activity: AgentActivity, rows: list[ReleaseRow], rules: AutonomyRules, there: Proposal | None,
        done: Evaluation,
    ) -> None:  # fmt: skip
        found = assessed(self._cases(activity), activity.mode, rules)
        proposed, why = advised(activity.mode, found, rules)
        if there is not None and (there.row.mode, there.row.agent) != (activity.mode, activity.agent):
            made = next((row for row in rows if origin_of(row).get("proposal") == there.row.id), None)
            if made is not None:  # whoever has accepted it was stopped before they could say so
                if self._end(there, "accept", by=made.created_by, made=made.version):
                    done.accepted.append(there.row.id)
            else:
                self._withdraw(there, "its mode or its agent is another by now", done)
            there = None
        if there is not None and there.row.proposed != proposed:
            self._withdraw(there, why, done)
            there = None
        if proposed is None or rows[-1].status == PENDING:  # what somebody has to approve first may be this
            return
        if there is None:
            self._propose(activity, proposed, found, rules, why, done)
        elif (body := msgspec.msgpack.encode(found)) != there.row.body:
            self.store.put_autonomy_proposal(
                replace(there.row, body=body, version=activity.row.version, number=there.row.number + 1),
                there.row.number,
            )

    def _cases(self, activity: AgentActivity) -> list[AutonomyCaseRow]:
        rows = self.store.autonomy_cases(self.door.tenant, activity.row.name, activity.id, activity.agent)
        return [row for row in rows if row.version in activity.versions]

    def _propose(
        self, activity: AgentActivity, proposed: str, found: Assessment, rules: AutonomyRules, why: str,
        done: Evaluation,
    ) -> None:  # fmt: skip
        before = [p for p in self.each(process=activity.row.name) if p.row.activity == activity.id]
        last = before[0] if before else None
        if last is not None and last.row.status in ("dismissed", "accepted") and _as_before(last, activity, proposed):
            if found.total < last.found.total + rules.min_cases:  # nobody is asked again about the same cases
                return
        id = str(uuid.uuid5(
            uuid.NAMESPACE_URL,
            f"penstock:{self.door.tenant}/autonomy/{activity.row.name}/{activity.id}/{len(before)}",
        ))  # fmt: skip
        row = AutonomyProposalRow(
            self.door.tenant, id, activity.row.name, activity.row.version, activity.id, activity.name, activity.agent,
            activity.mode, proposed, LIFE.initial, 1, msgspec.msgpack.encode(found), self.door.now(),
        )  # fmt: skip
        entry = self.audit.row(self.door.tenant, ACTOR, "autonomy.propose", f"autonomy:{id}", _said(row, found, why))
        if self.store.put_autonomy_proposal(row, None, [entry]):
            done.proposed.append(id)

    def _withdraw(self, there: Proposal, why: str, done: Evaluation) -> None:
        if self._end(there, "withdraw", reason=why):
            done.withdrawn.append(there.row.id)

    # -- deciding ------------------------------------------------------------------------------------------------------

    async def accept(self, id: str, *, by: Who) -> tuple[Proposal, Defined]:
        """Saves the next version of the definition with the proposed mode, by the way of every other author: where
        four eyes are asked for it waits for the second pair. Raises ProcessState where it is not open, or the
        definition is another by now."""
        there = self._open(id, "accept")
        held = Processes(self.door)
        rows = held.versions(there.row.process)
        row, last = in_force(rows), rows[-1]
        if last.version > row.version and last.status in (PENDING, "approved"):
            why = f"Version {last.version} of «{row.name}» waits to come in force: decide about that first"
            raise ProcessState(why=why, status=approval_of(last))
        document = _changed(row, there.row)
        origin = {"source": ACTOR, "proposal": id, "activity": there.row.activity, "mode": there.row.proposed}
        saved = await held.define(document, by=by, into=row.name, origin=origin)
        if approval_of(saved.release) == "rejected":
            why = f"Version {saved.release.version} with this change was rejected: dismiss the proposal"
            raise ProcessState(why=why, status="rejected")
        self._end(there, "accept", by=id_of(by), made=saved.release.version)
        return self.get(id), saved

    def dismiss(self, id: str, *, by: Who, reason: str) -> Proposal:
        """Kept, with the reason. It is not proposed again before as many cases more as the rules ask for."""
        if not reason.strip():
            raise ProcessUnreadable(why="Say why it is dismissed.")
        for _ in range(_TRIES):
            if self._end(self._open(id, "dismiss"), "dismiss", by=id_of(by), reason=reason):
                return self.get(id)
        raise ProcessChanged(what=f"Proposal {id}", version=self.get(id).row.number, given="the one you have seen")

    def _open(self, id: str, verb: str) -> Proposal:
        there = self.get(id)
        if not LIFE.allows(there.row.status, verb):
            why = f"Cannot {verb} a proposal in {there.row.status} status"
            raise ProcessState(why=why, status=there.row.status)
        return there

    def _end(
        self, there: Proposal, verb: str, *, by: str | None = None, reason: str | None = None, made: int | None = None
    ) -> bool:
        """With its audit entry, in one commit. What the evidence has changed meanwhile does not keep it from ending."""
        for _ in range(_TRIES):
            row = self.get(there.row.id).row
            if not LIFE.allows(row.status, verb):
                return False
            ended = replace(
                row, status=LIFE.next(row.status, verb), number=row.number + 1, ended_at=self.door.now(),
                ended_by=by, reason=reason, made_version=made,
            )  # fmt: skip
            said = _said(ended, _proposal(ended).found, reason)
            entry = self.audit.row(
                self.door.tenant, by or ACTOR, f"autonomy.{verb}", f"autonomy:{row.id}", said
            )  # fmt: skip
            if self.store.put_autonomy_proposal(ended, row.number, [entry]):
                return True
        return False


def activities_of(rows: list[ReleaseRow]) -> Iterable[AgentActivity]:
    """Those of the version in force that have an agent, or a mode in which one works."""
    now = in_force(rows)
    if approval_of(now) != "approved":
        return
    documents = {row.version: _activities(row) for row in rows if row.version <= now.version}
    for id, raw in documents[now.version].items():
        if raw.get("type") != "serviceTask" and not raw.get("agent"):
            continue
        versions, same = set[int](), _as_it_is(raw)
        for version in sorted(documents, reverse=True):
            if _as_it_is(documents[version].get(id)) != same:
                break
            versions.add(version)
        if raw.get("agent") or raw.get("agent_mode", MANUAL) != MANUAL:
            yield AgentActivity(now, raw, frozenset(versions))


def _activities(row: ReleaseRow) -> dict[str, dict[str, Any]]:
    return {str(raw.get("id")): raw for raw in msgspec.json.decode(row.document).get("activities") or ()}


def _as_it_is(raw: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    return None if raw is None else tuple(raw.get(name) or (MANUAL if name == "agent_mode" else "") for name in _SAME)


def _changed(row: ReleaseRow, asked: AutonomyProposalRow) -> dict[str, Any]:
    """The definition in force with the proposed mode, and nothing else."""
    document: dict[str, Any] = msgspec.json.decode(row.document)
    for raw in document.get("activities") or ():
        same = raw.get("id") == asked.activity and str(raw.get("agent") or "") == asked.agent
        if same and str(raw.get("agent_mode") or MANUAL) == asked.mode:
            raw["agent_mode"] = asked.proposed
            return document
    why = f"«{asked.name}» of «{row.name}» has another agent or another mode by now"
    raise ProcessState(why=why, status=approval_of(row))


def _as_before(last: Proposal, activity: AgentActivity, proposed: str) -> bool:
    return (last.row.mode, last.row.proposed, last.row.agent) == (activity.mode, proposed, activity.agent)


def _proposal(row: AutonomyProposalRow) -> Proposal:
    return Proposal(row, msgspec.msgpack.decode(row.body, type=Assessment))


def _said(row: AutonomyProposalRow, found: Assessment, why: str | None) -> dict[str, Any]:
    """What the audit keeps of it."""
    return {
        "process": row.process, "version": row.version, "activity": row.activity, "agent": row.agent,
        "mode": row.mode, "proposed": row.proposed, "why": why, "decided": found.decided,
        "unchanged": found.unchanged, "lower": found.lower, "upper": found.upper, "target": found.target,
        "made_version": row.made_version,
    }  # fmt: skip
