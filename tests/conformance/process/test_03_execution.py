"""3, the execution engine: initiate, submit, gateways, joins."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import NoBranch, StatusConflict
from penstock.kernel import command as C
from tests.conformance.process.make import EXAMPLES, event, gateway, process, rules, service, task
from tests.conformance.process.running import Office, awaited

AB = process([task("A"), task("B")], ["A>B"])
ISSUE = process(
    [
        task("A"),
        gateway("G", conditions={"yes": "has_issue == true", "no": "has_issue == false"}),
        task("X"),
        task("Y"),
    ],
    ["A>G", ("G>X", {"name": "yes"}), ("G>Y", {"name": "no"})],
)


@awaited
async def test_two_tasks_one_after_the_other(tmp_path: Path) -> None:
    """P-A.1, P-3.1.1, P-3.2.2, P-3.2.3, P-3.2.6, P-4.1.1, P-4.1.5, P-5.2.1: B comes after A."""
    async with Office(tmp_path) as office:
        run = await office.start(AB)
        assert run.states() == {"A": "TODO"} and run.status == "RUNNING"
        await run.submit("A", {"x": 1}, by="park")
        assert run.states() == {"A": "DONE", "B": "TODO"}
        assert run.item("A").moves[-1]["by"] == "park" and run.of("settled", "A")[0].data["output"] == {"x": 1}
        await run.submit("B")
        assert run.status == "COMPLETED"


@awaited
async def test_a_closed_item_takes_nothing_more(tmp_path: Path) -> None:
    """P-A.2, P-3.2.4: what is DONE is not submitted again, and nothing changes."""
    async with Office(tmp_path) as office:
        run = await office.start(AB)
        no = run.item("A").no
        await run.submit("A", {"x": 1})
        before = run.look.facts
        with pytest.raises(StatusConflict) as refused:
            await run.p.command(run.id, C.work(no, "submit", "kim", {"x": 2}))
        assert refused.value.facts["status"] == "DONE"
        assert run.look.facts == before and run.look.variables["x"] == 1


@awaited
async def test_the_input_becomes_variables_and_results_come_first(tmp_path: Path) -> None:
    """P-X.8, P-X.9, P-3.2.1, P-3.2.5, P-3.2.7: input_data are variables; a result replaces what it names."""
    async with Office(tmp_path) as office:
        run = await office.start(ISSUE, {"has_issue": True, "customer": "한국"})
        assert run.look.variables == {"has_issue": True, "customer": "한국"}
        await run.submit("A", {"has_issue": False})
        assert run.open() == ["Y"]
        assert run.look.variables == {"has_issue": False, "customer": "한국"}
        other = await office.start(ISSUE, {"has_issue": True})
        await other.submit("A", {})
        assert other.open() == ["X"]


@awaited
async def test_the_first_branch_that_holds(tmp_path: Path) -> None:
    """P-A.3, P-3.2.12, P-3.1.4, P-6.2.2, P-2.2.3: one branch only, the first in the order of the document."""
    both = process(
        [task("A"), gateway("G", conditions={"G>X": "n > 1", "G>Y": "n > 0", "default": "G>Z"}),
         task("X"), task("Y"), task("Z")],
        ["A>G", "G>X", "G>Y", "G>Z"],
    )  # fmt: skip
    async with Office(tmp_path) as office:
        for n, taken in ((5, "X"), (1, "Y"), (0, "Z"), (None, "Z")):
            run = await office.start(both)
            await run.submit("A", {"n": n} if n is not None else {})
            assert run.open() == [taken]


@awaited
async def test_no_branch_refuses_the_submit_whole(tmp_path: Path) -> None:
    """P-A.4, P-X.11: no branch holds and there is no default: nothing is committed, and the item stays as it was."""
    async with Office(tmp_path) as office:
        run = await office.start(ISSUE)
        await run.do("A", "start")
        before = run.look.facts
        with pytest.raises(NoBranch) as refused:
            await run.submit("A", {})
        assert refused.value.http == 422
        assert run.states() == {"A": "IN_PROGRESS"} and run.status == "RUNNING"
        assert run.look.facts == before and run.look.variables == {}
        await run.submit("A", {"has_issue": True})
        assert run.open() == ["X"]


@awaited
async def test_an_agent_without_a_branch_leaves_its_item_open(tmp_path: Path) -> None:
    """P-X.11: an agent's result that fits no branch is told; an operator submits a corrected one."""
    document = {**ISSUE, "activities": [service("A"), task("X"), task("Y")]}
    async with Office(tmp_path, agents={"A": {"has_issue": "perhaps"}}) as office:
        run = await office.start(document)
        assert run.states() == {"A": "IN_PROGRESS"}
        assert [one.data["code"] for one in run.of("incident")] == ["NO_MATCHING_BRANCH"]
        await run.submit("A", {"has_issue": False}, by="operator")
        assert run.states() == {"A": "DONE", "Y": "TODO"}


