"""What of a BPMN file belongs to no single process: its pools, its message flows, and what is not imported."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.errors import DocumentUnreadable, Place
from penstock.lang.process.bpmn.file_index import FileIndex, is_filled
from penstock.lang.process.bpmn.global_tasks import called_tasks, why_not
from penstock.lang.process.bpmn.vocabulary import BPMN, CALLABLE
from penstock.lang.process.bpmn.xml_tree import XmlElement

MOST_PROCESSES, MOST_POOLS = 100, 300
#: Elements whose ids nothing of a process refers to: two of them may be equal, as some modelers write it.
_UNNAMED = ("incoming", "outgoing", "extensionElements", "documentation")


def pools(root: XmlElement) -> list[dict[str, str]]:
    """The pools of the file with the id of the process that each holds; a black box holds none."""
    return [
        _said({"id": pool.get("id"), "name": pool.get("name"), "process": pool.get("processRef")})
        for pool in _collaborated(root, "participant")
    ]


def message_flows(root: XmlElement) -> list[dict[str, str]]:
    """The message flows of the file. Their ends are elements or pools."""
    messages = {message.get("id"): message.get("name") for message in root.all("message", BPMN)}
    return [
        _said({
            "id": flow.get("id"), "name": flow.get("name"), "source": flow.get("sourceRef"),
            "target": flow.get("targetRef"),
            "message": messages.get(flow.get("messageRef"), "") or flow.get("messageRef"),
        })
        for flow in _collaborated(root, "messageFlow")
    ]  # fmt: skip


def left_out(index: FileIndex) -> list[dict[str, str]]:
    """Processes in which nothing is drawn, and what is drawn beside processes."""
    root, called = index.root, called_tasks(index)
    names = {pool["process"]: pool["name"] for pool in pools(root) if pool.keys() >= {"process", "name"}}
    parts = []
    for node in root.children:
        name, why = node.get("name") or names.get(node.get("id"), ""), ""
        if node.space == BPMN and node.name == "process" and not is_filled(node):
            what, why = "the process", "nothing is drawn in it"
        elif node.space == BPMN and node.name in CALLABLE and node.get("id") not in called:
            what, why = f"the {CALLABLE[node.name]}", why_not(node)
        if why:
            parts.append(_said({"what": what, "id": node.get("id"), "name": name, "why": why}))
    return parts


def refuse_unreadable(index: FileIndex) -> None:
    """Raises DocumentUnreadable for a file of which nobody could say what an answer would change."""
    root = index.root
    inner = next((child for child in root.children if child.space == BPMN and child.name == "definitions"), None)
    if inner is not None:
        _refuse("it holds a second <definitions>", inner)
    if not index.processes:
        others = [f"{part['what']} «{part.get('name') or part.get('id', '')}»" for part in left_out(index)]
        beside = f"; it holds {', '.join(others)}" if others else ""
        _refuse(f"no process in it has elements{beside}", root)
    if len(index.processes) > MOST_PROCESSES:
        why = f"it has {len(index.processes)} processes with elements; at most {MOST_PROCESSES} are read"
        _refuse(why, index.processes[MOST_PROCESSES])
    if len(members := _collaborated(root, "participant")) > MOST_POOLS:
        _refuse(f"it has {len(members)} pools; at most {MOST_POOLS} are read", members[MOST_POOLS])
    seen: dict[str, XmlElement] = {}
    pending = [child for child in reversed(root.children) if child.space == BPMN]
    while pending:
        node = pending.pop()
        pending += [child for child in reversed(node.children) if child.space == BPMN and child.name not in _UNNAMED]
        id = node.get("id")
        if id and seen.setdefault(id, node) is not node:
            _refuse(f"<{seen[id].name}> on line {seen[id].line} and <{node.name}> have the same id «{id}»", node)


def _collaborated(root: XmlElement, name: str) -> list[XmlElement]:
    return [child for diagram in root.all("collaboration", BPMN) for child in diagram.all(name, BPMN)]


def _said(fields: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items() if value}


def _refuse(why: str, node: XmlElement) -> NoReturn:
    raise DocumentUnreadable(why=why, where=Place("", node.line, node.column))
