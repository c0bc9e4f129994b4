"""To-dos of a drawing: each kind is found, worded as drawn, answered by its proposal and by hand, and refuses the rest.

P-X.9, P-X.10: a gateway that asks runs to the end, whichever way is chosen.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from penstock.errors import ProcessInvalid
from penstock.lang.process.drawing import Drawing, read_drawing, write_drawing
from penstock.lang.process.todos import Todo, accepted, answered, todos_of
from penstock.lang.process.todos.spoken_times import spoken_time
from tests.conformance.process.make import as_bytes, event, gateway, process, task
from tests.conformance.process.random_drawings import RandomDrawing, block_drawing, free_drawing

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
    assert [(todo.kind, todo.required) for todo in todos_of(done)] == [("form", False)]
    gateway = done.definition("p")["gateways"][0]
    assert gateway["default"] == "g>C"
    assert [flow.get("condition") for flow in done.definition("p")["transitions"]] == [None, "covered == true", None]


def test_conditions_at_the_gateway_give_way_to_those_of_the_answer() -> None:
    """P-X.9: a flow has one condition, wherever it stood before: two that differ are a contradiction."""
    said = gateway("g", name="Covered?", conditions={"yes": "it is covered", "C": "it is not"})
    before = of(process([task("A"), said, task("B"), task("C")], ["A>g", ("g>B", {"name": "yes"}), "g>C"]))
    done = answered(before, only(before).key, {"conditions": {"g>B": "covered == true"}, "default": "g>C"})
    assert [todo.kind for todo in todos_of(done) if todo.required] == []
    assert "conditions" not in done.definition("p")["gateways"][0]


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
        ([event("s", "start", "message", message="m"), task("A")], ["s>A", "s>g", "A>g"], [], "anyone"),
        ([task("A"), event("t", "catch", "timer", timer={"duration": "P1D"})], ["A>t", "t>g"], [], "previous"),
        ([event("s", "start", "message", message="m")], ["s>g"], [{"id": "l", "name": "Sales", "elements": ["g"]}],
         "role:Sales"),
    ],
)  # fmt: skip
def test_who_is_asked(elements: list[Any], ways: list[Any], lanes: list[Any], who: str) -> None:
    """P-X.13: where no person did the step before, those of the lane, else whoever has begun the process."""
    choice = of(process([*elements, gateway("g"), task("B"), task("C")], [*ways, "g>B", "g>C"], lanes=lanes))
    todo = next(todo for todo in todos_of(choice) if todo.kind == "gateway_conditions")
    assert todo.proposals[0].answer["ask"]["who"] == who


def test_after_a_machine_those_are_asked_who_were_named_for_the_lane() -> None:
    """P-X.13: an answer about a lane holds for the gateways in it; they are not asked of a role that nobody has."""
    lanes = [{"id": "l", "name": "Claims\n desk", "elements": ["A", "g", "B", "C"]}]
    start, check = event("s", "start", "message", message="m"), task("B", name="Check")
    drawn = of(process([start, gateway("g"), check, task("C")], ["s>g", "g>B", "g>C"], lanes=lanes))

    def asked(drawing: Drawing) -> Any:
        todos = todos_of(drawing)
        return next(todo for todo in todos if todo.kind == "gateway_conditions").proposals[0].answer["ask"]["who"]

    assert asked(drawn) == "role:Claims desk", "as the role of the lane is called"
    for who in ("role:clerks", "user:kim", "initiator", "anyone"):
        assert asked(answered(drawn, "lane_role:p:l", {"who": who})) == who


def test_a_name_that_no_role_can_have_is_no_proposal_that_is_refused() -> None:
    """P-X.13: then the role has the id of what is drawn."""
    lanes = [{"id": "l", "name": "O'Neil \"x\"", "elements": ["A", "g"]}]
    drawn = of(process([task("A", tool="t"), task("B"), task("C"), gateway("g")], ["A>g", "g>B", "g>C"],
                       lanes=[{**lanes[0], "elements": ["g", "B"]}]))  # fmt: skip
    done, _ = accepted(drawn)
    assert not [todo for todo in todos_of(done) if todo.proposals]
    assert done.definition("p")["roles"][0]["assignment_rule"] == "role:l"


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
        ("Timeout (7 days)", ("duration", "P7D")), ("Reminder [every 2 days]", ("cycle", "R/P2D")),
        ("2026-12-24", ("date", "2026-12-24")), ("매일 9시", None), ("Invoice is due", None), ("in March", None),
        ("3", None), ("days", None), ("12 o'clock", None), ("", None),
    ],
)  # fmt: skip
def test_times_that_people_write(text: str, time: tuple[str, str] | None) -> None:
    """P-X.25: «매일 9시» is not guessed."""
    assert spoken_time(text) == time


# ---- activities ------------------------------------------------------------------------------------------------------


def one_step(**fields: Any) -> Drawing:
    return of(process([task("Z"), task("A", **{"name": "Do it", **fields})], ["Z>A"]))


PERSON = {"by": "person"}


@pytest.mark.parametrize(
    ("fields", "kind", "message", "by_hand", "bad", "refusal"),
    [
        ({"type": "scriptTask"}, "script", "«Do it» has no script.", {"code": "result = {'a': 1}"}, {"code": "a ="},
         ("expression_syntax", "/code")),
        ({"type": "serviceTask", "bpmn": "businessRuleTask"}, "rules", "«Do it» does not say which rules decide.",
         {"rule_pack": "limits"}, {"rule_pack": 7}, ("missing_field", "/rule_pack")),
        ({"type": "serviceTask", "bpmn": "serviceTask"}, "service",
         "Nothing says what does «Do it», so a person has to.", {"job": "pay"}, {"job": ""}, ("missing_field", "/job")),
        ({"type": "serviceTask", "tool": "t", "params": {"a": "${b ==}"}}, "service",
         "What «Do it» is given cannot be read:", {"tool": "t"}, {}, ("missing_field", "")),
        ({"type": "subProcess", "bpmn": "callActivity"}, "called_process",
         "«Do it» does not say which process it calls.", {"process": "other"}, {"process": None},
         ("missing_field", "/process")),
        ({"type": "subProcess", "bpmn": "subProcess"}, "called_process", "«Do it» holds nothing.", PERSON,
         {"by": "robot"}, ("wrong_type", "/by")),
        ({"type": "subProcess", "bpmn": "callActivity", "orchestration": {"sub_process": "x"}}, "called_process",
         "«Do it» calls the process «x», which is not there.", PERSON, {"x": 1}, ("unknown_field", "/x")),
    ],
)  # fmt: skip
def test_what_a_machine_would_do_a_person_can(
    fields: dict[str, Any], kind: str, message: str, by_hand: dict[str, Any], bad: dict[str, Any],
    refusal: tuple[str, str],
) -> None:  # fmt: skip
    """P-X.17, P-X.4, P-X.25: no script, no rules, nothing that serves, nothing that is called."""
    broken = one_step(**fields)
    todo = only(broken)
    assert (todo.kind, todo.key, todo.proposals[0].kind) == (kind, f"{kind}:p:A", "person")
    assert todo.message.startswith(message)
    assert todo.proposals[0].message == "A person does «Do it»."
    by_person = answered(broken, todo.key, todo.proposals[0].answer)
    assert todos_of(by_person) == []
    other = of(process([task("O")], [], process_definition_id="other", process_definition_name="Other"))
    if "params" not in fields:
        finished = Drawing((*answered(broken, todo.key, by_hand).definitions, *other.definitions))
        assert todos_of(finished) == []
    assert refused(broken, todo.key, bad) == refusal


@pytest.mark.parametrize("tag", ["serviceTask", "sendTask", "businessRuleTask", "scriptTask"])
def test_what_a_task_computes_nobody_does(tag: str) -> None:
    """P-X.9: it is nobody's work, sends nothing, and nobody has done it who could be asked."""
    computing = {"bpmn": tag, "computes": {"total": "${amount + 1}"}}
    sum_ = task("A", type="scriptTask" if tag == "scriptTask" else "serviceTask", name="Sum", **computing)
    document = process([sum_, gateway("g", name="Fine?"), task("B"), task("C")], ["A>g", "g>B", "g>C"])
    lane = {"id": "lane", "name": "Clerks", "elements": ["A"]}
    todos = todos_of(of({**document, "lanes": [lane]}))
    assert [todo.kind for todo in todos] == ["gateway_conditions"]
    assert todos[0].proposals[0].answer["ask"]["who"] == "initiator"


