"""What a language is: it recognises its documents, reads them and lowers them to a net."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock import languages as table
from penstock.errors import Finding
from penstock.lang.document import Document, Mark
from penstock.lang.report import Report
from penstock.net.model import Net

#: Gives the bytes of a file that a document names. A file that is not there raises OSError or a PenstockError.
Resolve = Callable[[str], bytes]


class Lowered(msgspec.Struct, frozen=True):
    """The net, and by content hash the nets that it calls."""

    net: Net
    children: dict[str, Net] = {}


#: The mark of what is called by a name, where it is being compiled itself; "" where it is not. With the id and the
#: title by which others call the one that asks.
UnderWay = Callable[[str, str, str], str]
#: Compiles what a document calls: a file by its name, or a part of the document itself. Never raises for a mistake.
Call = Callable[[str | Document], tuple[Lowered | None, list[Finding]]]


@dataclass(frozen=True)
class Setting:
    """What surrounds one compilation: how files are found, how a called document is compiled, what others brought."""

    resolve: Resolve | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # the language's own node types that others have brought
    call: Call | None = None
    secret: Callable[[str], bool] | None = None  # is a secret of this name set here? None: nobody can say
    registered: Callable[[str, str], bool] | None = None  # has the tenant this type and id? None: nobody can say
    defaults: Mapping[str, int] = field(default_factory=dict)  # of this machine, instead of the language's own
    under_way: UnderWay | None = None  # for a language whose documents may call themselves


@dataclass(frozen=True)
class Language:
    """`read` and `lower` put what they have to say into the report and never raise for what a user wrote. `lower` is
    called even when `read` found errors, so that everything wrong is told at once; its net is then thrown away."""

    name: str
    recognise: Callable[[Any], bool]
    read: Callable[[Document, Report, Setting], Any]
    lower: Callable[[Any, Report, Setting], Lowered | None]
    sound: bool = False  # a document of which not every run can end is refused
    ends_each: bool = False  # several tokens may reach one end, each by itself
    read_xml: Callable[[str], tuple[Any, Mark]] | None = None  # where its documents may be written in XML, too
    write_xml: Callable[[Any], str] | None = None
    recursive: Callable[[Document, str], Finding] | None = None  # how one that calls itself is refused, and why


class Compiled(msgspec.Struct, frozen=True):
    """A net ready to be released, and the warnings about it."""

    net: Net
    findings: list[Finding]
    language: str
    children: dict[str, Net] = {}


def languages() -> Iterator[Language]:
    """Every language that documents may be written in; one is imported when its turn comes."""
    for name in table.HOUSE:
        yield table.part_of(name, table.LANGUAGES)
    for name in table.outside(table.LANGUAGES):
        yield table.part_of(name, table.LANGUAGES)


def language_named(name: str) -> Language:
    language: Language = table.part_of(name, table.LANGUAGES)
    return language
