"""What modelers write beside BPMN, by its meaning: forms, jobs, data, due dates, decisions, calls, correlation."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest

from penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems
from penstock.lang.compile import check_document, compile_document
from penstock.lang.process.bpmn.reader import read_bpmn
from tests.conformance.process.test_who_may import CLERK, at_the_door, who_may

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
SPACES = (
    'xmlns:camunda="http://camunda.org/schema/1.0/bpmn" xmlns:activiti="http://activiti.org/bpmn" '
    'xmlns:flowable="http://flowable.org/bpmn" xmlns:operaton="http://operaton.org/schema/1.0/bpmn" '
    'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"'
)


def file(task: str, *, more: str = "", process: str = "") -> bytes:
    """A process with one task; `more` stands beside the process, `process` among its extension elements."""
    inside = f"<extensionElements>{process}</extensionElements>" if process else ""
    return (
        f'<definitions xmlns="{BPMN}" {SPACES} targetNamespace="x">{more}<process id="p" isExecutable="true">{inside}'
        f'<startEvent id="s"/>{task}<endEvent id="e"/><sequenceFlow id="f1" sourceRef="s" targetRef="a"/>'
        '<sequenceFlow id="f2" sourceRef="a" targetRef="e"/></process></definitions>'
    ).encode()


def task(tag: str, extension: str = "", attributes: str = "", inner: str = "") -> str:
    inside = f"<extensionElements>{extension}</extensionElements>" if extension else ""
    return f'<{tag} id="a" name="Check" {attributes}>{inside}{inner}</{tag}>'


def read(source: bytes) -> dict[str, Any]:
    """The task of the file."""
    (entry,) = read_bpmn(source.decode())[0]["activities"]
    found: dict[str, Any] = entry
    return found


def said(source: bytes) -> list[tuple[str, str]]:
    return [(f.severity, f.rule) for f in check_document(source, name="x.bpmn")[1]]


def why(source: bytes) -> str:
    return " ".join(f.message for f in check_document(source, name="x.bpmn")[1] if f.rule == "left_out")


# ---- forms -----------------------------------------------------------------------------------------------------------

FIELDS = """<{0}:formData>
  <{0}:formField id="amount" label="금액" type="long" defaultValue="7"><{0}:validation>
    <{0}:constraint name="required"/><{0}:constraint name="min" config="1"/><{0}:constraint name="max" config="99"/>
  </{0}:validation></{0}:formField>
  <{0}:formField id="note" type="string"><{0}:validation><{0}:constraint name="maxlength" config="20"/>
    <{0}:constraint name="minlength" config="2"/><{0}:constraint name="readonly"/></{0}:validation></{0}:formField>
  <{0}:formField id="good" label="Good?" type="boolean" defaultValue="true"/>
  <{0}:formField id="until" type="date"/><{0}:formField id="rate" type="double" defaultValue="${{x}}"/>
  <{0}:formField id="colour" type="enum" defaultValue="r"><{0}:value id="r" name="Red"/><{0}:value id="g"/>
  </{0}:formField></{0}:formData>"""
FORM = {
    "type": "object",
    "properties": {
        "amount": {"title": "금액", "type": "integer", "minimum": 1, "maximum": 99, "default": 7},
        "note": {"type": "string", "minLength": 2, "maxLength": 20, "readOnly": True},
        "good": {"title": "Good?", "type": "boolean", "default": True},
        "until": {"type": "string", "format": "date"}, "rate": {"type": "number"},
        "colour": {"type": "string", "enum": ["r", "g"], "x-labels": {"r": "Red"}, "default": "r"},
    },
    "required": ["amount"],
}  # fmt: skip


@pytest.mark.parametrize("vendor", ["camunda", "operaton"])
def test_form_fields_become_a_json_schema(vendor: str) -> None:
    """P-X.25, P-X.13: labels, types, choices, required and bounds, as the modeler's reference has them."""
    source = file(task("userTask", FIELDS.format(vendor)))
    assert read(source)["form"] == FORM and said(source) == []


