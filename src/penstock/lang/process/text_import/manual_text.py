"""A manual as text with its places: every sentence knows its page, its paragraph, and where it starts and ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from penstock.lang.process.text_import.sentence import sentences

BlockKind = Literal["heading", "paragraph", "item", "table"]
_MARK = re.compile(r"\s*(?:#+\s*|(?:[-*•]|\d{1,3}\s*[.)]|[가-하]\s*[.)])\s+|[①-⑳]\s*)?")
_TABLE_ROW = re.compile(r"\s*\|.*\|\s*\Z")
_RULE = re.compile(r"[\s|:\-]+\Z")
#: what is not seen, and what neither UTF-8 nor XML can say
_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a document: a heading, a paragraph, an item of a list with its mark, or a table with its rows."""

    kind: BlockKind
    text: str = ""
    page: int = 1
    level: int = 1
    mark: str = "-"
    rows: list[list[str]] = []


class Sentence(msgspec.Struct, frozen=True):
    """`start` and `end` count characters of the manual's text; `line` counts from 1."""

    id: str
    page: int
    paragraph: int
    line: int
    start: int
    end: int
    text: str


class ManualText(msgspec.Struct, frozen=True):
    text: str
    sentences: list[Sentence]

    def of_line(self, line: int) -> list[Sentence]:
        return [sentence for sentence in self.sentences if sentence.line == line]


def manual_of_text(text: str) -> ManualText:
    """A text or Markdown; a form feed begins a new page, an empty line or the mark of a step a new paragraph."""
    pages: list[int] = []
    page = 1
    lines: list[str] = []
    for line in _plain(text).split("\n"):
        page += line.count("\f")
        lines.append(line.replace("\f", " "))
        pages.append(page)
    return ManualText("\n".join(lines), list(_sentences(lines, pages)))


def manual_of_blocks(blocks: Iterable[Block]) -> ManualText:
    """The parts of a document as one text in Markdown."""
    lines: list[str] = []
    pages: list[int] = []
    for block in blocks:
        written = _lines(block)
        if block.kind != "item" and lines:  # an empty line keeps two tables and two paragraphs apart
            written = ["", *written]
        lines += written
        pages += [block.page] * len(written)
    return ManualText("\n".join(lines), list(_sentences(lines, pages)))


def _lines(block: Block) -> list[str]:
    text = " ".join(_plain(block.text).split())
    if block.kind == "heading":
        return [f"{'#' * min(max(block.level, 1), 6)} {text}"]
    if block.kind == "item":
        return [f"{'  ' * (max(block.level, 1) - 1)}{block.mark} {text}"]
    if block.kind == "paragraph":
        return [text]
    rows = [f"| {' | '.join(' '.join(_plain(cell).replace('|', '/').split()) for cell in row)} |" for row in block.rows]
    return [*rows[:1], "|" + "---|" * len(block.rows[0]), *rows[1:]] if rows else []


def _plain(text: str) -> str:
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).replace("\u00a0", " ")


def _sentences(lines: list[str], pages: list[int]) -> Iterator[Sentence]:
    start = paragraph = count = 0
    follows = False  # the line before belongs to the same paragraph
    for number, (line, page) in enumerate(zip(lines, pages, strict=True), 1):
        if not line.strip():
            follows = False
        else:
            mark = _MARK.match(line)
            begins = mark is not None and bool(mark[0].strip()) or _TABLE_ROW.match(line) is not None
            paragraph += 0 if follows and not begins else 1
            follows = True
            for first, last in _spans(line, mark.end() if mark is not None else 0):
                count += 1
                yield Sentence(f"s{count}", page, paragraph, number, start + first, start + last, line[first:last])
        start += len(line) + 1


def _spans(line: str, at: int) -> Iterator[tuple[int, int]]:
    """Where the sentences of a line stand, without the mark of its step; a row of a table is one."""
    if _TABLE_ROW.match(line):
        if not _RULE.match(line):
            first = len(line) - len(line.lstrip(" |"))
            yield first, max(first, len(line.rstrip(" |")))
        return
    for sentence in sentences(line[at:]):
        first = line.find(sentence, at)
        at = first + len(sentence)
        yield first, at