def test_a_script_in_another_language_is_a_todo() -> None:
    """P-X.25: it is shown, and a person or Python does it."""
    broken = drawing('<scriptTask id="A" name="Sum" scriptFormat="groovy"><script>a + b</script></scriptTask>')
    todo = only(broken)
    assert todo.message == "«Sum» has a script in groovy, which is not run here."
    assert todo.facts == {"format": "groovy", "code": "a + b"}
    assert todos_of(answered(broken, todo.key, PERSON)) == []
    assert todos_of(answered(broken, todo.key, {"code": "result = {'sum': a + b}"})) == []


def test_calls_between_the_definitions_of_a_drawing_resolve() -> None:
    """P-X.4: what is wrong in the called one is told there, and not at the call."""
    calls = process([task("A", type="subProcess", orchestration={"sub_process": "q"})], [])
    called = {**CHOICE.definition("p"), "process_definition_id": "q"}
    assert [todo.key for todo in todos_of(of(calls, called))] == ["gateway_conditions:q:g"]


def test_processes_of_the_tenant_resolve() -> None:
    """P-X.4."""
    calls = of(process([task("A", type="subProcess", orchestration={"sub_process": "q"})], []))
    known = as_bytes(process([task("B")], [], process_definition_id="q"))
    assert [todo.kind for todo in todos_of(calls)] == ["called_process"]
    assert todos_of(calls, {"q": known}.__getitem__) == []


