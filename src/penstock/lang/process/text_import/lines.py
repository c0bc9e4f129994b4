"""Divides a manual into steps: by headings, numbers, bullets or tables, else by sentences; and reads role tables."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from penstock.lang.process.text_import.sentence import BULLET, looks_conditional, sentences

_STEP = re.compile(r"\s*(?:(?:단계|step|stage)\s*)?(\d{1,3})\s*(?:단계)?\s*[.):：]\s+(.+)", re.I)
_STEP_ALONE = re.compile(r"\s*(?:(?:단계|step|stage)\s*)(\d{1,3})|\s*(\d{1,3})\s*단계\Z", re.I)
_LETTER = re.compile(r"\s*(?:([가나다라마바사아자차카타파하])\s*[.)]\s+|([①-⑳])\s*)(.+)")
_HEADING = re.compile(r"\s*(#+)\s*(.+)")
#: headings that are no steps, whatever number they have
_SECTION = re.compile(
    r"(?:적용\s*)?(?:목적|개요|범위|대상|정의|용어(?:의\s*정의)?|참고(?:\s*사항)?|책임(?:과\s*권한)?|부칙|서식"
    r"|관련\s*(?:문서|법규|규정)|유의\s*사항|배경"
    r"|(?:업무|처리|세부|진행)?\s*(?:절차|순서|내용|기준))|purpose|scope|overview|introduction|background"
    r"|definitions?|terms|references"
    r"|(?:the\s+)?procedure|process|steps|responsibilities|roles(?: and responsibilities)?|general|appendix|forms"
    r"|notes?", re.I,
)  # fmt: skip
_ROW = re.compile(r"\s*\|(.+)\|\s*\Z")
_RULE = re.compile(r"[\s|:\-]+\Z")
_ROLE_COLUMN = re.compile(r"역할|담당|주체|수행자|부서|role|responsible|owner|who|actor", re.I)
_WORK_COLUMN = re.compile(r"단계|활동|업무|작업|절차|내용|step|activity|task|action|what", re.I)


class ManualLine(NamedTuple):
    """A line of the text, with its number; `said` is what stands there where `text` says it in other words."""

    at: int
    text: str
    said: str = ""


class ManualStep(msgspec.Struct):
    """A step of the manual. `number` is the author's, counted anew in each section; `role` comes from a table."""

    number: int
    lines: list[ManualLine]
    section: int = 0
    role: str = ""


class Manual(msgspec.Struct):
    """The steps and roles of a manual. `leftover` are lines of no step that hold a condition: they are reported."""

    title: str = ""
    steps: list[ManualStep] = []
    roles: list[str] = []
    leftover: list[ManualLine] = []


def read_text(text: str) -> Manual:
    lines = [
        ManualLine(n, line.rstrip()) for n, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1) if line.strip()
    ]
    return _LineReader(lines).manual_of_lines()


class _LineReader:
    def __init__(self, lines: list[ManualLine]) -> None:
        self.lines = lines
        self.manual = Manual()
        self.numbered: list[ManualStep] = []
        self.bullets: list[ManualLine] = []
        self.other: list[ManualLine] = []
        self.rows: list[ManualStep] = []
        self.header: list[str] = []
        self.current: ManualStep | None = None
        self.section = self.indent = 0

    def manual_of_lines(self) -> Manual:
        for line in self.lines:
            row = _ROW.match(line.text)
            if row is not None:
                self._row(line, [cell.strip() for cell in row[1].split("|")])
                continue
            self.header = []
            self._line(line)
        manual = self.manual
        steps = self.numbered or self.rows
        if not steps and self.bullets:
            steps = [ManualStep(n, [line]) for n, line in enumerate(self.bullets, 1)]
        if steps:
            first = next(
                (line for line in self.other if not self.numbered or line.at < self.numbered[0].lines[0].at), None
            )
            if not manual.title and first is not None and len(first.text) <= 200:
                manual.title = first.text.strip().rstrip(":：")
                self.other.remove(first)
            manual.leftover = [line for line in (*self.other, *(self.bullets if self.numbered or self.rows else ()))
                          if looks_conditional(line.text)]  # fmt: skip
            manual.steps = steps
            return manual
        if self.other and not manual.title and not re.search(r"[.。다]\s*\Z", self.other[0].text):
            manual.title = self.other.pop(0).text.strip()
        lines = [ManualLine(line.at, sentence) for line in self.other for sentence in sentences(line.text.strip())]
        manual.steps = [ManualStep(n, [line]) for n, line in enumerate(lines, 1)]
        return manual

    def _line(self, line: ManualLine) -> None:
        text = line.text
        if heading := _HEADING.match(text):
            self._heading(line, heading[2].strip())
        elif counted := self._numbered(text):
            indent = len(text) - len(text.lstrip())
            number, text_after = counted
            if self.current is not None and indent > self.indent:
                self.current.lines.append(ManualLine(line.at, f"- {text_after}"))  # numbered within a step
            else:
                self.indent = indent
                self._begin_step(number, ManualLine(line.at, text_after))
        elif self.current is not None:
            self.current.lines.append(ManualLine(line.at, text.strip()))
        elif bullet := BULLET.match(text):
            self.bullets.append(ManualLine(line.at, bullet[1].strip()))
        else:
            self.other.append(ManualLine(line.at, text.strip()))

    @staticmethod
    def _numbered(text: str) -> tuple[int, str] | None:
        if match := _STEP.match(text):
            return int(match[1]), match[2].strip()
        if match := _LETTER.match(text):
            number = "가나다라마바사아자차카타파하".find(match[1]) if match[1] else ord(match[2]) - ord("①")
            return number + 1, match[3].strip()
        return None

    def _heading(self, line: ManualLine, text: str) -> None:
        self.current = None
        match = _STEP.match(text)
        if match and _SECTION.fullmatch(match[2].strip(" .:")):
            match = None
        if match and (self.manual.title or int(match[1]) == 1 and self.numbered == []):
            self._begin_step(int(match[1]), ManualLine(line.at, match[2].strip()))
        elif (alone := _STEP_ALONE.match(text)) and self.manual.title:
            self._begin_step(int(alone[1] or alone[2]), ManualLine(line.at, text))
        elif not self.manual.title:
            self.manual.title = text
        else:
            self.section += 1

    def _begin_step(self, number: int, line: ManualLine) -> None:
        self.current = ManualStep(number, [line], self.section)
        self.numbered.append(self.current)

    def _row(self, line: ManualLine, cells: list[str]) -> None:
        """A row of a table with a column of roles: a step if it also has a column of work, else only a role."""
        self.current = None
        if _RULE.match("".join(cells)) or not any(cells):
            return
        if not self.header:
            self.header = cells
            return
        columns = self.header
        role = next((n for n, column in enumerate(columns) if _ROLE_COLUMN.search(column)), None)
        work = [n for n, column in enumerate(columns) if n != role and _WORK_COLUMN.search(column)]
        if role is None or role >= len(cells):
            self.other.append(ManualLine(line.at, " ".join(cells)))
            return
        name = cells[role]
        if name and name != "-" and name not in self.manual.roles:
            self.manual.roles.append(name)
        if role == 0 or not work:  # it describes a role, and is no step
            return
        texts = [cells[n] for n in work if n < len(cells) and not re.fullmatch(r"\d*", cells[n])]
        if texts:
            text = f"{texts[0]}: {' '.join(texts[1:])}" if len(texts) > 1 else texts[0]
            self.rows.append(
                ManualStep(len(self.rows) + 1, [ManualLine(line.at, text)], role="" if name == "-" else name)
            )
