"""The parts of a DOCX file: headings by their styles, lists with their numbers, and tables."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import docx
from docx.oxml.ns import qn
from docx.table import Table
from docx.text.paragraph import Paragraph

#: bytes of a file when it is unpacked, and of one part of it
MAX_UNPACKED, MAX_PARTS = 200_000_000, 5000
_WRITTEN_MARK = re.compile(r"(?:[-*•·]|\d{1,3}[.)]|[가-하][.)]|[①-⑳])\s*\S")


class Refused(Exception):
    """The document is not read; the text says why."""


def read(source: bytes) -> dict[str, Any]:
    _check_archive(source)
    try:
        document = docx.Document(io.BytesIO(source))
    except (KeyError, ValueError) as error:
        raise Refused(f"it is no DOCX ({type(error).__name__})") from None
    reader = _Reader(document)
    blocks = list(reader.blocks())
    return {"blocks": blocks, "pages": reader.page, "pictures": []}


def _check_archive(source: bytes) -> None:
    """Refuses what is encrypted, and what would be far larger when unpacked, before anything is unpacked."""
    if source.startswith(b"\xd0\xcf\x11\xe0"):
        raise Refused("it is encrypted, or of an old format")
    try:
        with zipfile.ZipFile(io.BytesIO(source)) as archive:
            entries = archive.infolist()
    except zipfile.BadZipFile:
        raise Refused("it is broken (BadZipFile)") from None
    if any(entry.flag_bits & 1 for entry in entries):
        raise Refused("it is encrypted")
    size = sum(entry.file_size for entry in entries)
    if size > MAX_UNPACKED or len(entries) > MAX_PARTS or size > 1_000_000 and size > 200 * len(source):
        raise Refused(f"it unpacks to {size} bytes in {len(entries)} files, which is too much")


class _Reader:
    def __init__(self, document: Any) -> None:
        self.document = document
        self.page = 1
        self.counters: dict[tuple[str, int], int] = {}
        self.formats = _number_formats(document)

    def blocks(self) -> Iterator[dict[str, Any]]:
        for part in self.document.iter_inner_content():
            if isinstance(part, Paragraph):
                yield from self._paragraph(part)
            elif isinstance(part, Table):
                rows = [_cells(row) for row in part.rows]
                rows = [row for row in rows if any(row)]
                if rows:
                    width = max(map(len, rows))
                    yield {
                        "kind": "table",
                        "rows": [row + [""] * (width - len(row)) for row in rows],
                        "page": self.page,
                    }

    def _paragraph(self, paragraph: Any) -> Iterator[dict[str, Any]]:
        element = paragraph._p
        breaks = element.findall(f".//{qn('w:lastRenderedPageBreak')}")
        breaks += [each for each in element.findall(f".//{qn('w:br')}") if each.get(qn("w:type")) == "page"]
        page, self.page = self.page, self.page + len(breaks)
        text = " ".join(paragraph.text.split())
        if not text:
            return
        if breaks and not element.findtext(f".//{qn('w:t')}"):
            page = self.page
        style = str(paragraph.style.name or "") if paragraph.style is not None else ""
        heading = re.fullmatch(r"(?:Heading|제목)\s*(\d)", style)
        if heading or style in ("Title", "제목"):
            self.counters.clear()
            yield {"kind": "heading", "text": text, "level": int(heading[1]) + 1 if heading else 1, "page": page}
            return
        mark, level = self._mark(element, style)
        if mark and not (mark != "-" and _WRITTEN_MARK.match(text)):
            yield {"kind": "item", "mark": mark, "text": text, "level": level, "page": page}
            return
        yield {"kind": "paragraph", "text": text, "page": page}

    def _mark(self, element: Any, style: str) -> tuple[str, int]:
        """The mark of a list's item with its number, as Word counts it; "" for other paragraphs."""
        list_id = element.find(f"{qn('w:pPr')}/{qn('w:numPr')}/{qn('w:numId')}")
        depth = element.find(f"{qn('w:pPr')}/{qn('w:numPr')}/{qn('w:ilvl')}")
        named = re.match(r"List (Bullet|Number)\s*(\d?)", style)
        if list_id is None and named is None:
            return "", 1
        level = int(depth.get(qn("w:val"))) + 1 if depth is not None else int(named[2] or 1) if named else 1
        key = list_id.get(qn("w:val")) if list_id is not None else style
        kind = self.formats.get((key, level - 1), "bullet" if named and named[1] == "Bullet" else "decimal")
        if named is not None and list_id is None:
            kind = "bullet" if named[1] == "Bullet" else "decimal"
        if kind in ("bullet", "none"):
            return "-", level
        number = self.counters.get((key, level), 0) + 1
        self.counters[key, level] = number
        for other in [known for known in self.counters if known[0] == key and known[1] > level]:
            del self.counters[other]
        return f"{number}.", level


def _cells(row: Any) -> list[str]:
    """The texts of a row; a merged cell stands once."""
    seen: list[Any] = []
    for cell in row.cells:
        if not any(cell._tc is known._tc for known in seen):
            seen.append(cell)
    return [" ".join(cell.text.split()) for cell in seen]


def _number_formats(document: Any) -> dict[tuple[str, int], str]:
    """The format of each list and level: decimal, bullet and so on."""
    try:
        numbering = document.part.numbering_part.element
    except (KeyError, NotImplementedError, AttributeError):
        return {}
    levels: dict[str, dict[int, str]] = {}
    for abstract in numbering.findall(qn("w:abstractNum")):
        formats = {
            int(level.get(qn("w:ilvl"))): level.find(qn("w:numFmt")).get(qn("w:val"))
            for level in abstract.findall(qn("w:lvl")) if level.find(qn("w:numFmt")) is not None
        }  # fmt: skip
        levels[abstract.get(qn("w:abstractNumId"))] = formats
    found: dict[tuple[str, int], str] = {}
    for number in numbering.findall(qn("w:num")):
        reference = number.find(qn("w:abstractNumId"))
        known = levels.get(reference.get(qn("w:val")), {}) if reference is not None else {}
        found |= {(number.get(qn("w:numId")), level): kind for level, kind in known.items()}
    return found
