"""Objects in buckets: a folder of this machine, or S3 (extra `s3`). Streamed, written whole or not at all.

A bucket is what the operator has set up: `pipelines.buckets.NAME` is `file:///folder`, a path, or
`s3://bucket/prefix?endpoint=…&region=…&access_key_id=…&secret_access_key=${secrets.NAME}`. A key is a path of names
below it, and there is no key that leads elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.executors.contract import Services
from penstock.executors.parts.exceptions import operator_secrets
from penstock.executors.parts.objects.contract import (
    BucketUnknown,
    KeyRefused,
    ObjectChanged,
    ObjectError,
    ObjectInfo,
    ObjectMissing,
    ObjectStore,
)
from penstock.executors.parts.objects.folder import FolderStore
from penstock.executors.parts.objects.s3 import S3Store
from penstock.executors.parts.secrets import SecretMissing

__all__ = [
    "ARTIFACTS", "BucketUnknown", "Buckets", "FolderStore", "KeyRefused", "ObjectChanged", "ObjectError", "ObjectInfo",
    "ObjectMissing", "ObjectStore", "S3Store", "bucket_settings", "object_store",
]  # fmt: skip
ARTIFACTS = "ff-artifacts"
_BUCKETS, _TENANTS = "pipelines.buckets.", "pipelines.bucket_tenants."


class Buckets:
    """The buckets that the operator has set up, by name."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._settings: Mapping[str, Any] = services.settings if services.machine is None else services.machine

    def __getitem__(self, name: str) -> ObjectStore:
        """Raises BucketUnknown."""
        url = self._settings.get(f"{_BUCKETS}{name}")
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
        owner = self._settings.get(f"{_TENANTS}{name}") or self._settings.get(f"pipelines.watch.{name}")
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


def bucket_settings(name: str, folder: Path, tenant: str) -> dict[str, str]:
    """What sets up a folder of this machine as the bucket of a tenant."""
    return {f"{_BUCKETS}{name}": folder.as_uri(), f"{_TENANTS}{name}": tenant}


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
