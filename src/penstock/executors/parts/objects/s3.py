"""A bucket of S3 (extra `s3`), by obstore."""

from __future__ import annotations

import contextlib
import datetime
import re
import secrets as random_names
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.executors.parts.extras import extra_message
from penstock.executors.parts.objects.contract import (
    CHUNK,
    BucketUnknown,
    ObjectError,
    ObjectInfo,
    ObjectMissing,
    check_etag,
    check_size,
    key_names,
    refused,
)
from penstock.executors.parts.threads import in_thread

#: as S3 writes them; others were made up by whoever wrote the message
_S3_ETAG = re.compile(r"[0-9a-f]{32}(?:-\d+)?")


class S3Store:
    """A bucket of S3, or of whatever speaks as S3 does."""

    def __init__(self, url: str) -> None:
        try:
            from obstore.store import S3Store as Client
        except ImportError:
            raise BucketUnknown(extra_message("A bucket of S3 needs", "s3").rstrip(".")) from None
        parts = urlsplit(url)
        config: Any = {"region": "us-east-1", **dict(parse_qsl(parts.query))}
        if "endpoint" in config:
            config.setdefault("virtual_hosted_style_request", "false")
        self._client = Client(
            parts.netloc, prefix=unquote(parts.path).strip("/") or None, config=config,
            client_options={"allow_http": True, "timeout": "60s", "connect_timeout": "5s"},
            retry_config={"max_retries": 2, "retry_timeout": datetime.timedelta(seconds=20)},
        )  # fmt: skip

    def work_folder(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="penstock-"))

    async def info(self, key: str, version: str = "") -> ObjectInfo:
        import obstore

        with _answers():
            options: Any = {"version": version, "head": True}
            of_version = (
                (await obstore.get_async(self._client, _checked(key), options=options)).meta if version else None
            )
            known = of_version or await obstore.head_async(self._client, _checked(key))
        return ObjectInfo(int(known["size"]), str(known.get("e_tag") or "").strip('"'))

    async def local(
        self, key: str, folder: Path, most: int | None = None, *, version: str = "", etag: str = ""
    ) -> Path:
        file = folder / f"fetched-{random_names.token_hex(4)}"
        size = 0
        try:
            with file.open("wb") as target:
                async for data in self.stream(key, version, etag):
                    size += len(data)
                    check_size(size, most)
                    await in_thread(target.write, data)
        except OSError as error:
            raise refused(error) from None
        return file

    async def put_file(self, key: str, file: Path, mime: str = "") -> int:
        import obstore

        with _answers():
            attributes = {"Content-Type": mime} if mime else None
            await obstore.put_async(self._client, _checked(key), file, attributes=attributes)
        return file.stat().st_size

    async def put(self, key: str, data: bytes, mime: str = "") -> None:
        import obstore

        with _answers():
            attributes = {"Content-Type": mime} if mime else None
            await obstore.put_async(self._client, _checked(key), data, attributes=attributes)

    async def read(self, key: str, most: int) -> bytes:
        parts, size = [], 0
        async for data in self.stream(key):
            size += len(data)
            check_size(size, most)
            parts.append(data)
        return b"".join(parts)

    async def stream(self, key: str, version: str = "", etag: str = "") -> AsyncIterator[bytes]:
        import obstore

        with _answers():
            options: Any = {"version": version} if version else None
            answer = await obstore.get_async(self._client, _checked(key), options=options)
            check_etag(_S3_ETAG, etag, str(answer.meta.get("e_tag") or "").strip('"'))
            async for data in answer.stream(min_chunk_size=CHUNK):
                yield bytes(data)

    async def delete(self, key: str) -> None:
        import obstore

        with contextlib.suppress(ObjectMissing), _answers():
            await obstore.delete_async(self._client, _checked(key))


def _checked(key: str) -> str:
    return "/".join(key_names(key))


@contextlib.contextmanager
def _answers() -> Iterator[None]:
    from obstore.exceptions import BaseError, NotFoundError

    try:
        yield
    except (NotFoundError, FileNotFoundError):
        raise ObjectMissing("there is no such object in the bucket") from None
    except (BaseError, OSError) as error:
        raise ObjectError(f"the bucket does not answer ({type(error).__name__})") from None
