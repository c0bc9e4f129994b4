"""A folder of documents in dev: released and activated when the server starts, and again when a file changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

from penstock.app.language import app_language
from penstock.app.penstock import Penstock
from penstock.app.releases.documents import compile_source, read_source
from penstock.app.releases.releases import Submission
from penstock.errors import Finding, PenstockError, VersionConflict
from penstock.lang.read import read_document
from penstock.store.releases import ReleaseRow

EVERY_S = 1.0
_BY = "dev"
_ENDINGS = (".json", ".yaml", ".yml")


class DocumentFolder:
    """Errors of a document are reported, and never stop the server."""

    def __init__(self, door: Penstock, path: Path, report: Callable[[str], None]) -> None:
        self.door, self.path, self.report = door, path, report
        self._seen: dict[Path, tuple[int, int]] = {}

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            self.scan()

    def scan(self) -> None:
        """Releases every document that is new or has changed since the last scan."""
        for path, stamp in self._files():
            if self._seen.get(path) == stamp:
                continue
            self._seen[path] = stamp
            try:
                row, findings = self._release(path)
            except PenstockError as error:
                self._report(path, str(error), getattr(error, "findings", []))
            else:
                self._report(path, f"«{row.name}» version {row.version} is {row.status}.", findings)

    def _files(self) -> Iterator[tuple[Path, tuple[int, int]]]:
        try:
            paths = sorted(self.path.rglob("*"))
        except OSError as error:
            self.report(f"{self.path}: {error}")
            return
        for path in paths:
            try:
                if path.suffix in _ENDINGS and path.is_file() and not path.name.startswith("."):
                    stat = path.stat()
                    yield path, (stat.st_mtime_ns, stat.st_size)
            except OSError:
                continue  # it went away while we looked

    def _release(self, path: Path) -> tuple[ReleaseRow, list[Finding]]:
        language = app_language(compile_source(path)[0].language)
        released: Submission | None = language.release_file(self.door, path, by=_BY)
        if released is not None:
            return released.release, released.findings
        submitted = self._submit(path)
        row, releases = submitted.release, self.door.releases
        if row.status == "pending_approval":
            row = releases.approve(row.name, row.version)
        if row.status in ("approved", "deprecated"):
            row = releases.activate(row.name, row.version)
        return row, submitted.findings

    def _submit(self, path: Path) -> Submission:
        """A document that changed without a new version number gets the next one."""
        try:
            return self.door.releases.submit(path, by=_BY)
        except VersionConflict:
            data = dict(read_document(read_source(path), name=path.name).data)
        newest = self.door.releases.each(str(data["id"]))[-1].version
        try:
            return self.door.releases.submit({**data, "version": newest}, by=_BY)
        except VersionConflict:
            return self.door.releases.submit({**data, "version": newest + 1}, by=_BY)

    def _report(self, path: Path, text: str, findings: list[Finding]) -> None:
        self.report(f"{path.name}: {text}")
        for finding in findings:
            self.report(f"  {finding}")
