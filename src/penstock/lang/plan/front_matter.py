"""Reads and writes Markdown with YAML front matter: tasks, agents and skills are such files (T-X.8, T-X.9, T-X.11).

A file belongs to the person who wrote it. Writing changes the fields that are asked for and nothing else: order,
comments, quotes, line ends and the text below stay byte for byte. What was written is read again before it is given
back, so that a file that is odd is refused instead of damaged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from penstock.errors import DocumentUnreadable, Place
from penstock.lang.document import Mark
from penstock.lang.plan.plain_fields import plain_fields
from penstock.lang.plan.yaml_text import LINE_BREAK, block_text, flow_text, span_of, top_spans
from penstock.lang.read_yaml import parse_yaml

#: no task is as long as this
LARGEST = 1024 * 1024
_OPENS = re.compile(r"---[ \t]*(?:\r?\n|\Z)")
_CLOSES = re.compile(r"(?m)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)")
_BOM = "\ufeff"


class FrontMatter(msgspec.Struct, frozen=True):
    """What a file says: its fields, its text, and the line of each field in the file. The lines of the entries of a
    list stand under `field/0`, `field/1`, … where they are not the field's own."""

    fields: dict[str, Any]
    body: str
    lines: dict[str, int]


def has_front_matter(data: bytes) -> bool:
    return data.removeprefix(b"\xef\xbb\xbf").startswith(b"---")


def read_front_matter(data: bytes) -> FrontMatter:
    """Raises DocumentUnreadable, with the line in the file."""
    _, head, _, body = _parts(data)
    plain = plain_fields(head)
    if plain is not None:
        return FrontMatter(plain[0], _trimmed(body), plain[1])
    value, mark = _fields(head)
    return FrontMatter(value, _trimmed(body), _lines(mark))


def write_front_matter(data: bytes, changes: Mapping[str, Any]) -> bytes:
    """The file with these fields changed: one that it does not have is put below the others, None removes one. Raises
    DocumentUnreadable for a file that cannot be read, or not changed without touching what is not asked for."""
    bom, head, close, body = _parts(data)
    before, _ = _fields(head)
    wanted = {**before, **changes}
    wanted = {name: value for name, value in wanted.items() if name not in changes or value is not None}
    text = head
    for name, value in changes.items():
        if name in before and (value is None or before[name] != value):
            text = _replaced(text, name, value)
    text = _with_added(text, {n: v for n, v in changes.items() if n not in before and v is not None})
    after, _ = _fields(text)
    if {name: value for name, value in after.items() if value is not None or name in wanted} != wanted:
        _refuse("its fields cannot be changed one by one: write one field per line", 1)
    return (bom + text + close + body).encode("utf-8")


def new_file(fields: Mapping[str, Any], body: str) -> bytes:
    """A fresh file; fields that are None are left out."""
    lines = [block_text(name, value) for name, value in fields.items() if value is not None]
    return ("---\n" + "".join(lines) + "---\n\n" + body.strip("\n") + "\n").encode("utf-8")


def _parts(data: bytes) -> tuple[str, str, str, str]:
    """Byte order mark, front matter with the line that opens it, the line that closes it, the text below."""
    if len(data) > LARGEST:
        _refuse(f"it is larger than {LARGEST} bytes", 1)
    text = _decoded(data)
    bom = _BOM if text.startswith(_BOM) else ""
    text = text[len(bom) :]
    opens = _OPENS.match(text)
    if opens is None:
        _refuse("it has no front matter: its first line must be ---", 1)
    closes = _CLOSES.search(text, opens.end())
    if closes is None:
        _refuse("its front matter has no end: a line --- is missing", 1)
    return bom, text[: closes.start()], closes[0], text[closes.end() :]


def _decoded(data: bytes) -> str:
    if (at := data.find(b"\x00")) >= 0:
        _refuse("it holds a NUL byte (is it UTF-8?)", data[:at].count(b"\n") + 1)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as broken:
        _refuse("it is not UTF-8", data[: broken.start].count(b"\n") + 1)


def _fields(head: str) -> tuple[dict[str, Any], Mark]:
    """The line that opens front matter opens a YAML document, too: so its lines are those of the file."""
    value, mark = parse_yaml(head)
    if value is None:
        return {}, mark
    if not isinstance(value, dict):
        _refuse("its front matter is no list of fields: write `name: value`, one per line", max(mark.line, 2))
    return value, mark


def _lines(mark: Mark) -> dict[str, int]:
    lines: dict[str, int] = {}
    if not isinstance(mark.items, dict):
        return lines
    for name, (line, _, value) in mark.items.items():
        lines[name] = line
        if isinstance(value.items, list):
            lines |= {f"{name}/{i}": entry.line for i, entry in enumerate(value.items) if entry.line != line}
    return lines


def _trimmed(body: str) -> str:
    return body.replace("\r\n", "\n").strip("\n")


def _replaced(text: str, name: str, value: Any) -> str:
    """The text with one field changed, or without it."""
    spans, flow = top_spans(text)
    span = span_of(spans, name)
    if value is not None or flow:
        old = text[span.value : span.end]
        kept = old[len(old.rstrip("\r\n")) :]
        gap = " " if text[span.value - 1] == ":" else ""
        if span.outdented:  # the entries of a list need no indent, [ ] does
            gap = " " * (span.column + 2)
        return text[: span.value] + gap + flow_text(value) + kept + text[span.end :]
    begin = text.rfind("\n", 0, span.key) + 1
    after = LINE_BREAK.search(text, max(span.end - 1, span.key) if text[span.end - 1] in "\r\n" else span.end)
    return text[:begin] + (text[after.end() :] if after else "")


def _with_added(text: str, added: Mapping[str, Any]) -> str:
    if not added:
        return text
    spans, flow = top_spans(text)
    if flow:
        at = text.rindex("}")
        more = ", ".join(f"{name}: {flow_text(value)}" for name, value in added.items())
        return text[:at].rstrip() + (", " if spans else "") + more + text[at:]
    line_end = "\r\n" if "\r\n" in text else "\n"
    indent = " " * (spans[0].column if spans else 0)
    more = "".join(f"{indent}{name}: {flow_text(value)}{line_end}" for name, value in added.items())
    return text + more


def _refuse(why: str, line: int) -> NoReturn:
    raise DocumentUnreadable(why=why, where=Place("", line, 1))
