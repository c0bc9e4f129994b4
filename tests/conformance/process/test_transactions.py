"""Transaction sub-processes: done as a whole, or cancelled and undone as a whole (BPMN 2.0.2, 10.3.5 and 13.3.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.lang.process.bpmn.reader import read_bpmn
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.process.drawing import read_drawing, write_drawing
from penstock.lang.process.todos import accepted, todos_of
from penstock.net.soundness import verdicts
from tests.conformance.process.make import compiled, event, findings, gateway, process, rules, service, task
from tests.conformance.process.running import Failing, Instance, Office, awaited


def transaction(id: str = "T", **fields: Any) -> dict[str, Any]:
    return task(id, type="subProcess", bpmn="transaction", **fields)


def booking(*more: dict[str, Any], ways: tuple[Any, ...] = (), **fields: Any) -> dict[str, Any]:
    """Before it F is done; in it the hotel and the flight are booked; C decides; N comes after it, K when cancelled."""
    elements = [
        service("F", compensation="undo_f"), transaction(**fields),
        service("H", parent="T", compensation="undo_h"), service("L", parent="T", compensation="undo_l"),
        task("C", parent="T"), gateway("X", parent="T", conditions={"X>EC": "no == true", "default": "X>E"}),
        event("E", "end", parent="T"), event("EC", "end", "cancel", parent="T"),
        event("B", "boundary", "cancel", attached_to="T"), task("N"), task("K"),
    ]  # fmt: skip
    return process([*elements, *more], ["F>T", "H>L", "L>C", "C>X", "X>E", "X>EC", "T>N", "B>K", *ways])


def undone(office: Office) -> list[str]:
    return [tool for tool, _ in office.undone]


async def cancelled(run: Instance, no: bool = True) -> None:
    await run.submit("C", {"no": no})


@awaited
async def test_a_cancel_undoes_what_was_done_in_it_and_takes_the_way_of_the_boundary(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.5: «A cancelled Transaction: Activities that are inside … are cancelled, … compensation, …
    the flow leaves via the Cancel Intermediate Event»; what lies before the transaction stays done."""
    assert findings(booking()) == []
    async with Office(tmp_path) as office:
        run = await office.start(booking())
        await cancelled(run)
        assert undone(office) == ["undo_l", "undo_h"] and run.open() == ["K"]
        assert run.states()["H"] == run.states()["L"] == "COMPENSATED" and run.states()["F"] == "DONE"
        await run.submit("K")
        assert run.status == "COMPLETED"