def test_several_instances_ask_how_many() -> None:
    """P-X.25: the person of the step before says it."""
    broken = one_step(multi={"mode": "parallel"})
    todo = only(broken)
    assert todo.message == "«Do it» is done several times, and nothing says how often."
    assert todo.proposals[0].message == "Whoever has done «Z» says how often it is done."
    assert todos_of(answered(broken, todo.key, todo.proposals[0].answer)) == []
    for given in ({"count": 3}, {"count": "${n}"}, {"items": "orders"}):
        assert todos_of(answered(broken, todo.key, given)) == [], given
    assert refused(broken, todo.key, {"count": -1}) == ("wrong_type", "/count")
    assert refused(broken, todo.key, {"count": True}) == ("wrong_type", "/count")
    assert refused(broken, todo.key, {"items": "a b c"}) == ("expression_syntax", "/items")
    assert refused(broken, todo.key, {"ask": "kim"}) == ("bad_target", "/ask")
    assert refused(broken, todo.key, {}) == ("missing_field", "")


def test_a_loop_asks_whether_it_goes_on() -> None:
    """P-X.25."""
    form = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
    broken = one_step(multi={"mode": "loop"}, form=form)
    todo = only(broken)
    assert todo.message == "«Do it» is done again and again, and nothing says when that ends."
    done = answered(broken, todo.key, todo.proposals[0].answer)
    assert todos_of(done) == []
    assert done.definition("p")["activities"][1]["form"]["required"] == ["sum", "again"]
    assert todos_of(answered(broken, todo.key, {"again": "more == true"})) == []
    assert todos_of(answered(broken, todo.key, {"most": 3})) == []
    assert refused(broken, todo.key, {"most": 0}) == ("wrong_type", "/most")
    assert refused(broken, todo.key, {"again": "=("}) == ("expression_syntax", "/again")


