"""Where the contents of checkpoints may lie beside the database: S3 and Redis, both extras."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Protocol

from penstock.errors import ExtraMissing


class CheckpointPlace(Protocol):
    async def put(self, name: str, data: bytes) -> str:
        """Keep it; the reference under which it is found again."""
        ...

    async def get(self, ref: str) -> bytes | None: ...

    async def delete(self, ref: str) -> None: ...

    async def close(self) -> None: ...


class S3:
    """`url` is s3://bucket/prefix; `options` are those of the client: endpoint, region, access_key_id …"""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        try:
            from obstore.store import from_url
        except ImportError:
            raise ExtraMissing(extra="s3") from None
        self.url = url.rstrip("/")
        self._store: Any = from_url(self.url, **options)

    async def put(self, name: str, data: bytes) -> str:
        import obstore

        await obstore.put_async(self._store, name, data)
        return f"{self.url}/{name}"

    async def get(self, ref: str) -> bytes | None:
        import obstore

        try:
            answer = await obstore.get_async(self._store, self._name(ref))
            return bytes(await answer.bytes_async())
        except FileNotFoundError:
            return None

    async def delete(self, ref: str) -> None:
        import obstore

        with contextlib.suppress(FileNotFoundError):  # it is gone already
            await obstore.delete_async(self._store, self._name(ref))

    async def close(self) -> None:
        pass

    def _name(self, ref: str) -> str:
        return ref.removeprefix(f"{self.url}/")


class Redis:
    """`url` is redis://host:port/db, or rediss:// for an encrypted way."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        try:
            from redis import asyncio as redis
        except ImportError:
            raise ExtraMissing(extra="redis") from None
        self._client: Any = redis.from_url(url, **{"socket_timeout": 10, "socket_connect_timeout": 10, **options})

    async def put(self, name: str, data: bytes) -> str:
        await self._client.set(f"penstock:{name}", data)
        return f"redis:penstock:{name}"

    async def get(self, ref: str) -> bytes | None:
        data = await self._client.get(ref.removeprefix("redis:"))
        return None if data is None else bytes(data)

    async def delete(self, ref: str) -> None:
        await self._client.delete(ref.removeprefix("redis:"))

    async def close(self) -> None:
        await self._client.aclose()


PLACES: Mapping[str, type[S3] | type[Redis]] = {"s3": S3, "redis": Redis}


def place_of(kind: str, settings: Mapping[str, Any]) -> CheckpointPlace | None:
    """As the setting `checkpoint.s3` or `checkpoint.redis` says: a URL, or {url, …options}; None without it."""
    given = settings.get(f"checkpoint.{kind}")
    if not given or kind not in PLACES:
        return None
    options = {"url": given} if isinstance(given, str) else dict(given)
    return PLACES[kind](str(options.pop("url", "")), options)