@pytest.mark.parametrize("vendor", ["activiti", "flowable"])
def test_form_properties_become_a_json_schema(vendor: str) -> None:
    """P-X.25: the older form of the same."""
    given = (
        f'<{vendor}:formProperty id="days" name="Days" type="long" required="true"/>'
        f'<{vendor}:formProperty id="who" type="enum"><{vendor}:value id="k" name="Kim"/></{vendor}:formProperty>'
        f'<{vendor}:formProperty id="shown" type="string" writable="false"/>'
    )
    assert read(file(task("userTask", given)))["form"] == {
        "type": "object",
        "properties": {
            "days": {"title": "Days", "type": "integer"},
            "who": {"type": "string", "enum": ["k"], "x-labels": {"k": "Kim"}},
        },
        "required": ["days"],
    }


COMPONENTS = [
    {"type": "text", "text": "# Hello"}, {"type": "button", "label": "Send", "key": "send"},
    {"type": "textfield", "key": "name", "label": "이름",
     "validate": {"required": True, "maxLength": 9, "minLength": 2}},
    {"type": "textfield", "key": "mail", "validate": {"validationType": "email", "pattern": "("}},
    {"type": "number", "key": "days", "decimalDigits": 0, "validate": {"min": 1, "max": "30"}, "defaultValue": 5},
    {"type": "number", "key": "rate", "label": "=concat(a, b)"}, {"type": "checkbox", "key": "ok", "label": "Ok?"},
    {"type": "select", "key": "colour", "values": [{"label": "Red", "value": "r"}, {"label": "g", "value": "g"}]},
    {"type": "radio", "key": "any", "valuesKey": "given"}, {"type": "datetime", "key": "on", "subtype": "date"},
    {"type": "checklist", "key": "many", "values": [{"label": "A", "value": "a"}], "validate": {"required": True}},
    {"type": "textarea", "key": "order.note", "description": "why", "readonly": True},
    {"type": "group", "path": "order", "components": [{"type": "number", "key": "total"}]},
    {"type": "dynamiclist", "path": "lines", "label": "Lines", "components": [{"type": "textfield", "key": "item"}]},
]  # fmt: skip


def test_a_form_in_the_file_becomes_a_json_schema() -> None:
    """P-X.25: `zeebe:userTaskForm` of the process, found by the key of the task."""
    form = f'<zeebe:userTaskForm id="Form_1">{escape(json.dumps({"components": COMPONENTS}))}</zeebe:userTaskForm>'
    key = '<zeebe:formDefinition formKey="camunda-forms:bpmn:Form_1"/>'
    source = file(task("userTask", key), process=form)
    assert read(source)["form"] == {
        "type": "object",
        "properties": {
            "name": {"title": "이름", "type": "string", "minLength": 2, "maxLength": 9},
            "mail": {"type": "string", "format": "email"},
            "days": {"type": "integer", "minimum": 1, "maximum": 30, "default": 5}, "rate": {"type": "number"},
            "ok": {"title": "Ok?", "type": "boolean"},
            "colour": {"type": "string", "enum": ["r", "g"], "x-labels": {"r": "Red"}}, "any": {},
            "on": {"type": "string", "format": "date"},
            "many": {"type": "array", "uniqueItems": True,
                     "items": {"type": "string", "enum": ["a"], "x-labels": {"a": "A"}}},
            "order": {"type": "object", "properties": {
                "note": {"description": "why", "type": "string", "readOnly": True}, "total": {"type": "number"}}},
            "lines": {"title": "Lines", "type": "array",
                      "items": {"type": "object", "properties": {"item": {"type": "string"}}}},
        },
        "required": ["name", "many"],
    }  # fmt: skip
    assert said(source) == []


