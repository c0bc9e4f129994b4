"""Ad-hoc sub-processes: somebody chooses which of their steps come next (BPMN 2.0.2, 10.3.5 and 13.3.5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.lang.process.bpmn.reader import read_bpmn
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.process.drawing import read_drawing, write_drawing
from penstock.net.soundness import verdicts
from tests.conformance.process.make import compiled, event, findings, gateway, process, rules, service, task
from tests.conformance.process.running import Failing, Instance, Office, awaited


def ad_hoc(
    *steps: dict[str, Any], ways: tuple[Any, ...] = (), more: tuple[dict[str, Any], ...] = (), **how: Any
) -> dict[str, Any]:
    """F, then S with its steps (A and B where none are named), then Z."""
    held = [{**step, "parent": "S"} for step in steps or (task("A"), task("B"))]
    of = how.pop("of", {})
    owner = task("S", type="subProcess", bpmn="adHocSubProcess", ad_hoc=how, **of)
    return process([task("F"), owner, *held, task("Z"), *more], ["F>S", "S>Z", *ways])


async def at_the_question(office: Office, document: dict[str, Any]) -> Instance:
    run = await office.start(document)
    await run.submit("F", by="park")
    return run


async def choose(run: Instance, *steps: str, finished: bool = False) -> None:
    sequential = run.item("S.choice").prompt["form"]["properties"]["choice"]["type"] == "string"
    answer: dict[str, Any] = {"finished": finished} if finished else {}
    if steps:
        answer["choice"] = steps[0] if sequential else list(steps)
    await run.submit("S.choice", answer)


@awaited
async def test_the_performer_chooses_several_at_any_time_until_finished(tmp_path: Path) -> None:
    """P-X.25, BPMN 13.3.5: «If the ordering attribute is set to parallel, another enabled Activity can be selected for
    execution at any time. This implies the possibility of multiple parallel instances of the same inner Activity»."""
    document = ad_hoc()
    assert findings(document) == []
    async with Office(tmp_path) as office:
        run = await at_the_question(office, document)
        assert run.open() == ["S.choice"]
        await choose(run, "A")
        await choose(run, "A", "B")
        assert sorted(run.open()) == ["A", "A", "B", "S.choice"]
        await run.submit("B")
        await choose(run, "B", finished=True)
        assert sorted(run.open()) == ["A", "A", "B"]
        for node in ("B", "A"):
            await run.submit(node)
        assert run.open() == ["A"] and run.status == "RUNNING"


@awaited
async def test_one_after_the_other(tmp_path: Path) -> None:
    """P-X.25, BPMN 13.3.5: «sequential: another enabled Activity can be selected for execution only if the previous one
    has terminated»."""
    async with Office(tmp_path) as office:
        run = await at_the_question(office, ad_hoc(ordering="sequential"))
        await choose(run, "B")
        assert run.open() == ["B"]
        await run.submit("B")
        await choose(run, "B")
        await run.submit("B")
        await choose(run)  # nothing chosen: it is asked again
        assert run.open() == ["S.choice"]
        await choose(run, finished=True)
        assert run.open() == ["Z"] and [item.node for item in run.items()].count("B") == 2


@pytest.mark.parametrize("ordering", ["parallel", "sequential"])
@awaited
async def test_it_may_be_finished_without_any_step(tmp_path: Path, ordering: str) -> None:
    """P-X.25, BPMN 13.3.5: how often each of them is done, and whether, is up to the performer."""
    async with Office(tmp_path) as office:
        run = await at_the_question(office, ad_hoc(ordering=ordering))
        await choose(run, finished=True)
        assert run.open() == ["Z"]


@pytest.mark.parametrize("ordering", ["parallel", "sequential"])
@awaited
async def test_it_is_complete_when_its_condition_holds_after_an_activity(tmp_path: Path, ordering: str) -> None:
    """P-X.25, BPMN 13.3.5: «After each completion of an inner Activity, a condition … is evaluated: if true, the Ad-Hoc
    Sub-Process completes without executing further inner Activities»; not before the first of them."""
    document = ad_hoc(task("A"), task("B"), task("C"), ways=("A>C",), ordering=ordering, until="ok == true")
    async with Office(tmp_path) as office:
        run = await office.start(document, {"ok": True})
        await run.submit("F")
        assert run.open() == ["S.choice"]
        await choose(run, "A")
        await run.submit("A", {"ok": False})
        assert "C" in run.open()
        await run.submit("C", {"ok": True})
        assert run.open() == ["Z"]
        assert findings(document) == []


@awaited
async def test_what_is_still_open_is_cancelled_when_it_is_complete(tmp_path: Path) -> None:
    """P-X.25, BPMN 13.3.5: «In case … cancelRemainingInstances is true, running instances of inner Activities are
    cancelled»: and nobody is asked any more."""
    async with Office(tmp_path) as office:
        run = await at_the_question(office, ad_hoc(until="ok == true"))
        await choose(run, "A", "B")
        await choose(run, "A")
        await run.submit("B", {"ok": True})
        assert run.open() == ["Z"] and [item.status for item in run.items() if item.node == "A"] == ["CANCELLED"] * 2
        assert run.item("S.choice").status == "CANCELLED"


@awaited
async def test_what_is_still_open_may_be_waited_for(tmp_path: Path) -> None:
    """P-X.25, BPMN 13.3.5: «If cancelRemainingInstances is false, the Ad-Hoc Sub-Process completes after all remaining
    inner instances have completed»: nothing else begins, although a flow leads on."""
    document = ad_hoc(task("A"), task("B"), task("C"), ways=("A>C",), until="ok == true", cancel_remaining=False)
    async with Office(tmp_path) as office:
        run = await at_the_question(office, document)
        await choose(run, "A", "B")
        await run.submit("B", {"ok": True})
        assert run.open() == ["A"] and run.item("S.choice").status == "CANCELLED"
        await run.submit("A", {"ok": False})
        assert run.open() == ["C"]
        await run.submit("C", {"ok": True})
        assert run.open() == ["Z"]


@awaited
async def test_flows_between_its_steps_hold(tmp_path: Path) -> None:
    """P-X.25, BPMN 13.3.5: «Sequence Flows will provide the same ordering constraints as in a regular Process»: what
    has an incoming flow is not chosen, and what is chosen together meets again."""
    steps = (task("A"), task("B"), gateway("J", "inclusive"), task("C"))
    document = ad_hoc(*steps, ways=("A>J", "B>J", "J>C"))
    assert findings(document) == []
    async with Office(tmp_path) as office:
        run = await at_the_question(office, document)
        assert run.item("S.choice").prompt["form"]["properties"]["choice"]["items"]["enum"] == ["A", "B"]
        await choose(run, "A", "B")
        await run.submit("A")
        assert sorted(run.open()) == ["B", "S.choice"]
        await run.submit("B")
        assert sorted(run.open()) == ["C", "S.choice"]


def test_a_join_that_need_not_be_reached_is_unsound() -> None:
    """P-X.12: nobody has to choose both of them, so a parallel join may wait for ever: it is told before."""
    steps = (task("A"), task("B"), gateway("J", "parallel"), task("C"))
    assert rules(ad_hoc(*steps, ways=("A>J", "B>J", "J>C"))) == ["unsound"]


SHAPES: dict[str, dict[str, Any]] = {
    "parallel": {}, "sequential": {"ordering": "sequential"}, "until": {"until": "x == 1"},
    "until, waiting": {"until": "x == 1", "cancel_remaining": False},
    "sequential until": {"ordering": "sequential", "until": "x == 1"}, "by an expression": {"steps": "todo"},
    "several": {"of": {"multi": {"count": 2}}}, "several, until": {"until": "x", "of": {"multi": {"count": 2}}},
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_sound_on_each_of_its_levels(shape: str) -> None:
    """P-X.12: what is added for the question neither hides a deadlock nor makes one up."""
    document = ad_hoc(**SHAPES[shape])
    assert rules(document) == []
    net = compiled(document).net
    assert {level: each.status for level, each in verdicts(net, each=True).items() if each.status != "sound"} == {}


@awaited
async def test_who_chooses_is_whoever_did_the_step_before(tmp_path: Path) -> None:
    """P-X.25, P-X.13: else the initiator; or those whom the sub-process names, by its lane, too."""
    lanes = {"roles": [{"id": "r", "name": "clerks", "assignment_rule": "role:clerks"}],
             "lanes": [{"id": "L", "name": "clerks", "role": "r", "elements": ["S"]}]}  # fmt: skip
    async with Office(tmp_path) as office:
        run = await at_the_question(office, ad_hoc())
        assert run.item("S.choice").candidates == {"type": "any_of", "targets": ["user:park"]}
        first = ad_hoc()
        first["activities"] = [each for each in first["activities"] if each["id"] != "F"]
        first["transitions"] = [each for each in first["transitions"] if each["source"] != "F"]
        begun = await office.start(first, initiator="lee")
        assert begun.item("S.choice").candidates == {"type": "any_of", "targets": ["user:lee"]}
        named = await at_the_question(office, ad_hoc(of={"candidates": ["user:kim"]}))
        assert named.item("S.choice").candidates == {"type": "any_of", "targets": ["user:kim"]}
        in_lane = await at_the_question(office, ad_hoc() | lanes)
        assert in_lane.item("S.choice").candidates == {"type": "any_of", "targets": ["role:clerks"]}


@awaited
async def test_a_step_is_chosen_by_its_name(tmp_path: Path) -> None:
    """P-X.25: two of one name have words of their own."""
    document = ad_hoc(task("A", name="Call  them"), task("B", name="Call them"))
    async with Office(tmp_path) as office:
        run = await at_the_question(office, document)
        assert run.item("S.choice").prompt["form"]["properties"]["choice"]["items"]["enum"] == [
            "Call them", "Call them (2)"
        ]  # fmt: skip
        await choose(run, "Call them (2)")
        assert "B" in run.open() and "A" not in run.open()


@awaited
async def test_an_expression_may_name_the_steps(tmp_path: Path) -> None:
    """P-X.25: Camunda 8's `activeElementsCollection`: ids; nobody is asked, and it ends when they are done."""
    async with Office(tmp_path) as office:
        run = await office.start(ad_hoc(steps="todo"), {"todo": ["B"]})
        await run.submit("F")
        assert run.open() == ["B"]
        await run.submit("B")
        assert run.open() == ["Z"]


