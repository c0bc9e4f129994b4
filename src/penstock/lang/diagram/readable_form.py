"""The readable form: nodes as maps by label, and a flow that says in words where tokens go (D-X.14).

    nodes:
    - Ask @(200,100):
        type: person_job
    flow:
    - Ask: to "Check" as "conversation_state"
    - Check:
      - from "_condfalse" to "Ask" in "_first" naming "answer"
      - {from: _condtrue, to: End}

Older files write a way as `Ask_first (raw_text)(topic)`. As in the native form, `flipped` belongs to the drawing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.lang.diagram.light_form import (
    RawDiagram,
    RawPart,
    drawn_fields,
    entries_of,
    read_persons,
    take_metadata,
)
from penstock.lang.document import Document, child_pointer
from penstock.lang.report import Report

_POSITION = re.compile(r"@\(\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*\)\Z")
_WORD = re.compile(r'\s*(from|to|in|as|naming)\s+"([^"]*)"')
_NEXT_WAY = re.compile(r"\s+-(?=\s+(?:from|to)\s)")
_BEGINS = re.compile(r"\s*(?:from|to)\s+\S")
#: characters that a head or a way has at most; a label has at most 200
LONGEST_LINE = 2000
_FIELDS = {"as": "content_type", "naming": "label"}
#: content types that an older file writes in brackets; what else stands there is the name
_CONTENT_TYPES = ("raw_text", "conversation_state", "variable", "json", "object")
#: of a node without a type, the first of these fields that it has says what it is
_SIGNS = {
    "condition_type": "condition", "expression": "condition", "default_prompt": "person_job",
    "first_only_prompt": "person_job", "prompt_file": "person_job", "person": "person_job", "hook_type": "hook",
    "provider": "integrated_api", "diagram_name": "sub_diagram", "diagram": "sub_diagram", "url": "api_job",
    "code": "code_job", "filePath": "code_job", "template": "template_job", "template_path": "template_job",
    "save_to_file": "endpoint", "file_format": "endpoint", "operation": "db", "sub_type": "db",
    "prompt": "user_response",
}  # fmt: skip
_HINT = 'Write `- Source: to "Target"`, and beside it, each once, `from "_condtrue"`, `in "_first"`, `as "raw_text"`.'


def is_readable_form(data: Any) -> bool:
    return isinstance(data, dict) and (data.get("version") == "readable" or ("flow" in data and "nodes" in data))


def read_readable_form(document: Document, report: Report) -> RawDiagram:
    data = document.data
    raw = RawDiagram({k: v for k, v in data.items() if k not in ("persons", "nodes", "flow", "version")})
    take_metadata(raw, data)
    raw.persons = read_persons(data, report, listed=True)
    ids = _person_ids([part.name for part in raw.persons])
    for at, entry in entries_of(data, "nodes", report):
        for head, fields in entry.items():
            if _is_short(str(head), child_pointer(at, head), report):
                raw.nodes.append(_node(child_pointer(at, head), str(head), fields, ids, report))
    labels = {part.fields["label"] for part in raw.nodes}
    raw.connections = list(_connections(data, labels, report))
    return raw


def _person_ids(names: list[str]) -> dict[str, str]:
    """The names by the ids that the original makes of them. A person who is called like an id is that person, and an
    id that two names make is nobody's."""
    ids: dict[str, list[str]] = {}
    for name in names:
        ids.setdefault(f"person_{name.replace(' ', '_')}", []).append(name)
    return {id: named[0] for id, named in ids.items() if len(named) == 1 and id not in names}


class Head(NamedTuple):
    """What stands over a node: `Label [type] @(x,y)`; the type and the position may be absent."""

    label: str
    type: str = ""
    position: dict[str, Any] | None = None


def read_head(head: str) -> Head:
    """Read from its end, so that a label may hold whatever is not the last thing in it."""
    label, kind, position = head, "", None
    numbers = _POSITION.match(head, max(0, head.rfind("@(")))
    if numbers is not None:
        label, position = head[: numbers.start()].rstrip(), {"x": _number(numbers[1]), "y": _number(numbers[2])}
    start = label.rfind("[")
    if label.endswith("]") and start > 0 and label[start - 1].isspace() and re.fullmatch(r"\w+", label[start + 1 : -1]):
        label, kind = label[:start].rstrip(), label[start + 1 : -1]
    return Head(label, kind, position)


def _is_short(line: str, at: str, report: Report) -> bool:
    if len(line) <= LONGEST_LINE:
        return True
    message = f"«{line[:40]}…» has {len(line)} characters; at most {LONGEST_LINE} are read."
    report.error("line_too_long", message, at, hint="Shorten the label, or write the way as a map: {to: …}.", key=True)
    return False


def _node(at: str, head: str, fields: Any, person_ids: dict[str, str], report: Report) -> RawPart:
    """One node; `at` is the pointer of its fields."""
    read = read_head(head)
    part = RawPart(at)
    part.add_fields({"label": read.label}, at)
    if fields is not None and not isinstance(fields, dict):
        hint = "Write the node's fields under its label, one per line: `name: value`."
        report.error("wrong_type", f"What stands under «{read.label}» must be a map.", at, hint=hint)
        fields = None
    fields = dict(fields or {})
    part.drawing = drawn_fields(fields)
    fields.pop("flipped", None)
    if read.position is not None and "position" not in fields:
        part.fields["position"] = read.position
    if isinstance(fields.get("person"), str):
        fields["person"] = person_ids.get(fields["person"], fields["person"])
    written = fields.pop("type", None)
    part.fields["type"] = written or read.type or _type_of(read.label, fields, at, report)
    part.add_fields(fields, at)
    part.where |= {"label": at, "type": child_pointer(at, "type") if written else at}
    return part


