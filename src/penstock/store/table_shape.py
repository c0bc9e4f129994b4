"""What a table of the store is: its columns, each with a comment, and its indexes."""

from __future__ import annotations

from typing import Literal

import msgspec

Type = Literal["int", "text", "blob"]


class Column(msgspec.Struct, frozen=True):
    name: str
    type: Type
    comment: str
    null: bool = False
    key: bool = False
    #: the order in which rows came, where that is the tree they lie in; a heap has no such column, and its key is the
    #: table's first unique index
    arrival: bool = False
    #: the only words that it may hold; the database refuses others
    words: tuple[str, ...] = ()


class Index(msgspec.Struct, frozen=True):
    name: str
    columns: tuple[str, ...]
    unique: bool = False
    where: str = ""


class Table(msgspec.Struct, frozen=True):
    name: str
    comment: str
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...] = ()
    #: a projection holds nothing that the journal does not hold; `rebuild` drops it and folds it again
    projection: bool = False
    #: rows lie in key order, without a row number of their own
    clustered: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)


def column(name: str, type: Type, comment: str, null: bool = False, key: bool = False) -> Column:
    return Column(name, type, comment, null, key)


def word(name: str, *words: str) -> Column:
    """A column that holds one of these words."""
    return Column(name, "text", ", ".join(words), words=words)


def check_of(column: Column) -> str:
    """What both databases say of its words."""
    words = ", ".join(f"'{word}'" for word in column.words)
    return f' CHECK ("{column.name}" IN ({words}))' if words else ""
