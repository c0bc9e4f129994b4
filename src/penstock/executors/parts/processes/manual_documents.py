"""The text and tables of a PDF, DOCX or HTML file (P-6.1.1), read in a process of its own that may be killed."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from penstock.errors import BadInput, ExtraMissing

SECONDS = 60
MEMORY_BYTES = 1024 * 1024 * 1024
#: bytes of a file, and characters of its text
MAX_BYTES, MAX_TEXT = 50_000_000, 1_000_000
_READER = Path(__file__).parent / "manual_readers" / "reader.py"
_HINT = "Give its text instead."


class DocumentFormat(NamedTuple):
    """What a file is called in messages, how it is recognised, and the package that reads it; none for HTML."""

    title: str
    endings: tuple[str, ...]
    media_types: tuple[str, ...]
    package: str | None


FORMATS = {
    "pdf": DocumentFormat("the PDF", (".pdf",), ("application/pdf",), "pdfplumber"),
    "docx": DocumentFormat(
        "the DOCX", (".docx",), ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",), "docx"
    ),
    "html": DocumentFormat("the HTML", (".html", ".htm", ".xhtml"), ("text/html", "application/xhtml+xml"), None),
    "text": DocumentFormat("the text", (".txt", ".md", ".markdown"), ("text/plain", "text/markdown"), None),
}  # fmt: skip


class DocumentBlock(msgspec.Struct, frozen=True):
    """A heading, a paragraph, an item of a list with its mark, or a table with its rows, on its page."""

    kind: Literal["heading", "paragraph", "item", "table"]
    text: str = ""
    page: int = 1
    level: int = 1
    mark: str = "-"
    rows: list[list[str]] = []


class DocumentParts(msgspec.Struct, frozen=True):
    """`pictures` are pages without any text, which were not read."""

    blocks: list[DocumentBlock]
    pages: int = 1
    pictures: list[int] = []


class _Answer(msgspec.Struct):
    parts: DocumentParts | None = None
    error: str = ""


def format_of(source: bytes, name: str = "", media_type: str = "") -> str:
    """Which of FORMATS a file is: by its first bytes, else by its media type or its name. Raises BadInput."""
    if b"%PDF-" in source[:1024]:
        return "pdf"
    media_type, name = media_type.split(";")[0].strip().lower(), name.lower()
    said = next((
        kind for kind, known in FORMATS.items() if media_type in known.media_types or name.endswith(known.endings)
    ), "")  # fmt: skip
    if source.startswith(b"PK\x03\x04") and said in ("", "docx"):
        return "docx"
    if said in ("pdf", "docx"):
        raise BadInput(what=FORMATS[said].title, why="it is none")
    if said:
        return said
    if name or media_type and media_type != "application/octet-stream":
        what = name or media_type
        raise BadInput(what=f"«{what[:100]}»", why="only PDF, DOCX, HTML, Markdown and plain text are read")
    start = source[:1024].lstrip().lower()
    return "html" if start.startswith((b"<!doctype html", b"<html")) else "text"


async def parts_of(source: bytes, kind: str) -> DocumentParts:
    """The parts of a PDF, DOCX or HTML file. Raises ExtraMissing, and BadInput for what holds no text to read."""
    known = FORMATS[kind]
    if len(source) > MAX_BYTES:
        raise BadInput(what=known.title, why=f"it has {len(source)} bytes, and {MAX_BYTES} are read", hint=_HINT)
    where = _packages(known.package)
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(_READER), kind, where, str(MEMORY_BYTES), str(SECONDS), str(MAX_TEXT), env={},
        cwd="/", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        output, _ = await asyncio.wait_for(child.communicate(source), SECONDS + 5)
    except TimeoutError:
        raise BadInput(what=known.title, why="it takes too long to read", hint=_HINT) from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0:
        raise BadInput(what=known.title, why="it takes too much to read", hint=_HINT)
    answer = msgspec.json.decode(output, type=_Answer)
    if answer.parts is None:
        raise BadInput(what=known.title, why=answer.error, hint=_HINT)
    return answer.parts


def _packages(name: str | None) -> str:
    """The folder of the installed packages."""
    if name is None:
        return ""
    package = find_spec(name)
    if package is None or package.origin is None:
        raise ExtraMissing(extra="extract")
    return str(Path(package.origin).parents[1])
