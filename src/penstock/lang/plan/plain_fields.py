"""Reads front matter that is written plainly, one field per line, without a YAML parser: twenty times as fast.

A plan has thousands of files, and nearly all of them are written like this. Whatever is not certainly plain (a second
line of a text, an escape, an anchor, a number with a point) is left to the YAML reader; what is read here is what that
one would read, which a test compares.
"""

from __future__ import annotations

import re
from typing import Any

_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(?: +(.*))?")
_ENTRY = re.compile(r"( *)- +(.*)")
_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*): +(.*)")
_QUOTED = re.compile(r"\"([^\"\\]*)\"|'([^']*)'")
_ITEM = r"[A-Za-z0-9_][\w.-]*"
_MEMBER = rf"[A-Za-z_]\w*: +{_ITEM}"
_LIST = re.compile(rf"\[ *((?:{_ITEM}(?: *, *{_ITEM})*)?) *\]", re.ASCII)
_MAP = re.compile(rf"\{{ *({_MEMBER}(?: *, *{_MEMBER})*) *\}}", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T[0-9:.]+(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_BEGINS = re.compile(r"[^\W\d]")
_WORDS: dict[str, bool | None] = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_WORDS |= dict.fromkeys(("null", "Null", "NULL"))


class _NotPlainError(Exception):
    pass


def plain_fields(head: str) -> tuple[dict[str, Any], dict[str, int]] | None:
    """The fields and their lines, of a text that begins with the line `---`; None where YAML has to read it."""
    text = head.replace("\r\n", "\n") if "\r" in head else head
    fields: dict[str, Any] = {}
    lines: dict[str, int] = {}
    name, indent = "", ""
    entries: list[Any] | None = None
    try:
        for number, line in enumerate(text.split("\n")[1:], 2):
            if not line or line[0] == "#" and line.isprintable():
                continue
            if not line.isprintable() or line[-1] == " ":
                return None
            found = _FIELD.fullmatch(line)
            if found is not None:
                name, written = found[1], found[2]
                if name in fields:
                    return None
                lines[name] = number
                fields[name], entries = (None, []) if written is None else (_value(written), None)
                continue
            entry = _ENTRY.fullmatch(line)
            if entry is None or entries is None or entries and entry[1] != indent:
                return None
            indent = entry[1]
            lines[f"{name}/{len(entries)}"] = number
            entries.append(_entry(entry[2]))
            fields[name] = entries
    except _NotPlainError:
        return None
    return fields, lines


def _entry(text: str) -> Any:
    pair = _PAIR.fullmatch(text)
    return _value(text) if pair is None else {pair[1]: _value(pair[2])}


def _value(text: str) -> Any:
    first = text[0]
    if first in "\"'":
        quoted = _QUOTED.fullmatch(text)
        if quoted is None:
            raise _NotPlainError
        return quoted[1] if quoted[1] is not None else quoted[2]
    if first == "[":
        listed = _LIST.fullmatch(text)
        if listed is None:
            raise _NotPlainError
        return [_scalar(item.strip()) for item in listed[1].split(",")] if listed[1] else []
    if first == "{":
        mapped = _MAP.fullmatch(text)
        if mapped is None:
            raise _NotPlainError
        pairs = [item.split(":") for item in mapped[1].split(",")]
        values = {key.strip(): _scalar(value.strip()) for key, value in pairs}
        if len(values) < len(pairs):
            raise _NotPlainError
        return values
    if ": " in text or " #" in text or text[-1] == ":":
        raise _NotPlainError
    return _scalar(text)


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return int(text)
    if _BEGINS.match(text) or _MOMENT.fullmatch(text):
        return text
    raise _NotPlainError