def _number(text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        return 0
    return int(value) if value.is_integer() else value


def _type_of(label: str, fields: dict[str, Any], at: str, report: Report) -> str:
    """Some versions of the original leave the type out where the fields show it."""
    kind = next((kind for sign, kind in _SIGNS.items() if sign in fields), "start")
    message = f"«{label}» has no type; by its fields it is read as {kind}."
    report.info("type_inferred", message, at, hint=f"Write `type: {kind}` under it.", node=label)
    return kind


def _connections(data: dict[str, Any], labels: set[Any], report: Report) -> Iterator[RawPart]:
    flow = data.get("flow")
    if flow is None:
        return
    if not isinstance(flow, list):
        report.error("wrong_type", "«flow» must be a list.", "/flow", hint=_HINT)
        return
    for number, entry in enumerate(flow):
        at = child_pointer("/flow", number)
        if isinstance(entry, str) and not _is_short(entry, at, report):
            continue
        if isinstance(entry, str) and "->" in entry:
            ends = [end.strip() for end in entry.split("->")]
            for source, target in zip(ends, ends[1:], strict=False):
                yield _connection(at, source, {"to": target})
        elif isinstance(entry, dict):
            for source, ways in entry.items():
                yield from _ways(child_pointer(at, source), str(source), ways, labels, report)
        else:
            report.error("bad_flow", "An entry of «flow» is a source with its ways.", at, hint=_HINT)


def _ways(at: str, source: str, ways: Any, labels: set[Any], report: Report) -> Iterator[RawPart]:
    several = isinstance(ways, list)
    for number, way in enumerate(ways if isinstance(ways, list) else [ways]):
        place = child_pointer(at, number) if several else at
        if isinstance(way, dict):
            yield _connection(place, source, way, written=True)
            continue
        if isinstance(way, str) and not _is_short(way, place, report):
            continue
        read = _read_way(way, labels) if isinstance(way, str) else None
        if read is None:
            report.error(
                "bad_flow", f"«{str(way)[:200]}» is no way from «{source}» to another node.", place, hint=_hint(way)
            )
            continue
        for fields in read:
            yield _connection(place, source, fields)


def _hint(way: Any) -> str:
    if isinstance(way, str) and _BEGINS.match(way) and '"' not in way:
        return f'Put the label into quotes: `{way.split()[0]} "{" ".join(way.split()[1:])}"`.'
    return _HINT


def _read_way(way: str, labels: set[Any]) -> list[dict[str, Any]] | None:
    """The ways that a text says, or None if it says none."""
    if way.strip() in labels:
        return [{"to": way.strip()}]
    if re.match(r'\s*(from|to)\s+"', way):
        return _worded(way)
    label, words = _groups(way)
    if _BEGINS.match(way) and not any(
        label == known or label.startswith((f"{known}_", f"{known}[")) for known in labels
    ):
        return None
    fields: dict[str, Any] = {"to": label}
    for word in words:
        is_type = word in _CONTENT_TYPES and "as" not in fields
        fields["as" if is_type else "naming"] = "object" if is_type and word == "json" else word
    return [fields]


def _groups(way: str) -> tuple[str, list[str]]:
    """A label, and what stands in brackets behind it: `Ask_first (raw_text)(topic)`."""
    words: list[str] = []
    rest = way.strip()
    while rest.endswith(")") and (start := rest.rfind("(")) >= 0 and ")" not in rest[start:-1]:
        words.insert(0, rest[start + 1 : -1])
        rest = rest[:start].rstrip()
    return rest, words


def _worded(way: str) -> list[dict[str, Any]] | None:
    """Each word once per way; ways follow each other behind a dash."""
    read: list[dict[str, Any]] = [{}]
    at = 0
    while at < len(way.rstrip()):
        part = _WORD.match(way, at) or _NEXT_WAY.match(way, at)
        if part is None or (part.lastindex and part[1] in read[-1]):
            return None
        if part.lastindex:
            read[-1][part[1]] = part[2]
        else:
            read.append({})
        at = part.end()
    return read if all("to" in words for words in read) else None


def _connection(at: str, source: str, words: dict[str, Any], *, written: bool = False) -> RawPart:
    """A connection as the light form has it. `written`: its words stand in the document one by one."""
    part = RawPart(at)
    handle, entry = words.get("from"), words.get("in")
    fields = {_FIELDS.get(word, word): value for word, value in words.items() if word not in ("from", "to", "in")}
    part.fields = {"from": source, **({"to": words["to"]} if "to" in words else {}), **fields}
    if isinstance(handle, str) and handle:
        part.fields["from"] = f"{source}[{handle.removeprefix('_')}]"
    if isinstance(entry, str) and entry and isinstance(part.fields.get("to"), str):
        part.fields["to"] = f"{part.fields['to']}[{entry.removeprefix('_')}]"
    names = {_FIELDS.get(word, word): word for word in words if word not in ("from", "in")} if written else {}
    part.where = {name: child_pointer(at, names[name]) if name in names else at for name in part.fields}
    return part
