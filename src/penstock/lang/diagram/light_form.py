"""The light form of a diagram, and the raw diagram that every written form is read into."""

from __future__ import annotations

import re
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
    "flow": 'Write `flow:` and below it one `- Start: to "Next"` per node that something leaves.',
}
#: How a person is written in one word: the service, and the model behind a slash.
_SERVICE_AND_MODEL = re.compile(r"([\w-]+)(?:/(.+))?\Z")


@dataclass
class RawPart:
    """A node, a connection or a person as written. `where` has the pointer of every field, `drawing` what only the
    picture needs."""

    pointer: str
    fields: dict[str, Any] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    name: str = ""
    drawing: dict[str, Any] = field(default_factory=dict)

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
    take_metadata(raw, data)
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
    raw.persons = read_persons(data, report)
    return raw


def drawn_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """What of a node's fields only the picture needs, where the form says so: whether it is turned round."""
    flipped = fields.get("flipped")
    pair = isinstance(flipped, list) and all(isinstance(side, bool) for side in flipped)
    return {"flipped": flipped} if flipped and (flipped is True or pair) else {}


def take_metadata(raw: RawDiagram, data: dict[str, Any]) -> None:
    """The name and the description may stand under `metadata`, where the drawing tool keeps them."""
    meta = data.get("metadata")
    if isinstance(meta, dict):
        raw.top |= {key: meta[key] for key in ("name", "description") if meta.get(key) and key not in raw.top}


def read_persons(data: dict[str, Any], report: Report, *, listed: bool = False) -> list[RawPart]:
    """Persons by name, or (`listed`) a list of such maps. A person may be written in one word:
    `Judge: openai/gpt-4.1-mini`."""
    named: list[tuple[str, str, Any]] = []
    written = data.get("persons")
    if isinstance(written, list) and listed:
        for at, entry in entries_of(data, "persons", report):
            named += [(child_pointer(at, name), str(name), fields) for name, fields in entry.items()]
    elif isinstance(written, dict):
        named = [(child_pointer("/persons", name), str(name), fields) for name, fields in written.items()]
    elif written is not None:
        report.error("wrong_type", "«persons» must be a map from name to fields.", "/persons", hint=_HINTS["persons"])
    parts = []
    for at, name, fields in named:
        short = _SERVICE_AND_MODEL.match(fields) if isinstance(fields, str) else None
        if short:
            fields = {"service": short[1], **({"model": short[2]} if short[2] else {})}
        if not isinstance(fields, dict):
            report.error("wrong_type", "An entry of «persons» must be a map.", at, hint=_HINTS["persons"])
            continue
        part = RawPart(at, name=name)
        part.add_fields({key: value for key, value in fields.items() if key != "llm_config"}, at)
        config = fields.get("llm_config")
        if isinstance(config, dict):
            part.add_fields(config, child_pointer(at, "llm_config"))
        if short:
            part.where = dict.fromkeys(part.where, at)
        parts.append(part)
    return parts


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
