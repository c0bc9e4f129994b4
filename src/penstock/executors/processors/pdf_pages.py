"""PdfPages: pictures of a PDF's pages: one of them as a picture, or all of them in a zip archive."""

from __future__ import annotations

import zipfile

from penstock.executors.processors.contract import Output, ProcessorContext
from penstock.executors.processors.images import chosen_format, saved
from penstock.executors.processors.pdfs import page_images

_DPI, _MOST_DPI = 150, 600


def run(context: ProcessorContext) -> Output:
    """config: page (from 1; without it all), dpi, format (png), quality, max_pages, max_pixels."""
    dpi = context.number("dpi", _DPI, 1, _MOST_DPI)
    format = chosen_format(context, "PNG")
    if context.config.get("page") is not None:
        page = context.number("page", 1, 1)
        for _, image in page_images(context, dpi, page):
            made = saved(image, format, context, [])
            return Output(output={**made.output, "page": page}, file=made.file, mime=made.mime)
    packed = context.new_file("zip")
    pages = 0
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for number, image in page_images(context, dpi):
            made = saved(image, format, context, [])
            assert made.file is not None
            archive.write(made.file, f"page-{number:04d}{made.file.suffix}")
            made.file.unlink()
            pages += 1
    return Output(output={"pages": pages, "dpi": dpi, "format": format}, file=packed, mime="application/zip")
