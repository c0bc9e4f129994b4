"""PDF files: their text (pypdf) and pictures of their pages (pypdfium2), extra `documents`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.executors.processors.contract import (
    ProcessorContext,
    ProcessorError,
    bad_file,
    beyond_limit,
    missing_extra,
)
from penstock.executors.processors.file_kinds import detected_mime
from penstock.executors.processors.images import MAX_PIXELS
from penstock.executors.processors.texts import MAX_TEXT_BYTES

if TYPE_CHECKING:
    from PIL import Image

MAX_PAGES = 2_000
_POINTS = 72


def check_pdf(context: ProcessorContext) -> None:
    if detected_mime(context.file) != "application/pdf":
        raise bad_file("the file is no PDF")


def page_texts(context: ProcessorContext) -> list[str]:
    """The text of every page. Raises ProcessorError."""
    try:
        import pypdf
    except ImportError:
        raise missing_extra(context.processor, "documents") from None
    check_pdf(context)
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    most = context.bound("max_text_bytes", MAX_TEXT_BYTES)
    texts: list[str] = []
    size = 0
    try:
        with context.file.open("rb") as file:
            reader = pypdf.PdfReader(file)
            if reader.is_encrypted and not reader.decrypt(str(context.config.get("password") or "")):
                raise ProcessorError("FILE_ENCRYPTED", "the PDF is encrypted")
            _check_pages(context, len(reader.pages))
            for page in reader.pages:
                texts.append(page.extract_text())
                size += len(texts[-1])
                if size > most:
                    raise beyond_limit(f"the PDF holds more than {most} characters")
    except (ProcessorError, MemoryError):
        raise
    except Exception as error:  # whatever a broken file brings about
        if type(error).__name__ == "LimitReachedError":  # of pypdf, where it knows it
            raise beyond_limit("the PDF unfolds to more than is read of one") from None
        raise bad_file(f"the PDF is broken ({type(error).__name__})") from None
    return texts


def page_images(context: ProcessorContext, dpi: int, only: int | None = None) -> Iterator[tuple[int, Image.Image]]:
    """Pictures of the pages, from 1; of one page where one is asked for. Raises ProcessorError."""
    try:
        import PIL.Image  # noqa: F401
        import pypdfium2
    except ImportError:
        extra = "documents,images"
        raise missing_extra(context.processor, extra) from None
    check_pdf(context)
    most = context.bound("max_pixels", MAX_PIXELS)
    try:
        document: Any = pypdfium2.PdfDocument(str(context.file), password=context.config.get("password"))
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise ProcessorError("FILE_ENCRYPTED", "the PDF is encrypted") from None
        raise bad_file("the PDF is broken") from None
    try:
        if only is None:
            _check_pages(context, len(document))
        elif only > len(document):
            raise ProcessorError("CONFIG_INVALID", f"there is no page {only}; the PDF has {len(document)}")
        for number in range(len(document)) if only is None else [only - 1]:
            page = document[number]
            width, height = page.get_size()
            if width * height * (dpi / _POINTS) ** 2 > most:
                raise beyond_limit(f"page {number + 1} has more than {most} pixels at {dpi} dpi")
            yield number + 1, page.render(scale=dpi / _POINTS).to_pil()
            page.close()
    except pypdfium2.PdfiumError as error:
        raise bad_file(f"the PDF is broken ({str(error)[:100]})") from None
    finally:
        document.close()


def _check_pages(context: ProcessorContext, pages: int) -> None:
    most = context.bound("max_pages", MAX_PAGES)
    if pages > most:
        raise beyond_limit(f"the PDF has {pages} pages; at most {most} are read")
