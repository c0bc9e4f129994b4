"""The pages of a PDF: headings, paragraphs, items and tables in the order of reading, columns one by one."""

from __future__ import annotations

import io
import re
from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import pdfplumber
from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect
from pdfplumber.utils.exceptions import PdfminerException

MAX_PAGES = 2000
_MARK = re.compile(
    r"(?:(?:단계|step|stage)\s*\d{1,3}|\d{1,3}(?:\s*단계)?\s*[.):：]|[-*•·▪‣●○※]|[가-하]\s*[.)]|[①-⑳]|\[|#)", re.I
)
_ITEM = re.compile(r"(?:([-*•·▪‣●○])|(\d{1,3}[.)])|([가-하][.)])|([①-⑳]))\s*(.+)", re.S)
_PAGE_NUMBER = re.compile(
    r"(?:[-–]\s*)?(?:page|쪽|페이지)?\s*\d{1,4}\s*(?:(?:/|of)\s*\d{1,4})?\s*(?:쪽|페이지)?(?:\s*[-–])?", re.I
)
_SENTENCE_END = re.compile(r"[.!?。:：;]\W*\Z|다\W*\Z")


class Refused(Exception):
    """The document is not read; the text says why."""


class Line(NamedTuple):
    """A line of one column: its text, its box, the size of its letters, and the edges of its column."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    size: float
    column: tuple[float, float]
    first_word: float  # its width


class Table(NamedTuple):
    top: float
    rows: list[list[str]]


def read(source: bytes) -> dict[str, Any]:
    try:
        with pdfplumber.open(io.BytesIO(source), password="") as pdf:
            return _read(pdf)
    except (PDFPasswordIncorrect, PDFEncryptionError):
        raise Refused("it is encrypted") from None
    except PdfminerException as error:
        cause = error.args[0] if error.args else error
        if isinstance(cause, PDFPasswordIncorrect | PDFEncryptionError):
            raise Refused("it is encrypted") from None
        if isinstance(cause, MemoryError):
            raise cause from None
        raise Refused(f"it is broken ({type(cause).__name__})") from None


def _read(pdf: Any) -> dict[str, Any]:
    if len(pdf.pages) > MAX_PAGES:
        raise Refused(f"it has {len(pdf.pages)} pages, and {MAX_PAGES} are read")
    pages: list[list[Line | Table]] = []
    pictures: list[int] = []
    for number, page in enumerate(pdf.pages, 1):
        found = _page(page)
        pages.append(found)
        if not found and (page.images or page.chars == []) and _has_marks(page):
            pictures.append(number)
        page.close()
    if not any(pages):
        shown = _numbers(pictures or list(range(1, len(pages) + 1)))
        raise Refused(f"there is no text on {shown}; it may hold pictures of pages")
    return {"blocks": _blocks(_without_margins(pages)), "pages": len(pages), "pictures": pictures}


def _has_marks(page: Any) -> bool:
    return bool(page.images or page.rects or page.curves or page.lines)


def _numbers(pages: list[int]) -> str:
    if len(pages) == 1:
        return f"page {pages[0]}"
    if pages == list(range(pages[0], pages[-1] + 1)):
        return f"pages {pages[0]} to {pages[-1]}"
    return "pages " + ", ".join(map(str, pages[:20]))


# ---- one page --------------------------------------------------------------------------------------------------------


def _page(page: Any) -> list[Line | Table]:
    tables = [(table.bbox, _rows(table)) for table in page.find_tables()] if len(page.edges) > 3 else []
    tables = [(box, rows) for box, rows in tables if len(rows) > 1 and max(map(len, rows)) > 1]
    words = page.extract_words(extra_attrs=["size"], x_tolerance_ratio=0.2, y_tolerance=2)
    outside = [word for word in words if not any(_inside(word, box) for box, _ in tables)]
    found: list[Line | Table] = list(_in_columns(_visual_rows(outside), float(page.width)))
    for box, rows in sorted(tables, key=lambda table: table[0][1]):
        at = next((n for n, part in enumerate(found) if part.top > box[1]), len(found))
        found.insert(at, Table(box[1], rows))
    return found


def _rows(table: Any) -> list[list[str]]:
    rows = [[(cell or "").replace("\n", " ").strip() for cell in row] for row in table.extract()]
    return [row for row in rows if any(row)]


def _inside(word: dict[str, Any], box: tuple[float, float, float, float]) -> bool:
    x, y = (word["x0"] + word["x1"]) / 2, (word["top"] + word["bottom"]) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def _visual_rows(words: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Words of the same height, from top to bottom, each row from left to right."""
    rows: list[list[dict[str, Any]]] = []
    for word in sorted(words, key=lambda word: (word["bottom"], word["x0"])):
        if rows and abs(rows[-1][0]["bottom"] - word["bottom"]) <= 0.4 * word["size"]:
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(row, key=lambda word: word["x0"]) for row in rows]


def _in_columns(rows: list[list[dict[str, Any]]], width: float) -> list[Line]:
    """Lines in reading order: where a gap runs through several rows, all of the left column and then the right one."""
    if not rows:
        return []
    left, right = min(row[0]["x0"] for row in rows), max(row[-1]["x1"] for row in rows)
    right = max(right, width - left)  # a page has margins of the same width, however short its lines are
    gap = _gap(rows, left, right)
    if gap is None:
        return [_line(row, (left, right)) for row in rows]
    lines: list[Line] = []
    columns: tuple[list[Line], list[Line]] = ([], [])
    for row in rows:
        if _crosses(row, gap):
            lines += [*columns[0], *columns[1], _line(row, (left, right))]
            columns = ([], [])
            continue
        for side, column in enumerate(((left, gap[0]), (gap[1], right))):
            words = [word for word in row if (word["x0"] >= gap[1] - 1) == bool(side)]
            if words:
                columns[side].append(_line(words, column))
    return [*lines, *columns[0], *columns[1]]


