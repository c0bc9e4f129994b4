"""What does a task by a modeler's own word: a job type, a class, an expression; and what of such words is not read."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.bpmn.dialects import expression
from penstock.lang.process.bpmn.vocabulary import BPMN, CAMUNDA, ZEEBE
from penstock.lang.process.bpmn.xml_tree import XmlElement

#: Tasks that a worker may do. Nobody else does such a task: no person, and no agent.
_WORKED = ("serviceTask", "sendTask", "businessRuleTask", "scriptTask")
#: Attributes by which related engines name what does a task, the plainest name first.
_NAMED_BY = ("topic", "class", "delegateExpression", "expression", "type")
#: Extension elements that change what runs or which data it has.
_CHANGING = {
    "executionListener": "a listener", "taskListener": "a listener",
    "executionListeners": "listeners", "taskListeners": "listeners", "failedJobRetryTimeCycle": "retries",
    "in": "data of a call", "out": "data of a call", "field": "a field of a class",
}  # fmt: skip


def read_tool(node: XmlElement, entry: dict[str, Any]) -> None:
    """The tool that does a task: of a job worker its type, of a class or an expression its own name."""
    if node.name not in _WORKED:
        return
    types = [definition.get("type") for definition in _extensions(node, ZEEBE, "taskDefinition")]
    names = [expression(node.get(name, space=space)) for name in _NAMED_BY for space in CAMUNDA]
    tool = next((name for name in (*types, *(names if "decision" not in entry else ())) if name), "")
    if tool:
        entry["tool"] = tool
        if params := _zeebe_inputs(node) | _camunda_inputs(node):
            entry["params"] = params


def _zeebe_inputs(node: XmlElement) -> dict[str, str]:
    given = [given for mapping in _extensions(node, ZEEBE, "ioMapping") for given in mapping.all("input", ZEEBE)]
    targets = {given.get("target"): expression(given.get("source")) for given in given}
    return {target: f"${{{source}}}" for target, source in targets.items() if target and "." not in target}


def _camunda_inputs(node: XmlElement) -> dict[str, str]:
    """Inputs that are a text or one expression; a script, a list or a map is none of them."""
    mappings = [mapping for space in CAMUNDA for mapping in _extensions(node, space, "inputOutput")]
    given = [child for mapping in mappings for child in mapping.children if child.name == "inputParameter"]
    return {child.get("name"): child.text.strip() for child in given if child.get("name") and not child.children}


def not_read(node: XmlElement, entry: dict[str, Any]) -> list[tuple[str, str]]:
    """The extension elements that change how an element runs elsewhere and not here, each with what it says."""
    extension = node.first("extensionElements", BPMN)
    ignored = []
    for child in extension.children if extension is not None else ():
        if child.space in (ZEEBE, *CAMUNDA) and child.name in _CHANGING:
            ignored.append((child.name, _CHANGING[child.name]))
        elif child.space in (ZEEBE, *CAMUNDA) and child.name in ("ioMapping", "inputOutput"):
            inputs = [given for given in child.children if given.name in ("input", "inputParameter")]
            if len(inputs) < len(child.children):
                ignored.append((child.name, "data out"))
            elif len(entry.get("params") or ()) != len(inputs):
                ignored.append((child.name, "data in"))
    return ignored


def _extensions(node: XmlElement, space: str, name: str) -> list[XmlElement]:
    extension = node.first("extensionElements", BPMN)
    return extension.all(name, space) if extension is not None else []
