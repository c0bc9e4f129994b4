"""Reads a diagram in any of its forms: persons, nodes and connections, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.contract import Setting
from penstock.lang.diagram.forms import read_form
from penstock.lang.diagram.light_form import RawDiagram, RawPart
from penstock.lang.diagram.nodes import NODE_TYPES, REFUSED, NodeType
from penstock.lang.diagram.nodes.contract import NodeFields, Positive, Seconds
from penstock.lang.diagram.persons import Person, check_person
from penstock.lang.document import Document
from penstock.lang.fields import Fields, read_fields, unknown_fields
from penstock.lang.report import Report, did_you_mean

CONDITION_HANDLES = ("condtrue", "condfalse")
_BRACKETS = re.compile(r"(?s)(.*\S)\s*\[\s*(\w+)\s*\]\s*\Z")
_SUFFIX = re.compile(r"(?s)(.+)_(condtrue|condfalse|first)\Z")


class TopFields(Fields):
    """The whole document."""

    version: Annotated[Literal["light"], Meta(description="The form of this file.")] = "light"
    name: Annotated[str, Meta(max_length=200, description="What the diagram is called.")] = ""
    description: Annotated[str, Meta(description="What it is for.")] = ""
    max_node_executions: Annotated[
        int, Meta(ge=1, le=1_000_000_000, description="Runs of one node without max_iteration, per epoch.")
    ] = 1000
    metadata: Annotated[Any, Meta(description="Its name and description may stand here; else read and ignored.")] = None
    api_keys: Annotated[Any, Meta(description="Read and ignored: keys are secrets of the machine.")] = None
    subagents: Any = None

    IDLE: ClassVar[tuple[str, ...]] = ("subagents",)


class ConnectionFields(Fields):
    """A way for tokens from one node to another."""

    from_: Annotated[str, Meta(description="A label; of a condition with its handle: Check[condtrue].")] = ""
    to: Annotated[str, Meta(description="A label; Label[first] is waited for only the first time.")] = ""
    label: Annotated[str, Meta(max_length=200, description="The variable under which the target sees what came.")] = ""
    content_type: Annotated[
        Literal["raw_text", "object", "conversation_state", "binary", "error", "variable", "generic", "empty"] | None,
        Meta(description="The representation the target wants."),
    ] = None
    priority: Annotated[int | None, Meta(description="Of several waiting tokens the smaller number goes first.")] = None
    ttl_s: Annotated[Seconds | None, Meta(description="Seconds until a token that nobody took expires.")] = None
    transform: Annotated[str, Meta(description="An expression over `body`; its value travels instead.")] = ""
    capacity: Annotated[Positive | None, Meta(description="A source waits while so many tokens lie here.")] = None

    ALIASES: ClassVar[dict[str, str]] = {"target_input": "label", "type": "content_type"}
    REQUIRED: ClassVar[tuple[str, ...]] = ("from", "to")


@dataclass
class DiagramNode:
    """One node of the document. `where` has the pointers of its fields, `rest` the fields its type does not know."""

    label: str
    type: NodeType
    fields: NodeFields
    pointer: str
    where: dict[str, str]
    rest: dict[str, Any]


@dataclass
class DiagramEdge:
    """One connection. `handle` is where it leaves ("" = the default); `first`: it counts only the first time."""

    fields: ConnectionFields
    pointer: str
    where: dict[str, str]
    source: str
    target: str
    handle: str = ""
    first: bool = False


@dataclass
class Diagram:
    """`complete` is false when a node or a connection could not be read: a graph with holes is not checked."""

    top: TopFields
    persons: dict[str, Person] = field(default_factory=dict)
    nodes: dict[str, DiagramNode] = field(default_factory=dict)
    edges: list[DiagramEdge] = field(default_factory=list)
    complete: bool = True


def recognise(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    ways = ("connections", "arrows", "flow")
    return data.get("version") in ("light", "readable") or ("nodes" in data and any(way in data for way in ways))


def read(document: Document, report: Report, setting: Setting) -> Diagram:
    """The diagram of a document. What cannot be read is reported and left out; nothing is raised for it."""
    if not isinstance(document.data, dict):
        hint = "Begin with `version: light` and `nodes:`."
        report.error("wrong_type", "A diagram is a map with `nodes` and `connections`.", hint=hint)
        return Diagram(TopFields(), complete=False)
    return read_parts(read_form(document, report), report, setting)


def read_parts(raw: RawDiagram, report: Report, setting: Setting) -> Diagram:
    """The diagram of parts that a form has brought."""
    top, rest = read_fields(TopFields, raw.top, "", report)
    rest.pop("$schema", None)
    unknown_fields(rest, TopFields, "", report, also=("persons", "nodes", "connections"))
    diagram = Diagram(top)
    _name_persons(raw)
    _read_persons(raw, diagram, report, setting)
    known = NODE_TYPES | {name: made for name, made in setting.extra.items() if isinstance(made, NodeType)}
    unread: set[str] = set()
    for part in raw.nodes:
        _read_node(part, diagram, known, unread, report)
    if not raw.nodes:
        report.error("no_start", "The diagram has no nodes.", hint="Write `nodes:` with a start.")
    for part in raw.connections:
        _read_connection(part, diagram, unread, report)
    diagram.complete = len(diagram.nodes) == len(raw.nodes) and len(diagram.edges) == len(raw.connections)
    return diagram


def _name_persons(raw: RawDiagram) -> None:
    """A person that is written at its node is one of the diagram's persons, with the name of the node."""
    for part in raw.nodes:
        written, label = part.fields.get("person"), part.fields.get("label")
        if isinstance(written, dict) and isinstance(label, str) and label:
            person = RawPart(part.where["person"], name=label)
            person.add_fields(written, person.pointer)
            raw.persons.append(person)
            part.fields["person"] = label