@awaited
async def test_every_way_out_of_an_activity(tmp_path: Path) -> None:
    """P-3.2.14, P-3.2.8, P-3.2.9, P-3.2.11: all transitions of an activity fire; it ends when nothing is open."""
    document = process([task("A"), task("B"), gateway("G"), task("C")], ["A>B", "A>G", "G>C"])
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert run.open() == ["A"], "both come after it"
        await run.submit("A")
        assert sorted(run.open()) == ["B", "C"]
        await run.submit("B")
        assert run.status == "RUNNING" and run.open() == ["C"]
        await run.submit("C")
        assert run.status == "COMPLETED"


@awaited
async def test_conditions_on_the_ways_out_of_an_activity(tmp_path: Path) -> None:
    """P-2.2.8, P-X.9: a transition's own condition; a default when none holds."""
    ways = [("A>B", {"condition": "${n > 1}"}), ("A>C", {"condition": "n > 2"}), "A>D"]
    document = process([task("A", default="A>D"), task("B"), task("C"), task("D")], ways)
    async with Office(tmp_path) as office:
        for n, taken in ((3, ["B", "C"]), (2, ["B"]), (0, ["D"])):
            run = await office.start(document)
            await run.submit("A", {"n": n})
            assert run.open() == taken


# ---- where it begins -------------------------------------------------------------------------------------------------


@awaited
async def test_where_a_process_begins(tmp_path: Path) -> None:
    """P-X.35, P-3.2.2: a gateway may begin, and so may several activities, all at once."""
    async with Office(tmp_path) as office:
        run = await office.start(
            process([task("A"), task("B"), gateway("J", "parallel"), task("C")], ["A>J", "B>J", "J>C"])
        )
        assert run.open() == ["A", "B"]
        await run.submit("A")
        await run.submit("B")
        assert run.open() == ["C"]
        split = process(
            [gateway("G", conditions={"G>A": "big", "default": "G>B"}), task("A"), task("B")], ["G>A", "G>B"]
        )
        assert (await office.start(split, {"big": True})).open() == ["A"]
        assert (await office.start(split, {})).open() == ["B"]
    assert rules(process([], [])) == ["no_start"]
    round = process([task("A"), gateway("G", conditions={"G>A": "again"}), task("B")], ["A>G", "G>A", "G>B", "B>A"])
    assert rules(round) == ["no_start"]


def test_two_start_events_of_a_sub_process_are_one_too_many() -> None:
    """P-X.35: a sub-process begins when it is reached, and nobody could say in which way."""
    inner = [event(id, "start", parent="P") for id in "ST"]
    document = process([task("P", type="subProcess"), *inner, task("A", parent="P")], ["S>A", "T>A"])
    assert rules(document) == ["several_starts"]


# ---- joins -----------------------------------------------------------------------------------------------------------

FORK = process(
    [task("P"), gateway("F", "parallel"), task("A"), task("B"), task("C"), gateway("J", "parallel"), task("D")],
    ["P>F", "F>A", "F>B", "F>C", "A>J", "B>J", "C>J", "J>D"],
)


@awaited
async def test_a_join_waits_for_all(tmp_path: Path) -> None:
    """P-A.5, P-3.4.1, P-3.4.2, P-3.4.3, P-3.4.4, P-3.2.13, P-3.3.1: no D before A, B and C are done; then one, once."""
    async with Office(tmp_path) as office:
        run = await office.start(FORK)
        await run.submit("P")
        assert sorted(run.open()) == ["A", "B", "C"]
        await run.submit("A")
        await run.submit("C")
        assert run.status == "RUNNING" and run.open() == ["B"]
        await run.submit("B")
        assert run.open() == ["D"] and len(run.of("fired", "D")) == 1


