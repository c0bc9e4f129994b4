"""XML into a plain tree with places. No DOCTYPE, no entities, no depth and no size that could hurt."""

from __future__ import annotations

from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from penstock.errors import DocumentUnreadable, Place

DEPTH = 100
ELEMENTS = 60_000
ATTRIBUTES = 200
XMLNS = "xmlns"


class Node:
    """An element: its namespace and name, its attributes by (namespace, name), its text, and where it stands."""

    __slots__ = ("attributes", "children", "column", "line", "name", "prefix", "space", "text")

    def __init__(self, space: str, name: str, prefix: str, line: int, column: int) -> None:
        self.space, self.name, self.prefix = space, name, prefix
        self.line, self.column = line, column
        self.attributes: dict[tuple[str, str], str] = {}
        self.children: list[Node] = []
        self.text = ""

    def get(self, name: str, otherwise: str = "", space: str = "") -> str:
        return self.attributes.get((space, name), otherwise)

    def all(self, name: str, space: str) -> list[Node]:
        return [one for one in self.children if one.name == name and one.space == space]

    def first(self, name: str, space: str) -> Node | None:
        return next((one for one in self.children if one.name == name and one.space == space), None)

    def said(self, name: str, space: str) -> str:
        found = self.first(name, space)
        return found.text.strip() if found is not None else ""


class Tree:
    def __init__(self, root: Node, prefixes: dict[str, str]) -> None:
        self.root, self.prefixes = root, prefixes  # namespace → the prefix that the file has for it


def parse(text: str) -> Tree:
    """Raises DocumentUnreadable, with the place, for what is no XML or is more than a process could need."""
    reader = _Reader()
    reader.feed(text)
    assert reader.root is not None
    return Tree(reader.root, reader.prefixes)


class _Reader:
    def __init__(self) -> None:
        self.root: Node | None = None
        self.open: list[Node] = []
        self.count = 0
        self.prefixes: dict[str, str] = {}
        parser = expat.ParserCreate(namespace_separator=" ")
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

    def feed(self, text: str) -> None:
        try:
            self.parser.Parse(text.encode("utf-8"), True)
        except expat.ExpatError as error:
            why = f"it is not well-formed XML: {expat.errors.messages.get(error.code, str(error))}"
            raise DocumentUnreadable(why=why, where=Place("", error.lineno, error.offset + 1)) from None

    def _refuse(self, why: str) -> NoReturn:
        where = Place("", self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)
        raise DocumentUnreadable(why=why, where=where)

    def _namespace(self, prefix: str | None, uri: str | None) -> None:
        if uri and uri not in self.prefixes:
            self.prefixes[uri] = prefix or ""

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= DEPTH:
            self._refuse(f"its elements lie more than {DEPTH} deep")
        if self.count > ELEMENTS:
            self._refuse(f"it has more than {ELEMENTS} elements")
        if len(attributes) > ATTRIBUTES:
            self._refuse(f"an element has more than {ATTRIBUTES} attributes")
        space, local, prefix = _split(name)
        node = Node(space, local, prefix, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)
        for key, value in attributes.items():
            of, attribute, _ = _split(key)
            node.attributes[of, attribute] = value
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node
        self.open.append(node)

    def _end(self, name: str) -> None:
        self.open.pop()

    def _data(self, data: str) -> None:
        self.open[-1].text += data


def _split(name: str) -> tuple[str, str, str]:
    parts = name.split(" ")
    if len(parts) == 1:
        return "", parts[0], ""
    return parts[0], parts[1], parts[2] if len(parts) > 2 else ""


def written(node: Node, prefixes: dict[str, str]) -> str:
    """An element as text, with the prefixes of its file; white space between elements is not kept."""
    name = _named(node.space, node.name, prefixes)
    attributes = "".join(
        f" {_named(space, key, prefixes)}={quoteattr(value)}" for (space, key), value in node.attributes.items()
    )
    inner = "".join(written(child, prefixes) for child in node.children)
    text = escape(node.text) if node.text.strip() or not node.children else ""
    return f"<{name}{attributes}>{text}{inner}</{name}>" if text or inner else f"<{name}{attributes}/>"


def _named(space: str, name: str, prefixes: dict[str, str]) -> str:
    prefix = prefixes.get(space, "") if space else ""
    return f"{prefix}:{name}" if prefix else name
