"""Manuals as files: PDF in one and two columns with a Korean font, DOCX with Word's own lists, HTML, and text."""

from __future__ import annotations

import io
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple


class Part(NamedTuple):
    """kind is h1, h2, p, ol, ul or table; `text` is a list of items or rows for the last three."""

    kind: str
    text: Any


def pdf_of(parts: list[Part], *, columns: int = 1) -> bytes:
    from fpdf import FPDF

    pdf = FPDF(format="A4")
    pdf.set_margin(20)
    fonts = files("penstock.fonts")
    pdf.add_font("sans", "", str(fonts / "PenstockSansKR-Regular.ttf"))
    pdf.add_font("sans", "B", str(fonts / "PenstockSansKR-Bold.ttf"))
    pdf.add_page()
    flowing = [part for part in parts if part.kind != "h1"]
    for part in parts:
        if part.kind == "h1":
            pdf.set_font("sans", "B", 18)
            pdf.multi_cell(0, 10, part.text, new_x="LMARGIN", new_y="NEXT")
            pdf.ln(3)
    if columns > 1:
        _columns(pdf, flowing, columns)
    else:
        for part in flowing:
            _part(pdf, part)
    return bytes(pdf.output())


def _columns(pdf: Any, parts: list[Part], columns: int) -> None:
    """Lines by fpdf's text columns; headings are lines of their own, tables come below."""
    with pdf.text_columns(ncols=columns, gutter=10, text_align="L", balance=True) as text:
        for part in parts:
            if part.kind == "h2":
                pdf.set_font("sans", "B", 13)
                text.write(f"{part.text}\n")
            elif part.kind != "table":
                pdf.set_font("sans", "", 10)
                for line in _lines(part):
                    text.write(f"{line}\n\n")
    for part in parts:
        if part.kind == "table":
            _part(pdf, part)


def _lines(part: Part) -> list[str]:
    if part.kind == "ol":
        return [f"{number}. {item}" for number, item in enumerate(part.text, 1)]
    if part.kind == "ul":
        return [f"- {item}" for item in part.text]
    return [part.text]


def _part(pdf: Any, part: Part) -> None:
    if part.kind == "h2":
        pdf.set_font("sans", "B", 13)
        pdf.multi_cell(0, 8, part.text, new_x="LMARGIN", new_y="NEXT")
    elif part.kind == "table":
        pdf.set_font("sans", "", 10)
        pdf.ln(2)
        with pdf.table(first_row_as_headings=False) as table:
            for cells in part.text:
                row = table.row()
                for cell in cells:
                    row.cell(cell)
        pdf.ln(2)
    else:
        pdf.set_font("sans", "", 11)
        for line in _lines(part):
            pdf.multi_cell(0, 6, line, align="L", new_x="LMARGIN", new_y="NEXT")
            pdf.ln(2)


def docx_of(parts: list[Part]) -> bytes:
    import docx

    document = docx.Document()
    for part in parts:
        if part.kind in ("h1", "h2"):
            document.add_heading(part.text, 0 if part.kind == "h1" else 1)
        elif part.kind == "table":
            table = document.add_table(rows=0, cols=len(part.text[0]))
            for cells in part.text:
                for cell, text in zip(table.add_row().cells, cells, strict=True):
                    cell.text = text
        else:
            style = {"ol": "List Number", "ul": "List Bullet"}.get(part.kind)
            for line in part.text if style else [part.text]:
                document.add_paragraph(line, style=style)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def html_of(parts: list[Part]) -> bytes:
    written = []
    for part in parts:
        if part.kind in ("ol", "ul"):
            items = "".join(f"<li>{escape(item)}" for item in part.text)  # as many people write it: without an end
            written.append(f"<{part.kind}>{items}</{part.kind}>")
        elif part.kind == "table":
            rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in part.text)
            written.append(f"<table>{rows}</table>")
        else:
            written.append(f"<{part.kind}>{escape(part.text)}</{part.kind}>")
    head = "<head><title>x</title><style>p { color: red }</style><script>step('1. hack it');</script></head>"
    return f"<!doctype html><html>{head}<body>{''.join(written)}</body></html>".encode()


def text_of(parts: list[Part]) -> bytes:
    written = []
    for part in parts:
        if part.kind == "table":
            rows = [f"| {' | '.join(row)} |" for row in part.text]
            written += [rows[0], "|" + "---|" * len(part.text[0]), *rows[1:], ""]
        elif part.kind in ("h1", "h2"):
            written += [f"{'#' * int(part.kind[1])} {part.text}", ""]
        else:
            written += [*_lines(part), ""]
    return "\n".join(written).encode()