@pytest.mark.parametrize(
    ("extension", "attributes", "key"),
    [
        ("", 'camunda:formKey="embedded:app:forms/a.html"', "embedded:app:forms/a.html"),
        ("", 'camunda:formRef="order" camunda:formRefBinding="latest"', "order"), ("", 'flowable:formKey="f"', "f"),
        ('<zeebe:formDefinition formId="Form_9"/>', "", "Form_9"),
        ('<zeebe:formDefinition externalReference="my form"/>', "", "my form"),
        ('<zeebe:formDefinition formKey="camunda-forms:bpmn:gone"/>', "", "camunda-forms:bpmn:gone"),
    ],
)  # fmt: skip
def test_a_form_that_lies_elsewhere_is_named(extension: str, attributes: str, key: str) -> None:
    """P-X.25: its key is kept, and it is told that nobody knows its fields."""
    source = file(task("userTask", extension, attributes))
    assert read(source)["form_key"] == key and said(source) == [("warning", "form_unknown")]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"components": [1, {"type": "group"}, {"type": "number"}]}', "null"])
def test_a_form_that_cannot_be_read_is_one_that_lies_elsewhere(text: str) -> None:
    form = f'<zeebe:userTaskForm id="F">{escape(text)}</zeebe:userTaskForm>'
    source = file(task("userTask", '<zeebe:formDefinition formKey="camunda-forms:bpmn:F"/>'), process=form)
    assert said(source) == [("warning", "form_unknown")]


# ---- jobs ------------------------------------------------------------------------------------------------------------

JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "a job type": (
        task("serviceTask", ('<zeebe:taskDefinition type="pay" retries="5"/><zeebe:taskHeaders>'
                             '<zeebe:header key="bank" value="KB"/></zeebe:taskHeaders>')),
        {"job": "pay", "job_retries": 5, "job_headers": {"bank": "KB"}}),
    "a computed type": (task("serviceTask", '<zeebe:taskDefinition type="=kind" retries="=times"/>'),
                        {"job": "${kind}", "job_retries": "${times}"}),
    "a topic": (task("serviceTask", attributes='camunda:type="external" camunda:topic="pay"'), {"job": "pay"}),
    "a computed topic": (task("sendTask", attributes='camunda:type="external" camunda:topic="${kind}"'),
                         {"job": "${kind}"}),
    "a class": (task("serviceTask", '<camunda:failedJobRetryTimeCycle>R4/PT10M</camunda:failedJobRetryTimeCycle>'
                     '<camunda:field name="bank" stringValue="KB"/>', 'camunda:class="com.example.Pay"'),
                {"job": "com.example.Pay", "job_retries": 4, "job_headers": {"bank": "KB"}}),
    "a delegate": (task("serviceTask", attributes='activiti:delegateExpression="#{payment}"'), {"job": "payment"}),
    "a bean": (task("serviceTask", attributes='flowable:expression="${payment.make(execution)}" '
                    'flowable:resultVariable="receipt"'), {"job": "payment.make", "outputs": {"receipt": "${output}"}}),
    "a connector": (task("serviceTask", "<camunda:connector><camunda:connectorId>http-connector</camunda:connectorId>"
                         "</camunda:connector>"), {"job": "http-connector"}),
    "a task of a kind": (
        task("serviceTask", '<flowable:field name="to"><flowable:string>kim</flowable:string></flowable:field>',
             'flowable:type="mail"'), {"job": "mail", "job_headers": {"to": "kim"}}),
    "a rule task of a worker": (task("businessRuleTask", '<zeebe:taskDefinition type="decide"/>'), {"job": "decide"}),
}  # fmt: skip


@pytest.mark.parametrize("case", JOBS)
def test_a_worker_outside_does_it(case: str) -> None:
    """P-X.25, P-X.28: the type as the modeler writes it, its retries, its headers."""
    text, wanted = JOBS[case]
    entry = read(file(text))
    names = ("job", "job_retries", "job_headers", "outputs", "params", "computes", "tool")
    assert {name: entry[name] for name in names if name in entry} == wanted
    compile_document(file(text), name="x.bpmn")