def test_a_conditional_event_asks_for_its_condition() -> None:
    """P-X.25: only a name that is an expression is proposed."""
    inner = "<conditionalEventDefinition/>"
    broken = named(f'<intermediateCatchEvent id="e" name="Stock is low">{inner}</intermediateCatchEvent>')
    todo = only(broken)
    assert (todo.key, todo.proposals) == ("event_condition:p:e", [])
    assert todo.message == "«Stock is low» waits for a condition, and nothing says for which."
    assert todos_of(answered(broken, todo.key, {"condition": "stock < 3"})) == []
    assert refused(broken, todo.key, {"condition": "stock is low"}) == ("expression_syntax", "/condition")
    assert refused(broken, todo.key, {}) == ("missing_field", "/condition")
    spoken = named(f'<intermediateCatchEvent id="e" name="stock &lt; 3">{inner}</intermediateCatchEvent>')
    assert only(spoken).proposals[0].answer == {"condition": "stock < 3"}
    assert todos_of(accepted(spoken)[0]) == []


def test_an_activitys_condition_that_cannot_be_read_is_written_anew() -> None:
    """P-X.9: the other flows stay as they are."""
    ways = [("A>B", {"condition": "if it is high"}), ("A>C", {"condition": "low == true"})]
    form = {"type": "object", "properties": {"low": {}, "high": {}}}
    broken = of(process([task("A", form=form), task("B"), task("C")], ways))
    todo = only(broken)
    assert (todo.key, todo.proposals) == ("gateway_conditions:p:A", [])
    assert todo.facts["choices"] == [{"flow": "A>B", "label": "B", "condition": "if it is high"}]
    done = answered(broken, todo.key, {"conditions": {"A>B": "high == true"}})
    assert todos_of(done) == []
    assert [flow["condition"] for flow in done.definition("p")["transitions"]] == ["high == true", "low == true"]


def test_a_form_has_what_the_conditions_after_it_read() -> None:
    """P-X.9: only what nothing in the process says, and never as a demand."""
    ways = ["A>g", ("g>B", {"condition": "amount > 1000 && urgent == true"}), ("g>C", {"condition": "kind == 'old'"}),
            "g>D"]  # fmt: skip
    tasks = [task("A", name="Check"), gateway("g", default="g>D"), task("B"), task("C"), task("D")]
    drawn = of(process(tasks, ways))
    todo = only(drawn)
    assert (todo.key, todo.required) == ("form:p:A", False)
    assert todo.message == (
        "The conditions after «Check» read «amount», «urgent», «kind», which nothing before them says."
    )
    fields = {"amount": {"type": "number"}, "urgent": {"type": "boolean"}, "kind": {"type": "string"}}
    assert todo.proposals[0].answer == {"form": {"type": "object", "properties": fields}}
    assert todos_of(answered(drawn, todo.key, todo.proposals[0].answer)) == []
    assert refused(drawn, todo.key, {"form": {"type": "wrong"}})[0] == "json_schema"
    assert refused(drawn, todo.key, {"form": 1}) == ("missing_field", "/form")
    says = task("Z", type="scriptTask", python_code="result = {'amount': 1, 'urgent': True, 'kind': 'x'}")
    assert todos_of(of(process([says, *tasks], ["Z>A", *ways]))) == []
    anything = task("Z", type="serviceTask", tool="crm")
    assert todos_of(of(process([anything, *tasks], ["Z>A", *ways]))) == []


def test_a_form_that_lies_elsewhere_is_a_todo() -> None:
    """P-X.25."""
    drawn = one_step(form_key="embedded:claim.html")
    todo = only(drawn)
    assert (todo.kind, todo.required, todo.proposals) == ("form", False, [])
    assert todo.message == "The form «embedded:claim.html» of «Do it» lies elsewhere."


