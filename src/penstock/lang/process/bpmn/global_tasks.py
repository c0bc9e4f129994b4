"""Global tasks: a call activity that calls a task of the same file does that task (BPMN 2.0.2, 10.3.6)."""

from __future__ import annotations

from penstock.lang.process.bpmn.file_index import FileIndex, elements_of
from penstock.lang.process.bpmn.vocabulary import BPMN, GLOBAL_TASKS
from penstock.lang.process.bpmn.xml_tree import XmlElement


def called_task(node: XmlElement, index: FileIndex) -> XmlElement | None:
    """The global task of the file that a call activity calls."""
    called = node.get("calledElement").rpartition(":")[2] if node.name == "callActivity" else ""
    return index.global_tasks.get(called)


def called_tasks(index: FileIndex) -> set[str]:
    """The ids of those that something in the file calls; the others are documentation."""
    if not index.global_tasks:
        return set()
    calls = (node for process in index.processes for node in elements_of(process) if node.space == BPMN)
    return {task.get("id") for node in calls if (task := called_task(node, index)) is not None}


def why_not(node: XmlElement) -> str:
    """Why what stands beside the processes is not imported."""
    return "nothing calls it" if node.name in GLOBAL_TASKS else "only processes are"


def as_drawn_here(task: XmlElement, call: XmlElement) -> XmlElement:
    """The task as if it were drawn where it is called: what the call says itself goes first."""
    node = XmlElement(call.space, GLOBAL_TASKS[task.name], call.prefix, call.line, call.column)
    node.attributes = {**task.attributes, **{name: value for name, value in call.attributes.items() if value}}
    if language := task.get("scriptLanguage"):
        node.attributes["", "scriptFormat"] = language
    node.children = [*call.children, *task.children]
    extensions = [child for child in node.children if child.name == "extensionElements" and child.space == BPMN]
    if len(extensions) > 1:
        both = XmlElement(BPMN, "extensionElements", call.prefix, call.line, call.column)
        both.children = [child for extension in extensions for child in extension.children]
        node.children = [both, *(child for child in node.children if child not in extensions)]
    return node
