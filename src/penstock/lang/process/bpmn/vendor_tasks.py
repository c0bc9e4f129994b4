"""What does a task by a modeler's own word: a job type, a class, an expression; and what of such words is not read."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.bpmn.vendors import expression
from penstock.lang.process.bpmn.vocabulary import BPMN, CAMUNDA, ZEEBE
from penstock.lang.process.bpmn.xml_tree import XmlElement

#: Tasks that a worker may do. Nobody else does such a task: no person, and no agent.
_WORKED = ("serviceTask", "sendTask", "businessRuleTask", "scriptTask")
#: Attributes by which related engines name what does a task, the plainest name first.
_NAMED_BY = ("topic", "class", "delegateExpression", "expression", "type")
#: Extension elements that change what runs or which data it has.
_CHANGING = {
    "inputOutput": "data in and out", "executionListener": "a listener", "taskListener": "a listener",
    "executionListeners": "listeners", "taskListeners": "listeners", "failedJobRetryTimeCycle": "retries",
    "in": "data of a call", "out": "data of a call", "field": "a field of a class",
}  # fmt: skip


def read_tool(node: XmlElement, entry: dict[str, Any]) -> None:
    """The tool that does a task: of a job worker its type, of a class or an expression its own name."""
    if node.name not in _WORKED:
        return
    for definition in _extensions(node, ZEEBE, "taskDefinition"):
        if definition.get("type"):
            entry["tool"] = definition.get("type")
            params = {
                given.get("target"): f"${{{expression(given.get('source'))}}}"
                for mapping in _extensions(node, ZEEBE, "ioMapping") for given in mapping.all("input", ZEEBE)
                if given.get("target") and "." not in given.get("target")
            }  # fmt: skip
            if params:
                entry["params"] = params
            return
    names = (node.get(name, space=space) for name in _NAMED_BY for space in CAMUNDA)
    if "decision" not in entry and (name := next((name for name in names if name), "")):
        entry["tool"] = expression(name)


def not_read(node: XmlElement, entry: dict[str, Any]) -> list[tuple[str, str]]:
    """The extension elements that change how an element runs elsewhere and not here, each with what it says."""
    extension = node.first("extensionElements", BPMN)
    ignored = []
    for child in extension.children if extension is not None else ():
        if child.space in (ZEEBE, *CAMUNDA) and child.name in _CHANGING:
            ignored.append((child.name, _CHANGING[child.name]))
        elif child.space == ZEEBE and child.name == "ioMapping":
            inputs, outputs = child.all("input", ZEEBE), child.all("output", ZEEBE)
            if outputs or inputs and len(entry.get("params") or ()) != len(inputs):
                ignored.append(("ioMapping", "data out" if outputs else "data in"))
    loop = node.first("multiInstanceLoopCharacteristics", BPMN)
    collected = "what is collected of each instance; here it is its whole result"
    loops = _extensions(loop, ZEEBE, "loopCharacteristics") if loop is not None else []
    return ignored + [("outputElement", collected) for characteristics in loops if characteristics.get("outputElement")]


def _extensions(node: XmlElement, space: str, name: str) -> list[XmlElement]:
    extension = node.first("extensionElements", BPMN)
    return extension.all(name, space) if extension is not None else []