# ---- people ----------------------------------------------------------------------------------------------------------


def test_a_lane_becomes_a_role() -> None:
    """P-X.13: one to-do per lane, and the process runs without it."""
    lanes = [{"id": "l", "name": "Claims desk", "elements": ["A", "B", "x"]},
             {"id": "m", "name": "IT", "elements": ["x"]}]  # fmt: skip
    tasks = [task("A", name="Check"), task("B"), task("x", type="scriptTask", python_code="result = {}")]
    drawn = of(process(tasks, ["A>B", "B>x"], lanes=lanes))
    todo = only(drawn)
    assert (todo.key, todo.element_type, todo.required) == ("lane_role:p:l", "lane", True)
    assert todo.message == "Anybody may do what lies in the lane «Claims desk»: «Check», «B»."
    done = answered(drawn, todo.key, todo.proposals[0].answer)
    assert todos_of(done) == []
    assert done.definition("p")["roles"] == [
        {"id": "l", "name": "Claims desk", "assignment_rule": "role:Claims desk"}
    ]  # fmt: skip
    assert done.definition("p")["lanes"][0]["role"] == "l"
    for who in ("initiator", "user:kim", "group:desk"):
        (role,) = answered(drawn, todo.key, {"who": who}).definition("p")["roles"]
        assert role["assignment_rule"] == who
    anyone = answered(drawn, todo.key, {"who": "anyone"})
    assert (todos_of(anyone), anyone.definition("p")["roles"]) == ([], [{"id": "l", "name": "Claims desk"}])
    assert refused(drawn, todo.key, {"who": "kim"}) == ("bad_target", "/who")
    assert refused(drawn, todo.key, {}) == ("missing_field", "/who")
    assert refused(drawn, "lane_role:p:A", {"who": "anyone"})[0] == "todo_unknown"


def test_an_assignment_that_is_not_understood_stays_for_nobody() -> None:
    """P-X.13: it is never widened unasked."""
    lanes = [{"id": "l", "name": "Desk", "elements": ["A"], "role": "desk"}]
    roles = [{"id": "desk", "name": "Desk"}]
    drawn = of(process([task("A", name="Check", candidates=["user:${bean.find(x)}"])], [], lanes=lanes, roles=roles))
    todo = only(drawn)
    assert (todo.key, todo.required) == ("assignment:p:A", True)
    assert todo.message == "Who may do «Check» is not understood, so it is for nobody: user:${bean.find(x)}."
    assert todo.proposals[0].answer == {"who": "role:Desk"}
    for who in ("role:Desk", "user:kim", "initiator", "anyone"):
        assert todos_of(answered(drawn, todo.key, {"who": who})) == [], who
    assert answered(drawn, todo.key, {"who": "initiator"}).definition("p")["activities"][0]["candidates"] == [
        "user:${initiator}"
    ]  # fmt: skip
    assert refused(drawn, todo.key, {"who": "everybody"}) == ("bad_target", "/who")


# ---- ways that cannot be gone ----------------------------------------------------------------------------------------


def block(split: str, join: str, **fields: Any) -> Drawing:
    elements = [event("s", "start"), task("A"), gateway("g", split, name="Part", **fields), task("B"), task("C"),
                gateway("j", join, name="Meet"), task("D"), event("e", "end")]  # fmt: skip
    return of(process(elements, ["s>A", "A>g", "g>B", "g>C", "B>j", "C>j", "j>D", "D>e"]))


