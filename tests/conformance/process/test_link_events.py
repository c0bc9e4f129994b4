"""Link events: a way that is not drawn, from throw events to the catch event of their name (BPMN 10.5.5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.process.make import event, findings, from_xml, gateway, in_a_file, process, rules, task
from tests.conformance.process.running import Office, awaited

Doc = dict[str, Any]


def linked(*more: Doc, ways: tuple[str, ...] = (), **catch: Any) -> Doc:
    elements = [event("S", "start"), task("A"), event("T", "throw", "link", link="page 2"),
                event("C", "catch", "link", **{"link": "page 2", **catch}), task("B")]  # fmt: skip
    return process([*elements, *more], ["S>A", "A>T", "C>B", *ways])


@awaited
async def test_the_way_goes_on_at_the_other_end(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.5: «connecting two sections of a Process»; nothing begins at the second by itself."""
    async with Office(tmp_path) as office:
        run = await office.start(linked())
        assert run.open() == ["A"]
        await run.submit("A")
        assert run.open() == ["B"]
        await run.submit("B")
        assert run.status == "COMPLETED"


@awaited
async def test_several_throws_lead_to_one_catch(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.5: «there can be multiple source Link Events, but there can be only one target Link Event»."""
    choice = gateway("F", conditions={"F>A": "left == true", "default": "F>D"})
    more = [choice, task("D"), event("U", "throw", "link", link="page 2")]
    document = linked(*more, ways=("F>A", "F>D", "D>U"))
    document["transitions"][0] = {"id": "S>F", "source": "S", "target": "F"}
    async with Office(tmp_path) as office:
        for left, first in ((True, "A"), (False, "D")):
            run = await office.start(document, {"left": left})
            await run.submit(first)
            assert run.open() == ["B"]


@awaited
async def test_a_link_may_go_back(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.5: «to create looping situations»."""
    elements = [event("S", "start"), event("C", "catch", "link", link="again"), gateway("M"), task("A"),
                gateway("G", conditions={"G>T": "again == true", "default": "G>E"}),
                event("T", "throw", "link", link="again"), event("E", "end")]  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["S>M", "C>M", "M>A", "A>G", "G>T", "G>E"]))
        await run.submit("A", {"again": True})
        assert run.open() == ["A"] and run.of("fired", "C")
        await run.submit("A", {"again": False})
        assert run.status == "COMPLETED"


@pytest.mark.parametrize(
    ("document", "node", "said"),
    [
        (linked(link="page 3"), "T", "no catch event"),
        (linked(event("D", "catch", "link", link="page 2"), task("E"), ways=("D>E",)), "T", "2 catch events"),
    ],
)
def test_an_end_without_the_other_is_told(document: Doc, node: str, said: str) -> None:
    """P-X.25, P-X.35: in the words of the drawing, with what to draw."""
    found = [one for one in findings(document) if one.rule == "link_without_end"]
    assert found[0].node == node and said in found[0].message and "name" in found[0].hint


def test_a_link_stays_on_its_level() -> None:
    """P-X.25, BPMN 10.5.5: «link two sections of a Process within a single Process level (i.e., they cannot link a
    parent Process with a Sub-Process)»."""
    document = linked(task("P", type="subProcess"), parent="P")
    document["activities"][1]["parent"] = "P"
    assert rules(document) == ["link_without_end", "link_without_end"]


def test_no_transition_leads_to_its_end_or_from_its_beginning() -> None:
    """P-X.25, BPMN 10.5.5: a source has no outgoing, a target no incoming sequence flow."""
    assert rules(linked(ways=("A>C",))) == ["start_with_incoming"]
    assert rules(linked(task("D"), ways=("T>D",))) == ["end_with_outgoing"]


def test_a_file_says_it_as_the_standard_does() -> None:
    """P-X.25: `linkEventDefinition` with its name; read, written and read again."""
    read = from_xml(
        '<startEvent id="S"/><intermediateThrowEvent id="T"><linkEventDefinition name="쪽 2"/></intermediateThrowEvent>'
        '<intermediateCatchEvent id="C" name="쪽 2"><linkEventDefinition/></intermediateCatchEvent><userTask id="A"/>'
        '<sequenceFlow id="f" sourceRef="S" targetRef="T"/><sequenceFlow id="g" sourceRef="C" targetRef="A"/>'
    )
    assert findings(read) == []
    events = {one["id"]: one for one in read["events"]}
    assert events["T"]["link"] == "쪽 2" and events["C"]["trigger"] == "link"
    again = {one["id"]: one for one in in_a_file(linked())["events"]}
    assert {(id, one["trigger"], one["link"]) for id, one in again.items() if id != "S"} == {
        ("T", "link", "page 2"), ("C", "link", "page 2"),
    }  # fmt: skip
