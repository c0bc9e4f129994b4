"""To-dos of a drawing: each kind is found, worded as drawn, answered by its proposal and by hand, and refuses the rest.

P-X.9, P-X.10: a gateway that asks runs to the end, whichever way is chosen.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import ProcessInvalid
from penstock.lang.process.drawing import Drawing, read_drawing
from penstock.lang.process.todos import Todo, accepted, answered, todos_of
from penstock.lang.process.todos.spoken_times import spoken_time
from tests.conformance.process.make import event, gateway, process, task

HEAD = '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:tests">'


def drawing(inner: str, more: str = "") -> Drawing:
    return read_drawing(f'{HEAD}{more}<process id="p" name="P">{inner}</process></definitions>', "p.bpmn")


def of(*definitions: dict[str, Any]) -> Drawing:
    return Drawing(definitions)


def flow(id: str, source: str, target: str, name: str = "") -> str:
    return f'<sequenceFlow id="{id}" sourceRef="{source}" targetRef="{target}" name="{name}"/>'


def only(drawing: Drawing) -> Todo:
    (todo,) = todos_of(drawing)
    return todo


def refused(drawing: Drawing, key: str, answer: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(ProcessInvalid) as raised:
        answered(drawing, key, answer)
    (finding,) = raised.value.findings
    assert finding.hint, finding
    return finding.rule, finding.where.pointer


# ---- gateways --------------------------------------------------------------------------------------------------------

CHOICE = of(
    process(
        [task("A", name="Check the claim"), gateway("g", name="Covered?"), task("B", name="Pay"), task("C")],
        ["A>g", ("g>B", {"name": "yes"}), "g>C"],
    )
)


def test_a_gateway_without_conditions_asks_whoever_did_the_step_before() -> None:
    """P-X.9: flows' names, else the targets', are the choices."""
    todo = only(CHOICE)
    assert (todo.key, todo.element_type, todo.name) == ("gateway_conditions:p:g", "exclusiveGateway", "Covered?")
    assert todo.message == "«Covered?» parts into «yes», «C», and has no condition that says which."
    assert todo.facts["choices"] == [
        {"flow": "g>B", "label": "yes", "target": "Pay"}, {"flow": "g>C", "label": "C", "target": "C"},
    ]  # fmt: skip
    assert todo.facts["who"] == ["Check the claim"]
    proposal = todo.proposals[0]
    assert (proposal.kind, proposal.message) == (
        "ask_previous", "Whoever has done «Check the claim» chooses between «yes», «C».",
    )  # fmt: skip
    done = answered(CHOICE, todo.key, proposal.answer)
    assert todos_of(done) == []
    assert len(todos_of(CHOICE)) == 1, "an answer makes a new drawing"


def test_a_gateway_is_answered_by_conditions() -> None:
    """P-X.9: one way may be the default, and the rest have a condition each."""
    done = answered(CHOICE, "gateway_conditions:p:g", {"conditions": {"g>B": "${covered == true}"}})
    assert todos_of(done) == []
    gateway = done.definition("p")["gateways"][0]
    assert gateway["default"] == "g>C"
    assert [flow.get("condition") for flow in done.definition("p")["transitions"]] == [None, "covered == true", None]


@pytest.mark.parametrize(
    ("answer", "rule", "pointer"),
    [
        ({}, "missing_field", "/conditions"),
        ({"conditions": {"g>X": "a"}}, "unknown_condition", "/conditions/g>X"),
        ({"conditions": {"g>B": "a =="}}, "expression_syntax", "/conditions/g>B"),
        ({"conditions": {"g>B": 7}}, "missing_field", "/conditions/g>B"),
        ({"conditions": {}}, "condition_missing", "/conditions"),
        ({"conditions": {"g>B": "secrets.x == 1"}}, "secret_in_expression", "/conditions/g>B"),
        ({"conditions": {"g>B": "a"}, "default": "no"}, "unknown_condition", "/default/no"),
        ({"ask": "me"}, "wrong_type", "/ask"),
        ({"ask": {"who": "kim"}}, "bad_target", "/ask/who"),
        ({"ask": {"choices": {"g>B": "x", "g>C": "x"}}}, "condition_conflict", "/ask/choices"),
        ({"nothing": 1}, "unknown_field", "/nothing"),
    ],
)
def test_a_bad_answer_for_a_gateway_is_refused(answer: dict[str, Any], rule: str, pointer: str) -> None:
    assert refused(CHOICE, "gateway_conditions:p:g", answer) == (rule, pointer)


def test_choices_are_distinct() -> None:
    """P-X.9: two flows of one name are told apart by where they lead."""
    ways = ["A>g", *((way, {"name": "yes"}) for way in ("g>B", "g>C", "g>D"))]
    todo = only(of(process([task("A"), gateway("g"), task("B"), task("C"), task("D", name="B")], ways)))
    assert [choice["label"] for choice in todo.facts["choices"]] == ["yes: B", "yes: C", "yes: B (2)"]


def test_a_condition_that_cannot_be_read_is_shown() -> None:
    """P-X.9: it is a to-do with the same proposal."""
    ways = ["A>g", ("g>B", {"condition": "the amount is high"}), "g>C"]
    broken = of(process([task("A"), gateway("g", name="High?"), task("B"), task("C")], ways))
    todo = only(broken)
    assert "the amount is high" in todo.message
    assert todo.facts["choices"][0]["condition"] == "the amount is high"
    done = answered(broken, todo.key, todo.proposals[0].answer)
    assert todos_of(done) == []
    assert done.definition("p")["transitions"][1]["condition"] == "the amount is high", "what was written stays"


@pytest.mark.parametrize(
    ("elements", "ways", "lanes", "who"),
    [
        ([task("A")], ["A>g"], [], "previous"),
        ([task("A", type="serviceTask", agent_mode="AUTONOMOUS")], ["A>g"], [], "initiator"),
        ([event("s", "start"), task("A", multi={"count": 2})], ["s>A", "A>g"], [], "initiator"),
        ([event("s", "start", "message", message="m")], ["s>g"], [], "anyone"),
        ([event("s", "start", "message", message="m")], ["s>g"], [{"id": "l", "name": "Sales", "elements": ["g"]}],
         "role:Sales"),
    ],
)  # fmt: skip
def test_who_is_asked(elements: list[Any], ways: list[Any], lanes: list[Any], who: str) -> None:
    """P-X.13: where no person did the step before, those of the lane, else whoever has begun the process."""
    choice = of(process([*elements, gateway("g"), task("B"), task("C")], [*ways, "g>B", "g>C"], lanes=lanes))
    todo = next(todo for todo in todos_of(choice) if todo.kind == "gateway_conditions")
    assert todo.proposals[0].answer["ask"]["who"] == who


# ---- events ----------------------------------------------------------------------------------------------------------


def named(event: str, more: str = "") -> Drawing:
    inner = f'<startEvent id="s"/>{event}{flow("f1", "s", "e")}'
    return drawing(inner, more)


def test_a_message_is_called_as_its_event() -> None:
    """P-X.25."""
    inner = "<messageEventDefinition/>"
    broken = named(f'<intermediateCatchEvent id="e" name="Order comes">{inner}</intermediateCatchEvent>')
    todo = only(broken)
    assert (todo.key, todo.element_type) == ("message_name:p:e", "message event")
    assert todo.message == "«Order comes» waits for a message without a name."
    assert todos_of(answered(broken, todo.key, todo.proposals[0].answer)) == []
    assert answered(broken, todo.key, {"name": "order"}).definition("p")["events"][1]["message"] == "order"
    assert refused(broken, todo.key, {}) == ("missing_field", "/name")
    assert refused(broken, todo.key, {"name": ""}) == ("missing_field", "/name")


def test_a_declared_message_without_a_name_gets_one() -> None:
    """P-X.25: the events of one message have one name."""
    inner = '<messageEventDefinition messageRef="m"/>'
    broken = drawing(
        f'<startEvent id="s"/><intermediateThrowEvent id="a" name="Order">{inner}</intermediateThrowEvent>'
        f'<intermediateCatchEvent id="b" name="Answer">{inner}</intermediateCatchEvent>'
        f"{flow('f1', 's', 'a')}{flow('f2', 'a', 'b')}",
        '<message id="m"/>',
    )
    assert [todo.proposals[0].answer for todo in todos_of(broken)] == [{"name": "Order"}, {"name": "Order"}]
    assert todos_of(accepted(broken)[0]) == []


def test_a_signal_is_called_as_its_event() -> None:
    """P-X.25."""
    broken = named('<endEvent id="e" name="Closed"><signalEventDefinition/></endEvent>')
    todo = only(broken)
    assert (todo.key, todo.message) == ("signal_name:p:e", "«Closed» sends a signal without a name.")
    assert todos_of(answered(broken, todo.key, todo.proposals[0].answer)) == []


def timer(name: str) -> Drawing:
    inner = f'<intermediateCatchEvent id="e" name="{name}"><timerEventDefinition/></intermediateCatchEvent>'
    return named(inner)


def test_a_timer_asks_for_its_time() -> None:
    """P-X.25: nothing is guessed."""
    broken = timer("Customer answers in time")
    todo = only(broken)
    assert (todo.key, todo.proposals, todo.required) == ("timer_value:p:e", [], True)
    assert todo.message == "«Customer answers in time» is a timer, and nothing says when it is due."
    times = (("duration", "PT1H"), ("date", "2027-01-01T09:00:00"), ("cycle", "R3/PT1M"), ("date", "${due}"))
    for kind, value in times:
        done = answered(broken, todo.key, {"kind": kind, "value": value})
        assert todos_of(done) == [], value
    assert refused(broken, todo.key, {"kind": "duration", "value": "soon"}) == ("bad_duration", "/value")
    assert refused(broken, todo.key, {"kind": "date", "value": "31.12."}) == ("bad_duration", "/value")
    assert refused(broken, todo.key, {"kind": "when", "value": "P1D"}) == ("wrong_type", "/kind")
    assert refused(broken, todo.key, {"kind": "duration"}) == ("missing_field", "/value")


def test_a_timer_proposes_what_its_name_says() -> None:
    """P-X.25."""
    broken = timer("after 3 days")
    todo = only(broken)
    assert todo.proposals[0].answer == {"kind": "duration", "value": "P3D"}
    assert todos_of(accepted(broken)[0]) == []


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("3 days", ("duration", "P3D")), ("3일", ("duration", "P3D")), ("2시간 후", ("duration", "PT2H")),
        ("after 30 minutes", ("duration", "PT30M")), ("PT5M", ("duration", "PT5M")), ("2 weeks", ("duration", "P14D")),
        ("24h", ("duration", "PT24H")), ("Wait for two hours", ("duration", "PT2H")),
        ("5분 대기", ("duration", "PT5M")),
        ("every 10 minutes", ("cycle", "R/PT10M")), ("매일", ("cycle", "R/P1D")), ("R3/PT1H", ("cycle", "R3/PT1H")),
        ("2026-12-24", ("date", "2026-12-24")), ("매일 9시", None), ("Invoice is due", None), ("in March", None),
        ("3", None), ("days", None), ("12 o'clock", None), ("", None),
    ],
)  # fmt: skip
def test_times_that_people_write(text: str, time: tuple[str, str] | None) -> None:
    """P-X.25: «매일 9시» is not guessed."""
    assert spoken_time(text) == time


# ---- all of them -----------------------------------------------------------------------------------------------------


def test_what_no_kind_takes_is_listed() -> None:
    """P-X.25: a draft lists all that keeps it from running."""
    broken = of(process([task("A"), event("e", "end")], ["A>e", "e>A"]))
    todo = next(todo for todo in todos_of(broken) if todo.element == "e")
    assert (todo.kind, todo.proposals, todo.form) == ("finding", [], {})
    assert "«e»" in todo.message
    assert refused(broken, todo.key, {"x": 1})[0] == "todo_without_answer"


def test_a_key_of_nothing_is_refused() -> None:
    assert refused(CHOICE, "gateway_conditions:q:g", {})[0] == "todo_unknown"
    assert refused(CHOICE, "no_kind:p:g", {})[0] == "todo_unknown"
    assert refused(CHOICE, "timer_value:p:nobody", {"kind": "duration", "value": "P1D"})[0] == "todo_unknown"


def test_todos_come_along_the_flow() -> None:
    """P-X.25: as somebody reads the drawing."""
    inner = "<messageEventDefinition/>"
    broken = drawing(
        f'<intermediateThrowEvent id="c">{inner}</intermediateThrowEvent><startEvent id="s"/>'
        f'<intermediateThrowEvent id="a">{inner}</intermediateThrowEvent>'
        f'<intermediateThrowEvent id="b">{inner}</intermediateThrowEvent>'
        f"{flow('f1', 's', 'a')}{flow('f2', 'a', 'b')}{flow('f3', 'b', 'c')}"
    )
    assert [todo.element for todo in todos_of(broken)] == ["a", "b", "c"]


def test_accepting_is_idempotent() -> None:
    done, taken = accepted(CHOICE)
    assert [item.key for item in taken] == ["gateway_conditions:p:g"]
    assert accepted(done) == (done, [])
