"""Parses XML into a tree with places, safely: no DOCTYPE, no entities, limited depth and size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from penstock.errors import DocumentUnreadable, Place
from penstock.lang.document import Mark

MAX_DEPTH = 100
MAX_ELEMENTS = 60_000
MAX_ATTRIBUTES = 200
MAX_NAMES = 1_000  # that are kept for the next time
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class XmlElement:
    """An element: its namespace and name, its attributes by (namespace, name), its text, and where it stands: line and
    column, and the bytes at which its start tag and its end tag begin; of an empty element the end is behind it."""

    __slots__ = ("attributes", "begin", "children", "column", "end", "line", "name", "prefix", "space", "text")

    def __init__(self, space: str, name: str, prefix: str, line: int, column: int, begin: int = 0) -> None:
        self.space, self.name, self.prefix = space, name, prefix
        self.line, self.column, self.begin, self.end = line, column, begin, begin
        self.attributes: dict[tuple[str, str], str] = {}
        self.children: list[XmlElement] = []
        self.text = ""

    def get(self, name: str, otherwise: str = "", space: str = "") -> str:
        return self.attributes.get((space, name), otherwise)

    def all(self, name: str, space: str) -> list[XmlElement]:
        return [child for child in self.children if child.name == name and child.space == space]

    def first(self, name: str, space: str) -> XmlElement | None:
        return next((child for child in self.children if child.name == name and child.space == space), None)

    def child_text(self, name: str, space: str) -> str:
        """The text of the first child of this name; "" when there is none."""
        child = self.first(name, space)
        return child.text.strip() if child is not None else ""


class XmlTree:
    """The bytes and their root element, the prefix that the file uses for each namespace, and those that its root
    declares."""

    def __init__(self, data: bytes, root: XmlElement, prefixes: dict[str, str], declared: dict[str, str]) -> None:
        self.data, self.root, self.prefixes, self.declared = data, root, prefixes, declared
        self.without_id: set[XmlElement] = set()  # those whose id stands in the tree alone


def parse(text: str) -> XmlTree:
    """The tree of an XML text. Raises DocumentUnreadable, with the place, for what is no XML or is too large."""
    reader, data = _Reader(), text.encode("utf-8", errors="surrogatepass")
    reader.feed(data)
    assert reader.root is not None
    return XmlTree(data, reader.root, reader.prefixes, reader.declared)


class _Reader:
    def __init__(self) -> None:
        self.root: XmlElement | None = None
        self.open: list[XmlElement] = []
        self.texts: list[list[str]] = []  # of each open element: a text comes in many parts
        self.count = 0
        self.names: dict[str, tuple[str, str, str]] = {}
        self.prefixes: dict[str, str] = {}
        self.declared: dict[str, str] = {}
        parser = expat.ParserCreate("utf-8", namespace_separator=" ")  # whatever it declares: it is text already
        parser.namespace_prefixes = True
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        parser.StartNamespaceDeclHandler = self._namespace
        parser.StartDoctypeDeclHandler = lambda *_: self._refuse("it has a DOCTYPE; remove it")
        parser.EntityDeclHandler = lambda *_: self._refuse("it declares an entity; remove it")
        parser.ExternalEntityRefHandler = lambda *_: self._refuse("it refers to something outside of itself")
        self.parser = parser

    def feed(self, data: bytes) -> None:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            why = f"it is not well-formed XML{self._inside()}: {expat.errors.messages.get(error.code, str(error))}"
            raise DocumentUnreadable(why=why, where=Place("", error.lineno, error.offset + 1)) from None

    def _inside(self) -> str:
        """The element that was being read, by its id where it has one."""
        if not self.open:
            return ""
        node = self.open[-1]
        named = f" id={quoteattr(node.get('id'))}" if node.get("id") else ""
        return f" in <{node.name}{named}>, which begins on line {node.line}"

    def _refuse(self, why: str) -> NoReturn:
        where = Place("", self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)
        raise DocumentUnreadable(why=why, where=where)

    def _namespace(self, prefix: str | None, uri: str | None) -> None:
        if uri and uri not in self.prefixes:
            self.prefixes[uri] = prefix or ""
        if uri and self.root is None:
            self.declared[prefix or ""] = uri

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            self._refuse(f"its elements lie more than {MAX_DEPTH} deep")
        if self.count > MAX_ELEMENTS:
            self._refuse(f"it has more than {MAX_ELEMENTS} elements")
        if len(attributes) > MAX_ATTRIBUTES:
            self._refuse(f"an element has more than {MAX_ATTRIBUTES} attributes")
        space, local, prefix = self._split(name)
        at = self.parser
        node = XmlElement(space, local, prefix, at.CurrentLineNumber, at.CurrentColumnNumber + 1, at.CurrentByteIndex)
        for key, value in attributes.items():
            of, attribute, _ = self._split(key)
            node.attributes[of, attribute] = value
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node
        self.open.append(node)
        self.texts.append([])

    def _split(self, name: str) -> tuple[str, str, str]:
        """Namespace, name and prefix, which expat gives as one text; a file has few of them, each many times."""
        parts = self.names.get(name)
        if parts is None:
            given = name.split(" ")
            parts = ("", name, "") if len(given) == 1 else (given[0], given[1], given[2] if len(given) > 2 else "")
            if len(self.names) < MAX_NAMES:
                self.names[name] = parts
        return parts

    def _end(self, name: str) -> None:
        node = self.open.pop()
        node.end = self.parser.CurrentByteIndex
        node.text = "".join(self.texts.pop())

    def _data(self, data: str) -> None:
        self.texts[-1].append(data)


def to_xml(node: XmlElement, prefixes: dict[str, str]) -> str:
    """An element as text, with the prefixes of its file; white space between elements is not kept."""
    name = _qualified_name(node.space, node.name, prefixes)
    attributes = "".join(
        f" {_qualified_name(space, key, prefixes)}={quoteattr(value)}"
        for (space, key), value in node.attributes.items()
    )
    inner = "".join(to_xml(child, prefixes) for child in node.children)
    text = escape(node.text) if node.text.strip() or not node.children else ""
    return f"<{name}{attributes}>{text}{inner}</{name}>" if text or inner else f"<{name}{attributes}/>"


def _qualified_name(space: str, name: str, prefixes: dict[str, str]) -> str:
    prefix = prefixes.get(space, "") if space else ""
    return f"{prefix}:{name}" if prefix else name


def open_tag(tag: str, attributes: Mapping[str, str]) -> str:
    values = [f" {name}={quoteattr(_NOT_XML.sub('', str(value)))}" for name, value in attributes.items()]
    return f"<{tag}{''.join(values)}>"


def xml_text(text: str) -> str:
    """A text as XML can hold it: escaped, without characters that XML does not have."""
    return escape(plain(text))


def as_xml_can_hold(json_text: str) -> str:
    """A JSON text in which characters that XML does not have are escaped."""
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


def plain(text: str) -> str:
    """A text without the characters that XML does not have."""
    return _NOT_XML.sub("", text)


def mark_of(node: XmlElement) -> Mark:
    """The place of a value that was read from an element: the element's own, everywhere in it."""
    return Mark(node.line, node.column)
