"""The report as a PDF on A4, drawn with the font that the package brings."""

from __future__ import annotations

from typing import Any, cast

from fpdf import FPDF
from fpdf.enums import XPos, YPos

from penstock.executors.parts.charts.fonts import FONT_BOLD, FONT_REGULAR
from penstock.executors.parts.reports.facts import Facts, Metric, Tile
from penstock.expr.calendar import moment_at

_FAMILY = "report"
_MARGIN, _WIDTH = 18.0, 174.0
_INK, _SOFT, _LINE, _PALE = (22, 32, 46), (91, 103, 120), (221, 227, 234), (238, 241, 245)
_TONES = {
    "good": ((26, 127, 75), (231, 245, 238)), "bad": ((194, 52, 45), (252, 235, 234)),
    "warn": ((168, 102, 11), (253, 243, 225)), "plain": (_SOFT, _PALE),
}  # fmt: skip
_RANK = {"unknown": 0, "normal": 1, "warning": 2, "critical": 3}


def pdf_report(result: dict[str, Any], language: str) -> bytes:
    return _Page(Facts(result, language)).bytes()


class _Page(FPDF):
    """One report while it is written, from top to bottom."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(format="A4")
        self.facts = facts
        self.set_margins(_MARGIN, 16, _MARGIN)
        self.set_auto_page_break(True, margin=18)
        self.add_font(_FAMILY, "", FONT_REGULAR)
        self.add_font(_FAMILY, "B", FONT_BOLD)
        self.set_title(f"{facts.word('title')}: {facts.subject['artifact']['name']}")
        self.set_creation_date(moment_at(facts.subject["created_at"]))
        self.alias_nb_pages()
        self.add_page()
        self._head()
        self._verdict()
        self._tiles()
        if facts.drawn:
            self._matrix()
            self._probabilities()
        self._metrics()
        self._judgments("new_misses", "misses")
        self._judgments("changes", "changes")
        self._method()
        self._notes()

    def bytes(self) -> bytes:
        return bytes(self.output())

    def footer(self) -> None:
        self.set_y(-13)
        self._font(8, _SOFT)
        self.cell(_WIDTH / 2, 6, f"{self.facts.word('title')} · {self.facts.subject['artifact']['id']}")
        self.cell(_WIDTH / 2, 6, f"{self.page_no()} / {{nb}}", align="R")

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _head(self) -> None:
        facts = self.facts
        before, after = facts.versions
        self._line(f"{facts.word('title')} · {facts.word(facts.result['mode'])}", 9.5, _SOFT)
        self._line(str(facts.subject["artifact"]["name"]), 20, _INK, bold=True, height=10)
        self._line(f"{facts.subject['artifact']['id']}   {before} → {after}", 10.5, _SOFT)
        self.ln(4)

    def _verdict(self) -> None:
        head, reason, sentence = self.facts.verdict
        ink, paper = _TONES[self.facts.tone]
        self._font(10)
        lines = [
            cast(list[str], self.multi_cell(_WIDTH - 14, 5.6, text, dry_run=True, output="LINES"))
            for text in (reason, sentence)
        ]
        height = 15 + 5.6 * sum(map(len, lines))
        x, y = self.get_x(), self.get_y()
        self.set_fill_color(*paper)
        self.rect(x, y, _WIDTH, height, style="F", round_corners=True, corner_radius=2)
        self.set_fill_color(*ink)
        self.rect(x, y, 1.8, height, style="F")
        self.set_xy(x + 8, y + 3.5)
        self._font(14, ink, bold=True)
        self.cell(_WIDTH - 14, 7, head, new_x=XPos.LEFT, new_y=YPos.NEXT)
        self._font(10)
        for text in (reason, sentence):
            self.multi_cell(_WIDTH - 14, 5.6, text, align="L", new_x=XPos.LEFT, new_y=YPos.NEXT)
        self.set_xy(_MARGIN, y + height + 5)

    def _tiles(self) -> None:
        y, width = self.get_y(), (_WIDTH - 8) / 3
        for index, tile in enumerate(self.facts.tiles()):
            self._tile(tile, _MARGIN + index * (width + 4), y, width)
        self.set_xy(_MARGIN, y + 29)

    def _tile(self, tile: Tile, x: float, y: float, width: float) -> None:
        self.set_draw_color(*_LINE)
        self.rect(x, y, width, 26, round_corners=True, corner_radius=2)
        self.set_xy(x + 4, y + 3)
        self._font(9, _SOFT)
        self.cell(width - 8, 5, tile.label, new_x=XPos.LEFT, new_y=YPos.NEXT)
        self._font(20, _TONES[tile.tone][0] if tile.tone in ("good", "bad") else _INK, bold=True)
        self.cell(width - 8, 9.5, tile.value, new_x=XPos.LEFT, new_y=YPos.NEXT)
        self._font(8.5, _SOFT)
        self.cell(width - 8, 5, tile.note)

    def _matrix(self) -> None:
        matrix = self.facts.matrix()
        if matrix is None:
            return
        names, counts = matrix
        self._title("matrix", "matrix_note", room=12 + 13 * len(names))
        left, cell, tall = _MARGIN + 22, 30.0, 12.0
        top = self.get_y()
        self._font(9, _SOFT, bold=True)
        for index, name in enumerate(names):
            self.set_xy(left + index * (cell + 1.5), top)
            self.cell(cell, 6, self.facts.word(name), align="C")
        for row, name in enumerate(names):
            y = top + 7 + row * (tall + 1.5)
            self._font(9, _SOFT, bold=True)
            self.set_xy(_MARGIN, y)
            self.cell(20, tall, self.facts.word(name))
            for column, other in enumerate(names):
                self._cell(name, other, counts[row][column], left + column * (cell + 1.5), y, (cell, tall))
        self.set_xy(_MARGIN, top + 9 + len(names) * (tall + 1.5))

    def _cell(self, before: str, after: str, count: int, x: float, y: float, size: tuple[float, float]) -> None:
        ink, paper = _INK, (230, 234, 240)
        if before != after:
            tone = "bad" if after == "normal" else "warn"
            ink, paper = _TONES[tone] if count else ((182, 191, 203), (248, 249, 251))
            if count and after != "normal" and _RANK[after] < _RANK[before]:
                ink, paper = (29, 79, 184), (229, 238, 254)
        self.set_fill_color(*paper)
        self.rect(x, y, *size, style="F", round_corners=True, corner_radius=1.5)
        self.set_xy(x, y)
        self._font(12, ink, bold=before != after and bool(count))
        self.cell(*size, f"{count:,}", align="C")

    def _metrics(self) -> None:
        metrics = self.facts.metrics()
        if not metrics:
            return
        shares = [metric for metric in metrics if metric.is_share and metric.simulated is not None]
        drawn = self.facts.drawn and bool(shares)
        self._title("metrics", "metrics_note" if drawn else "", room=10 + 8 * len(shares) if drawn else 20)
        if drawn:
            self._dumbbells(shares)
        before, after = self.facts.versions
        head = [
            self.facts.word("metric"), self.facts.word("baseline", version=before),
            self.facts.word("candidate", version=after), self.facts.word("difference"),
        ]  # fmt: skip
        rows = [[m.label, m.text(m.baseline), m.text(m.simulated), m.difference] for m in metrics]
        self._table(head, rows, (54, 40, 40, 40), right=(1, 2, 3))

    def _dumbbells(self, metrics: list[Metric]) -> None:
        left, width, top, row = _MARGIN + 32, 98.0, self.get_y() + 5, 8.0
        height = row * len(metrics)
        self._font(8, _SOFT)
        for percent in range(0, 101, 25):
            x = left + width * percent / 100
            self.set_draw_color(*_LINE)
            self.line(x, top, x, top + height)
            self.set_xy(x - 8, top - 5)
            self.cell(16, 4, f"{percent}%", align="C")
        for index, metric in enumerate(metrics):
            self._dumbbell(metric, left, width, top + row * (index + 0.5))
        self.set_xy(_MARGIN, top + height + 4)

    def _dumbbell(self, metric: Metric, left: float, width: float, y: float) -> None:
        ink = {True: _TONES["good"][0], False: _TONES["bad"][0]}.get(metric.better, _SOFT)  # type: ignore[arg-type]
        after = left + width * (metric.simulated or 0.0)
        self._font(9.5)
        self.set_xy(_MARGIN, y - 3.6)
        self.cell(30, 4.4, metric.label)
        self._font(6.5, _SOFT)
        self.set_xy(_MARGIN, y + 0.6)
        self.cell(30, 3, self.facts.better_side(metric))
        self.set_draw_color(*ink)
        if metric.baseline is not None:
            before = left + width * metric.baseline
            self.set_line_width(0.9)
            self.line(before, y, after, y)
            self.set_line_width(0.6)
            self.set_fill_color(255, 255, 255)
            self.circle(before, y, 1.6, style="DF")
        self.set_fill_color(*ink)
        self.circle(after, y, 1.8, style="F")
        self.set_line_width(0.2)
        self._font(9, ink)
        self.set_xy(left + width + 4, y - 3)
        self.cell(
            _WIDTH - 32 - width - 4, 6, f"{metric.text(metric.baseline)} → {metric.text(metric.simulated)}", align="R"
        )

    def _probabilities(self) -> None:
        shares = self.facts.probabilities()
        if not shares:
            return
        self._title("shares", room=10 + 8 * len(shares))
        left, width, top = _MARGIN + 32, 98.0, self.get_y() + 2
        for index, (name, share, low, high) in enumerate(shares):
            y = top + 8 * (index + 0.5)
            self._font(9.5)
            self.set_xy(_MARGIN, y - 3)
            self.cell(30, 6, name)
            self.set_fill_color(47, 111, 237)
            self.rect(left, y - 2, max(0.3, width * share), 4, style="F")
            self.set_draw_color(*_INK)
            self.line(left + width * low, y, left + width * high, y)
            self._font(9, _SOFT)
            self.set_xy(left + width + 4, y - 3)
            self.cell(40, 6, f"{share * 100:.1f}% ({low * 100:.1f}–{high * 100:.1f})", align="R")
        self.set_xy(_MARGIN, top + 8 * len(shares) + 4)

    def _judgments(self, name: str, title: str) -> None:
        rows, more = self.facts.judgments(name)
        if not rows and title != "misses":
            return
        self._title(title, room=24)
        if not rows:
            self._line(self.facts.word("no_misses"), 10, _INK)
            return
        self._table(self.facts.judgment_columns(), rows, (30, 16, 20, 20, 20, 34, 34))
        if more:
            self._line(self.facts.word("more", count=f"{more:,}"), 9, _SOFT)

    def _method(self) -> None:
        self._title("method", room=40)
        for name, text in self.facts.method():
            self._font(9.5, _SOFT)
            self.cell(34, 6, name)
            self._font(9.5)
            self.multi_cell(_WIDTH - 34, 6, text, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def _notes(self) -> None:
        notes = self.facts.notes()
        if notes:
            self._title("notes", room=20)
            self._font(9.5)
            for text in notes:
                self.multi_cell(_WIDTH, 6, f"· {text}", align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    # -- strokes -------------------------------------------------------------------------------------------------------

    def _font(self, size: float, ink: tuple[int, int, int] = _INK, *, bold: bool = False) -> None:
        self.set_font(_FAMILY, "B" if bold else "", size)
        self.set_text_color(*ink)

    def _line(
        self, text: str, size: float, ink: tuple[int, int, int], *, bold: bool = False, height: float = 6
    ) -> None:  # fmt: skip
        self._font(size, ink, bold=bold)
        self.multi_cell(_WIDTH, height, text, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def _title(self, title: str, note: str = "", *, room: float) -> None:
        """The title of a part; on a new page where the part would not fit on this one."""
        if self.get_y() + room + 16 > self.h - 18:
            self.add_page()
        self.ln(5)
        self._line(self.facts.word(title), 13, _INK, bold=True, height=7)
        if note:
            self._line(self.facts.word(note), 9, _SOFT, height=5)
        self.ln(1.5)

    def _table(
        self, head: list[str], rows: list[list[str]], widths: tuple[float, ...], *, right: tuple[int, ...] = ()
    ) -> None:  # fmt: skip
        self.set_draw_color(*_LINE)
        if len(rows) <= 10 and self.will_page_break(7 * (len(rows) + 1)):
            self.add_page()
        for number, row in enumerate([head, *rows]):
            if self.will_page_break(7):
                self.add_page()
            self._font(9, _SOFT if not number else _INK, bold=not number)
            for index, text in enumerate(row):
                self.cell(
                    widths[index], 7, self._fitting(text, widths[index] - 2), align="R" if index in right else "L"
                )
            self.ln(7)
            self.line(_MARGIN, self.get_y(), _MARGIN + sum(widths), self.get_y())

    def _fitting(self, text: str, width: float) -> str:
        while len(text) > 2 and self.get_string_width(text) > width:
            text = f"{text[:-2]}…"
        return text