@pytest.mark.parametrize(
    ("split", "join", "type", "message"),
    [
        ("exclusive", "parallel", "exclusiveGateway", "«Meet» lets each way through by itself."),
        ("parallel", "exclusive", "parallelGateway", "«Meet» waits for all of its ways."),
        ("inclusive", "exclusive", "inclusiveGateway", "«Meet» waits for those of its ways that were taken."),
        ("inclusive", "parallel", "inclusiveGateway", "«Meet» waits for those of its ways that were taken."),
    ],
)
def test_a_join_that_does_not_fit_is_exchanged(split: str, join: str, type: str, message: str) -> None:
    """KERNEL 8: the fix is tried before it is proposed."""
    broken = block(split, join, **({} if split == "parallel" else {"ask": {}}))
    todo = only(broken)
    assert todo.kind == "soundness"
    assert (todo.proposals[0].message, todo.proposals[0].answer) == (message, {"changes": {"j": {"type": type}}})
    assert todos_of(answered(broken, todo.key, todo.proposals[0].answer)) == []
    assert refused(broken, todo.key, {"changes": {"j": {"type": "complexGateway"}}}) == (
        "wrong_type", "/changes/j/type",
    )  # fmt: skip
    assert refused(broken, todo.key, {"changes": {"A": {"name": "x"}}}) == ("todo_unknown", "/changes/A")
    assert refused(broken, todo.key, {}) == ("missing_field", "/changes")


def test_without_a_safe_fix_the_counterexample_is_shown() -> None:
    """KERNEL 8: a way that never comes back to its join."""
    elements = [event("s", "start"), task("A"), gateway("f", "parallel"), task("B"), task("C"),
                gateway("j", "parallel", name="Meet"), gateway("g", ask={}), event("e", "end"),
                event("x", "end")]  # fmt: skip
    ways = ["s>A", "A>f", "f>B", "f>C", "B>j", "C>g", "g>j", "g>x", "j>e"]
    todo = next(todo for todo in todos_of(of(process(elements, ways))) if todo.kind == "soundness")
    assert "«Meet»" in todo.message


@pytest.mark.parametrize(
    ("elements", "ways", "element", "kind", "message"),
    [
        ([event("s", "start"), task("A", name="Do"), gateway("g", ask={}), task("B")], ["s>A", "A>g", "g>s", "g>B"],
         "s", "after_start", "The way back leads to «Do», after the start."),
        ([event("s", "start"), event("x", "end", name="Half done"), task("A")], ["s>x", "x>A"], "x", "passed",
         "«Half done» is passed, and the way goes on."),
        ([event("s", "start"), event("x", "catch", name="Half done"), task("A")], ["s>x", "x>A"], "x", "passed",
         "«Half done» waits for nothing, and is passed."),
        ([task("A"), gateway("g", "eventBased", name="Which?"), event("m", "catch", "message", message="m"), task("B")],
         ["A>g", "g>m", "g>B"], "g", "asks", "Whoever has done «A» chooses which way is taken at «Which?»."),
        ([event("s", "start"), task("A", name="Do"), gateway("f", "parallel", name="Done?"), event("e", "end")],
         ["s>A", "A>f", "f>A", "f>e"], "A", "asks", "Whoever has done «Do» chooses which way is taken at «Done?»."),
        ([task("S", type="subProcess"), event("s", "start", "message", message="m", parent="S", name="Comes"),
          task("A", parent="S")], ["s>A"], "s", "plain_start", "«Comes» begins when it is reached, or by hand."),
    ],
)  # fmt: skip
def test_ways_that_cannot_be_gone_are_led_elsewhere(
    elements: list[Any], ways: list[Any], element: str, kind: str, message: str
) -> None:
    """P-X.25, P-X.31: what people draw and nobody can run, with a small change that is tried first."""
    broken = of(process(elements, ways))
    todo = next(todo for todo in todos_of(broken) if todo.element == element)
    assert (todo.kind, todo.proposals[0].kind, todo.proposals[0].message) == ("soundness", kind, message)
    assert todos_of(answered(broken, todo.key, todo.proposals[0].answer)) == []


# ---- all of them -----------------------------------------------------------------------------------------------------


