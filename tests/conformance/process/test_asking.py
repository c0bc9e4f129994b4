"""Gateways that ask and activities that ask how often: finished by proposals, begun, answered, and run to the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.app.process import event_log
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems
from penstock.dialects.process.instance import Instance, WorkItem
from penstock.errors import ApproverDenied, ResultInvalid
from penstock.lang.process.drawing import Drawing, read_drawing
from penstock.lang.process.todos import accepted, todos_of
from tests.conformance.process.make import event, gateway, process, rules, task
from tests.conformance.process.running import awaited

DRAWN = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:tests">
<process id="claim" name="Claim"><startEvent id="s"/><userTask id="a" name="Check"/>
<{kind} id="g" name="Covered?"/><userTask id="b" name="Pay"/><userTask id="c" name="Refuse"/><{kind} id="j"/>
<endEvent id="e"/>
<sequenceFlow id="f1" sourceRef="s" targetRef="a"/><sequenceFlow id="f2" sourceRef="a" targetRef="g"/>
<sequenceFlow id="yes" name="yes" sourceRef="g" targetRef="b"/><sequenceFlow id="no" sourceRef="g" targetRef="c"/>
<sequenceFlow id="f5" sourceRef="b" targetRef="j"/><sequenceFlow id="f6" sourceRef="c" targetRef="j"/>
<sequenceFlow id="f7" sourceRef="j" targetRef="e"/></process></definitions>"""


class Scene:
    """One process of a store, and the people who work in it."""

    def __init__(self, door: Penstock, id: str = "") -> None:
        self.work, self.id = WorkItems(door), id

    @classmethod
    async def begun(cls, door: Penstock, definition: dict[str, Any], **input: Any) -> Scene:
        await Processes(door).define(definition, by="owner")
        id = await WorkItems(door).initiate(definition["process_definition_id"], by="ann", input=input)
        return cls(door, id)

    @property
    def instance(self) -> Instance:
        return self.work.instance(self.id)[1]

    def open(self) -> list[WorkItem]:
        return [item for item in self.instance.items.values() if item.open]

    def item(self, name: str) -> WorkItem:
        return next(item for item in self.open() if item.activity_name == name)

    async def submit(self, name: str, by: str, result: Any = None) -> list[str]:
        return await self.work.submit(self.item(name).id, result, by=by)


def finished(kind: str) -> dict[str, Any]:
    """P-X.25: the drawing has no conditions; all proposals are taken."""
    drawing = read_drawing(DRAWN.format(kind=kind), "claim.bpmn")
    done, taken = accepted(drawing)
    assert [item.key for item in taken] == ["gateway_conditions:claim:g"]
    assert todos_of(done) == []
    return done.definition("claim")


@pytest.mark.parametrize(("choice", "next_step", "other"), [("yes", "Pay", "Refuse"), ("Refuse", "Refuse", "Pay")])
def test_a_gateway_asks_whoever_did_the_step_before(tmp_path: Path, choice: str, next_step: str, other: str) -> None:
    """P-X.9: both ways are taken as answered; variables of the answer's name are not touched."""

    @awaited
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            scene = await Scene.begun(door, finished("exclusiveGateway"), choice="a variable")
            assert await scene.submit("Check", "bob", {"sum": 7}) == ["g"]
            asked = scene.item("Covered?")
            assert (asked.activity_id, asked.activity_type, asked.assignee) == ("g", "exclusiveGateway", "bob")
            assert asked.form["properties"]["choice"]["enum"] == ["yes", "Refuse"]
            with pytest.raises(ApproverDenied):
                await scene.submit("Covered?", "ann", {"choice": choice})
            with pytest.raises(ResultInvalid):
                await scene.submit("Covered?", "bob", {"choice": "maybe"})
            assert await scene.submit("Covered?", "bob", {"choice": choice}) == [{"Pay": "b", "Refuse": "c"}[next_step]]
            assert [item.activity_name for item in scene.open()] == [next_step]
            await scene.submit(next_step, "cho")
            assert scene.instance.status == "COMPLETED"
            assert scene.instance.st.vars == {"choice": "a variable", "sum": 7}
            told = [(line.activity_id, line.event) for line in scene.instance.history if line.event == "submit"]
            assert told == [("a", "submit"), ("g", "submit"), ({"Pay": "b", "Refuse": "c"}[next_step], "submit")]
            assert other not in [item.activity_name for item in scene.instance.items.values()]

    scene()


