"""Results beside the file: what the stages of an execution have made lies in FILE.results (on a laptop).

Each file appears whole or not at all. `CODE.json` is written last and says which execution it is of: where it is there,
nothing is left to deliver, and after a crash the next one delivers what is missing.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.pipeline.executions import Execution, StageLog
from penstock.app.pipeline.intake.folder_watch import RESULTS
from penstock.executors.parts.objects import ObjectStore
from penstock.executors.processors.file_kinds import ending_of


class NoPlace(Exception):
    """There is nowhere to lay the results of a file: its key leads out of the folder, or its own folder is gone."""


class Results:
    """Of one watched folder. `alone`: only one definition delivers here, so its stages need no name before them."""

    def __init__(self, folder: Path, artifacts: ObjectStore, *, alone: bool) -> None:
        self.folder, self.artifacts, self.alone = folder, artifacts, alone

    def place(self, key: str) -> Path:
        """Whoever sends a message names the key, and whoever has files in the folder may put links there: neither leads
        out of it. Raises NoPlace."""
        names = f"{key}{RESULTS}".split("/")
        if any(name in ("", ".", "..") for name in names):
            raise NoPlace("the key is no path inside the folder")
        place = self.folder
        for name in names:
            place /= name
            if place.is_symlink():
                raise NoPlace("a link stands where the results would lie")
        return place

    def delivered(self, key: str, code: str) -> str | None:
        """The execution whose results lie there."""
        try:
            known = json.loads((self.place(key) / f"{code}.json").read_bytes())
        except (OSError, ValueError, NoPlace):
            return None
        id = known.get("executionId") if isinstance(known, dict) else None
        return id if isinstance(id, str) else None

    async def deliver(self, execution: Execution) -> list[str]:
        """The names of what lies there now. Raises OSError, ObjectError, NoPlace."""
        assert execution.file is not None
        folder = self.place(execution.file.key)
        try:
            folder.mkdir(exist_ok=True)
        except FileExistsError:
            raise NoPlace("a file stands where the results would lie") from None
        except (FileNotFoundError, NotADirectoryError):
            raise NoPlace("the file's folder is gone") from None
        names = []
        for stage in execution.stages:
            if stage.status == "COMPLETED":
                names += await self._deliver_stage(folder, execution, stage)
        summary = {
            "executionId": execution.execution_id, "pipelineCode": execution.pipeline_code,
            "version": execution.version, "status": execution.status, "traceId": execution.trace_id,
            "error": msgspec.to_builtins(execution.error), "warnings": execution.warnings, "files": names,
            "stages": {stage.stage_code: stage.status for stage in execution.stages},
        }  # fmt: skip
        self._write(folder / f"{execution.pipeline_code}.json", _json(summary))
        return names

    async def _deliver_stage(self, folder: Path, execution: Execution, stage: StageLog) -> list[str]:
        before = "" if self.alone else f"{execution.pipeline_code}-"
        name = f"{before}{stage.sequence_order}-{stage.stage_code}"
        if stage.output_ref:
            target = folder / f"{name}.{ending_of(stage.mime or '', stage.output_ref)}"
            fresh = folder / f".{secrets.token_hex(8)}.tmp"
            try:
                with fresh.open("wb") as file:
                    async for data in self.artifacts.stream(stage.output_ref):
                        file.write(data)
                fresh.replace(target)
            finally:
                fresh.unlink(missing_ok=True)
            return [target.name]
        if stage.output in (None, {}, []):
            return []
        self._write(folder / f"{name}.json", _json(stage.output))
        return [f"{name}.json"]

    def _write(self, target: Path, data: bytes) -> None:
        fresh = target.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            fresh.write_bytes(data)
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
