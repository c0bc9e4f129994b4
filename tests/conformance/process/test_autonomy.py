"""Learned autonomy through real runs: a stub agent drafts, people decide, and proposals follow them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.process.autonomy.proposals import Autonomy, Evaluation, Proposal
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems
from penstock.errors import BadInput, ProcessNotFound, ProcessState, ProcessUnreadable
from tests.conformance.process.make import process, service, task
from tests.conformance.process.running import Office, awaited

#: 14 good ones without a bad one show 70 % whenever somebody looks; six bad ones in a row are an alarm
RULES = {"raise_at": 0.7, "draft_at": 0.6, "draft_floor": 0.4, "min_cases": 10, "alarm_every": 100}
CLAIM = process([service("A", "SUPERVISED", agent="bot", name="심사"), task("B")], ["A>B"])


class Desk:
    """A tenant whose agent drafts, and whose people decide about what it drafts."""

    def __init__(self, office: Office, tenant: str = "", rules: Mapping[str, Any] = RULES) -> None:
        self.office = office
        self.p = office.p.of(tenant) if tenant else office.p
        self.p.load_sample()  # else it would come with the first definition, and its settings with it
        self.p.register("config", "tenant", {"autonomy": dict(rules)})
        self.autonomy, self.items, self.held = Autonomy(self.p), WorkItems(self.p), Processes(self.p)

    async def define(self, document: dict[str, Any] = CLAIM) -> None:
        await self.held.define(document, by="kim")

    async def begin(self, mode: str | None = None) -> str:
        run = await self.items.initiate("p", by="lee", modes={"A": mode} if mode else None)
        await self.p.wait(run, until_waiting=True, timeout=60)
        return run

    def item(self, run: str, activity: str) -> str:
        _, instance = self.items.instance(run)
        return next(item.id for item in reversed(instance.items.values()) if item.activity_id == activity)

    async def case(self, outcome: str = "approve", mode: str | None = None) -> str:
        """A run in which the agent's draft was approved, corrected or rejected (and approved then)."""
        run = await self.begin(mode)
        item = self.item(run, "A")
        if outcome == "reject":
            await self.items.reject(item, by="lee", comment="no")
            await self.p.wait(run, until_waiting=True, timeout=60)
        overrides = {"sum": 2} if outcome == "correct" else {"sum": 1} if outcome == "same" else None
        await self.items.approve(item, by="lee", overrides=overrides)
        await self.items.submit(self.item(run, "B"), {}, by="lee")
        await self.p.wait(run, timeout=60)
        return run

    async def alone(self) -> str:
        """A run in which the agent works alone, and nobody finds fault with it."""
        run = await self.begin()
        await self.items.submit(self.item(run, "B"), {}, by="lee")
        await self.p.wait(run, timeout=60)
        return run

    async def reworked(self) -> str:
        """A run in which somebody sends back what the agent has done alone."""
        run = await self.begin()
        await self.items.rework(self.item(run, "A"), by="lee", comment="wrong")
        await self.p.wait(run, until_waiting=True, timeout=60)
        return run

    def open(self) -> list[Proposal]:
        return self.autonomy.each(status="open")

    def said(self) -> list[tuple[str, str]]:
        """Who did what, the oldest first."""
        rows = self.autonomy.audit.each(self.p.tenant)
        return [(row.actor, row.action) for row in reversed(rows) if row.action.startswith("autonomy.")]


def an_office(folder: Path) -> Office:
    return Office(folder, agents={"A": {"sum": 1}})


