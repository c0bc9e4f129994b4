"""The two written forms of a diagram brought to one shape: fields with the place where each of them stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.lang.document import Document, child_pointer
from penstock.lang.report import Report

#: How the parts of a diagram are written.
_SHAPES = {
    "nodes": "Write `nodes:` and below it one `- {label: Start, type: start}` per node.",
    "connections": "Write `connections:` and below it one `- {from: Start, to: Next}` per connection.",
    "arrows": "Write `arrows` as a list of maps, or as a map by id: `{source: …, target: …}`.",
    "handles": "Write `handles` as a list of maps, or as a map by id: `{node_id: …, label: …}`.",
    "persons": "Write `persons:` and below it `Name: {service: mock}`.",
}


@dataclass
class RawPart:
    """A node, a connection or a person as written. `where` has the pointer of every field."""

    pointer: str
    fields: dict[str, Any] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    name: str = ""

    def take(self, data: dict[str, Any], at: str) -> list[str]:
        """Add the fields of a map that stands at a pointer; returns those that were there already."""
        twice = []
        for key, value in data.items():
            if key in self.fields:
                twice.append(key)
                continue
            self.fields[key] = value
            self.where[key] = child_pointer(at, key)
        return twice


@dataclass
class RawDiagram:
    top: dict[str, Any] = field(default_factory=dict)
    persons: list[RawPart] = field(default_factory=list)
    nodes: list[RawPart] = field(default_factory=list)
    connections: list[RawPart] = field(default_factory=list)


def read_light(document: Document, report: Report) -> RawDiagram:
    """The light form: fields of a node stand beside its label or under `props` (D-X.14)."""
    data = document.data
    raw = RawDiagram({k: v for k, v in data.items() if k not in ("persons", "nodes", "connections")})
    for at, one in parts_of(data, "nodes", report):
        part = RawPart(at)
        part.take({k: v for k, v in one.items() if k != "props"}, at)
        props = one.get("props")
        if isinstance(props, dict):
            for twice in part.take(props, child_pointer(at, "props")):
                spot = child_pointer(child_pointer(at, "props"), twice)
                message = f"«{twice}» stands beside the label and under «props»."
                report.error("duplicate_field", message, spot, hint="Keep one of them.", key=True)
        elif props is not None:
            hint = "Write the node's fields under it, one per line: `name: value`."
            report.error("wrong_type", "«props» must be a map.", child_pointer(at, "props"), hint=hint)
        raw.nodes.append(part)
    for at, one in parts_of(data, "connections", report):
        raw.connections.append(RawPart(at))
        raw.connections[-1].take(one, at)
    for at, one in parts_of(data, "persons", report, keyed=True):
        raw.persons.append(RawPart(at, name=_last(at)))
        raw.persons[-1].take(one, at)
    return raw


def parts_of(data: dict[str, Any], name: str, report: Report, keyed: bool | None = False) -> list[tuple[str, Any]]:
    """The maps in a list, or (`keyed`; None = either) in a map, with their pointers; what is no map is told."""
    whole = data.get(name)
    if whole is None:
        return []
    at = f"/{name}"
    if isinstance(whole, list) and not keyed:
        pairs: list[tuple[str, Any]] = [(child_pointer(at, i), one) for i, one in enumerate(whole)]
    elif isinstance(whole, dict) and keyed is not False:
        pairs = [(child_pointer(at, key), one) for key, one in whole.items()]
    else:
        shape = "a map from name to fields" if keyed else "a list" if keyed is False else "a list or a map"
        report.error("wrong_type", f"«{name}» must be {shape}.", at, hint=_SHAPES[name])
        return []
    for spot, one in pairs:
        if not isinstance(one, dict):
            report.error("wrong_type", f"An entry of «{name}» must be a map.", spot, hint=_SHAPES[name])
    return [(spot, one) for spot, one in pairs if isinstance(one, dict)]


def _last(pointer: str) -> str:
    return pointer.rsplit("/", 1)[1].replace("~1", "/").replace("~0", "~")
