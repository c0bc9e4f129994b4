"""The native form: JSON as the drawing tool keeps it, with nodes, arrows, handles and persons by id (D-X.14).

Lists and maps by id are both read. A handle id such as `node_0_condtrue_output` is looked up among `handles`, else
taken apart. `flipped` belongs to the drawing here, whatever the node: the tool writes it when a node is turned round.
"""

from __future__ import annotations

from typing import Any

from penstock.lang.diagram.light_form import RawDiagram, RawPart, drawn_fields, entries_of, take_metadata
from penstock.lang.document import Document, child_pointer
from penstock.lang.report import Report

_HANDLES = {"true": "condtrue", "false": "condfalse"}
#: the field of a condition that names nodes, and its other name
_NODE_LISTS = ("node_indices", "nodes")
_TOP = ("version", "name", "description", "max_node_executions", "$schema")
_KNOWN = (*_TOP, "nodes", "arrows", "persons", "handles", "metadata", "id", "api_keys", "apiKeys")


def is_native_form(data: Any) -> bool:
    return isinstance(data, dict) and "arrows" in data


def read_native_form(document: Document, report: Report) -> RawDiagram:
    data = document.data
    raw = RawDiagram({key: data[key] for key in _TOP if data.get(key) is not None})
    raw.top |= {key: value for key, value in data.items() if key not in _KNOWN}
    raw.top.pop("version", None)
    if isinstance(data.get("metadata"), dict):
        raw.top["metadata"] = data["metadata"]
    take_metadata(raw, data)
    person_names = _persons(data, raw, report)
    labels = _nodes(data, raw, person_names, report)
    _arrows(data, raw, labels, report)
    return raw


def _id(at: str, entry: dict[str, Any]) -> str:
    own = entry.get("id")
    return own if isinstance(own, str) and own else at.rsplit("/", 1)[1].replace("~1", "/").replace("~0", "~")


def _persons(data: dict[str, Any], raw: RawDiagram, report: Report) -> dict[str, str]:
    """Persons, and their names by id."""
    names: dict[str, str] = {}
    for at, entry in entries_of(data, "persons", report, None):
        name = entry.get("label") if isinstance(entry.get("label"), str) else _id(at, entry)
        names[_id(at, entry)] = str(name)
        part = RawPart(at, name=str(name))
        part.add_fields(
            {k: v for k, v in entry.items() if k not in ("id", "label", "type", "llm_config", "__typename")}, at
        )
        config = entry.get("llm_config")
        if isinstance(config, dict):
            part.add_fields({k: v for k, v in config.items() if k != "__typename"}, child_pointer(at, "llm_config"))
        raw.persons.append(part)
    return names


def _nodes(data: dict[str, Any], raw: RawDiagram, person_names: dict[str, str], report: Report) -> dict[str, str]:
    """Nodes, and their labels by id."""
    labels: dict[str, str] = {}
    for at, entry in entries_of(data, "nodes", report, None):
        fields = entry.get("data") if isinstance(entry.get("data"), dict) else {}
        assert isinstance(fields, dict), "just asked"
        labels[_id(at, entry)] = str(fields.get("label") or _id(at, entry))
        part = RawPart(at)
        part.add_fields({k: entry[k] for k in ("type", "position") if k in entry}, at)
        inner = {k: v for k, v in fields.items() if k not in ("flipped", "__typename", "type")}
        if isinstance(inner.get("person"), str):
            inner["person"] = person_names.get(inner["person"], inner["person"])
        part.add_fields({"label": labels[_id(at, entry)], **inner}, child_pointer(at, "data"))
        part.drawing = drawn_fields(fields)
        raw.nodes.append(part)
    for part in raw.nodes:
        for name in _NODE_LISTS:
            if isinstance(indices := part.fields.get(name), list):
                part.fields[name] = [labels.get(index, index) if isinstance(index, str) else index for index in indices]
    return labels


def _arrows(data: dict[str, Any], raw: RawDiagram, labels: dict[str, str], report: Report) -> None:
    handles = {
        _id(at, entry): (str(entry.get("node_id")), str(entry.get("label")))
        for at, entry in entries_of(data, "handles", report, None)
    }
    for at, entry in entries_of(data, "arrows", report, None):
        part = RawPart(at)
        part.add_fields(
            {k: v for k, v in entry.items() if k not in ("id", "source", "target", "data", "__typename")}, at
        )
        for name, end in (("from", "source"), ("to", "target")):
            part.where[name] = child_pointer(at, end)
            handle = entry.get(end)
            if isinstance(handle, str):
                part.fields[name] = _endpoint(handle, handles, labels)
        raw.connections.append(part)


def _endpoint(handle: str, handles: dict[str, tuple[str, str]], labels: dict[str, str]) -> str:
    """An end of a connection as the light form writes it: a label, and in brackets a handle that is not the default."""
    node, name = handles.get(handle, ("", ""))
    if node not in labels:
        bare = handle.removesuffix("_output").removesuffix("_input")
        node, _, name = bare.rpartition("_")
        if bare in labels:
            node, name = bare, ""
    if node not in labels:
        return handle
    name = _HANDLES.get(name, name)
    return labels[node] if name in ("", "default") else f"{labels[node]}[{name}]"
