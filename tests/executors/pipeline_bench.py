"""What the tests of processors share: a folder as bucket, an artifacts folder, and stages run by the real executor."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors import ExecutorTable
from penstock.executors.contract import Done, Failed, Outcome, Services
from penstock.executors.processor import ProcessorExecutor
from tests.executors.bench import Bench

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class PipelineBench:
    def __init__(self, bench: Bench, root: Path) -> None:
        self.bench, self.inbox, self.artifacts = bench, root / "inbox", root / "artifacts"
        self.inbox.mkdir()
        self.executor = ProcessorExecutor()
        self.table = ExecutorTable({})
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
        return asyncio.run(self.executor.run(made, self.services))

    @property
    def services(self) -> Services:
        return msgspec.structs.replace(self.bench.services, executors=self.table)

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
        for made in self.table.made.values():
            if hasattr(made, "close"):
                made.close()


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


def pdf(*pages: str, size: tuple[int, int] = (300, 200)) -> bytes:
    """A PDF with a line of text on each page, written by hand: objects, table of places, trailer."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        content = f"BT /F1 24 Tf 20 100 Td ({text}) Tj ET".encode()
        kids.append(len(objects) + 1)
        box = f"/MediaBox [0 0 {size[0]} {size[1]}] /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R {box} /Contents {len(objects) + 2} 0 R >>".encode())
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    refs = " ".join(f"{kid} 0 R" for kid in kids)
    objects[1] = f"<< /Type /Pages /Kids [{refs}] /Count {len(kids)} >>".encode()
    out, places = b"%PDF-1.4\n", []
    for number, made in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, made)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


def xlsx(*rows: list[Any]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()