@awaited
async def test_what_is_still_open_in_it_is_ended_first(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.5: people's items in a cancelled transaction are cancelled, and nobody can submit them."""
    document = booking(task("O", parent="T"))
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert run.open() == ["O", "C"]
        await cancelled(run)
        assert run.states()["O"] == "CANCELLED" and run.open() == ["K"]


@awaited
async def test_one_that_ends_normally_can_be_compensated_later(tmp_path: Path) -> None:
    """P-X.18, BPMN 13.3.4: «the Transaction is completed … may be compensated»: by a throw event, or as a whole."""
    document = booking(event("U", "throw", "compensation", activity="T"), task("Z"), ways=("N>U", "U>Z"))
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await cancelled(run, no=False)
        assert undone(office) == [] and run.open() == ["N"]
        await run.submit("N")
        assert undone(office) == ["undo_l", "undo_h"] and run.open() == ["Z"]


@awaited
async def test_its_own_handler_undoes_it_as_a_whole(tmp_path: Path) -> None:
    """P-X.18, BPMN 13.5.5: a completed transaction with a handler is compensated by that instead; a cancelled one,
    which has not completed, by what undoes its parts."""
    throw = event("U", "throw", "compensation", activity="T")
    document = booking(throw, task("Z"), ways=("N>U", "U>Z"), compensation="undo_t")
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await cancelled(run, no=False)
        await run.submit("N")
        assert undone(office) == ["undo_t"]
        again = await office.start(document)
        await cancelled(again)
        assert undone(office)[1:] == ["undo_l", "undo_h"]


@awaited
async def test_a_handler_of_several_instances_undoes_them_as_a_whole(tmp_path: Path) -> None:
    """P-X.18, BPMN 13.5.5: named by a throw event like the handler of one."""
    throw = event("U", "throw", "compensation", activity="T")
    document = booking(throw, task("Z"), ways=("N>U", "U>Z"), compensation="undo_t", multi={"count": 1})
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await cancelled(run, no=False)
        await run.submit("N")
        assert undone(office) == ["undo_t"] and run.open() == ["Z"]


@awaited
async def test_only_the_round_that_is_cancelled_is_undone(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.5: «inside the Transaction»: what an earlier round of a loop around it has done stays."""
    again = gateway("G", conditions={"G>T": "more == true", "default": "G>Z"})
    document = booking(again, task("Z"), ways=("N>G", "G>T", "G>Z"))
    async with Office(tmp_path, tools={}) as office:
        run = await office.start(document)
        await cancelled(run, no=False)
        await run.submit("N", {"more": True})
        await cancelled(run)
        assert undone(office) == ["undo_l", "undo_h"] and run.open() == ["K"]
        assert [item.status for item in run.items() if item.node == "H"] == ["DONE", "COMPENSATED"]


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@awaited
async def test_a_cancel_in_one_instance_cancels_all_of_them(tmp_path: Path, mode: str) -> None:
    """P-X.25, BPMN 10.3.5, 10.3.8: the transaction is the activity with all its instances."""
    document = booking(multi={"mode": mode, "count": 2})
    async with Office(tmp_path) as office:
        run = await office.start(document)
        waiting = [item for item in run.items() if item.node == "C"]
        assert len(waiting) == (2 if mode == "parallel" else 1)
        await cancelled(run, no=False)
        if mode == "parallel":
            await run.p.command(run.id, C.work(waiting[0].no, "submit", "kim", {"no": True}, None))
            await run.rest()
        else:
            await cancelled(run)
        assert sorted(undone(office)) == ["undo_h", "undo_h", "undo_l", "undo_l"] and run.open() == ["K"]


LISTENING = [
    transaction("I"), event("IE", "end", "error", code="X", parent="I"),
    task("V", type="subProcess", triggered_by_event=True, parent="T"), event("VS", "start", "error", parent="V"),
    task("VN", parent="V"),
]  # fmt: skip


@awaited
async def test_an_event_sub_process_in_it_does_not_catch_its_cancel(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.5: a cancel is no error: a handler of all errors inside of the transaction does not see it."""
    async with Office(tmp_path) as office:
        run = await office.start(booking(*LISTENING[2:], ways=("VS>VN",)))
        await cancelled(run)
        assert undone(office) == ["undo_l", "undo_h"] and run.open() == ["K"]
        other = await office.start(booking(*LISTENING[2:], ways=("VS>VN",)))
        await cancelled(other, no=False)
        assert other.open() == ["N"]


@awaited
async def test_a_transaction_in_a_transaction_is_cancelled_alone(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.5: the inner one's boundary is left by; then what completed in both is the outer one's."""
    inner = [
        transaction("I", parent="T"), service("P", parent="I", compensation="undo_p"),
        event("PE", "end", "cancel", parent="I"), event("IB", "boundary", "cancel", attached_to="I", parent="T"),
        service("Q", parent="T", compensation="undo_q"),
    ]  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(booking(*inner, ways=("P>PE", "IB>Q")))
        assert undone(office) == ["undo_p"] and run.open() == ["C"]
        await cancelled(run)
        assert sorted(undone(office)) == ["undo_h", "undo_l", "undo_p", "undo_q"] and run.open() == ["K"]


@awaited
async def test_a_hazard_leaves_by_the_error_event_and_undoes_nothing(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.5: «a Hazard … the Activity is interrupted (without Compensation) and the flow continues from
    the Error Intermediate Event»."""
    border = event("R", "boundary", "error", attached_to="T")
    document = booking(service("W", parent="T"), border, task("D"), ways=("C>W", "R>D"))
    async with Office(tmp_path, agents={"W": Failing("x")}) as office:
        run = await office.start(document)
        await cancelled(run, no=False)
        assert undone(office) == [] and run.open() == ["D"]


@awaited
async def test_an_undo_that_fails_is_a_hazard(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.5: a cancel that cannot be carried through is neither a success nor a cancel."""
    document = booking(event("R", "boundary", "error", attached_to="T"), task("D"), ways=("R>D",))
    async with Office(tmp_path, tools={"undo_h": Failing("x")}) as office:
        run = await office.start(document)
        await cancelled(run)
        assert sorted(undone(office)) == ["undo_h", "undo_l"] and run.open() == ["D"]


@awaited
async def test_a_cancel_that_nobody_catches_ends_the_path(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.5: it is told before, and the transaction is undone all the same."""
    document = booking()
    document["events"] = [each for each in document["events"] if each["id"] != "B"]
    document["transitions"] = [each for each in document["transitions"] if each["source"] != "B"]
    document["activities"] = [each for each in document["activities"] if each["id"] != "K"]
    assert [(each.rule, each.severity, each.node) for each in findings(document)] == [
        ("cancel_without_boundary", "warning", "T")
    ]
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await cancelled(run)
        assert undone(office) == ["undo_l", "undo_h"] and run.status == "COMPLETED"


MISPLACED: dict[str, tuple[list[dict[str, Any]], list[str], str, str]] = {
    "an end at the top": ([task("A"), event("X", "end", "cancel")], ["A>X"], "cancel_outside_transaction", "X"),
    "an end in a sub-process": ([task("S", type="subProcess"), task("A", parent="S"),
                                 event("X", "end", "cancel", parent="S")], ["A>X"], "cancel_outside_transaction", "X"),
    "at the border of a task": ([task("A"), event("X", "boundary", "cancel", attached_to="A"), task("B")], ["X>B"],
                                "cancel_outside_transaction", "X"),
    "thrown on the way": ([task("A"), event("X", "throw", "cancel")], ["A>X"], "bpmn_not_supported", "X"),
    "waited for on the way": ([task("A"), event("X", "catch", "cancel")], ["A>X"], "bpmn_not_supported", "X"),
    "a handler that is one": ([task("Z"), transaction("T", triggered_by_event=True),
                               event("S", "start", "error", parent="T")], [], "bpmn_not_supported", "T"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISPLACED)
def test_a_cancel_elsewhere_is_refused_by_name(name: str) -> None:
    """P-X.25, BPMN 10.5.5: «MUST only be used within a Transaction Sub-Process … MUST only be attached to the boundary
    of a Transaction»."""
    elements, ways, rule, node = MISPLACED[name]
    assert (rule, node) in [(each.rule, each.node) for each in findings(process(elements, ways))]


CANCEL = "<cancelEventDefinition/>"
END = f'<endEvent id="X">{CANCEL}</endEvent>'
INSIDE = '<userTask id="A"/><sequenceFlow id="f" sourceRef="A" targetRef="X"/>'
REPAIRED: dict[str, tuple[str, dict[str, Any]]] = {
    "an end in a sub-process": (f'<subProcess id="S">{INSIDE}{END}</subProcess>', {"S": {"bpmn": "transaction"}}),
    "at the border of a sub-process": (
        (f'<subProcess id="S"><userTask id="A"/></subProcess><boundaryEvent id="X" attachedToRef="S">{CANCEL}'
        '</boundaryEvent><userTask id="K"/><sequenceFlow id="f" sourceRef="X" targetRef="K"/>'),
        {"S": {"bpmn": "transaction"}}),
    "an end at the top": (f"{INSIDE}{END}", {"X": {"trigger": "none"}}),
    "at the border of a task": (
        (f'<userTask id="A"/><boundaryEvent id="X" attachedToRef="A">{CANCEL}</boundaryEvent><userTask id="K"/>'
        '<sequenceFlow id="f" sourceRef="X" targetRef="K"/>'), {"X": {"trigger": "error"}}),
}  # fmt: skip


@pytest.mark.parametrize("name", REPAIRED)
def test_a_cancel_of_a_careless_drawing_has_a_proposal(name: str) -> None:
    """P-X.25, BPMN 10.5.5: a sub-process that is cancelled is a transaction; what nothing can cancel is something
    else. Taken, the drawing runs, and its file is read again like that."""
    inner, changes = REPAIRED[name]
    text = f'<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"><process id="p">{inner}</process>'
    drawing = read_drawing(text + "</definitions>", "p.bpmn")
    (todo,) = [todo for todo in todos_of(drawing) if todo.required]
    assert todo.proposals[0].answer == {"changes": changes}
    mended, _ = accepted(drawing)
    again = read_drawing(write_drawing(mended), "p.bpmn")
    assert [todo for todo in todos_of(again) if todo.required] == []
    assert again.definitions == mended.definitions


def test_what_never_comes_and_what_is_not_done_is_told() -> None:
    """P-X.25: a boundary that nothing cancels; a protocol that is another than the one that is run."""
    quiet = process([transaction(method="##Store"), task("A", parent="T"),
                     event("B", "boundary", "cancel", attached_to="T"), task("K")], ["B>K"])  # fmt: skip
    assert sorted(rules(quiet, "warning")) == ["cancel_without_end", "idle_field"]
    assert rules(quiet) == []


def test_a_transaction_is_sound_on_each_of_its_levels() -> None:
    """P-X.12: the levels that are added neither hide a deadlock nor make one up."""
    for document in (booking(), booking(multi={"count": 2}), booking(*LISTENING[2:], ways=("VS>VN",))):
        net = compiled(document).net
        assert {each.status for each in verdicts(net, each=True).values()} == {"sound"}
    stuck = booking(gateway("J", "parallel", parent="T"), ways=("L>J", "J>E"))
    stuck["transitions"].append({"id": "never", "source": "X", "target": "J", "condition": "false"})
    assert rules(stuck) == ["unsound"]


XML = """<?xml version="1.0"?><definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"><process id="p">
<startEvent id="S"/><sequenceFlow id="f1" sourceRef="S" targetRef="T"/>
<transaction id="T" name="예약" method="##Store"><userTask id="A"/>
<sequenceFlow id="f2" sourceRef="A" targetRef="E"/><endEvent id="E"><cancelEventDefinition/></endEvent></transaction>
<boundaryEvent id="B" attachedToRef="T"><cancelEventDefinition/></boundaryEvent>
<sequenceFlow id="f3" sourceRef="B" targetRef="K"/><userTask id="K"/></process></definitions>"""


def test_a_file_with_a_transaction_is_read_and_written() -> None:
    """P-X.25: the element, its `method`, its cancel events and what it holds."""
    data, _ = read_bpmn(XML)
    (found,) = [each for each in data["activities"] if each["id"] == "T"]
    assert (found["type"], found["bpmn"], found["method"]) == ("subProcess", "transaction", "##Store")
    assert {each["id"]: each.get("trigger") for each in data["events"]}["E"] == "cancel"
    assert [each["id"] for each in data["activities"] if each.get("parent") == "T"] == ["A"]
    assert rules(data) == [] and [each.rule for each in findings(data)] == ["idle_field"]
    written = write_bpmn({**data, "extensions": {}})
    assert '<bpmn:transaction id="T" name="예약" method="##Store">' in written
    again, _ = read_bpmn(written)
    assert [each for each in again["activities"] if each["id"] == "T"] == [found]
