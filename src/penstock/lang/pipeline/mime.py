"""MIME types: of a key by its suffix, and the type of file that each is (F-X.9, F-X.17)."""

from __future__ import annotations

import re

UNKNOWN = "application/octet-stream"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_BY_SUFFIX = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "bmp": "image/bmp", "tif": "image/tiff", "tiff": "image/tiff", "svg": "image/svg+xml", "heic": "image/heic",
    "avif": "image/avif", "ico": "image/x-icon", "html": "text/html", "htm": "text/html",
    "xhtml": "application/xhtml+xml", "pdf": "application/pdf", "xlsx": XLSX, "xls": "application/vnd.ms-excel",
    "xlsm": "application/vnd.ms-excel.sheet.macroEnabled.12", "csv": "text/csv", "txt": "text/plain",
    "md": "text/markdown", "json": "application/json", "xml": "application/xml", "zip": "application/zip",
    "tar": "application/x-tar", "gz": "application/gzip", "mp3": "audio/mpeg", "mp4": "video/mp4",
}  # fmt: skip
_EXCEL = ("application/vnd.ms-excel", "application/vnd.openxmlformats-officedocument.spreadsheetml", "text/csv")
_MIME = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+\Z")


def mime_of(key: str) -> str:
    name = key.rpartition("/")[2]
    return _BY_SUFFIX.get(name.rpartition(".")[2].lower(), UNKNOWN) if "." in name else UNKNOWN


def plain_mime(mime: str) -> str:
    """Without parameters, in small letters; "" where it is none."""
    plain = mime.partition(";")[0].strip().lower()
    return plain if _MIME.match(plain) else ""


def file_type_of(mime: str) -> str | None:
    """IMAGE, HTML, PDF or EXCEL; None: only ANY takes it."""
    plain = mime.partition(";")[0].strip().lower()
    if plain.startswith("image/"):
        return "IMAGE"
    if plain.startswith(_EXCEL):
        return "EXCEL"
    return {"text/html": "HTML", "application/pdf": "PDF"}.get(plain)
