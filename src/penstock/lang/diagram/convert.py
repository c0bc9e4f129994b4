"""Converts a diagram from one written form into another; the net, and so the trace, stays the same.

What a form cannot say is a loss, and is told. `flipped: true` of a condition swaps its branches in the light form and
is only drawn in the others: there it becomes `negate: true`, and on the way back a pair that is only drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.lang.contract import Setting
from penstock.lang.diagram.forms import Form, form_of, read_form
from penstock.lang.diagram.light_form import RawDiagram
from penstock.lang.diagram.nodes import NodeType
from penstock.lang.diagram.readable_form import LONGEST_LINE, read_head
from penstock.lang.diagram.schema import ConnectionFields, Diagram, read_parts
from penstock.lang.diagram.yaml_text import yaml_text
from penstock.lang.document import Document
from penstock.lang.report import Report

_INPUT, _OUTPUT = "input", "output"
#: top fields that the native form keeps under `metadata`
_META = ("name", "description")
_LLM = ("service", "model", "api_key_id", "system_prompt")
_NO_POSITION_STEP = 250


class Converted(msgspec.Struct, frozen=True):
    """The document in its new form, and what of the old one it does not hold."""

    form: Form
    text: str
    losses: list[str]


@dataclass
class _Way:
    """A connection with its ends taken apart."""

    source: str
    handle: str
    target: str
    first: bool
    more: dict[str, Any]


@dataclass
class _Parts:
    """What every form says, in the words of the light one."""

    top: dict[str, Any]
    persons: dict[str, dict[str, Any]]
    nodes: list[dict[str, Any]]
    ways: list[_Way]
    losses: list[str] = field(default_factory=list)


def convert(document: Document, to: Form, report: Report, extra: dict[str, NodeType] | None = None) -> Converted | None:
    """None, and reported, when the document cannot be read. Its files and expressions are not looked at."""
    known: dict[str, Any] = dict(extra or {})
    raw = read_form(document, report)
    diagram = read_parts(raw, report, Setting(extra=known))
    if any(finding.severity == "error" for finding in report.findings):
        return None
    came_from = form_of(document)
    parts = _parts(raw, diagram, drawn_only=to == "light" and came_from != "light", swaps=came_from == "light")
    _losses_of(document, came_from, to, parts)
    write = {"light": _light, "native": _native, "readable": _readable}[to]
    return Converted(to, write(parts), parts.losses)


def _parts(raw: RawDiagram, diagram: Diagram, *, drawn_only: bool, swaps: bool) -> _Parts:
    top = {key: value for key, value in raw.top.items() if key not in ("version", "$schema", "metadata")}
    meta = raw.top.get("metadata")
    if isinstance(meta, dict) and (rest := {key: value for key, value in meta.items() if key not in _META}):
        top["metadata"] = rest
    nodes = []
    for part in raw.nodes:
        kind = diagram.nodes[part.fields["label"]].type
        fields = {kind.fields.ALIASES.get(key, key): value for key, value in part.fields.items()}
        node = {"label": fields.pop("label"), "type": kind.name}
        fields.pop("type")
        if node["type"] == "condition" and swaps and fields.get("flipped") is True:
            del fields["flipped"]
            fields["negate"] = not fields.get("negate", False)
        nodes.append(node | fields | _drawing(node["type"], part.drawing, drawn_only))
    ways = []
    for part, edge in zip(raw.connections, diagram.edges, strict=True):
        more = {
            ConnectionFields.ALIASES.get(key, key): value
            for key, value in part.fields.items() if key not in ("from", "to") and value is not None
        }  # fmt: skip
        ways.append(_Way(edge.source, edge.handle, edge.target, edge.first, more))
    persons = {part.name: dict(part.fields) for part in raw.persons}
    return _Parts(top, persons, nodes, ways)


def _drawing(kind: str, drawing: dict[str, Any], drawn_only: bool) -> dict[str, Any]:
    """What is only drawn; in the light form a condition must write it as a pair, since `true` swaps its branches."""
    if drawn_only and kind == "condition" and drawing.get("flipped") is True:
        return {**drawing, "flipped": [True, True]}
    return drawing


def _losses_of(document: Document, came_from: Form, to: Form, parts: _Parts) -> None:
    if came_from == "native" and to != "native":
        parts.losses.append("the ids of nodes, arrows, handles and persons; here a label is the id")
        arrows = document.data.get("arrows")
        entries = arrows.values() if isinstance(arrows, dict) else arrows or []
        drawn = (arrow.get("data") for arrow in entries if isinstance(arrow, dict))
        if any(isinstance(data, dict) and data.keys() - {"branch"} for data in drawn):
            parts.losses.append("how arrows are bent in the drawing")
    if came_from != "native":
        parts.losses.append("comments, if there are any")
    if to == "native" and not all("position" in node for node in parts.nodes):
        parts.losses.append("that nodes have no position: they get one, in a row")


# ---- light -----------------------------------------------------------------------------------------------------------


def _light(parts: _Parts) -> str:
    document: dict[str, Any] = {"version": "light", **parts.top}
    if parts.persons:
        document["persons"] = parts.persons
    document["nodes"] = parts.nodes
    document["connections"] = [
        {"from": _end(way.source, way.handle), "to": _end(way.target, "first" if way.first else ""), **way.more}
        for way in parts.ways
    ]
    return yaml_text(document)


def _end(label: str, handle: str) -> str:
    return f"{label}[{handle}]" if handle else label


# ---- readable --------------------------------------------------------------------------------------------------------


def _readable(parts: _Parts) -> str:
    document: dict[str, Any] = {"version": "readable", **parts.top}
    if parts.persons:
        document["persons"] = [{name: fields} for name, fields in parts.persons.items()]
    document["nodes"] = [_readable_node(node) for node in parts.nodes]
    document["flow"] = _flow(parts.ways)
    return yaml_text(document)


def _readable_node(node: dict[str, Any]) -> dict[str, Any]:
    """Whole numbers of a position stand behind the label; any other position is a field. A label that looks like one
    with a position has the type behind it, so that it is read as it is."""
    fields = {key: value for key, value in node.items() if key != "label"}
    position = fields.get("position")
    head = str(node["label"])
    if isinstance(position, dict) and set(position) == {"x", "y"} and all(type(n) is int for n in position.values()):
        head = f"{head} @({position['x']},{position['y']})"
        del fields["position"]
    elif read_head(head).label != head:
        head = f"{head} [{node['type']}]"
    return {head: fields}


def _flow(ways: list[_Way]) -> list[dict[str, Any]]:
    """Connections of one source that follow each other stand together; their order is the document's, since the first
    input of a node is its default."""
    flow: list[tuple[str, list[Any]]] = []
    for way in ways:
        if not flow or flow[-1][0] != way.source:
            flow.append((way.source, []))
        flow[-1][1].append(_readable_way(way))
    return [{source: targets[0] if len(targets) == 1 else targets} for source, targets in flow]


def _readable_way(way: _Way) -> Any:
    words = {"from": f"_{way.handle}"} if way.handle else {}
    words |= {"to": way.target, **({"in": "_first"} if way.first else {})}
    names = {"content_type": "as", "label": "naming"}
    more = {names.get(key, key): value for key, value in way.more.items()}
    said = " ".join(f'{word} "{value}"' for word, value in {**words, **more}.items())
    plain = all(isinstance(value, str) and '"' not in value and " - " not in value for value in (words | more).values())
    return said if plain and set(more) <= {"as", "naming"} and len(said) <= LONGEST_LINE else {**words, **more}


# ---- native ----------------------------------------------------------------------------------------------------------


def _native(parts: _Parts) -> str:
    ids = {node["label"]: f"node_{number}" for number, node in enumerate(parts.nodes)}
    persons = {name: f"person_{number}" for number, name in enumerate(parts.persons)}
    top = {key: value for key, value in parts.top.items() if key not in (*_META, "metadata")}
    meta = dict(parts.top.get("metadata") or {}) | {key: parts.top[key] for key in _META if key in parts.top}
    document = {
        **top,
        "nodes": {made["id"]: made for made in _native_nodes(parts, ids, persons)},
        "arrows": {f"arrow_{number}": _arrow(way, ids) for number, way in enumerate(parts.ways)},
        "handles": _handles(parts, ids),
        "persons": {
            persons[name]: _native_person(persons[name], name, fields) for name, fields in parts.persons.items()
        },
        "metadata": meta,
    }  # fmt: skip
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _native_nodes(parts: _Parts, ids: dict[str, str], persons: dict[str, str]) -> list[dict[str, Any]]:
    return [_native_node(node, number, ids, persons) for number, node in enumerate(parts.nodes)]


def _native_node(node: dict[str, Any], number: int, ids: dict[str, str], persons: dict[str, str]) -> dict[str, Any]:
    data = {key: value for key, value in node.items() if key not in ("type", "position")}
    if isinstance(data.get("person"), str):
        data["person"] = persons.get(data["person"], data["person"])
    if isinstance(asked := data.get("node_indices"), list):
        data["node_indices"] = [ids.get(label, label) if isinstance(label, str) else label for label in asked]
    position = node.get("position") or {"x": number * _NO_POSITION_STEP, "y": 200}
    return {"id": ids[node["label"]], "type": node["type"], "position": position, "data": data}


def _arrow(way: _Way, ids: dict[str, str]) -> dict[str, Any]:
    source = f"{ids[way.source]}_{way.handle or 'default'}_{_OUTPUT}"
    target = f"{ids[way.target]}_{'first' if way.first else 'default'}_{_INPUT}"
    branch = {"data": {"branch": way.handle.removeprefix("cond")}} if way.handle.startswith("cond") else {}
    return {"source": source, "target": target, **way.more, **branch}


def _handles(parts: _Parts, ids: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Every handle that a node has, and every other one that an arrow uses."""
    names: dict[tuple[str, str, str], None] = {}
    for node in parts.nodes:
        if node["type"] != "start":
            names[node["label"], "default", _INPUT] = None
        outputs = ("condtrue", "condfalse") if node["type"] == "condition" else ("default",)
        for name in outputs if node["type"] != "endpoint" else ():
            names[node["label"], name, _OUTPUT] = None
    for way in parts.ways:
        names[way.source, way.handle or "default", _OUTPUT] = None
        names[way.target, "first" if way.first else "default", _INPUT] = None
    return {
        f"{ids[label]}_{name}_{direction}": {
            "node_id": ids[label], "label": name, "direction": direction,
            "data_type": "boolean" if name.startswith("cond") else "any",
            "position": "left" if direction == _INPUT else "right",
        }
        for label, name, direction in names
    }  # fmt: skip


def _native_person(id: str, name: str, fields: dict[str, Any]) -> dict[str, Any]:
    config = {key: fields[key] for key in _LLM if key in fields}
    more = {key: value for key, value in fields.items() if key not in (*_LLM, "label", "type")}
    return {"id": id, "label": name, "type": "person", "llm_config": config, **more}