def _read_persons(raw: RawDiagram, diagram: Diagram, report: Report, setting: Setting) -> None:
    for part in raw.persons:
        if part.name in diagram.persons:
            hint = "Give one of them another name."
            report.error("duplicate_label", f"There are two persons «{part.name}».", part.pointer, hint=hint)
        person, rest = read_fields(Person, part.fields, part.pointer, report, where=part.where)
        unknown_fields(rest, Person, part.pointer, report, where=part.where)
        check_person(part.name, person, part.pointer, report, part.where, setting.secret)
        diagram.persons[part.name] = person


def _read_node(part: RawPart, diagram: Diagram, known: dict[str, NodeType], unread: set[str], report: Report) -> None:
    label = part.fields.get("label")
    named = label if isinstance(label, str) else ""
    if not _check_label(label, part, report):
        return
    if named in diagram.nodes or named in unread:
        first = diagram.nodes[named].pointer if named in diagram.nodes else ""
        place = report.document.place(first)
        message = f"The label «{named}» is already taken" + (f" by the node in line {place.line}." if first else ".")
        report.error("duplicate_label", message, part.where["label"], hint="Labels are unique.", node=named)
        return
    word = part.fields.get("type")
    kind = known.get(word) or known.get(_plain_type(word)) if isinstance(word, str) else None
    if kind is None:
        unread.add(named)
        at = part.where.get("type", part.pointer)
        if word is None:
            report.error("missing_field", "«type» is missing.", at, node=named, hint="Write `type: person_job`.")
        elif isinstance(word, str) and _plain_type(word) in REFUSED:
            instead = REFUSED[_plain_type(word)]
            report.error("refused_type", f"Nodes of the type «{word}» are not run here.", at, node=named, hint=instead)
        else:
            hint = did_you_mean(str(word), known, "The reference of diagrams lists the node types.")
            report.error("unknown_type", f"There is no node type «{word}».", at, node=named, hint=hint)
        return
    fields, rest = read_fields(kind.fields, part.fields, part.pointer, report, where=part.where, node=named)
    if not kind.open:
        unknown_fields(rest, kind.fields, part.pointer, report, where=part.where, node=named, also=("props",))
    diagram.nodes[named] = DiagramNode(named, kind, fields, part.pointer, part.where, rest)


