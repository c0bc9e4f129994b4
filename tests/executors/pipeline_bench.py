"""What the tests of processors share: a folder as bucket, an artifacts folder, and stages run by the real executor."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

from penstock.executors.contract import Done, Failed, Outcome
from penstock.executors.processor import ProcessorExecutor
from tests.executors.bench import Bench

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class PipelineBench:
    def __init__(self, bench: Bench, root: Path) -> None:
        self.bench, self.inbox, self.artifacts = bench, root / "inbox", root / "artifacts"
        self.inbox.mkdir()
        self.executor = ProcessorExecutor()
        bench.settings |= {
            "pipelines.buckets.inbox": f"file://{self.inbox}",
            "pipelines.buckets.ff-artifacts": self.artifacts.as_uri(),
        }

    def put(self, key: str, data: bytes, mime: str) -> dict[str, Any]:
        """A file of the bucket, as an execution's input names it."""
        file = self.inbox / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return {"id": 1, "bucket": "inbox", "key": key, "size": len(data), "mime": mime, "etag": "", "version_id": ""}

    def args(self, processor: str, file: Any, config: Any = None, **more: Any) -> dict[str, Any]:
        return {"stage": "s1", "seq": 1, "processor": processor, "config": config or {}, "file": file, **more}

    def outcome(self, processor: str, file: Any, config: Any = None, *, request: Any = None, **more: Any) -> Outcome:
        made = self.bench.request(self.args(processor, file, config, **more), **(request or {}))
        return asyncio.run(self.executor.run(made, self.bench.services))

    def done(self, processor: str, file: Any, config: Any = None, **more: Any) -> dict[str, Any]:
        outcome = self.outcome(processor, file, config, **more)
        assert isinstance(outcome, Done), outcome
        body: dict[str, Any] = outcome.body
        json.dumps(body)
        return body

    def failed(self, processor: str, file: Any, config: Any = None, **more: Any) -> Any:
        outcome = self.outcome(processor, file, config, **more)
        assert isinstance(outcome, Failed), outcome
        return outcome.failure

    def object(self, body: dict[str, Any]) -> bytes:
        return (self.artifacts / body["output_ref"]).read_bytes()

    def objects(self) -> list[str]:
        """Every file below the artifacts, also those that nobody should see."""
        return sorted(str(file.relative_to(self.artifacts)) for file in self.artifacts.rglob("*") if file.is_file())

    def close(self) -> None:
        self.executor.close()


def png(width: int = 64, height: int = 48, color: str = "red", format: str = "PNG", **more: Any) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (width, height), color).save(out, format, **more)
    return out.getvalue()


def is_alive(pid: int) -> bool:
    """Neither ended nor a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
