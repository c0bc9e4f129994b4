"""The light form of a diagram, and the raw diagram that both written forms are read into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.lang.document import Document, child_pointer
from penstock.lang.report import Report

#: How the parts of a diagram are written, as hints.
_HINTS = {
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

    def add_fields(self, data: dict[str, Any], at: str) -> list[str]:
        """Adds the fields of the map at a pointer; returns the names that were there already."""
        repeated = []
        for key, value in data.items():
            if key in self.fields:
                repeated.append(key)
                continue
            self.fields[key] = value
            self.where[key] = child_pointer(at, key)
        return repeated


@dataclass
class RawDiagram:
    """The parts of a diagram before their fields are checked, whichever form they were written in."""

    top: dict[str, Any] = field(default_factory=dict)
    persons: list[RawPart] = field(default_factory=list)
    nodes: list[RawPart] = field(default_factory=list)
    connections: list[RawPart] = field(default_factory=list)


def read_light_form(document: Document, report: Report) -> RawDiagram:
    """The light form: fields of a node stand beside its label or under `props` (D-X.14)."""
    data = document.data
    raw = RawDiagram({k: v for k, v in data.items() if k not in ("persons", "nodes", "connections")})
    for at, entry in entries_of(data, "nodes", report):
        part = RawPart(at)
        part.add_fields({k: v for k, v in entry.items() if k != "props"}, at)
        props = entry.get("props")
        if isinstance(props, dict):
            for name in part.add_fields(props, child_pointer(at, "props")):
                pointer = child_pointer(child_pointer(at, "props"), name)
                message = f"«{name}» stands beside the label and under «props»."
                report.error("duplicate_field", message, pointer, hint="Keep one of them.", key=True)
        elif props is not None:
            hint = "Write the node's fields under it, one per line: `name: value`."
            report.error("wrong_type", "«props» must be a map.", child_pointer(at, "props"), hint=hint)
        raw.nodes.append(part)
    for at, entry in entries_of(data, "connections", report):
        raw.connections.append(RawPart(at))
        raw.connections[-1].add_fields(entry, at)
    for at, entry in entries_of(data, "persons", report, keyed=True):
        raw.persons.append(RawPart(at, name=_name_of(at)))
        raw.persons[-1].add_fields(entry, at)
    return raw


def entries_of(data: dict[str, Any], name: str, report: Report, keyed: bool | None = False) -> list[tuple[str, Any]]:
    """The maps in a list, or (`keyed`; None = either) in a map, with their pointers; what is no map is reported."""
    entries = data.get(name)
    if entries is None:
        return []
    at = f"/{name}"
    if isinstance(entries, list) and not keyed:
        pairs: list[tuple[str, Any]] = [(child_pointer(at, i), entry) for i, entry in enumerate(entries)]
    elif isinstance(entries, dict) and keyed is not False:
        pairs = [(child_pointer(at, key), entry) for key, entry in entries.items()]
    else:
        shape = "a map from name to fields" if keyed else "a list" if keyed is False else "a list or a map"
        report.error("wrong_type", f"«{name}» must be {shape}.", at, hint=_HINTS[name])
        return []
    for pointer, entry in pairs:
        if not isinstance(entry, dict):
            report.error("wrong_type", f"An entry of «{name}» must be a map.", pointer, hint=_HINTS[name])
    return [(pointer, entry) for pointer, entry in pairs if isinstance(entry, dict)]


def _name_of(pointer: str) -> str:
    return pointer.rsplit("/", 1)[1].replace("~1", "/").replace("~0", "~")
