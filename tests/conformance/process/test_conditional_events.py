"""Conditional events: watched over the instance's variables (BPMN 10.5.5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.todos import todos_of
from penstock.net.soundness import verdict
from tests.conformance.process.make import compiled, event, findings, from_xml, gateway, in_a_file, process, task
from tests.conformance.process.running import Instance, Office, awaited

Doc = dict[str, Any]


def beside(*more: Doc, ways: tuple[str, ...] = ()) -> Doc:
    """Beside A three people write what is watched."""
    elements = [gateway("F", "parallel"), task("A"), task("W1"), task("W2"), task("W3"), *more]
    return process(elements, ["F>A", "F>W1", "W1>W2", "W2>W3", *ways])


async def write(run: Instance, *amounts: int) -> None:
    for n, amount in enumerate(amounts, 1):
        await run.submit(f"W{n}", {"amount": amount})


@awaited
async def test_a_catch_event_goes_on_as_soon_as_its_condition_holds(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.4: «This type of Event is triggered when a condition becomes true.»"""
    catch = event("C", "catch", "conditional", condition="amount > 100")
    async with Office(tmp_path) as office:
        run = await office.start(beside(catch, task("B"), ways=("F>C", "C>B")))
        await write(run, 50)
        assert run.open() == ["A", "W2"]
        await run.submit("W2", {"amount": 101})
        assert sorted(run.open()) == ["A", "B", "W3"] and run.look.variables == {"amount": 101}


@awaited
async def test_a_condition_that_holds_already_is_not_waited_for(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.4: it holds when the event is reached."""
    elements = [event("S", "start"), event("C", "catch", "conditional", condition="=amount > 100"), task("B")]
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["S>C", "C>B"]), {"amount": 200})
        assert run.open() == ["B"]


@awaited
async def test_an_interrupting_event_at_the_border(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.4: «the Activity will be terminated» when the condition becomes true."""
    border = event("C", "boundary", "conditional", attached_to="A", condition="amount > 100")
    async with Office(tmp_path) as office:
        run = await office.start(beside(border, task("H"), ways=("C>H",)))
        await write(run, 1, 500)
        assert run.states()["A"] == "CANCELLED" and sorted(run.open()) == ["H", "W3"]


@awaited
async def test_an_event_beside_comes_each_time_the_condition_comes_true(tmp_path: Path) -> None:
    """P-X.25, K1, BPMN 10.5.2: «the condition … MUST become false and then true before the Event can be triggered
    again»; another engine takes the run up each time."""
    border = event("C", "boundary", "conditional", attached_to="A", interrupting=False, condition="amount > 100")
    document = beside(border, task("W4"), task("H"), ways=("W3>W4", "C>H"))
    async with Office(tmp_path) as office:
        run = (await office.start(document)).id
    hints = []
    for n, amount in enumerate((200, 300, 0, 400), 1):
        async with Office(tmp_path) as office:
            taken_up = Instance(office, run)
            await taken_up.submit(f"W{n}", {"amount": amount})
            hints.append([item.node for item in taken_up.items()].count("H"))
            assert "A" in taken_up.open()
    assert hints == [1, 1, 1, 2]


@pytest.mark.parametrize("interrupting", [True, False])
@awaited
async def test_it_begins_an_event_sub_process(tmp_path: Path, interrupting: bool) -> None:
    """P-X.25, BPMN 10.5.2: «Conditional … Event Sub-Process»: it watches as long as its level is open, to the last."""
    handler = task("H", type="subProcess", triggered_by_event=True)
    begin = event("HS", "start", "conditional", condition="amount > 100", interrupting=interrupting, parent="H")
    elements = [event("S", "start"), task("W1"), handler, begin, task("N", parent="H"), event("E", "end")]
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["S>W1", "W1>E", "HS>N"]))
        assert run.open() == ["W1"]
        await run.submit("W1", {"amount": 150})
        assert run.open() == ["N"]
        await run.submit("N")
        assert run.status == "COMPLETED"


@awaited
async def test_it_ends_the_wait_of_an_event_gateway(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.6.6: «Conditional» is among the events that may follow the gateway."""
    late = event("T", "catch", "timer", timer={"duration": "PT1H"})
    catch = event("C", "catch", "conditional", condition="amount > 100")
    more = [gateway("G", "eventBased"), catch, late, task("B"), task("D")]
    async with Office(tmp_path) as office:
        run = await office.start(beside(*more, ways=("F>G", "G>C", "G>T", "C>B", "T>D")))
        await write(run, 150)
        assert sorted(run.open()) == ["A", "B", "W2"]


@awaited
async def test_an_operator_who_mends_the_data_makes_it_true(tmp_path: Path) -> None:
    """P-X.25: whoever changes the variables."""
    elements = [event("S", "start"), event("C", "catch", "conditional", condition="ok == true"), task("B")]
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["S>C", "C>B"]))
        assert run.open() == [] and [(one.for_, one.name) for one in run.look.waiting] == [("condition", "ok == true")]
        await run.p.command(run.id, C.set_variable("ok", True))
        await run.rest()
        assert run.open() == ["B"]


def test_a_file_says_it_as_the_standard_does() -> None:
    """P-X.25, BPMN 10.5.5: `conditionalEventDefinition` with its `condition`; read, written and read again."""
    read = from_xml(
        '<startEvent id="S"/><sequenceFlow id="f" sourceRef="S" targetRef="C"/><intermediateCatchEvent id="C">'
        '<conditionalEventDefinition><condition xsi:type="tFormalExpression">${amount &gt; 100}</condition>'
        "</conditionalEventDefinition></intermediateCatchEvent>"
    )
    (catch,) = [one for one in read["events"] if one["id"] == "C"]
    assert (catch["trigger"], catch["condition"]) == ("conditional", "amount > 100")
    assert findings(read) == []
    document = beside(event("C", "boundary", "conditional", attached_to="A", condition="a > 1", interrupting=False))
    (again,) = in_a_file(document)["events"]
    assert {**again, "name": "C"} == document["events"][0]


def test_it_may_or_may_not_come() -> None:
    """P-X.12: a soundness check plays both."""
    border = event("C", "boundary", "conditional", attached_to="A", condition="amount > 1")
    elements = [gateway("F", "parallel"), task("A"), task("B"), task("H"), border, gateway("J", "parallel")]
    ways = ["F>A", "F>B", "A>J", "B>J", "C>H"]
    unsound = verdict(compiled(process([*elements, gateway("M")], [*ways[:2], "A>M", "C>H", "H>M", "M>J", "B>J"])).net)
    assert unsound.status == "sound"
    assert [one.node for one in findings(process(elements, ways)) if one.rule == "unsound"] == ["J"]


@awaited
async def test_a_process_begins_with_it_only_by_hand(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.2: such a condition «MUST NOT refer to the data context … of the Process (as the Process
    instance has not yet been created)»: nobody here watches anything else, and that is said."""
    unsaid = process([event("S", "start", "conditional"), task("A")], ["S>A"])
    assert [one.severity for one in findings(unsaid)] == ["warning"] and todos_of(Drawing((unsaid,))) == []
    start = event("S", "start", "conditional", condition="stock < 10")
    document = process([start, task("A")], ["S>A"])
    (found,) = findings(document)
    assert (found.severity, found.rule, found.node) == ("warning", "start_by_hand", "S")
    assert "conditional catch event" in found.hint
    async with Office(tmp_path) as office:
        assert (await office.start(document)).open() == ["A"]