@awaited
async def test_the_last_branch_passes_whichever_it_is(tmp_path: Path) -> None:
    """P-3.4.5, P-X.12: branches end in any order, and a loop's second round waits for a second token of each."""
    async with Office(tmp_path) as office:
        for order in ("ABC", "CBA", "BAC"):
            run = await office.start(FORK)
            await run.submit("P")
            for node in order:
                assert "D" not in run.open()
                await run.submit(node)
            assert run.open() == ["D"]


@awaited
async def test_submits_at_the_same_instant_pass_the_join_once(tmp_path: Path) -> None:
    """P-A.6, P-3.4.6, P-X.12: however they race, every instance has exactly one D."""
    document = process(
        [gateway("F", "parallel"), task("A"), task("B"), gateway("J", "parallel"), task("D")],
        ["F>A", "F>B", "A>J", "B>J", "J>D"],
    )
    async with Office(tmp_path) as office:
        for _ in range(50):
            run = await office.start(document)
            both = [run.item(node).no for node in "AB"]
            await asyncio.gather(*(run.p.command(run.id, C.work(no, "submit", "kim", {})) for no in both))
            await run.rest()
            assert [one.node for one in run.items()].count("D") == 1


@awaited
async def test_an_inclusive_gateway_takes_every_branch_that_holds(tmp_path: Path) -> None:
    """P-A.7, P-X.10, P-3.2.15: two of three hold; the join waits for those two only; none: the default."""
    document = process(
        [task("P"), gateway("F", "inclusive", conditions={"F>A": "a", "F>B": "b", "F>C": "c", "default": "F>Z"}),
         task("A"), task("B"), task("C"), task("Z"), gateway("J", "inclusive"), task("D")],
        ["P>F", "F>A", "F>B", "F>C", "F>Z", "A>J", "B>J", "C>J", "Z>J", "J>D"],
    )  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await run.submit("P", {"a": True, "c": True})
        assert run.open() == ["A", "C"]
        await run.submit("C")
        assert run.open() == ["A"]
        await run.submit("A")
        assert run.open() == ["D"] and len(run.of("fired", "D")) == 1
        other = await office.start(document)
        await other.submit("P", {})
        assert other.open() == ["Z"]
        await other.submit("Z")
        assert other.open() == ["D"]


@awaited
async def test_an_inclusive_gateway_without_a_branch_refuses(tmp_path: Path) -> None:
    """P-X.10: none true and no default: 422."""
    document = process(
        [task("P"), gateway("F", "inclusive", conditions={"F>A": "a", "F>B": "b"}), task("A"), task("B")],
        ["P>F", "F>A", "F>B"],
    )
    async with Office(tmp_path) as office:
        run = await office.start(document)
        with pytest.raises(NoBranch):
            await run.submit("P", {"a": False})
        assert run.open() == ["P"]


# ---- the seed's own process ------------------------------------------------------------------------------------------


@awaited
async def test_the_seeds_own_process(tmp_path: Path) -> None:
    """P-2.1.2, P-3.1.2, P-3.1.3, P-1.1.2: a person, an agent alone, an agent with a person, a choice."""
    agents: dict[str, Any] = {"verify": {"matches": True}, "classify": {"class": "핵심", "has_issue": True}}
    async with Office(tmp_path, agents=agents) as office:
        run = await office.start(EXAMPLES / "data_registration.json", {"case": "2026-1"}, initiator="han")
        assert run.states() == {"receive": "TODO"}
        assert run.item("receive").prompt["title"] == "데이터 등록서 접수"
        await run.submit("receive", {"document": "등록서.pdf"})
        assert run.states() == {"receive": "DONE", "verify": "DONE", "classify": "SUBMITTED"}
        assert run.item("classify").draft == {"class": "핵심", "has_issue": True}
        await run.do("classify", "approve", by="manager")
        assert run.open() == ["handle_issue"]
        assert run.item("handle_issue").candidates == {"type": "any_of", "targets": ["user:han"]}
        await run.submit("handle_issue", {"fixed": True})
        assert run.status == "COMPLETED"
        assert run.look.variables["class"] == "핵심" and run.look.variables["case"] == "2026-1"