def _crosses(row: list[dict[str, Any]], gap: tuple[float, float]) -> bool:
    middle = (gap[0] + gap[1]) / 2
    if any(word["x0"] < middle < word["x1"] for word in row):
        return True
    between = [(a["x1"], b["x0"]) for a, b in pairwise(row) if a["x1"] <= middle <= b["x0"]]
    return any(end - start < 0.8 * row[0]["size"] for start, end in between)


def _gap(rows: list[list[dict[str, Any]]], left: float, right: float) -> tuple[float, float] | None:
    """Where two columns are apart: no word of at least three rows on both sides stands in it."""
    candidates = Counter(
        round(word["x0"]) for row in rows for word in row
        if left + 0.3 * (right - left) < word["x0"] < left + 0.75 * (right - left) and _begins(row, word)
    )  # fmt: skip
    for start, count in sorted(candidates.items(), key=lambda pair: (-pair[1], pair[0])):
        if count < 3:
            break
        apart = [row for row in rows if not any(word["x0"] < start - 6 < word["x1"] for word in row)]
        before = [word["x1"] for row in apart for word in row if word["x0"] < start - 6]
        beside = [row for row in apart if row[0]["x0"] < start - 6 and row[-1]["x0"] >= start - 6]
        if len(before) >= 3 and len(apart) >= 3 and (len(beside) >= 3 or 2 * len(apart) > len(rows)):
            end = max((x for x in before if x < start - 6), default=left)
            if start - end >= 8 and end > left + 0.2 * (right - left):
                return end, float(start)
    return None


def _begins(row: list[dict[str, Any]], word: dict[str, Any]) -> bool:
    """Does a word stand at the beginning of a row, or after a wide gap?"""
    at = row.index(word)
    return at == 0 or word["x0"] - row[at - 1]["x1"] > 1.2 * word["size"]


def _line(words: list[dict[str, Any]], column: tuple[float, float]) -> Line:
    return Line(
        " ".join(word["text"] for word in words), words[0]["x0"], words[-1]["x1"],
        min(word["top"] for word in words), max(word["bottom"] for word in words),
        max(word["size"] for word in words), column, words[0]["x1"] - words[0]["x0"],
    )  # fmt: skip


# ---- all pages -------------------------------------------------------------------------------------------------------


def _without_margins(pages: list[list[Line | Table]]) -> list[list[Line | Table]]:
    """Without numbers of pages, and without what stands at the same height of three pages or more."""
    lines = [part for page in pages for part in page if isinstance(part, Line)]
    repeated = Counter((re.sub(r"\d+", "0", line.text), round(line.top / 4)) for line in lines)
    often = max(3, len(pages) // 2)

    def margin(page: list[Line | Table], part: Line) -> bool:
        texts = [line for line in page if isinstance(line, Line)]
        edge = part in (min(texts, key=lambda line: line.top), max(texts, key=lambda line: line.bottom))
        if edge and len(texts) > 1 and _PAGE_NUMBER.fullmatch(part.text.strip()):
            return True
        return edge and repeated[re.sub(r"\d+", "0", part.text), round(part.top / 4)] >= often

    return [[part for part in page if not (isinstance(part, Line) and margin(page, part))] for page in pages]


def _blocks(pages: list[list[Line | Table]]) -> list[dict[str, Any]]:
    """Lines joined to paragraphs, also over the ends of columns and pages."""
    letters: Counter[float] = Counter()
    for page in pages:
        for part in page:
            if isinstance(part, Line):
                letters[round(part.size, 1)] += len(part.text)
    body = letters.most_common(1)[0][0] if letters else 10.0
    headings = sorted({size for size in letters if size > 1.12 * body}, reverse=True)
    blocks: list[dict[str, Any]] = []
    last: Line | None = None
    last_page = 0
    for number, page in enumerate(pages, 1):
        for part in page:
            if isinstance(part, Table):
                width = max(map(len, part.rows))
                rows = [row + [""] * (width - len(row)) for row in part.rows]
                blocks.append({"kind": "table", "rows": rows, "page": number})
                last = None
                continue
            if last is not None and _continues(last, part, headings, last_page == number):
                blocks[-1]["text"] += f" {part.text}"
            else:
                blocks.append(_block(part, number, headings))
            last, last_page = part, number
    return blocks


def _block(line: Line, page: int, headings: list[float]) -> dict[str, Any]:
    size = round(line.size, 1)
    if size in headings and len(line.text) <= 120:
        return {"kind": "heading", "text": line.text.lstrip("# "), "level": headings.index(size) + 1, "page": page}
    item = _ITEM.fullmatch(line.text)
    if item is not None:
        mark = "-" if item[1] else item[2] or item[3] or item[4]
        level = 2 if line.left - line.column[0] > 1.2 * line.size else 1
        return {"kind": "item", "mark": mark, "text": item[5], "level": level, "page": page}
    return {"kind": "paragraph", "text": line.text, "page": page}


def _continues(last: Line, line: Line, headings: list[float], same_page: bool) -> bool:
    """Is a line the rest of the one before? That one was full, and this one begins nothing."""
    if abs(last.size - line.size) > 0.5 or _MARK.match(line.text):
        return False
    full = last.right + line.first_word + 0.9 * last.size > last.column[1]
    if not same_page or last.column != line.column or line.top < last.top:  # the next column, or the next page
        return full and not _SENTENCE_END.search(last.text) and round(line.size, 1) not in headings
    return full and line.top - last.bottom < 1.2 * last.size
