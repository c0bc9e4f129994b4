"""Options and arguments that commands share, and the values that they hold."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.errors import BadInput
from penstock.store.address import DEFAULT_STORE, DEFAULT_TENANT, place

STORE = Path(DEFAULT_STORE)
#: The largest input that is read; a larger one belongs into a file that the document names.
INPUT_LIMIT = 64 * 1024 * 1024

_ENDINGS = (".json", ".yaml", ".yml", ".dmn", ".xml")

Store = Annotated[
    Path,
    typer.Option(
        "--store", metavar="FILE|URL", envvar="PENSTOCK_STORE", parser=place,
        help="The SQLite file that holds the runs, or postgresql://user@host/database.",
    ),
]  # fmt: skip
#: For commands that need none: every command takes the option, so that scripts can give it to all of them.
NoStore = Annotated[Path, typer.Option("--store", hidden=True, parser=place)]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="NAME", envvar="PENSTOCK_PROFILE",
        help="What a new store is born with: dev (a sample tenant) or production (nothing).",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value for programs instead of text for people.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")]
#: how many times as fast as the machine's; above that the clock would leap over what is to be watched
FASTEST = 100_000
Speed = Annotated[
    float | None,
    typer.Option(
        "--speed", metavar="N", min=1, max=FASTEST,
        help="Let time go N times as fast while nothing works: waiting for demos, not for production.",
    ),
]  # fmt: skip
Run = Annotated[str, typer.Argument(metavar="RUN", help="The run: its key, its id, or a unique beginning of it.")]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root", metavar="FOLDER", envvar="PENSTOCK_ROOT",
        help="Where paths in the document begin; else found upwards, by .git, files/ or prompts/.",
    ),
]  # fmt: skip
Document = Annotated[
    Path, typer.Argument(metavar="FILE", help="The document: a diagram or a decision workflow, in YAML or JSON.")
]


def speed_words(speed: float | None) -> str:
    """What a banner says of a faster clock."""
    return "" if speed is None else f", time goes {speed:g} times as fast: for demos"


class SelectedTenant:
    """The tenant of this command; `--tenant` may stand anywhere, so `main` sets it."""

    tenant = DEFAULT_TENANT


def read_value(text: str | None, what: str) -> Any:
    """JSON as text, from a file with @FILE, or from standard input with -; None when nothing is given."""
    if text is None:
        return None
    data, where = _bytes(text, what)
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise BadInput(what=what, why=f"it is not JSON: {_spot(data, str(error))}", where=where) from error
    except (RecursionError, UnicodeDecodeError) as error:
        raise BadInput(what=what, why=f"it is not JSON: {error}", where=where) from error


def read_source(text: str, what: str) -> tuple[bytes, str]:
    """The bytes of a file (FILE or @FILE), of standard input (-), or the text itself; and the file's name, if any."""
    if text.endswith(_ENDINGS) and not text.lstrip().startswith(("{", "[")):
        text = f"@{text.removeprefix('@')}"
    data, where = _bytes(text, what)
    return data, where if text.startswith("@") else ""


def read_text_or_value(text: str, what: str) -> Any:
    """The same, but a plain word needs no quotes: what is no JSON and no file is taken as text."""
    if not text.strip():
        hint = """An empty text is written as '""'."""
        raise BadInput(what=what, why="it is not JSON: it is empty", hint=hint)
    if text.startswith(("@", "-", "{", "[", '"')):
        return read_value(text, what)
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _bytes(text: str, what: str) -> tuple[bytes, str]:
    if text == "-":
        data = sys.stdin.buffer.read(INPUT_LIMIT + 1)
        where = "standard input"
    elif text.startswith("@"):
        where = text[1:]
        try:
            with open(where, "rb") as file:
                data = file.read(INPUT_LIMIT + 1)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else None
            raise BadInput(what=f"«{where}»", why=(why or str(error)).lower(), where=where) from error
    else:
        return text.encode("utf-8", "surrogateescape"), ""
    if len(data) > INPUT_LIMIT:
        raise BadInput(what=what, why=f"it has more than {INPUT_LIMIT} bytes", where=where)
    return data, where


def _spot(data: bytes, message: str) -> str:
    """msgspec names the byte; people look for line and column."""
    text, _, byte = message.partition(" (byte ")
    if not byte.rstrip(")").isdecimal():
        return message
    at = int(byte.rstrip(")"))
    line, column = data.count(b"\n", 0, at) + 1, at - data.rfind(b"\n", 0, at)
    return f"{text} at line {line}, column {column}"
