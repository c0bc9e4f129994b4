"""Whatever else keeps a drawing from running: it is shown, and put right in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.errors import Finding
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess, drawn_name, type_of_element
from penstock.lang.process.todos.contract import Todo, TodoPlace, TodoType
from penstock.lang.process.todos.edit import entries, refusal

KIND = "finding"
_FLOW = re.compile(r"/transitions/(\d{1,9})(?:/|\Z)")


def remaining(drawing: CheckedDrawing, todos: Sequence[Todo], rules: dict[str, tuple[str, ...]]) -> Iterator[Todo]:
    """A to-do for each error that none of these is about; `rules` by kind. Several at one element are one."""
    taken = {(todo.process, todo.element, rule) for todo in todos for rule in rules[todo.kind]}
    covered = {(id, rule) for todo in todos for id in todo.covers for rule in rules[todo.kind]}
    for process in drawing.processes:
        left: dict[str, list[Finding]] = {}
        for finding in process.findings:
            known = (process.id, finding.node, finding.rule) in taken or (finding.node, finding.rule) in covered
            if finding.severity == "error" and not known:
                left.setdefault(finding.node or _flow_of(process, finding), []).append(finding)
        yield from (_todo(process, node, findings) for node, findings in left.items())


def _flow_of(process: CheckedProcess, finding: Finding) -> str:
    """The id of the flow that a finding is about; "" where it is about none."""
    match = _FLOW.match(finding.where.pointer)
    flows = process.data.get("transitions")
    flow = flows[int(match[1])] if match and isinstance(flows, list) and int(match[1]) < len(flows) else None
    id = flow.get("id") if isinstance(flow, dict) else None
    return id if isinstance(id, str) else ""


def _todo(process: CheckedProcess, node: str, findings: list[Finding]) -> Todo:
    element = process.elements.get(node)
    listed = {
        **{str(raw.get("id")): {**raw, "element": "sequenceFlow"} for raw in entries(process.data, "transitions")},
        **{str(raw.get("id")): raw for raw in entries(process.data, "unsupported")},
    }
    raw = listed.get(node, {})
    name = drawn_name(element) if element is not None else str(raw.get("name") or "")
    type = type_of_element(element) if element is not None else str(raw.get("element") or "process")
    messages = dict.fromkeys(" ".join(finding.message.split()) for finding in findings)
    return Todo(
        key=f"{KIND}:{process.id}:{node}", kind=KIND, process=process.id, element=node, element_type=type, name=name,
        message=" ".join(messages), hint=findings[0].hint,
        facts={"rules": list(dict.fromkeys(finding.rule for finding in findings))},
    )  # fmt: skip


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    """It is found when all others are."""
    yield from ()


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    raise refusal("todo_without_answer", "This can only be put right in the file.", "", "Bring the file again.")


TODO = TodoType(KIND, find, answer, "Put right in the file what cannot be run.")
