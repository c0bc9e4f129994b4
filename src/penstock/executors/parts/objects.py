"""Objects in buckets: a folder of this machine, or S3 (extra `s3`). Streamed, written whole or not at all.

A bucket is what the operator has set up: `pipelines.buckets.NAME` is `file:///folder`, a path, or
`s3://bucket/prefix?endpoint=…&region=…&access_key_id=…&secret_access_key=${secrets.NAME}`. A key is a path of names
below it, and there is no key that leads elsewhere.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import os
import secrets as random_names
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from penstock.executors.contract import Services
from penstock.executors.parts.exceptions import operator_secrets
from penstock.executors.parts.extras import extra_message
from penstock.executors.parts.secrets import SecretMissing
from penstock.executors.parts.threads import in_thread

ARTIFACTS = "ff-artifacts"
CHUNK = 1024 * 1024
_KEY_MAX, _NAME_MAX = 1024, 255
_OURS = ".penstock-"
_WORK = f"{_OURS}work"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ObjectError(Exception):
    """A store that does not do what it is asked for; the text says why, without a path of the machine."""

    category = "transient"


class ObjectMissing(ObjectError):
    """There is no object under the key."""

    category = "external"


class KeyRefused(ObjectError):
    """A key that names no place in the bucket."""

    category = "validation"


class BucketUnknown(ObjectError):
    """No bucket of that name is set up, or what it needs is not installed."""

    category = "permanent"


class ObjectInfo(msgspec.Struct, frozen=True):
    size: int
    etag: str = ""


class ObjectStore(Protocol):
    """One bucket."""

    def work_folder(self) -> Path:
        """A new folder from which a file gets into the bucket without being copied, where that is possible."""
        ...

    async def info(self, key: str) -> ObjectInfo: ...

    async def local(self, key: str, folder: Path, most: int | None = None) -> Path:
        """A file to read the object from: itself, or a copy in the folder. Never write to it."""
        ...

    async def put_file(self, key: str, file: Path, mime: str = "") -> int:
        """The file becomes the object, whole; it may be moved. Its size."""
        ...

    async def put(self, key: str, data: bytes, mime: str = "") -> None: ...

    async def read(self, key: str, most: int) -> bytes: ...

    def stream(self, key: str) -> AsyncIterator[bytes]: ...

    async def delete(self, key: str) -> None: ...


def key_names(key: str) -> list[str]:
    """The names a key consists of. Raises KeyRefused."""
    if not key or len(key.encode("utf-8", "surrogatepass")) > _KEY_MAX:
        raise KeyRefused(f"a key has 1 to {_KEY_MAX} bytes")
    names = key.split("/")
    for name in names:
        if name in ("", ".", "..") or "\\" in name or any(ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 for c in name):
            raise KeyRefused("the key is no path inside the bucket")
        if name.startswith(_OURS):
            raise KeyRefused(f"names that begin with «{_OURS}» are the engine's own")
    return names


class FolderStore:
    """A bucket that is a folder. No symbolic link below it is followed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def work_folder(self) -> Path:
        try:
            above = self.root / _WORK
            above.mkdir(parents=True, exist_ok=True)
            _sweep(above)
            made = above / f"{os.getpid()}-{random_names.token_hex(8)}"
            made.mkdir(mode=0o700)
        except OSError as error:
            raise _refused(error) from None
        return made

    async def info(self, key: str) -> ObjectInfo:
        with self._opened(key) as handle:
            known = os.fstat(handle)
            return ObjectInfo(known.st_size, f"{known.st_mtime_ns:x}-{known.st_size:x}")

    async def local(self, key: str, folder: Path, most: int | None = None) -> Path:
        with self._opened(key) as handle:
            _check_size(os.fstat(handle).st_size, most)
        return self.root.joinpath(*key_names(key))

    async def put_file(self, key: str, file: Path, mime: str = "") -> int:
        return await in_thread(self._put_file, key, file)

    async def put(self, key: str, data: bytes, mime: str = "") -> None:
        def write() -> None:
            folder = self.work_folder()
            try:
                file = folder / "data"
                file.write_bytes(data)
                self._put_file(key, file)
            except OSError as error:
                raise _refused(error) from None
            finally:
                shutil.rmtree(folder, ignore_errors=True)

        await in_thread(write)

    async def read(self, key: str, most: int) -> bytes:
        def read() -> bytes:
            with self._opened(key) as handle, open(handle, "rb", closefd=False) as file:
                _check_size(os.fstat(handle).st_size, most)
                return file.read(most)

        return await in_thread(read)

    async def stream(self, key: str) -> AsyncIterator[bytes]:
        with self._opened(key) as handle, open(handle, "rb", closefd=False) as file:
            while data := await in_thread(file.read, CHUNK):
                yield data

    async def delete(self, key: str) -> None:
        names = key_names(key)
        with contextlib.suppress(ObjectMissing), self._folder(names[:-1]) as folder:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(names[-1], dir_fd=folder)

    def _put_file(self, key: str, file: Path) -> int:
        names = key_names(key)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            size = file.stat().st_size
            with self._folder(names[:-1], make=True) as folder:
                fresh = f"{_OURS}{random_names.token_hex(8)}"
                try:
                    _bring(file, fresh, folder)
                    os.rename(fresh, names[-1], src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    with contextlib.suppress(OSError):
                        os.unlink(fresh, dir_fd=folder)
                    raise
                os.fsync(folder)
            return size
        except OSError as error:
            raise _refused(error) from None

    @contextlib.contextmanager
    def _opened(self, key: str) -> Iterator[int]:
        names = key_names(key)
        with self._folder(names[:-1]) as folder:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            try:
                handle = os.open(names[-1], flags, dir_fd=folder)
            except FileNotFoundError:
                raise ObjectMissing("there is no such object in the bucket") from None
            except OSError as error:
                raise _refused(error) from None
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise ObjectMissing("there is no such object in the bucket")
                yield handle
            finally:
                os.close(handle)

    @contextlib.contextmanager
    def _folder(self, names: list[str], make: bool = False) -> Iterator[int]:
        try:
            handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise ObjectError("the bucket's folder is not there") from None
        except OSError as error:
            raise _refused(error) from None
        try:
            for name in names:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=handle)
                below = os.open(name, _DIRECTORY, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle
        except FileNotFoundError:
            raise ObjectMissing("there is no such object in the bucket") from None
        except OSError as error:
            raise _refused(error) from None
        finally:
            os.close(handle)


def _bring(file: Path, name: str, folder: int) -> None:
    """The file under a name in the folder, durable: moved on the same disk, copied from another."""
    try:
        with file.open("rb") as source:
            os.fsync(source.fileno())
        os.rename(file, name, dst_dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        with open(handle, "wb") as target, file.open("rb") as source:
            shutil.copyfileobj(source, target, CHUNK)
            target.flush()
            os.fsync(target.fileno())


_SWEPT: set[Path] = set()


def _sweep(above: Path) -> None:
    """What a process that was killed has left here; looked for once."""
    if above in _SWEPT:
        return
    _SWEPT.add(above)
    for left in above.iterdir():
        owner = left.name.partition("-")[0]
        try:
            os.kill(int(owner), 0)
        except (ProcessLookupError, ValueError):
            shutil.rmtree(left, ignore_errors=True)
        except OSError:
            continue


def _check_size(size: int, most: int | None) -> None:
    if most is not None and size > most:
        error = ObjectError(f"the object has {size} bytes, and at most {most} are read")
        error.category = "validation"
        raise error


def _refused(error: OSError) -> ObjectError:
    return ObjectError(f"the bucket's folder refuses: {error.strerror or type(error).__name__}")


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

    async def info(self, key: str) -> ObjectInfo:
        import obstore

        with _answers():
            known = await obstore.head_async(self._client, _checked(key))
        return ObjectInfo(int(known["size"]), str(known.get("e_tag") or "").strip('"'))

    async def local(self, key: str, folder: Path, most: int | None = None) -> Path:
        file = folder / f"fetched-{random_names.token_hex(4)}"
        size = 0
        try:
            with file.open("wb") as target:
                async for data in self.stream(key):
                    size += len(data)
                    _check_size(size, most)
                    await in_thread(target.write, data)
        except OSError as error:
            raise _refused(error) from None
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
            _check_size(size, most)
            parts.append(data)
        return b"".join(parts)

    async def stream(self, key: str) -> AsyncIterator[bytes]:
        import obstore

        with _answers():
            answer = await obstore.get_async(self._client, _checked(key))
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


class Buckets:
    """The buckets that the operator has set up, by name."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._settings: Mapping[str, Any] = services.settings if services.machine is None else services.machine

    def __getitem__(self, name: str) -> ObjectStore:
        """Raises BucketUnknown."""
        url = self._settings.get(f"pipelines.buckets.{name}")
        if url is None:
            if name != ARTIFACTS:
                raise BucketUnknown(f"no bucket «{name[:80]}» is set up; name it under [pipelines.buckets]")
            return FolderStore(self._own_folder())
        return object_store(self._filled(str(url)))

    @property
    def artifacts(self) -> ObjectStore:
        return self[ARTIFACTS]

    def owner(self, name: str) -> str | None:
        """The tenant whose files lie in the bucket, where the operator has said so: no other's executions read it."""
        owner = self._settings.get(f"pipelines.bucket_tenants.{name}") or self._settings.get(f"pipelines.watch.{name}")
        return None if owner is None else str(owner)

    def _own_folder(self) -> Path:
        store = self._services.path_policy.store
        if store is not None:
            return store.with_name(f"{store.name}.artifacts")
        return self._services.output_dir.with_name(f"{self._services.output_dir.name}.artifacts")

    def _filled(self, url: str) -> str:
        try:
            return operator_secrets(self._services).fill(url)
        except SecretMissing as error:
            raise BucketUnknown(str(error)) from None


_STORES: dict[str, ObjectStore] = {}
_STORES_MAX = 100


def object_store(url: str) -> ObjectStore:
    """The bucket behind a URL or a path; the same one for the same URL, since a client keeps its connections."""
    if url not in _STORES:
        if len(_STORES) >= _STORES_MAX:
            _STORES.clear()
        _STORES[url] = _store_of(url)
    return _STORES[url]


def _store_of(url: str) -> ObjectStore:
    scheme, colon, _ = url.partition("://")
    if not colon:
        return FolderStore(Path(url).absolute())
    if scheme == "file":
        parts = urlsplit(url)
        return FolderStore(Path(unquote(f"{parts.netloc}{parts.path}")).absolute())
    if scheme == "s3":
        return S3Store(url)
    raise BucketUnknown(f"a bucket is file:// or s3://, and not {scheme[:20]}://")
