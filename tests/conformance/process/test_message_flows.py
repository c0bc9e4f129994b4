"""Processes of several pools talk by messages, each instance with its own partner; and people answer for a pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.process.make import event, findings, process, rules, task
from tests.conformance.process.running import PATIENCE_S, Office, awaited
from tests.conformance.process.test_starts import Desk, desk

SAME = {"conversation": "${conversation}"}


def buyer(**fields: Any) -> dict[str, Any]:
    order = task("order", **fields)
    return process(
        [event("S", "start"), order, task("check"), event("E", "end")], ["S>order", "order>check", "check>E"],
        process_definition_id="buyer", conversation="conversation",
    )  # fmt: skip


def seller() -> dict[str, Any]:
    start, end = event("S", "start", "message", message="order"), event("E", "end", "message", message="delivery")
    return process(
        [start, task("pack"), end], ["S>pack", "pack>E"], process_definition_id="seller", conversation="conversation"
    )


async def settle(one: Desk) -> None:
    """Until every run that there is waits for somebody outside, or has ended."""
    for run in one.door.runs():
        await one.door.wait(run.id, until_waiting=True, timeout=PATIENCE_S)


def run_of(one: Desk, net: str, conversation: str) -> str:
    (run,) = [
        run.id for run in one.door.runs()
        if one.door.net_of(one.door.hash_of(one.door.row(run.id).net)).net.name == net
        and one.door.view(run.id).variables.get("conversation") == conversation
    ]  # fmt: skip
    return run


@awaited
async def test_each_instance_hears_its_own_partner(tmp_path: Path) -> None:
    """BPMN 8.4.2, P-X.25: a message flow from a plain task is sent when the task is done, and the answer to it is for
    the instance whose conversation it is: here the second seller answers first."""
    async with desk(str(tmp_path / "s.db"), tmp_path) as one:
        await one.define(buyer(sends=["order"], replies=["delivery"], correlation=SAME))
        await one.define(seller())
        first, second = await one.begin("buyer", item="A"), await one.begin("buyer", item="B")
        for run in (first, second):
            await one.submit(run, "order")
        await settle(one)
        sellers = [run_of(one, "seller", run) for run in (first, second)]
        assert [one.door.view(run).variables["item"] for run in sellers] == ["A", "B"]
        assert one.open(first) == one.open(second) == ["order.reply1"] or one.open(first) == ["order"]
        await one.submit(sellers[1], "pack")
        await settle(one)
        assert one.open(second) == ["check"] and one.open(first) != ["check"]
        await one.submit(sellers[0], "pack")
        await settle(one)
        assert one.open(first) == ["check"]


@awaited
async def test_a_task_that_needs_a_message_begins_when_it_has_come(tmp_path: Path) -> None:
    """BPMN 7.5.1, P-X.25: a message flow to a plain task; a conversation that the input brings is kept."""
    document = process([task("A", receives=["go"], correlation=SAME)], [], conversation="conversation")
    assert findings(document) == []
    async with desk(str(tmp_path / "s.db"), tmp_path) as one:
        await one.define(document)
        run = await one.begin("p", conversation="c-7")
        assert await one.tell("go", {"conversation": "c-8"}) == ([], [])
        assert await one.tell("go", {"conversation": "c-7", "colour": "red"}) == ([], [run])
        assert one.door.view(run).variables == {"conversation": "c-7", "colour": "red"}


PLACES = {
    "catch": event("M", "catch", "message", message="delivery", answered_by=["role:supplier"]),
    "receive task": task(
        "M", type="serviceTask", bpmn="receiveTask", message="delivery", answered_by=["role:supplier"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("by", ["person", "message"])
@awaited
async def test_a_person_or_an_api_answers_for_a_pool(place: str, by: str, tmp_path: Path) -> None:
    """P-X.25, P-X.13: where only the border of a pool is drawn, somebody with its role may give what it would send;
    whichever comes first counts, once, and its data become variables."""
    document = process([PLACES[place], task("B")], ["M>B"])
    assert rules(document) == []
    async with Office(tmp_path) as office:
        instance = await office.start(document)
        assert instance.item("M").candidates == {"type": "any_of", "targets": ["role:supplier"]}
        if by == "person":
            await instance.submit("M", {"boxes": 3})
        else:
            await office.p.send_event("delivery", {"boxes": 3})
            await instance.rest()
        assert instance.open() == ["B"] and instance.look.variables == {"boxes": 3}
        receipt = await office.p.send_event("delivery", {"boxes": 4})
        assert receipt.resumed == [] and instance.look.variables == {"boxes": 3}
        await instance.submit("B")
        assert instance.status == "COMPLETED"


def test_somebody_who_answers_has_a_name() -> None:
    """P-X.13: who answers is written as every other target is."""
    wrong = event("M", "catch", "message", message="delivery", answered_by=["the supplier"])
    assert rules(process([wrong], [])) == ["bad_target"]
    idle = event("M", "throw", "message", message="delivery", answered_by=["role:supplier"])
    assert rules(process([idle], []), "warning") == ["idle_field"]


@pytest.mark.parametrize(("amount", "ways"), [(50, ["B", "D"]), (500, ["B", "C"])])
@awaited
async def test_a_default_flow_beside_one_that_is_always_taken(amount: int, ways: list[str], tmp_path: Path) -> None:
    """BPMN 10.4.5, P-X.10: the default of an activity is taken when no condition holds, whatever else leaves it."""
    flows = ["A>B", ("A>C", {"condition": "amount > 100"}), "A>D"]
    document = process([task("A", default="A>D"), task("B"), task("C"), task("D")], flows)
    assert rules(document) == []
    async with Office(tmp_path) as office:
        instance = await office.start(document)
        await instance.submit("A", {"amount": amount})
        assert instance.open() == ways


def test_a_default_flow_without_any_condition_is_a_flow() -> None:
    """BPMN 10.4.5, P-X.12: no condition that could hold: it is taken like the others, and it is known to be sound."""
    assert rules(process([task("A", default="A>C"), task("B"), task("C")], ["A>B", "A>C"])) == []