@awaited
async def test_what_became_of_a_draft_is_read_out_of_the_history(tmp_path: Path) -> None:
    """P-4.2.2, P-X.14, P-X.40: unchanged, corrected, rejected; the first draft counts, and the time that a mistake has
    cost is measured."""
    async with an_office(tmp_path) as office:
        desk = Desk(office)
        await desk.define()
        runs = [await desk.case(how) for how in ("approve", "same", "correct", "reject")]
        waits = await desk.begin()
        assert await desk.autonomy.evaluate() == Evaluation(runs=5)
        rows = desk.p.store.autonomy_cases(desk.p.tenant, "p", "A", "bot")
        assert {row.item.rpartition("~")[0]: row.outcome for row in rows} == dict(
            zip(runs, ("unchanged", "unchanged", "corrected", "rejected"), strict=True)
        ), "and nobody has decided about the last one yet"
        assert [row.rework_ms is not None for row in rows] == [False, False, False, True]
        await desk.items.rework(desk.item(waits, "A"), by="lee")
        await desk.p.wait(waits, until_waiting=True, timeout=60)
        await desk.autonomy.evaluate()
        rows = desk.p.store.autonomy_cases(desk.p.tenant, "p", "A", "bot")
        assert [row.outcome for row in rows if row.item.startswith(waits)] == ["rejected"]


@awaited
async def test_the_story_from_a_proposal_to_the_next_version_and_back(tmp_path: Path) -> None:
    """P-4.2.1, P-4.2.2, P-X.14, P-X.40: never applied by itself; accepted it is the next version, which new runs use;
    mistakes after that propose to lower the mode again."""
    async with an_office(tmp_path) as office:
        desk = Desk(office)
        await desk.define()
        for _ in range(13):
            await desk.case()
        assert (await desk.autonomy.evaluate()).proposed == []
        await desk.case()
        done = await desk.autonomy.evaluate()
        (raised,) = desk.open()
        assert done.proposed == [raised.row.id] and raised.direction == "raise"
        row, found = raised.row, raised.found
        assert (row.process, row.version, row.activity, row.name, row.agent) == ("p", 1, "A", "심사", "bot")
        assert (row.mode, row.proposed, found.decided, found.unchanged) == ("SUPERVISED", "AUTONOMOUS", 14, 14)
        assert 0.7 <= found.lower < found.once < 1 and found.target == 0.7 and len(found.cases) == 14
        assert found.cost.mistakes == 0 and found.cost.rework_ms is found.cost.amount is None
        for _ in range(3):
            assert await desk.autonomy.evaluate() == Evaluation(runs=14), "the same again changes nothing"
        assert [row.version for row in desk.held.versions("p")] == [1], "nobody has accepted it"
        proposal, saved = await desk.autonomy.accept(row.id, by="kim")
        assert (proposal.row.status, proposal.row.ended_by, proposal.row.made_version) == ("accepted", "kim", 2)
        assert saved.release.version == 2 and desk.held.get("p").version == 2
        activities = msgspec.json.decode(desk.held.get("p").document)["activities"]
        assert [activity.get("agent_mode") for activity in activities] == ["AUTONOMOUS", None]
        with pytest.raises(ProcessState, match="accepted"):
            await desk.autonomy.accept(row.id, by="kim")
        assert (await desk.autonomy.evaluate()).proposed == [], "what was done under supervision is no evidence now"
        for _ in range(3):
            await desk.alone()
        assert (await desk.autonomy.evaluate()).proposed == []
        for _ in range(6):
            await desk.reworked()
        await desk.autonomy.evaluate()
        (lowered,) = desk.open()
        assert (lowered.direction, lowered.row.mode, lowered.row.proposed) == ("lower", "AUTONOMOUS", "SUPERVISED")
        assert lowered.row.version == 2 and lowered.found.cost.mistakes == 6
        assert (lowered.found.decided, lowered.found.unchanged, lowered.found.rejected) == (9, 3, 6)
        assert [case.outcome for case in lowered.found.cases[:6]] == ["rejected"] * 6
        await desk.autonomy.accept(lowered.row.id, by="kim")
        run = await desk.begin()
        assert desk.items.instance(run)[1].items[max(desk.items.instance(run)[1].items)].status == "SUBMITTED"
        assert desk.said() == [
            ("autonomy", "autonomy.propose"), ("kim", "autonomy.accept"),
            ("autonomy", "autonomy.propose"), ("kim", "autonomy.accept"),
        ]  # fmt: skip