def _plain_type(word: str) -> str:
    """A type as we write it: `PersonJob` and `PERSON_JOB` are person_job."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).lower()


def _check_label(label: Any, part: RawPart, report: Report) -> bool:
    at = part.where.get("label", part.pointer)
    if label is None or label == "":
        report.error("missing_field", "«label» is missing.", part.pointer, hint="Write `label: My step`.")
    elif not isinstance(label, str):
        hint = "Put it in quotes to make it a text."
        report.error("wrong_type", f"«label» must be a text; here is {label}.", at, hint=hint)
    elif label != label.strip() or any(ord(c) < 32 for c in label) or ("'" in label and '"' in label):
        message = "A label has no spaces around it, no control characters, and not both kinds of quotes."
        report.error("bad_label", message, at, hint="Write plain words, such as `label: Load data`.")
    elif _BRACKETS.match(label):
        message = f"«{label}» ends like a handle; a label does not end in [brackets]."
        report.error("bad_label", message, at, hint="Use other brackets, or put something after them.")
    else:
        return True
    return False


def _read_connection(part: RawPart, diagram: Diagram, unread: set[str], report: Report) -> None:
    f, rest = read_fields(ConnectionFields, part.fields, part.pointer, report, where=part.where)
    unknown_fields(rest, ConnectionFields, part.pointer, report, where=part.where)
    if not f.from_ or not f.to:
        return
    source, handle = _label_and_handle(f.from_, diagram, unread)
    target, entry = _label_and_handle(f.to, diagram, unread)
    for name, label in (("from", source), ("to", target)):
        if label not in diagram.nodes and label not in unread:
            verb = "comes from" if name == "from" else "leads to"
            message = f"The connection {verb} «{label}», which does not exist."
            hint = did_you_mean(label, diagram.nodes, "Write the label of a node of this diagram.")
            report.error("dangling_edge", message, part.where[name], hint=hint)
    if source not in diagram.nodes or target not in diagram.nodes:
        return
    if entry not in ("", "default", "first"):
        message = f"«{target}» has no input handle «{entry}»."
        report.error("unknown_handle", message, part.where["to"], hint="Known are: default, first.", node=target)
    handle = _check_handle(handle, diagram.nodes[source], part, report)
    diagram.edges.append(DiagramEdge(f, part.pointer, part.where, source, target, handle, entry == "first"))


def _label_and_handle(written: str, diagram: Diagram, unread: set[str]) -> tuple[str, str]:
    """The label and the handle of an end. A label that exists as written wins over one with a handle."""
    for shape in (None, _BRACKETS, _SUFFIX):
        match = shape.match(written) if shape else None
        label, handle = (match[1], match[2]) if match else (written, "")
        if label in diagram.nodes or label in unread or (shape is _BRACKETS and match):
            return label, handle
    return written, ""


def _check_handle(handle: str, source: DiagramNode, part: RawPart, report: Report) -> str:
    handle = "" if handle == "default" else handle
    is_condition = source.type.name == "condition"
    known = (*CONDITION_HANDLES, "dead") if is_condition else ("default", "dead")
    if is_condition and not handle:
        message = f"A connection from the condition «{source.label}» must say which handle it leaves by."
        hint = f"Write {source.label}[condtrue] or {source.label}[condfalse]."
        report.error("missing_handle", message, part.where["from"], hint=hint, node=source.label)
        return "condtrue"
    if handle and handle not in known:
        message = f"«{source.label}» has no output handle «{handle}»."
        known_handles = "Only conditions have condtrue and condfalse."
        hint = did_you_mean(handle, known, known_handles) if is_condition else known_handles
        report.error("unknown_handle", message, part.where["from"], hint=hint, node=source.label)
        return ""
    return handle
