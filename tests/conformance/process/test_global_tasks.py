"""Global tasks: a call activity that calls a task of the same file does that task (BPMN 2.0.2, 10.3.6 and 10.3.7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.lang.process.bpmn.reader import read_bpmn
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.process.drawing import read_drawing, write_drawing
from tests.conformance.process.make import findings, rules
from tests.conformance.process.running import Office, awaited

HEAD = (
    '<?xml version="1.0"?><definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" '
    'xmlns:camunda="http://camunda.org/schema/1.0/bpmn">'
)
USER = (
    '<globalUserTask id="G" name="Sign" camunda:assignee="kim"><documentation>Sign it.</documentation>'
    "</globalUserTask>"
)
SCRIPT = (
    '<globalScriptTask id="G" name="Count" scriptLanguage="python"><script>result = {"n": 2}</script>'
    "</globalScriptTask>"
)
BESIDE: dict[str, tuple[str, dict[str, Any]]] = {
    "user": (USER, {"type": "humanTask", "bpmn": "userTask", "name": "Sign", "role": "user:kim"}),
    "manual": ('<globalManualTask id="G" name="Carry"/>', {"type": "humanTask", "bpmn": "manualTask", "name": "Carry"}),
    "script": (SCRIPT, {"type": "scriptTask", "bpmn": "scriptTask", "python_code": 'result = {"n": 2}'}),
    "rule": ('<globalBusinessRuleTask id="G" camunda:decisionRef="risk"/>',
             {"type": "serviceTask", "bpmn": "businessRuleTask", "decision": "risk"}),
    "plain": ('<globalTask id="G" name="Do"/>', {"type": "humanTask", "bpmn": "task", "name": "Do"}),
}  # fmt: skip


def file(beside: str, call: str = '<callActivity id="C" calledElement="G"/>') -> str:
    return f'{HEAD}{beside}<process id="p">{call}</process></definitions>'


@pytest.mark.parametrize("kind", BESIDE)
def test_a_call_of_a_global_task_is_that_task(kind: str) -> None:
    """P-X.25, BPMN 10.3.6: «A Call Activity identifies a point in the Process where a global Process or a Global Task
    is used»; what it is, who does it and what it is called are the task's."""
    beside, fields = BESIDE[kind]
    data, _ = read_bpmn(file(beside))
    (activity,) = data["activities"]
    assert activity["id"] == "C" and activity["global_task"] == "G"
    assert {name: activity.get(name) for name in fields} == fields
    assert "left_out" not in data and rules(data) == []
    (again,) = read_bpmn(write_bpmn(data))[0]["activities"]
    assert again == activity


def test_what_the_call_says_itself_goes_first() -> None:
    """P-X.25: its own name and its own assignee; a prefix before the task's id means the same task."""
    call = '<callActivity id="C" name="Sign here" calledElement="t:G" camunda:assignee="lee"/>'
    (activity,) = read_bpmn(file(USER, call))[0]["activities"]
    assert (activity["name"], activity["role"], activity["documentation"]) == ("Sign here", "user:lee", "Sign it.")


def test_one_that_nothing_calls_is_documentation() -> None:
    """P-X.25: it is told, and stays in the file; one that is called is not told."""
    text = file(USER + '<globalTask id="H" name="Other"/>')
    data, _ = read_bpmn(text)
    assert [(each["id"], each["why"]) for each in data["left_out"]] == [("H", "nothing calls it")]
    assert [(each.severity, each.rule) for each in findings(data)] == [("warning", "left_out")]
    drawing = read_drawing(text, "p.bpmn")
    assert [part["id"] for part in drawing.left_out] == ["H"] and write_drawing(drawing) == text


@awaited
async def test_called_global_tasks_are_done_like_tasks_of_the_process(tmp_path: Path) -> None:
    """P-X.25, BPMN 13.3.3: a work item for a person, a script in the sandbox."""
    script = SCRIPT.replace('id="G"', 'id="S"')
    calls = (
        '<callActivity id="C" calledElement="G"/><callActivity id="D" calledElement="S"/>'
        '<sequenceFlow id="f" sourceRef="C" targetRef="D"/>'
    )
    (tmp_path / "p.bpmn").write_text(file(USER + script, calls))
    async with Office(tmp_path) as office:
        run = await office.start(tmp_path / "p.bpmn")
        assert run.open() == ["C"] and run.item("C").candidates["targets"] == ["user:kim"]
        await run.submit("C")
        assert (run.status, run.look.variables["n"]) == ("COMPLETED", 2)
