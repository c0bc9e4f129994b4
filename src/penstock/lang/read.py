"""Bytes in, a document out: YAML, JSON or the XML of a language, strictly, with the place of every value.

What is read is JSON's world whatever the syntax: null, booleans, numbers, texts, lists, and maps with text keys. A file
that means different things to different readers (two equal keys, a number beyond 64 bits, half a surrogate pair) is
refused.
"""

from __future__ import annotations

import hashlib
from typing import NoReturn

from penstock.errors import DocumentTooLarge, DocumentUnreadable, Place
from penstock.lang.contract import languages
from penstock.lang.document import Document
from penstock.lang.files import LIMIT
from penstock.lang.read_json import parse_json
from penstock.lang.read_yaml import parse_yaml


def read_document(data: bytes, *, name: str) -> Document:
    """XML if the text opens with < and a language reads it, JSON if the name ends in .json, YAML if in .yaml or .yml,
    else JSON if the text opens with { or [."""
    if len(data) > LIMIT:
        raise DocumentTooLarge(size=len(data), limit=LIMIT, where=Place("", 1, 1))
    text = _decode(data)
    ending = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    opens = text.lstrip(" \t\r\n")[:1]
    if not opens:
        _refuse("it is empty", 1, 1)
    read_xml = next((one.read_xml for one in languages() if one.read_xml is not None), None) if opens == "<" else None
    if read_xml is not None:
        value, mark = read_xml(text)
        return Document(name, value, mark, hashlib.sha256(data).hexdigest())
    json = ending == "json" or (ending not in ("yaml", "yml") and opens in ("{", "["))
    value, mark = parse_json(text) if json else parse_yaml(text)
    return Document(name, value, mark, hashlib.sha256(data).hexdigest())


def _decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data[:4]:
        _refuse("it is UTF-16 or UTF-32, not UTF-8", 1, 1)
    if data.startswith(b"\xef\xbb\xbf<"):  # XML may say so; modelers do
        data = data[3:]
    if data.startswith(b"\xef\xbb\xbf"):
        _refuse("it begins with a byte order mark; save it as UTF-8 without one", 1, 1)
    if (at := data.find(b"\x00")) >= 0:
        _refuse("it holds a NUL byte", *_spot(data, at))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as broken:
        _refuse("it is not UTF-8", *_spot(data, broken.start))


def _spot(data: bytes, at: int) -> tuple[int, int]:
    before = data[:at]
    return before.count(b"\n") + 1, at - (before.rfind(b"\n") + 1) + 1


def _refuse(why: str, line: int, column: int) -> NoReturn:
    raise DocumentUnreadable(why=why, where=Place("", line, column))
