"""Kinds of files: by their first bytes, by their MIME type, by the ending of their key."""

from __future__ import annotations

import mimetypes
from pathlib import Path, PurePosixPath

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_ENDINGS = {
    "image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp", "image/tiff": "tif",
    "image/bmp": "bmp", "application/json": "json", "application/x-ndjson": "ndjson", "text/plain": "txt",
    "text/html": "html", "text/csv": "csv", "application/pdf": "pdf", "application/zip": "zip",
    "application/x-tar": "tar", "application/gzip": "gz",
    XLSX: "xlsx",
}  # fmt: skip
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x7fELF", "application/x-executable"),
)
_HEAD = 512


def ending_of(mime: str, key: str = "") -> str:
    """The ending of a file's name, without its dot."""
    known = _ENDINGS.get(mime.partition(";")[0].strip().lower())
    if known:
        return known
    own = PurePosixPath(key).suffix.lstrip(".").lower()
    if own.isascii() and own.isalnum() and len(own) <= 10:
        return own
    guessed = mimetypes.guess_extension(mime.partition(";")[0].strip()) if mime else None
    return guessed.lstrip(".") if guessed else "bin"


def detected_mime(file: Path) -> str:
    """What the first bytes say; "" where they say nothing."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[257:262] == b"ustar":
        return "application/x-tar"
    for beginning, mime in _BEGINNINGS:
        if head.startswith(beginning):
            return mime
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return "text/html" if text.startswith((b"<!doctype html", b"<html")) else ""
