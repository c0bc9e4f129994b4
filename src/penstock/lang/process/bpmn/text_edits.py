"""Edits of an XML text at the places of its elements: everything between them stays byte for byte as it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from penstock.lang.process.bpmn.xml_tree import XmlElement, XmlTree, plain, xml_text

#: what a start tag holds: its name, and its attributes with the blanks before them
_TAG_END = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")
_NAME = re.compile(rb"<([^\s/>]+)")
_ATTRIBUTE = re.compile(rb"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""")
_BLANK_LINE = re.compile(rb"(\r?\n[ \t]*)\Z")
_CDATA = b"<![CDATA["


class TextEdits:
    """Collects edits of one text, and makes them all at once."""

    def __init__(self, tree: XmlTree) -> None:
        self.data = tree.data
        self.splices: list[tuple[int, int, int, str]] = []  # from, to, in which order, what instead
        self.inside: dict[XmlElement, list[str]] = {}  # of elements that were empty
        self.declared: set[str] = set()  # ids that several parts of the file may want to have, and one may add
        self.names: dict[XmlElement, str] = {}  # of elements that have become others
        self.step = self._step(tree.root)

    def __bool__(self) -> bool:
        return bool(self.splices or self.inside)

    def text(self) -> str:
        for node, parts in self.inside.items():
            self._open_up(node, "".join(parts))
        kept: list[bytes] = []
        at = 0
        for start, end, _, new in sorted(self.splices, key=lambda splice: splice[:3]):
            if start < at:  # it lies in what was cut
                continue
            kept += [self.data[at:start], new.encode("utf-8")]
            at = end
        return b"".join([*kept, self.data[at:]]).decode("utf-8")

    # -- what is edited ------------------------------------------------------------------------------------------------

    def attribute(self, node: XmlElement, name: str, value: str | None) -> None:
        """Sets an attribute without a namespace; None takes it away."""
        value = plain(value) if value is not None else None
        start, end = node.begin, self.tag_end(node)
        tag = self.data[start:end]
        begin = _NAME.match(tag)
        assert begin is not None, "an element begins with its name"
        at = begin.end()
        while match := _ATTRIBUTE.match(tag, at):
            if match[1] == name.encode():
                whole = (match.start(), match.end()) if value is None else match.span(2)
                quoted = "" if value is None else quoteattr(value)
                return self._splice(start + whole[0], start + whole[1], quoted)
            at = match.end()
        if value is not None:
            self._splice(start + at, start + at, f" {name}={quoteattr(value)}")
        return None

    def rename(self, node: XmlElement, name: str) -> None:
        """Makes it another element, with the prefix and all that it has."""
        begin = _NAME.match(self.data, node.begin)
        assert begin is not None, "an element begins with its name"
        qualified = f"{node.prefix}:{name}" if node.prefix else name
        self.names[node] = qualified
        self._splice(begin.start(1), begin.end(1), qualified)
        if not self.is_empty(node):
            self._splice(node.end + 2, node.end + 2 + len(begin[1]), qualified)

    def content(self, node: XmlElement, text: str) -> None:
        """Sets the text of an element, and takes away what else is in it."""
        if self.is_empty(node):
            self.inside.setdefault(node, []).append(xml_text(text))
        else:
            start = self.tag_end(node)
            kept = self.data[start : node.end].strip().startswith(_CDATA) and "]]>" not in text
            self._splice(start, node.end, f"<![CDATA[{plain(text)}]]>" if kept else xml_text(text))

    def cut(self, node: XmlElement) -> None:
        """Takes an element away, with its line where nothing else stands on it."""
        start, end = node.begin, self.end_of(node)
        line = _BLANK_LINE.search(self.data, max(0, start - 200), start)
        if line is not None and self.data[end : end + 2].lstrip(b"\r")[:1] in (b"\n", b""):
            start = line.start()
        self._splice(start, end, "", order=-1)

    def insert(self, parent: XmlElement, lines: Sequence[str], after: XmlElement | None = None) -> None:
        """Puts elements behind a child; behind the start tag where there is none. Two blanks are one step inwards."""
        if self.is_empty(parent):
            self.inside.setdefault(parent, []).append(self._block(parent, lines))
            return
        at = self.end_of(after) if after is not None else self.tag_end(parent)
        block = self._block(parent, lines)
        if self.data[at : parent.end] == b"" and not parent.children:
            block += self._before(parent)
        self._splice(at, at, block)

    def append(self, parent: XmlElement, lines: Sequence[str]) -> None:
        self.insert(parent, lines, parent.children[-1] if parent.children else None)

    # -- where it stands -----------------------------------------------------------------------------------------------

    def tag_end(self, node: XmlElement) -> int:
        match = _TAG_END.match(self.data, node.begin)
        assert match is not None, "the text was parsed"
        return match.end()

    def is_empty(self, node: XmlElement) -> bool:
        """Whether it is one tag, <x/>."""
        end = self.tag_end(node)
        return self.data[end - 2 : end] == b"/>"

    def end_of(self, node: XmlElement) -> int:
        return self.tag_end(node) if self.is_empty(node) else self.data.index(b">", node.end) + 1

    def source_of(self, node: XmlElement) -> str:
        return self.data[node.begin : self.end_of(node)].decode("utf-8")

    def _open_up(self, node: XmlElement, inner: str) -> None:
        end = self.tag_end(node)
        name = self.names.get(node) or (f"{node.prefix}:{node.name}" if node.prefix else node.name)
        start = end - 2
        while self.data[start - 1 : start].isspace():
            start -= 1
        last = self._before(node) if inner.startswith(("\n", "\r")) else ""
        self._splice(start, end, f">{inner}{last}</{name}>", order=1)

    def _splice(self, start: int, end: int, new: str, order: int = 0) -> None:
        self.splices.append((start, end, order, new))

    def _before(self, node: XmlElement) -> str:
        """The line break and the blanks before an element; "" where it stands behind something else."""
        match = _BLANK_LINE.search(self.data, max(0, node.begin - 200), node.begin)
        return match[1].decode() if match is not None else ""

    def _block(self, parent: XmlElement, lines: Sequence[str]) -> str:
        """Lines as children of an element, as far from the margin as its other children are."""
        before = self._before(parent.children[0]) if parent.children else ""
        if not before and (own := self._before(parent)) and not parent.children:
            before = own + self.step
        if not before:
            return "".join(line.lstrip(" ") for line in lines)
        depths = [(len(line) - len(line.lstrip(" "))) // 2 for line in lines]
        return "".join(
            before + self.step * (depth - depths[0]) + line.lstrip(" ")
            for depth, line in zip(depths, lines, strict=True)
        )

    def _step(self, root: XmlElement) -> str:
        for node in root.children:
            if node.children and (inner := self._before(node.children[0])) and (outer := self._before(node)):
                return inner.removeprefix(outer) or "  "
        return "  "
