"""Reads the XML of a DMN file safely.

A file is a stranger's: its size is capped before anything reads it, DOCTYPE and entities are refused before the parser
sees them, and the parser itself reaches no file and no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from penstock.errors import DocumentTooLarge, DocumentUnreadable, ExtraMissing

Element = Any  # of lxml, which is an extra and has no types

MAX_BYTES = 2 * 1024 * 1024
_NAMESPACE = re.compile(r"https?://www\.omg\.org/spec/DMN/\d{8}/(MODEL/?|dmn\.xsd)$", re.I)
_FORBIDDEN = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.I)
_ENCODING = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']([^\"']*)[\"']")


def parse_xml(content: bytes) -> Element:
    """The root element. Raises DocumentTooLarge and DocumentUnreadable."""
    if len(content) > MAX_BYTES:
        raise DocumentTooLarge(size=len(content), limit=MAX_BYTES)
    declared = _ENCODING.search(content[:200])
    if b"\0" in content or (declared and declared[1].lower() not in (b"utf-8", b"utf8", b"us-ascii", b"ascii")):
        raise DocumentUnreadable(why="it is not in UTF-8")
    if _FORBIDDEN.search(content):
        raise DocumentUnreadable(why="a DOCTYPE or an entity is not allowed")
    try:
        etree = import_module("lxml.etree")
    except ImportError:
        raise ExtraMissing(extra="dmn") from None
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise DocumentUnreadable(why=f"line {error.lineno}: it is not XML") from None


def parse_definitions(content: bytes) -> Element:
    """The root of a DMN file of any version from 1.1 on."""
    root = parse_xml(content)
    namespace, _, name = str(root.tag).lstrip("{").rpartition("}")
    if name != "definitions" or not _NAMESPACE.match(namespace):
        raise DocumentUnreadable(why="it is no DMN file (its root is not «definitions» of DMN)")
    return root


def local_name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def own_children(element: Element) -> Iterator[Element]:
    """The children in the element's own namespace: what a vendor adds has another."""
    prefix = str(element.tag).rpartition("}")[0]
    for child in element:
        if isinstance(child.tag, str) and child.tag.rpartition("}")[0] == prefix:
            yield child


def children(element: Element, name: str) -> list[Element]:
    return [child for child in own_children(element) if local_name(child) == name]


def first(element: Element, name: str) -> Element | None:
    return next((child for child in own_children(element) if local_name(child) == name), None)


def text_of(element: Element | None) -> str:
    """The text of its `text` child, as DMN writes expressions."""
    if element is None:
        return ""
    return " ".join("".join(map(str, child.itertext())).strip() for child in children(element, "text"))


def content_of(element: Element | None) -> str:
    return "".join(map(str, element.itertext())).strip() if element is not None else ""


def line_of(element: Element) -> int:
    return int(element.sourceline or 0)