def test_an_inclusive_gateway_takes_every_way_that_was_chosen(tmp_path: Path) -> None:
    """P-X.10: the join waits for those that were taken; at least one is."""

    @awaited
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            scene = await Scene.begun(door, finished("inclusiveGateway"))
            await scene.submit("Check", "bob")
            with pytest.raises(ResultInvalid):
                await scene.submit("Covered?", "bob", {"choice": []})
            assert sorted(await scene.submit("Covered?", "bob", {"choice": ["Refuse", "yes"]})) == ["b", "c"]
            await scene.submit("Pay", "bob")
            assert scene.instance.status == "RUNNING"
            await scene.submit("Refuse", "bob")
            assert scene.instance.status == "COMPLETED"
            again = Scene(door, await WorkItems(door).initiate("claim", by="ann"))
            await again.submit("Check", "cho")
            await again.submit("Covered?", "cho", {"choice": ["yes"]})
            await again.submit("Pay", "cho")
            assert again.instance.status == "COMPLETED"

    scene()


def test_a_gateway_that_joins_and_asks_asks_once(tmp_path: Path) -> None:
    """P-X.10: it waits for the ways that were taken, and only then somebody is asked."""
    joining = process(
        [gateway("f", "inclusive", conditions={"f>A": "true", "f>B": "both"}, default="f>X"), task("A"), task("B"),
         task("X"), gateway("g", "inclusive", name="Which?", ask={}), task("C"), task("D")],
        ["f>A", "f>B", "f>X", "A>g", "B>g", "X>g", "g>C", "g>D"],
    )  # fmt: skip

    @awaited
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            for both, steps in ((True, ["A", "B"]), (False, ["A"])):
                scene = await Scene.begun(door, joining, both=both)
                for step in steps:
                    assert "Which?" not in [item.activity_name for item in scene.open()]
                    await scene.submit(step, "bob")
                assert [item.activity_name for item in scene.open()] == ["Which?"]
                await scene.submit("Which?", "bob", {"choice": ["D"]})
                assert [item.activity_name for item in scene.open()] == ["D"]

    scene()


def test_whoever_did_one_of_the_steps_before_a_join_is_asked(tmp_path: Path) -> None:
    """P-X.13: after a parallel join each of them may; where a machine did the step, whoever has begun it."""
    forked = process(
        [gateway("f", "parallel"), task("A"), task("B"), gateway("j", "parallel"), gateway("g", name="Which?", ask={}),
         task("C"), task("D")],
        ["f>A", "f>B", "A>j", "B>j", "j>g", "g>C", "g>D"],
    )  # fmt: skip
    machine = process(
        [task("A", type="scriptTask", python_code="result = {}"), gateway("g", name="Which?", ask={}), task("C"),
         task("D")], ["A>g", "g>C", "g>D"], process_definition_id="m",
    )  # fmt: skip

    @awaited
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            scene = await Scene.begun(door, forked)
            await scene.submit("A", "bob")
            await scene.submit("B", "cho")
            assert scene.item("Which?").candidates == {"type": "any_of", "targets": ["user:bob", "user:cho"]}
            scene = await Scene.begun(door, machine)
            await door.wait(scene.id, until_waiting=True)
            assert scene.item("Which?").candidates == {"type": "any_of", "targets": ["user:ann"]}

    scene()


def test_an_activity_asks_how_often_it_is_done(tmp_path: Path) -> None:
    """P-X.25: a number of instances from the person of the step before; 0 is one, too."""
    definition = process([task("A"), task("B", name="Sign", multi={"mode": "parallel", "ask": "previous"}), task("C")],
                         ["A>B", "B>C"])  # fmt: skip

    @awaited
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            scene = await Scene.begun(door, definition)
            await scene.submit("A", "bob")
            with pytest.raises(ResultInvalid):
                await scene.submit("Sign", "bob", {"count": -1})
            await scene.submit("Sign", "bob", {"count": 2.0})
            assert [item.activity_name for item in scene.open()] == ["Sign", "Sign"]
            for item in scene.open():
                await scene.work.submit(item.id, {}, by="cho")
            assert [item.activity_name for item in scene.open()] == ["C"]
            scene = Scene(door, await WorkItems(door).initiate("p", by="ann"))
            await scene.submit("A", "bob")
            await scene.submit("Sign", "bob", {"count": 0})
            assert [item.activity_name for item in scene.open()] == ["C"]
            assert "count" not in scene.instance.st.vars

    scene()


