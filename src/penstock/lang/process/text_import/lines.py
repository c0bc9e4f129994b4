"""The lines of a manual as its steps: headings, numbers, bullets, tables, else sentences; and the roles of a table."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from penstock.lang.process.text_import.sentence import BULLET, looks_conditional, sentences

_STEP = re.compile(r"\s*(?:(?:단계|step|stage)\s*)?(\d{1,3})\s*(?:단계)?\s*[.):：]\s+(.+)", re.I)
_STEP_ALONE = re.compile(r"\s*(?:(?:단계|step|stage)\s*)(\d{1,3})|\s*(\d{1,3})\s*단계\Z", re.I)
_LETTER = re.compile(r"\s*(?:([가나다라마바사아자차카타파하])\s*[.)]\s+|([①-⑳])\s*)(.+)")
_HEADING = re.compile(r"\s*(#+)\s*(.+)")
_ROW = re.compile(r"\s*\|(.+)\|\s*\Z")
_RULE = re.compile(r"[\s|:\-]+\Z")
_ROLE_COLUMN = re.compile(r"역할|담당|주체|수행자|부서|role|responsible|owner|who|actor", re.I)
_WORK_COLUMN = re.compile(r"단계|활동|업무|작업|절차|내용|step|activity|task|action|what", re.I)


class ManualLine(NamedTuple):
    """A line of the text, with its number."""

    at: int
    text: str


class ManualStep(msgspec.Struct):
    """`number` is the author's own, counted anew in each section; `role` is what a table says of it."""

    number: int
    lines: list[ManualLine]
    section: int = 0
    role: str = ""


class Text(msgspec.Struct):
    """`left` are lines that belong to no step and say a condition: nobody shall believe that they were read."""

    title: str = ""
    steps: list[ManualStep] = []
    roles: list[str] = []
    left: list[ManualLine] = []


def read_text(text: str) -> Text:
    lines = [
        ManualLine(n, one.rstrip()) for n, one in enumerate(text.replace("\r\n", "\n").split("\n"), 1) if one.strip()
    ]
    return _Lines(lines).whole()


class _Lines:
    def __init__(self, lines: list[ManualLine]) -> None:
        self.lines = lines
        self.found = Text()
        self.numbered: list[ManualStep] = []
        self.bullets: list[ManualLine] = []
        self.other: list[ManualLine] = []
        self.rows: list[ManualStep] = []
        self.header: list[str] = []
        self.current: ManualStep | None = None
        self.section = self.indent = 0

    def whole(self) -> Text:
        for line in self.lines:
            row = _ROW.match(line.text)
            if row is not None:
                self._row(line, [one.strip() for one in row[1].split("|")])
                continue
            self.header = []
            self._line(line)
        found = self.found
        steps = self.numbered or self.rows
        if not steps and self.bullets:
            steps = [ManualStep(n, [ManualLine(at, one)]) for n, (at, one) in enumerate(self.bullets, 1)]
        if steps:
            first = next(
                (one for one in self.other if not self.numbered or one.at < self.numbered[0].lines[0].at), None
            )
            if not found.title and first is not None and len(first.text) <= 200:
                found.title = first.text.strip().rstrip(":：")
                self.other.remove(first)
            found.left = [one for one in (*self.other, *(self.bullets if self.numbered or self.rows else ()))
                          if looks_conditional(one.text)]  # fmt: skip
            found.steps = steps
            return found
        if self.other and not found.title and not re.search(r"[.。다]\s*\Z", self.other[0].text):
            found.title = self.other.pop(0).text.strip()
        told = [ManualLine(line.at, one) for line in self.other for one in sentences(line.text.strip())]
        found.steps = [ManualStep(n, [one]) for n, one in enumerate(told, 1)]
        return found

    def _line(self, line: ManualLine) -> None:
        text = line.text
        if heading := _HEADING.match(text):
            self._heading(line, heading[2].strip())
        elif counted := self._numbered(text):
            indent = len(text) - len(text.lstrip())
            number, said = counted
            if self.current is not None and indent > self.indent:
                self.current.lines.append(ManualLine(line.at, f"- {said}"))  # numbered within a step
            else:
                self.indent = indent
                self._begin(number, ManualLine(line.at, said))
        elif self.current is not None:
            self.current.lines.append(ManualLine(line.at, text.strip()))
        elif found := BULLET.match(text):
            self.bullets.append(ManualLine(line.at, found[1].strip()))
        else:
            self.other.append(ManualLine(line.at, text.strip()))

    @staticmethod
    def _numbered(text: str) -> tuple[int, str] | None:
        if found := _STEP.match(text):
            return int(found[1]), found[2].strip()
        if found := _LETTER.match(text):
            number = "가나다라마바사아자차카타파하".find(found[1]) if found[1] else ord(found[2]) - ord("①")
            return number + 1, found[3].strip()
        return None

    def _heading(self, line: ManualLine, text: str) -> None:
        self.current = None
        found = _STEP.match(text)
        if found and (self.found.title or int(found[1]) == 1 and self.numbered == []):
            self._begin(int(found[1]), ManualLine(line.at, found[2].strip()))
        elif (alone := _STEP_ALONE.match(text)) and self.found.title:
            self._begin(int(alone[1] or alone[2]), ManualLine(line.at, text))
        elif not self.found.title:
            self.found.title = text
        else:
            self.section += 1

    def _begin(self, number: int, line: ManualLine) -> None:
        self.current = ManualStep(number, [line], self.section)
        self.numbered.append(self.current)

    def _row(self, line: ManualLine, cells: list[str]) -> None:
        """A table with a column of roles: of steps where it has a column of work and a number, else of roles."""
        self.current = None
        if _RULE.match("".join(cells)) or not any(cells):
            return
        if not self.header:
            self.header = cells
            return
        columns = self.header
        role = next((n for n, one in enumerate(columns) if _ROLE_COLUMN.search(one)), None)
        work = [n for n, one in enumerate(columns) if n != role and _WORK_COLUMN.search(one)]
        if role is None or role >= len(cells):
            self.other.append(ManualLine(line.at, " ".join(cells)))
            return
        name = cells[role]
        if name and name != "-" and name not in self.found.roles:
            self.found.roles.append(name)
        if role == 0 or not work:  # what a role is there for, and no step
            return
        said = [cells[n] for n in work if n < len(cells) and not re.fullmatch(r"\d*", cells[n])]
        if said:
            text = f"{said[0]}: {' '.join(said[1:])}" if len(said) > 1 else said[0]
            self.rows.append(
                ManualStep(len(self.rows) + 1, [ManualLine(line.at, text)], role="" if name == "-" else name)
            )
