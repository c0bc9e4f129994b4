"""Files of an execution: the one that came in, and what its stages have made (F-4.3, F-X.16)."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.pipeline.executions import execution_row, read_execution
from penstock.errors.pipeline import ExecutionFileNotFound, PipelineScope, PipelineStorage
from penstock.executors.parts.objects import (
    ARTIFACTS,
    Buckets,
    BucketUnknown,
    KeyRefused,
    ObjectError,
    ObjectInfo,
    ObjectMissing,
    ObjectStore,
)
from penstock.executors.processors.contract import ProcessorError
from penstock.executors.processors.file_kinds import ending_of
from penstock.executors.processors.page_picture import MAX_BYTES, first_page
from penstock.executors.processors.stage_input import StageFile, check_tenant


class OpenFile(msgspec.Struct):
    """`size` is that of the whole file; `chunks` end after as many bytes as were asked for."""

    name: str
    mime: str
    size: int
    chunks: AsyncIterator[bytes]


async def input_of(door: Penstock, id: str, most: int | None = None) -> OpenFile:
    """The file that came in. Raises ExecutionFileNotFound, PipelineStorage."""
    file = read_execution(door, execution_row(door, id))[0].file
    if file is None:
        raise ExecutionFileNotFound(why="the execution has none")
    name = file.key.rsplit("/", 1)[-1]
    return await _open(door, StageFile(file.bucket, file.key, file.mime, file.size), name, most)


async def output_of(door: Penstock, id: str, stage: str, most: int | None = None) -> OpenFile:
    """What a stage has made, by its newest attempt: its object, or the small JSON that its log holds."""
    _, logs = read_execution(door, execution_row(door, id))
    made = [log for log in logs if log.stage_code == stage and (log.output_ref or log.output is not None)]
    if not made:
        raise ExecutionFileNotFound(why=f"the stage «{stage}» has made nothing")
    log = made[-1]
    name = f"{log.sequence_order}-{stage}"
    ref = log.output_ref or _reference(log.output)
    if ref is None:
        body = msgspec.json.encode(log.output)
        return OpenFile(f"{name}.json", "application/json", len(body), _chunks(body, most))
    mime = log.mime or ""
    return await _open(door, StageFile(ARTIFACTS, ref, mime), f"{name}.{ending_of(mime, ref)}", most)


async def page_of(file: OpenFile) -> OpenFile:
    """A picture of the first page of a PDF. Raises ExecutionFileNotFound where there is none."""
    if file.mime.partition(";")[0].strip().lower() != "application/pdf" or file.size > MAX_BYTES:
        raise ExecutionFileNotFound(why="it is no PDF of which a page is shown")
    with tempfile.TemporaryDirectory(prefix="penstock-page-") as folder:
        whole, picture = Path(folder, "file.pdf"), Path(folder, "page.png")
        whole.write_bytes(b"".join([chunk async for chunk in file.chunks]))
        if not await first_page(whole, picture):
            raise ExecutionFileNotFound(why="its first page cannot be drawn")
        body = picture.read_bytes()
    return OpenFile(f"{file.name}.png", "image/png", len(body), _chunks(body, None))


def _reference(output: Any) -> str | None:
    """F-X.16: what was too large for its row."""
    ref = output.get("$ref") if isinstance(output, dict) else None
    return ref if isinstance(ref, str) else None


async def file_info(door: Penstock, file: StageFile) -> ObjectInfo:
    """Of a file that lies in a bucket, where the door's tenant may read it."""
    with _told():
        return await _store(door, file).info(file.key)


async def _open(door: Penstock, file: StageFile, name: str, most: int | None) -> OpenFile:
    with _told():
        store = _store(door, file)
        size = (await store.info(file.key)).size
    return OpenFile(name, file.mime, size, _limited(store.stream(file.key), most))


def _store(door: Penstock, file: StageFile) -> ObjectStore:
    buckets = Buckets(door.host.dispatch.services)
    check_tenant(file, door.tenant, buckets)
    return buckets[file.bucket]


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except ProcessorError:
        raise PipelineScope(why="The file is another tenant's") from None
    except (ObjectMissing, KeyRefused):
        raise ExecutionFileNotFound(why="it is not in its bucket") from None
    except BucketUnknown as error:
        raise ExecutionFileNotFound(why=str(error)) from None
    except ObjectError as error:
        raise PipelineStorage(why=str(error)) from None


async def _chunks(body: bytes, most: int | None) -> AsyncIterator[bytes]:
    yield body if most is None else body[:most]


async def _limited(chunks: AsyncIterator[bytes], most: int | None) -> AsyncIterator[bytes]:
    left = most
    async for chunk in chunks:
        yield chunk if left is None else chunk[:left]
        if left is not None:
            left -= len(chunk)
            if left <= 0:
                return