def test_a_loop_asks_whether_it_goes_on(tmp_path: Path) -> None:
    """P-X.25: whoever does it says so in the form."""
    drawn = process([task("A", name="Count", multi={"mode": "loop", "test_before": True}), task("B")], ["A>B"])
    done, _ = accepted(Drawing((drawn,)))

    @awaited
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            scene = await Scene.begun(door, done.definition("p"))
            with pytest.raises(ResultInvalid):
                await scene.submit("Count", "bob", {})
            await scene.submit("Count", "bob", {"again": True})
            await scene.submit("Count", "bob", {"again": False})
            assert [item.activity_name for item in scene.open()] == ["B"]

    scene()


def test_the_event_log_has_the_decision_under_the_gateways_name(tmp_path: Path) -> None:
    """P-X.24."""

    @awaited
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            scene = await Scene.begun(door, finished("exclusiveGateway"))
            await scene.submit("Check", "bob")
            await scene.submit("Covered?", "bob", {"choice": "yes"})
            await scene.submit("Pay", "bob")
            (trace,) = event_log.traces(door, await event_log.wanted(door, "claim"))
            assert [(line.activity, line.resource) for line in trace.events] == [
                ("Check", "bob"), ("Covered?", "bob"), ("Pay", "bob"),
            ]  # fmt: skip

    scene()


def test_an_asking_gateway_stays_sound() -> None:
    """KERNEL 8: asking is one step more on the same ways."""
    ways = ["s>A", "A>g", "g>B", "g>C", "B>j", "C>j", "j>e"]
    elements = [event("s", "start"), task("A"), gateway("g", ask={}), task("B"), task("C"), gateway("j"),
                event("e", "end")]  # fmt: skip
    assert rules(process(elements, ways)) == []
    elements[5] = gateway("j", "parallel")
    assert rules(process(elements, ways)) == ["unsound"]


@pytest.mark.parametrize("kind", ["exclusive", "inclusive"])
def test_nothing_is_idle_at_a_gateway_that_asks(kind: str) -> None:
    """P-X.9, P-X.10: only a gateway that never parts by conditions has no use for it."""
    asking = gateway("g", kind, ask={"who": "initiator"})
    ways = ["A>g", "g>B", "g>C"]
    assert rules(process([task("A"), asking, task("B"), task("C")], ways), "warning") == []
    never = gateway("g", "parallel", ask={"who": "initiator"})
    assert rules(process([task("A"), never, task("B"), task("C")], ways), "warning") == ["idle_field"]


def test_a_decision_can_be_reworked(tmp_path: Path) -> None:
    """P-X.15: while nobody has begun with what came of it; and the step before it while nobody has decided."""

    @awaited
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            scene = await Scene.begun(door, finished("exclusiveGateway"))
            first = scene.item("Check").id
            await scene.submit("Check", "bob")
            await scene.work.rework(first, by="boss")
            assert [item.activity_name for item in scene.open()] == ["Check"]
            await scene.submit("Check", "cho")
            asked = scene.item("Covered?")
            assert asked.assignee == "cho"
            await scene.submit("Covered?", "cho", {"choice": "yes"})
            await scene.work.rework(asked.id, by="boss")
            assert [item.activity_name for item in scene.open()] == ["Covered?"]
            assert await scene.submit("Covered?", "cho", {"choice": "Refuse"}) == ["c"]

    scene()


def test_a_decision_is_asked_anew_in_every_round(tmp_path: Path) -> None:
    """P-X.9, P-X.31: in a loop, of whoever did the step in this round."""
    looped = process(
        [event("s", "start"), task("A"), gateway("g", name="Enough?", ask={}), event("e", "end", name="Yes")],
        ["s>A", "A>g", ("g>A", {"name": "no"}), "g>e"],
    )  # fmt: skip

    @awaited
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            scene = await Scene.begun(door, looped)
            for who in ("bob", "cho", "dan"):
                await scene.submit("A", who)
                assert scene.item("Enough?").assignee == who
                await scene.submit("Enough?", who, {"choice": "no" if who != "dan" else "Yes"})
            assert scene.instance.status == "COMPLETED"

    scene()