def test_what_no_kind_takes_is_listed() -> None:
    """P-X.25: a draft lists all that keeps it from running."""
    broken = of(process([event("s", "start"), task("A"), task("B")], ["s>A", "A>B", "B>A"]))
    todo = only(broken)
    assert (todo.kind, todo.element, todo.proposals, todo.form) == ("finding", "A", [], {})
    assert "«A» → «B»" in todo.message
    assert refused(broken, todo.key, {"x": 1})[0] == "todo_without_answer"


def test_elements_without_ids_are_answered_like_others() -> None:
    """P-X.6: BPMN lets ids be left out; whoever answers gives them, and nothing is asked for that the drawing has."""
    flows = "".join(f'<sequenceFlow sourceRef="{way[0]}" targetRef="{way[1]}"/>' for way in ("sA", "Ag", "ge", "gf"))
    member = "<flowNodeRef>A</flowNodeRef>"
    lanes = f'<lane name="X">{member}<childLaneSet><lane name="Y">{member}</lane>'
    inner = (
        f'<laneSet>{lanes}</childLaneSet></lane></laneSet><startEvent id="s"/><userTask id="A"/>'
        f'<exclusiveGateway id="g"/><endEvent id="e"/><endEvent id="f"/>{flows}'
    )
    drawn = drawing(inner)
    assert write_drawing(drawn) == drawn.source, "untouched it stays as it was"
    done, _ = accepted(drawn)
    assert todos_of(done) == []
    text = write_drawing(done)
    again = read_drawing(text, "x.bpmn")
    ids = [[flow["id"] for flow in one.definitions[0]["transitions"]] for one in (done, again)]
    assert ids[0] == ids[1] and len(set(ids[0])) == 4
    assert done.definitions[0]["lanes"] == again.definitions[0]["lanes"]
    assert all(f'id="{id}"' in text for id in ids[0]), "other readers find what the answers refer to"


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


def as_drawn(random: RandomDrawing, *, named: bool) -> Drawing:
    """A random drawing as a person draws it: no conditions, here and there a name."""
    text = re.sub(r"<conditionExpression>.*?</conditionExpression>", "", random.bpmn())
    return read_drawing(text if named else re.sub(r' name="\w+"', "", text), "random.bpmn")


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("make", [block_drawing, free_drawing])
def test_whatever_is_drawn_is_accepted_without_a_crash(make: Callable[[int], RandomDrawing], seed: int) -> None:
    """P-X.25: accepting is idempotent, changes nothing of the drawing that it was given, and answers each key once."""
    drawn = as_drawn(make(seed), named=seed % 2 == 0)
    before = copy.deepcopy(drawn)
    done, taken = accepted(drawn)
    assert drawn == before
    assert accepted(done) == (done, [])
    assert len({item.key for item in taken}) == len(taken)
    folded = drawn
    for item in taken:
        folded = answered(folded, item.key, item.answer)
    assert folded == done, "a draft is the fold of its answers"
    assert all(todo.kind in ("soundness", "finding") for todo in todos_of(done))


def test_a_large_drawing_is_answered_quickly() -> None:
    """P-X.25: an answer looks at nothing but its element; 300 of them in a drawing of 1,000 activities."""
    elements: list[dict[str, Any]] = [event("s", "start")]
    ways: list[Any] = []
    last = "s"
    for n in range(1000):
        elements.append(task(f"a{n}"))
        ways.append(f"{last}>a{n}")
        last = f"a{n}"
        if n < 300:
            elements += [gateway(f"g{n}"), gateway(f"j{n}")]
            ways += [f"a{n}>g{n}", f"g{n}>j{n}", (f"g{n}>j{n}", {"id": f"x{n}"})]
            last = f"j{n}"
    drawn = of(process(elements, ways))
    todos = todos_of(drawn)
    assert len(todos) == 300
    began = time.process_time()
    for todo in todos:
        drawn = answered(drawn, todo.key, todo.proposals[0].answer)
    assert time.process_time() - began < 2, "well under a second on an idle machine"
    assert todos_of(drawn) == []
