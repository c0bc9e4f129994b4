"""MetadataExtractor: what can be known of a file without reading its contents: kind, size, a picture's measures."""

from __future__ import annotations

from typing import Any

from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError, bad_file
from penstock.executors.processors.file_kinds import XLSX, detected_mime
from penstock.executors.processors.images import mime_warnings, open_image

#: of EXIF: what describes the picture, and not whoever took it or where
_SHOWN = {0x010F: "make", 0x0110: "model", 0x0112: "orientation", 0x0132: "taken_at"}


def run(context: ProcessorContext) -> Output:
    """config: strict (refuse a file that is not what its MIME type says; default false)."""
    detected = detected_mime(context.file)
    announced = context.mime.partition(";")[0].strip().lower()
    output: dict[str, Any] = {"mime": announced, "detected_mime": detected or announced, "size": context.size}
    warned: list[str] = []
    if not _agree(announced, detected):
        why = f"the file is {detected}, although it was announced as {announced}"
        if context.flag("strict"):
            raise bad_file(why)
        warned.append(why)
    if detected.startswith("image/"):
        try:
            with open_image(context) as image:
                output |= {"width": image.width, "height": image.height, "format": image.format, "mode": image.mode}
                exif = image.getexif()
                output |= {name: str(exif[tag])[:200].strip("\0 ") for tag, name in _SHOWN.items() if tag in exif}
                warned = warned or mime_warnings(image, context)
        except ProcessorError as error:
            if error.code != "EXTRA_MISSING":
                raise
            warned.append(str(error))
    return Output(output=output, warnings=warned)


def _agree(announced: str, detected: str) -> bool:
    if not announced or not detected or announced in (detected, "application/octet-stream"):
        return True
    return (announced, detected) in ((XLSX, "application/zip"), ("application/xhtml+xml", "text/html")) or (
        detected == "application/zip" and announced.startswith("application/vnd.")
    )
