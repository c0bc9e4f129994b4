"""Archive: looks through a zip or tar archive, takes one member out of it, or packs the file; safe against bombs."""

from __future__ import annotations

import fnmatch
import mimetypes
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, Any

from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError, bad_file
from penstock.executors.processors.file_kinds import detected_mime, ending_of
from penstock.executors.processors.zip_limits import UnpackLimits, is_plain_name, open_member, open_zip

_LISTED = 1000
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError)


def run(context: ProcessorContext) -> Output:
    """config: action list (default; reads everything once and names it), extract (`member`: a pattern; the first that
    fits becomes the output) or pack (zip); max_unpacked_bytes, max_ratio, max_entries."""
    action = context.text("action", "list", ("list", "extract", "pack"))
    if action == "pack":
        return _pack(context)
    try:
        return _list(context) if action == "list" else _extract(context)
    except _BROKEN as error:
        raise bad_file(f"the archive is broken ({type(error).__name__})") from None


class _Member:
    def __init__(self, name: str, opened: Any) -> None:
        self.name, self._opened = name, opened

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        with self._opened() as source:
            yield source


def _members(context: ProcessorContext, limits: UnpackLimits) -> Iterator[_Member]:
    """The files of the archive; folders, links and devices are left out."""
    if detected_mime(context.file) == "application/zip":
        with open_zip(context, limits) as archive:
            for entry in archive.infolist():
                limits.entry()
                if not entry.is_dir():
                    yield _Member(entry.filename, lambda entry=entry: open_member(archive, entry))
        return
    with context.file.open("rb") as file:
        try:
            opened = tarfile.open(fileobj=file, mode="r|*")  # noqa: SIM115
        except (tarfile.TarError, EOFError, zlib.error) as error:
            raise bad_file(f"the file is no archive ({type(error).__name__})") from None
        with opened as tar:
            for part in tar:
                limits.entry()
                limits.check(limits.unpacked + part.size)
                if part.isreg():
                    yield _Member(part.name, lambda part=part: tar.extractfile(part))


def _list(context: ProcessorContext) -> Output:
    limits = UnpackLimits(context)
    listed: list[dict[str, Any]] = []
    unsafe = 0
    for member in _members(context, limits):
        with member.open() as source:
            size = limits.drain(source)
        unsafe += not is_plain_name(member.name)
        if len(listed) < _LISTED:
            listed.append({"name": member.name[:500], "size": size})
    warned = [f"{unsafe} names lead out of the archive"] if unsafe else []
    about = {"entries": limits.seen, "unpacked_bytes": limits.unpacked, "members": listed}
    return Output(output=about, warnings=warned)


def _extract(context: ProcessorContext) -> Output:
    wanted = context.text("member", "*")
    limits = UnpackLimits(context)
    for member in _members(context, limits):
        if not is_plain_name(member.name) or not fnmatch.fnmatchcase(member.name, wanted):
            continue
        mime = mimetypes.guess_type(PurePosixPath(member.name).name)[0] or "application/octet-stream"
        made = context.new_file(ending_of(mime, member.name))
        with member.open() as source, made.open("wb") as target:
            size = limits.drain(source, target)
        return Output(output={"member": member.name[:500], "size": size}, file=made, mime=mime)
    raise ProcessorError("MEMBER_MISSING", f"no member of the archive fits «{wanted[:100]}»")


def _pack(context: ProcessorContext) -> Output:
    made = context.new_file("zip")
    name = PurePosixPath(context.key).name or "file"
    entry = zipfile.ZipInfo(name)  # without a time of its own: the same file packs to the same bytes
    entry.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(made, "w") as archive, context.file.open("rb") as source:
        with archive.open(entry, "w", force_zip64=True) as target:
            while data := source.read(1024 * 1024):
                target.write(data)
    return Output(output={"member": name, "size": made.stat().st_size}, file=made, mime="application/zip")
