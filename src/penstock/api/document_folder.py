"""A folder of documents in dev: released and put in force when the server starts, and again when a file changes."""

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
from penstock.store.contract import ReleaseRow

EVERY_S = 1.0
_BY = "dev"
_ENDINGS = (".json", ".yaml", ".yml")


class Folder:
    """What is wrong with a document is told, and never stops anything."""

    def __init__(self, door: Penstock, path: Path, tell: Callable[[str], None]) -> None:
        self.door, self.path, self.tell = door, path, tell
        self._seen: dict[Path, tuple[int, int]] = {}

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            self.look()

    def look(self) -> None:
        """Every document that is new or has changed since."""
        for path, stamp in self._files():
            if self._seen.get(path) == stamp:
                continue
            self._seen[path] = stamp
            try:
                row, findings = self._released(path)
            except PenstockError as error:
                self._say(path, str(error), getattr(error, "findings", []))
            else:
                self._say(path, f"«{row.name}» version {row.version} is {row.status}.", findings)

    def _files(self) -> Iterator[tuple[Path, tuple[int, int]]]:
        try:
            found = sorted(self.path.rglob("*"))
        except OSError as error:
            self.tell(f"{self.path}: {error}")
            return
        for path in found:
            try:
                if path.suffix in _ENDINGS and path.is_file() and not path.name.startswith("."):
                    stat = path.stat()
                    yield path, (stat.st_mtime_ns, stat.st_size)
            except OSError:
                continue  # it went away while we looked

    def _released(self, path: Path) -> tuple[ReleaseRow, list[Finding]]:
        own: Submission | None = app_language(compile_source(path)[0].language).release_file(self.door, path, by=_BY)
        if own is not None:
            return own.release, own.findings
        done = self._submitted(path)
        row, releases = done.release, self.door.releases
        if row.status == "pending_approval":
            row = releases.approve(row.name, row.version)
        if row.status in ("approved", "deprecated"):
            row = releases.activate(row.name, row.version)
        return row, done.findings

    def _submitted(self, path: Path) -> Submission:
        """Whoever tries things out changes a document without a new number: it gets the next one."""
        try:
            return self.door.releases.submit(path, by=_BY)
        except VersionConflict:
            data = dict(read_document(read_source(path), name=path.name).data)
        newest = self.door.releases.each(str(data["id"]))[-1].version
        try:
            return self.door.releases.submit({**data, "version": newest}, by=_BY)
        except VersionConflict:
            return self.door.releases.submit({**data, "version": newest + 1}, by=_BY)

    def _say(self, path: Path, text: str, findings: list[Finding]) -> None:
        self.tell(f"{path.name}: {text}")
        for one in findings:
            self.tell(f"  {one}")
