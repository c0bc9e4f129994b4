"""OcrProcessor: the text in a picture or on the pages of a PDF, read by the program tesseract."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError
from penstock.executors.processors.file_kinds import detected_mime
from penstock.executors.processors.images import open_image, upright
from penstock.executors.processors.pdfs import page_images
from penstock.executors.processors.programs import find_program, run_program
from penstock.executors.processors.texts import text_output

_LANGUAGES = re.compile(r"[a-zA-Z_]{2,20}(\+[a-zA-Z_]{2,20}){0,9}\Z")
_PRINTED_MAX = 64 * 1024 * 1024
_DPI = 200


def run(context: ProcessorContext) -> Output:
    """config: language (eng, kor+eng …), dpi (of a PDF's pages), psm (tesseract's page segmentation)."""
    program = find_program(context.processor, "tesseract", "on Debian: apt install tesseract-ocr tesseract-ocr-kor")
    language = context.text("language", "eng")
    if not _LANGUAGES.match(language):
        raise ProcessorError("CONFIG_INVALID", "«language» must be codes of tesseract, joined by +")
    segmentation = str(context.number("psm", 3, 0, 13))
    texts: list[str] = []
    sure: list[float] = []
    for picture in _pictures(context):
        line = [program, str(picture), "stdout", "-l", language, "--psm", segmentation, "tsv"]
        text, words = _read(run_program(line, _PRINTED_MAX).decode(errors="replace"))
        texts.append(text)
        sure += words
        picture.unlink()
    confidence = sum(sure) / len(sure) / 100 if sure else 0.0
    warned = [] if sure else ["no text was recognised"]
    return text_output(context, "\n\f\n".join(texts), "tesseract", confidence, warned, pages=len(texts))


def _pictures(context: ProcessorContext) -> Iterator[Path]:
    """As files that only hold pixels: the program opens nothing that came from outside."""
    picture = context.folder / "page.png"
    if detected_mime(context.file) == "application/pdf":
        for _, image in page_images(context, context.number("dpi", _DPI, 50, 600)):
            image.save(picture)
            yield picture
        return
    with open_image(context) as image:
        upright(image).convert("RGB").save(picture)
    yield picture


def _read(table: str) -> tuple[str, list[float]]:
    """Text and the confidence of each word: columns level, page, block, paragraph, line, word, …, conf, text."""
    lines: dict[tuple[str, ...], list[str]] = {}
    sure: list[float] = []
    for row in table.splitlines()[1:]:
        cells = row.split("\t")
        if len(cells) >= 12 and cells[0] == "5" and cells[11].strip():
            lines.setdefault(tuple(cells[1:5]), []).append(cells[11])
            sure.append(max(0.0, float(cells[10])))
    return "\n".join(" ".join(words) for words in lines.values()), sure