DATA: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "of Camunda 8": (
        ('<zeebe:taskDefinition type="t"/><zeebe:ioMapping><zeebe:input source="=order.total" target="amount"/>'
         '<zeebe:input source="=id" target="who.id"/><zeebe:input source="fixed" target="who.kind"/>'
         '<zeebe:output source="=receipt" target="number"/><zeebe:output source="=ok" target="order.paid"/>'
         "</zeebe:ioMapping>"),
        {"amount": "${fn.feel('order.total', {\"order\": order})}", "who": {"id": "${id}", "kind": "fixed"}},
        {"number": "${receipt}"},
    ),
    "of Camunda 7": (
        ('<camunda:inputOutput><camunda:inputParameter name="amount">${order.total}</camunda:inputParameter>'
        '<camunda:inputParameter name="text">Hello ${name}</camunda:inputParameter>'
        '<camunda:inputParameter name="many"><camunda:list><camunda:value>${one}</camunda:value><camunda:value>b'
        "</camunda:value></camunda:list></camunda:inputParameter>"
        '<camunda:inputParameter name="map"><camunda:map><camunda:entry key="k">${v}</camunda:entry></camunda:map>'
        '</camunda:inputParameter><camunda:outputParameter name="number">${receipt + 1}</camunda:outputParameter>'
        "</camunda:inputOutput>"),
        {"amount": "${order.total}", "text": "${fn.concat('Hello ', name)}", "many": ["${one}", "b"],
         "map": {"k": "${v}"}},
        {"*": "${output}", "number": "${fn.sum([receipt, 1])}"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DATA)
def test_what_a_job_is_given_and_gives_back(case: str) -> None:
    """P-X.25, P-X.39: mappings with FEEL and JUEL, dotted targets, lists and maps."""
    extension, params, outputs = DATA[case]
    source = file(task("serviceTask", extension, 'camunda:topic="t"'))
    entry = read(source)
    assert entry["params"] == params and outputs.items() <= entry["outputs"].items() and why(source) == ""


UNREAD = {
    "a script": (('<camunda:inputOutput><camunda:inputParameter name="x"><camunda:script scriptFormat="groovy">1'
                  "</camunda:script></camunda:inputParameter></camunda:inputOutput>"), "«x» is given by a script"),
    "a listener": ('<camunda:executionListener event="start" class="com.example.L"/>',
                   "at «start» it calls «com.example.L»"),
    "a listener of a task": ('<camunda:taskListener event="create" delegateExpression="${l}"/>', "«${l}»"),
    "listeners": (('<zeebe:executionListeners><zeebe:executionListener eventType="end" type="audit"/>'
                   "</zeebe:executionListeners>"), "at «end» it calls «audit»"),
    "listeners of a task": (('<zeebe:taskListeners><zeebe:taskListener eventType="assigning" type="tell"/>'
                             "</zeebe:taskListeners>"), "at «assigning» it calls «tell»"),
    "when it comes up again": ('<zeebe:taskSchedule followUpDate="=now()"/>', "followUpDate"),
    "a name of nothing": ('<zeebe:ioMapping><zeebe:input source="=a" target="1 2"/></zeebe:ioMapping>', "«1 2»"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNREAD)
def test_what_is_not_read_is_named(case: str) -> None:
    """P-X.25: listeners by their event and what they call; scripts; what has no place here."""
    extension, words = UNREAD[case]
    source = file(task("userTask", extension))
    assert said(source) == [("warning", "left_out")] and words in why(source)


def test_listeners_of_events_and_flows_are_named() -> None:
    """P-X.25: and a message that a worker would send there."""
    listener = '<extensionElements><camunda:executionListener event="{}" class="com.example.L"/></extensionElements>'
    inner = (
        f'<process id="p" isExecutable="true">{listener.format("end")}<startEvent id="s">{listener.format("start")}'
        f'</startEvent><sequenceFlow id="f" sourceRef="s" targetRef="e">{listener.format("take")}</sequenceFlow>'
        '<endEvent id="e"><extensionElements><zeebe:taskDefinition type="tell"/></extensionElements>'
        '<messageEventDefinition messageRef="m"/></endEvent></process><message id="m" name="told"/>'
    )
    source = f'<definitions xmlns="{BPMN}" {SPACES} targetNamespace="x">{inner}</definitions>'.encode()
    assert set(said(source)) == {("warning", "left_out")}
    assert all(words in why(source) for words in ("«start»", "«end»", "«take»", "no worker sends it"))


@pytest.mark.parametrize("written", ["${starter}", "#{starter}"])
def test_p_x_13_who_began_it_by_another_name(tmp_path: Path, written: str) -> None:
    """P-X.13: `camunda:initiator` names the variable."""
    source = file(task("userTask", attributes=f'camunda:assignee="{written}"'))
    source = source.replace(b'process id="p"', b'process id="who"')
    source = source.replace(b'<startEvent id="s"/>', b'<startEvent id="s" camunda:initiator="starter"/>')
    assert who_may(tmp_path, source, {"starter": "kim"}) == {"boss"}


def test_what_only_moves_work_between_threads_is_no_word() -> None:
    """P-X.25: asyncBefore, exclusive and their like change nothing here, and nobody is told."""
    attributes = 'camunda:asyncBefore="true" camunda:asyncAfter="true" camunda:exclusive="false"'
    assert said(file(task("userTask", '<zeebe:userTask/><zeebe:versionTag value="v1"/>', attributes))) == []


COMPUTED = {
    "FEEL of Camunda 8": task("scriptTask", '<zeebe:script expression="=total * 2" resultVariable="double"/>'),
    "JUEL of Camunda 7": task("serviceTask", "",
                              'camunda:expression="${total * 2}" camunda:resultVariable="double"'),
    "JUEL of a script": task("scriptTask", "", 'scriptFormat="juel" camunda:resultVariable="double"',
                             "<script>${total * 2}</script>"),
    "FEEL of a script": task("scriptTask", "", 'scriptFormat="feel" camunda:resultVariable="double"',
                             "<script>total * 2</script>"),
}  # fmt: skip


@pytest.mark.parametrize("case", COMPUTED)
def test_a_step_that_computes(tmp_path: Path, case: str) -> None:
    """P-X.25: an expression and the variable that gets it: nobody works, nothing is called."""

    async def work(door: Penstock) -> Any:
        await Processes(door).define(file(COMPUTED[case]), by="boss")
        run = await WorkItems(door).initiate("p", by="boss", input={"total": 21})
        await door.wait(run)
        return door.view(run)

    seen = at_the_door(tmp_path, work)
    assert (seen.status, seen.variables["double"]) == ("COMPLETED", 42)


# ---- people, time, decisions, calls, messages ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extension", "attributes", "able"),
    [
        ('<zeebe:assignmentDefinition candidateGroups="=[&quot;clerk&quot;, &quot;manager&quot;]"/>', "",
         {"kim", "lee"}),
        ('<zeebe:assignmentDefinition assignee="=if total > 5 then &quot;lee&quot; else clerk"/>', "", {"lee"}),
        ("", 'camunda:assignee="${total gt 5 ? \'lee\' : clerk}"', {"lee"}),
        ("", 'operaton:candidateGroups="clerk, ${group}"', {"kim", "lee"}),
        ("", 'activiti:assignee="${staff.boss(execution)}"', set()), ("", 'camunda:assignee="${task.owner}"', set()),
    ],
)  # fmt: skip
def test_p_x_13_who_may_by_expressions(tmp_path: Path, extension: str, attributes: str, able: set[str]) -> None:
    """P-X.13: FEEL lists and JUEL choices name people; what is not understood is for nobody."""
    source = file(task("userTask", extension, attributes)).replace(b'process id="p"', b'process id="who"')
    assert who_may(tmp_path, source, {**CLERK, "total": 7, "group": "manager"}) == able


@pytest.mark.parametrize(
    ("attributes", "due", "minutes"),
    [
        ('camunda:dueDate="PT2H"', "PT2H", 120), ('camunda:dueDate="${wait}"', "${wait}", 90),
        ('camunda:dueDate="${date}"', "${date}", None),
        ('camunda:dueDate="2031-05-01T10:00:00Z"', "2031-05-01T10:00:00Z", None),
        ('camunda:dueDate="${seconds}"', "${seconds}", 5), ('camunda:dueDate="${missing}"', "${missing}", 0),
    ],
)  # fmt: skip
def test_when_it_is_due(tmp_path: Path, attributes: str, due: str, minutes: int | None) -> None:
    """P-X.14: a duration, a date, and expressions that give one of them, seconds, or nothing."""
    source = file(task("userTask", attributes=attributes))
    assert read(source)["due"] == due

    async def work(door: Penstock) -> Any:
        await Processes(door).define(source, by="boss")
        given = {"wait": "PT1H30M", "date": "2031-05-01T10:00:00Z", "seconds": 300}
        run = await WorkItems(door).initiate("p", by="boss", input=given)
        await door.wait(run, until_waiting=True)
        (waiting,) = door.inbox.each()
        return time.time() * 1000, waiting.due_at

    now, at = at_the_door(tmp_path, work)
    wanted = {0: None, None: 1_935_396_000_000}.get(minutes, now + (minutes or 0) * 60_000)
    assert at == wanted if at is None or minutes is None else abs(at - wanted) < 5_000


def test_feel_says_when_it_is_due() -> None:
    """P-X.14: `zeebe:taskSchedule` with a date that FEEL gives."""
    entry = read(file(task("userTask", '<zeebe:taskSchedule dueDate="=now() + duration(&quot;PT1H&quot;)"/>')))
    assert entry["due"].startswith("${fn.feel(") and "sys.now" in entry["due"]


@pytest.mark.parametrize(
    ("extension", "attributes", "priority"),
    [("", 'camunda:priority="80"', "high"), ("", 'flowable:priority="10"', "low"), ("", 'camunda:priority="50"', None),
     ('<zeebe:priorityDefinition priority="90"/>', "", "high"), ("", 'camunda:priority="${p}"', None)],
)  # fmt: skip
def test_how_urgent_it_is(extension: str, attributes: str, priority: str | None) -> None:
    """P-X.13: 50 of 100 is what nobody has said."""
    assert read(file(task("userTask", extension, attributes))).get("priority") == priority


def test_decisions_and_their_results() -> None:
    """P-X.25: the decision, and the variable that gets what it gives."""
    eight = read(file(task("businessRuleTask", '<zeebe:calledDecision decisionId="risk" resultVariable="level"/>')))
    assert (eight["decision"], eight["outputs"]) == ("risk", {"level": "${output}"})
    attributes = 'camunda:decisionRef="risk" camunda:resultVariable="level" camunda:mapDecisionResult="singleEntry"'
    seven = read(file(task("businessRuleTask", attributes=attributes)))
    assert (seven["decision"], seven["outputs"]) == ("risk", {"level": "${decision}"})


CALLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "everything": ('<zeebe:calledElement processId="other"/>', "", {}),
    "some of Camunda 8": (
        ('<zeebe:calledElement processId="other" propagateAllChildVariables="false"/><zeebe:ioMapping>'
         '<zeebe:input source="=order.id" target="id"/><zeebe:output source="=total" target="sum"/></zeebe:ioMapping>'),
        "", {"input": {"id": "${fn.feel('order.id', {\"order\": order})}"}, "output": {"sum": "total"}}),
    "nothing": (('<zeebe:calledElement processId="other" propagateAllChildVariables="false" '
                 'propagateAllParentVariables="false"/>'), "", {"input": {}, "output": {}}),
    "some of Camunda 7": (
        ('<camunda:in source="order" target="o"/><camunda:in sourceExpression="${one + 1}" target="n"/>'
         '<camunda:in businessKey="#{execution.processBusinessKey}"/><camunda:out source="total" target="sum"/>'
         '<camunda:out sourceExpression="${note}" target="note"/>'), 'calledElement="other"',
        {"input": {"o": "${order}", "n": "${fn.sum([one, 1])}", "businessKey": "${businessKey}"},
         "output": {"sum": "total", "note": "note"}}),
    "all of Camunda 7": ('<camunda:in variables="all"/><camunda:out variables="all"/>', 'calledElement="other"', {}),
    "a version": ("", 'calledElement="other" camunda:calledElementBinding="version" camunda:calledElementVersion="3"',
                  {"version": 3}),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_what_a_called_process_is_given_and_gives_back(case: str) -> None:
    """P-X.4, P-X.25: `in`, `out`, mappings and propagation."""
    extension, attributes, wanted = CALLS[case]
    orchestration = read(file(task("callActivity", extension, attributes)))["orchestration"]
    assert orchestration == {"sub_process": "other", **wanted}


def test_what_a_call_computes_of_the_result_is_told() -> None:
    """P-X.25: a called process gives variables, no expressions over them."""
    extension = '<camunda:out sourceExpression="${a + b}" target="sum"/><camunda:out variables="all"/>'
    assert "«sum» is computed" in why(file(task("callActivity", extension, 'calledElement="other"')))


def test_a_message_finds_who_waits_by_its_key(tmp_path: Path) -> None:
    """P-X.25, P-X.5: `zeebe:subscription`: the message's member `correlationKey` has the value of the expression."""
    message = (
        '<message id="m" name="paid"><extensionElements><zeebe:subscription correlationKey="=order.id"/>'
        "</extensionElements></message>"
    )
    caught = (
        '<intermediateCatchEvent id="a"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>'
    )
    for waits in (caught, task("receiveTask", attributes='messageRef="m"')):
        data = read_bpmn(file(waits, more=message).decode())[0]
        entry = next(e for name in ("events", "activities") for e in data.get(name, []) if e["id"] == "a")
        assert entry["correlation"] == {"correlationKey": "${fn.feel('order.id', {\"order\": order})}"}

    async def work(door: Penstock) -> list[str]:
        await Processes(door).define(file(caught, more=message), by="boss")
        runs = [await WorkItems(door).initiate("p", by="boss", input={"order": {"id": id}}) for id in ("A", "B")]
        for run in runs:
            await door.wait(run, until_waiting=True)
        for run in runs:
            await door.signal(run, "paid", {"correlationKey": "B"})
        await door.wait(runs[1])
        return [door.view(run).status for run in runs]

    assert at_the_door(tmp_path, work) == ["RUNNING", "COMPLETED"]


@pytest.mark.parametrize("name", ["paid-${order}", "=order.kind", "#{kind}"])
def test_a_message_whose_name_is_computed_has_none(name: str) -> None:
    """P-X.25: nobody would ever send what stands in the file; it is told, and the name is missing."""
    message = f'<message id="m" name="{name}"/>'
    caught = '<intermediateCatchEvent id="a"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>'
    source = file(caught, more=message)
    assert ("error", "missing_field") in said(source) and name in why(source)


@pytest.mark.parametrize("text", ["<", "${", "=", "#{}", "${a", "=a +", "\\${", "${'}", "a" * 3000])
def test_nothing_that_stands_in_an_attribute_is_a_traceback(text: str) -> None:
    """P-X.35: whatever is written where an expression may stand: told, or read as a text."""
    quoted = quoteattr(text)
    for source in (
        file(task("userTask", f"<zeebe:assignmentDefinition assignee={quoted}/>")),
        file(task("userTask", attributes=f"camunda:dueDate={quoted} camunda:candidateUsers={quoted}")),
        file(task("serviceTask", f"<zeebe:taskDefinition type={quoted} retries={quoted}/>")),
        file(task("serviceTask", attributes=f"camunda:expression={quoted} camunda:resultVariable={quoted}")),
        file(task("serviceTask", f"<zeebe:ioMapping><zeebe:input source={quoted} target={quoted}/></zeebe:ioMapping>",
                  'camunda:topic="t"')),
    ):  # fmt: skip
        assert all(f.rule != "PS-500" for f in check_document(source, name="x.bpmn")[1])