@awaited
async def test_a_proposal_is_withdrawn_when_reality_turns(tmp_path: Path) -> None:
    """P-X.40: after planted mistakes it is gone, with an entry in the audit; good cases after that earn another one."""
    async with an_office(tmp_path) as office:
        desk = Desk(office)
        await desk.define()
        for _ in range(14):
            await desk.case()
        await desk.autonomy.evaluate()
        (raised,) = desk.open()
        for how in ("correct", "reject"):
            await desk.case(how)
        done = await desk.autonomy.evaluate()
        assert done.withdrawn == [raised.row.id] and desk.open() == []
        gone = desk.autonomy.get(raised.row.id).row
        assert (gone.status, gone.ended_by) == ("withdrawn", None)
        assert gone.reason == "the lower bound has not reached the target"
        with pytest.raises(ProcessState, match="withdrawn"):
            await desk.autonomy.accept(raised.row.id, by="kim")
        for _ in range(14):
            await desk.case()
        await desk.autonomy.evaluate()
        (again,) = desk.open()
        assert again.row.id != raised.row.id and again.found.cost.mistakes == 2
        assert again.found.cost.reworked == 1 and again.found.cost.rework_ms is not None
        said = [action for _, action in desk.said()]
        assert said == ["autonomy.propose", "autonomy.withdraw", "autonomy.propose"]


@awaited
async def test_dismissed_with_a_reason_and_not_asked_again_about_the_same_cases(tmp_path: Path) -> None:
    """P-X.40: only as many cases later as a proposal needs."""
    async with an_office(tmp_path) as office:
        desk = Desk(office)
        await desk.define()
        for _ in range(14):
            await desk.case()
        await desk.autonomy.evaluate()
        (raised,) = desk.open()
        with pytest.raises(ProcessUnreadable):
            desk.autonomy.dismiss(raised.row.id, by="kim", reason=" ")
        gone = desk.autonomy.dismiss(raised.row.id, by="kim", reason="the auditors want to see each").row
        assert (gone.status, gone.ended_by, gone.reason) == ("dismissed", "kim", "the auditors want to see each")
        for _ in range(9):
            await desk.case()
        assert (await desk.autonomy.evaluate()).proposed == []
        await desk.case()
        assert len((await desk.autonomy.evaluate()).proposed) == 1
        assert desk.said() == [
            ("autonomy", "autonomy.propose"), ("kim", "autonomy.dismiss"), ("autonomy", "autonomy.propose"),
        ]  # fmt: skip


@awaited
async def test_drafts_for_work_that_people_do_speak_for_drafting_all_of_it(tmp_path: Path) -> None:
    """P-X.40: MANUAL to SUPERVISED by what was switched by hand; and useless drafts speak for MANUAL."""
    async with an_office(tmp_path) as office:
        desk = Desk(office)
        await desk.define(process([service("A", "MANUAL", agent="bot"), task("B")], ["A>B"]))
        for _ in range(12):
            await desk.case(mode="SUPERVISED")
        await desk.autonomy.evaluate()
        (raised,) = desk.open()
        assert (raised.row.mode, raised.row.proposed, raised.found.target) == ("MANUAL", "SUPERVISED", 0.6)
        await desk.autonomy.accept(raised.row.id, by="kim")
        for _ in range(20):
            await desk.case("correct")
        await desk.autonomy.evaluate()
        (lowered,) = desk.open()
        assert (lowered.row.mode, lowered.row.proposed, lowered.direction) == ("SUPERVISED", "MANUAL", "lower")


