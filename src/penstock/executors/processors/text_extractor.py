"""TextExtractor: the text of a page, a PDF, a spreadsheet, a CSV or a text file, by what the file is."""

from __future__ import annotations

from penstock.executors.processors.contract import Output, ProcessorContext, bad_file
from penstock.executors.processors.file_kinds import XLSX, detected_mime
from penstock.executors.processors.html_to_text import html_text
from penstock.executors.processors.pdfs import page_texts
from penstock.executors.processors.sheets import rows_of
from penstock.executors.processors.texts import read_text, text_output

_PAGES = ("text/html", "application/xhtml+xml")


def run(context: ProcessorContext) -> Output:
    """config: encoding, password (of a PDF), delimiter, sheet, max_pages, max_rows, max_text_bytes."""
    warned: list[str] = []
    announced = context.mime.partition(";")[0].strip().lower()
    detected = detected_mime(context.file)
    if announced == "application/pdf" or detected == "application/pdf":
        return _pdf(context, warned)
    if announced == XLSX or announced == "text/csv" or detected == "application/zip":
        return _table(context, warned)
    if announced in _PAGES or detected == "text/html":
        if detected and detected != "text/html":
            raise bad_file(f"the file is {detected}, although it was announced as {announced}")
        text, title = html_text(read_text(context, warned))
        return text_output(context, text, "html", 1.0, warned, title=title[:500])
    if detected:
        raise bad_file(f"there is no text to take out of {detected}")
    return text_output(context, read_text(context, warned), "text", 1.0, warned)


def _pdf(context: ProcessorContext, warned: list[str]) -> Output:
    """The confidence is the part of the pages that hold text: the others may be pictures of it."""
    texts = page_texts(context)
    filled = sum(bool(text.strip()) for text in texts)
    if filled < len(texts):
        warned.append(f"{len(texts) - filled} of {len(texts)} pages hold no text; they may be pictures")
    confidence = filled / len(texts) if texts else 0.0
    return text_output(context, "\n\f\n".join(texts), "pdf", confidence, warned, pages=len(texts))


def _table(context: ProcessorContext, warned: list[str]) -> Output:
    lines = ["\t".join("" if cell is None else str(cell) for cell in row) for row in rows_of(context)]
    return text_output(context, "\n".join(lines), "table", 1.0, warned, rows=len(lines))