# ---- combinations ----------------------------------------------------------------------------------------------------


@awaited
async def test_events_at_its_border_and_at_its_steps(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.5, 10.5.4: an error of a step is caught there, or at the border of the whole."""
    border = event("X", "boundary", "error", attached_to="S")
    inner = event("Y", "boundary", "error", attached_to="B", parent="S")
    document = ad_hoc(service("A"), service("B"), task("H"), more=(border, inner, task("K")), ways=("X>K", "Y>H"))
    async with Office(tmp_path, agents={"A": Failing("x"), "B": Failing("x")}) as office:
        run = await at_the_question(office, document)
        await choose(run, "B")
        assert sorted(run.open()) == ["H", "S.choice"]
        await choose(run, "A")
        assert run.open() == ["K"] and run.item("H").status == "CANCELLED"


@pytest.mark.parametrize("interrupting", [True, False])
@awaited
async def test_an_event_sub_process_in_it(tmp_path: Path, interrupting: bool) -> None:
    """P-X.25, BPMN 10.3.5: it listens as long as the sub-process is open, and may end what is chosen there."""
    handler = (
        task("V", type="subProcess", triggered_by_event=True, parent="S"),
        event("VS", "start", "message", message="news", interrupting=interrupting, parent="V"), task("N", parent="V"),
    )  # fmt: skip
    document = ad_hoc(more=handler, ways=("VS>N",))
    assert findings(document) == []
    async with Office(tmp_path) as office:
        run = await at_the_question(office, document)
        await choose(run, "A")
        await run.p.command(run.id, C.signal("1", "news", {}))
        await run.rest()
        assert sorted(run.open()) == (["N"] if interrupting else ["A", "N", "S.choice"])


@awaited
async def test_several_instances_of_it(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.8: each has its own question, and ends by itself."""
    document = ad_hoc(of={"multi": {"items": "['x', 'y']", "item": "who", "collect": "all"}}, until="ok == who")
    async with Office(tmp_path) as office:
        run = await at_the_question(office, document)
        assert run.open() == ["S.choice", "S.choice"]
        await choose(run, "A")
        await run.submit("A", {"ok": "y"})
        assert run.open() == ["S.choice"]
        first = next(item for item in run.items() if item.node == "S.choice" and item.status == "TODO")
        await run.p.command(run.id, C.work(first.no, "submit", "kim", {"finished": True}, None))
        await run.rest()
        assert run.open() == ["Z"]


@awaited
async def test_what_was_done_in_it_is_compensated(tmp_path: Path) -> None:
    """P-X.18, BPMN 13.5.5: every time that a step was done, the latest first; or by its own handler."""
    throw = event("U", "throw", "compensation", activity="S")
    steps = (service("A", compensation="undo_a"), service("B", compensation="undo_b"))
    for own, undone in ((None, ["undo_a", "undo_b", "undo_a"]), ("undo_s", ["undo_s"])):
        document = ad_hoc(*steps, more=(throw, task("Y")), ways=("Z>U", "U>Y"), of={"compensation": own})
        async with Office(tmp_path / str(own)) as office:
            run = await at_the_question(office, document)
            for step in "ABA":
                await choose(run, step)
            await choose(run, finished=True)
            await run.submit("Z")
            assert [tool for tool, _ in office.undone] == undone and run.open() == ["Y"]


@awaited
async def test_one_in_another_and_in_a_transaction(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.5: a step may be an ad-hoc sub-process itself, or lie in a transaction that is cancelled."""
    inner = [task("I", type="subProcess", bpmn="adHocSubProcess", parent="S"), service("P", parent="I",
             compensation="undo_p")]  # fmt: skip
    document = ad_hoc(task("A"), more=tuple(inner))
    async with Office(tmp_path) as office:
        run = await at_the_question(office, document)
        await choose(run, "I")
        await run.submit("I.choice", {"choice": ["P"], "finished": True})
        assert run.open() == ["S.choice"]
        await choose(run, finished=True)
        assert run.open() == ["Z"]
    whole = [
        task("T", type="subProcess", bpmn="transaction"), task("S", type="subProcess", ad_hoc={}, parent="T"),
        service("P", compensation="undo_p", parent="S"), event("E", "end", "cancel", parent="T"),
        event("B", "boundary", "cancel", attached_to="T"), task("K"),
    ]  # fmt: skip
    async with Office(tmp_path / "transaction") as office:
        run = await office.start(process(whole, ["S>E", "B>K"]))
        await run.submit("S.choice", {"choice": ["P"]})
        await choose(run, finished=True)
        assert [tool for tool, _ in office.undone] == ["undo_p"] and run.open() == ["K"]


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "a start by a message": (event("X", "start", "message", message="m", parent="S"), "ad_hoc_element", "X"),
    "an end of everything": (event("X", "end", "terminate", parent="S"), "ad_hoc_element", "X"),
    "an event that nothing leads to": (event("X", "catch", "message", message="m", parent="S"), "ad_hoc_element", "X"),
    "a gateway that nothing leads to": (gateway("X", "parallel", parent="S"), "ad_hoc_element", "X"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_chosen_is_refused_by_name(name: str) -> None:
    """P-X.25, BPMN 10.3.5: «The list of BPMN elements that MUST NOT be used in an Ad-Hoc Sub-Process: Start Event, End
    Event»."""
    element, rule, node = WRONG[name]
    assert (rule, node) in [(e.rule, e.node) for e in findings(ad_hoc(more=(element,))) if e.severity == "error"]


@awaited
async def test_start_and_end_events_of_careless_drawings_do_no_harm(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.5: drawn all the same, they are told: what the start leads to is chosen, and an end ends its
    own path."""
    around = (event("N", "start", parent="S"), event("E", "end", parent="S"))
    document = ad_hoc(more=around, ways=("N>A", "A>E"))
    assert [(each.severity, each.rule, each.node) for each in findings(document)] == [
        ("warning", "ad_hoc_element", "N"), ("warning", "ad_hoc_element", "E")
    ]  # fmt: skip
    async with Office(tmp_path) as office:
        run = await at_the_question(office, document)
        await choose(run, "A", "B")
        await run.submit("A")
        assert sorted(run.open()) == ["B", "S.choice"]


XML = """<?xml version="1.0"?><definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
 xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"><process id="p">
<startEvent id="E"/><sequenceFlow id="f1" sourceRef="E" targetRef="S"/>
<adHocSubProcess id="S" name="고르기" ordering="Sequential" cancelRemainingInstances="false">
<userTask id="A"/><userTask id="B"/><completionCondition>${ok == true}</completionCondition></adHocSubProcess>
<adHocSubProcess id="T"><extensionElements><zeebe:adHoc activeElementsCollection="=todo"/></extensionElements>
<userTask id="C"/></adHocSubProcess></process></definitions>"""


def test_a_file_with_one_is_read_and_written() -> None:
    """P-X.25: its ordering, its condition and what becomes of the rest; and Camunda 8's list of steps."""
    data, _ = read_bpmn(XML)
    found = {each["id"]: each for each in data["activities"]}
    assert found["S"]["type"] == "subProcess" and found["S"]["bpmn"] == "adHocSubProcess"
    assert found["S"]["ad_hoc"] == {"ordering": "sequential", "until": "ok == true", "cancel_remaining": False}
    assert found["T"]["ad_hoc"] == {"steps": "todo"} and found["A"]["parent"] == "S"
    assert rules(data) == [] and rules(data, "warning") == ["idle_field"]
    written = write_bpmn({**data, "extensions": {}})
    again, _ = read_bpmn(written)
    assert [(each["id"], each.get("ad_hoc")) for each in again["activities"]] == [
        (each["id"], each.get("ad_hoc")) for each in data["activities"]
    ]


CHANGES: dict[str, dict[str, Any]] = {
    "its condition": {"ad_hoc": {"ordering": "parallel", "until": "ok == 2"}},
    "who chooses": {"candidates": ["role:clerks"]},
    "what it is": {"type": "humanTask", "ad_hoc": None},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_one_is_brought_into_its_file(name: str) -> None:
    """P-X.25: what is changed is read again, and nothing else of the file is touched."""
    drawing = read_drawing(XML, "p.bpmn")
    (data,) = drawing.definitions
    changed = [{**each, **CHANGES[name]} if each["id"] == "S" else each for each in data["activities"]]
    text = write_drawing(drawing.changed("p", {**data, "activities": changed}))
    found = {each["id"]: each for each in read_drawing(text, "p.bpmn").definitions[0]["activities"]}
    assert {field: found["S"].get(field) for field in CHANGES[name]} == CHANGES[name]
    assert '<adHocSubProcess id="T"><extensionElements><zeebe:adHoc activeElementsCollection="=todo"/>' in text