@awaited
async def test_who_takes_over_has_corrected_and_what_was_undone_was_a_mistake(tmp_path: Path) -> None:
    """P-X.40, P-4.1.10: a running agent that is taken over; what an agent did alone, and was compensated."""
    office = Office(tmp_path, agents={"A": "waits"}, tools={"undo": {}})
    async with office:
        desk = Desk(office)
        await desk.define()
        run = await desk.items.initiate("p", by="lee")
        while not office.asked:
            await asyncio.sleep(0.01)
        await desk.items.take_over(desk.item(run, "A"), by="lee")
        await desk.items.submit(desk.item(run, "A"), {"sum": 3}, by="lee")
        office.agents["A"] = {"sum": 1}
        await desk.define(
            process([service("A", agent="bot", compensation="undo"), task("B")], ["A>B"], process_definition_id="q")
        )
        other = await desk.items.initiate("q", by="lee")
        await desk.p.wait(other, until_waiting=True, timeout=60)
        await desk.items.compensate(other)
        await desk.p.wait(other, timeout=60)
        await desk.autonomy.evaluate()
        (taken,) = desk.p.store.autonomy_cases(desk.p.tenant, "p", "A", "bot")
        (undone,) = desk.p.store.autonomy_cases(desk.p.tenant, "q", "A", "bot")
        assert (taken.outcome, taken.mode) == ("corrected", "SUPERVISED") and taken.rework_ms is not None
        assert (undone.outcome, undone.mode, undone.compensated) == ("undone", "AUTONOMOUS", 1)


@awaited
async def test_nobody_sees_or_decides_what_another_tenant_is_proposed(tmp_path: Path) -> None:
    """P-7.5.2: cases, proposals and audit of one tenant only."""
    async with an_office(tmp_path) as office:
        one, other = Desk(office, "one"), Desk(office, "other")
        await one.define()
        await other.define()
        for _ in range(14):
            await one.case()
        await other.autonomy.evaluate()
        await one.autonomy.evaluate()
        (raised,) = one.open()
        assert other.open() == [] and other.said() == []
        with pytest.raises(ProcessNotFound):
            await other.autonomy.accept(raised.row.id, by="kim")
        with pytest.raises(ProcessNotFound):
            other.autonomy.dismiss(raised.row.id, by="kim", reason="not ours")
        assert one.autonomy.get(raised.row.id).row.status == "open"


@awaited
async def test_four_eyes_and_another_version_that_waits(tmp_path: Path) -> None:
    """P-X.23: accepting is not approving: another person does; and nobody's waiting version is pushed away."""
    async with an_office(tmp_path) as office:
        desk = Desk(office)
        await desk.define()
        for _ in range(14):
            await desk.case()
        await desk.autonomy.evaluate()
        (raised,) = desk.open()
        changed = process([service("A", "SUPERVISED", agent="bot", name="심사"), task("C")], ["A>C"])
        await desk.held.define(changed, by="lee", pending=True)
        with pytest.raises(ProcessState, match="Version 2"):
            await desk.autonomy.accept(raised.row.id, by="kim")
        desk.held.reject("p", by="kim", comment="not now")
        desk.p.register("config", "tenant", {"autonomy": RULES, "release": {"four_eyes": True}})
        await desk.autonomy.evaluate()
        proposal, saved = await desk.autonomy.accept(raised.row.id, by="kim")
        assert proposal.row.made_version == 3 and saved.release.status == "pending_approval"
        assert desk.held.get("p").version == 1, "it is not in force"
        assert (await desk.autonomy.evaluate()).proposed == []


@awaited
async def test_settings_that_cannot_be_used_are_named_and_nothing_is_proposed(tmp_path: Path) -> None:
    """P-X.40: a typed refusal with the setting's name; «enabled»: false proposes nothing."""
    async with an_office(tmp_path) as office:
        for wrong in ({"raise_at": 1.5}, {"min_cases": 0}, {"raise": 0.9}, {"draft_floor": 0.9}, [1]):
            office.p.register("config", "tenant", {"autonomy": wrong})
            with pytest.raises(BadInput, match="autonomy"):
                await Autonomy(office.p).evaluate()
        desk = Desk(office, rules={**RULES, "enabled": False})
        await desk.define()
        for _ in range(14):
            await desk.case()
        assert await desk.autonomy.evaluate() == Evaluation()
