"""A document as it was read: JSON values, and the place of each in the text."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.errors import Place


class Mark:
    """The place of a value. `items` mirrors it: marks of a list, or per key the key's place and its value's mark."""

    __slots__ = ("column", "items", "line")

    def __init__(
        self, line: int, column: int, items: list[Mark] | dict[str, tuple[int, int, Mark]] | None = None
    ) -> None:
        self.line, self.column, self.items = line, column, items


class Document(msgspec.Struct, frozen=True):
    """`base` is the pointer of `data` inside the file it came from: an inline sub-diagram keeps its parent's lines."""

    name: str
    data: Any
    mark: Mark
    digest: str = ""  # sha256 of the bytes: two names of one file are one document
    base: str = ""

    def place(self, pointer: str = "", *, key: bool = False) -> Place:
        """The place of the value at a JSON pointer, or of its key; if there is none, of the nearest value around it."""
        mark, line, column = self.mark, self.mark.line, self.mark.column
        for token in pointer.split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~") if "~" in token else token
            items = mark.items
            if isinstance(items, dict) and name in items:
                key_line, key_column, mark = items[name]
                line, column = (key_line, key_column) if key else (mark.line, mark.column)
            elif isinstance(items, list) and name.isdecimal() and int(name) < len(items):
                mark = items[int(name)]
                line, column = mark.line, mark.column
            else:
                break
        return Place(self.base + pointer, line, column)

    def inside(self, pointer: str, data: Any) -> Document:
        """The part at a pointer as a document of its own, with the same lines."""
        mark = self.mark
        for token in pointer.split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            if isinstance(mark.items, dict):
                mark = mark.items[name][2]
            elif isinstance(mark.items, list):
                mark = mark.items[int(name)]
        return Document(self.name, data, mark, self.digest, self.base + pointer)


def child_pointer(pointer: str, name: str | int) -> str:
    """The JSON pointer of a member of what `pointer` names."""
    text = str(name)
    if "~" in text or "/" in text:
        text = text.replace("~", "~0").replace("/", "~1")
    return f"{pointer}/{text}"
