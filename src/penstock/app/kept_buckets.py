"""Buckets that a command has made up for a folder of this machine: the store keeps them for whoever drives it next.

What the operator has set up under a name goes before them. They are kept for no tenant, so that none can register one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors.parts.objects import FolderStore, bucket_settings, object_store
from penstock.store.artifacts import ArtifactRow
from penstock.store.contract import Store

_NOBODY, _TYPE = "", "bucket"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]+")
_pack = msgspec.msgpack.Encoder().encode


class KeptBucket(msgspec.Struct, frozen=True):
    folder: str
    tenant: str


def kept_buckets(store: Store) -> dict[str, KeptBucket]:
    return {
        row.id: msgspec.msgpack.decode(row.body, type=KeptBucket)
        for row in store.artifacts(_NOBODY, _TYPE)
    }  # fmt: skip


def kept_bucket_settings(store: Store) -> dict[str, Any]:
    """As the operator would have set them up: by their dotted names."""
    settings: dict[str, Any] = {}
    for name, kept in kept_buckets(store).items():
        settings |= bucket_settings(name, Path(kept.folder), kept.tenant)
    return settings


def keep_bucket(store: Store, folder: Path, tenant: str, settings: Mapping[str, Any], now: int) -> str:
    """The name of the bucket that a folder is for a tenant, the same every time: that of the folder, unless another
    one is called so. A folder that is gone leaves its name to the one that comes in its place."""
    name = _NOT_IN_NAMES.sub("-", folder.name.lower()).strip("-.")[:48] or "inbox"
    kept = KeptBucket(str(folder), tenant)
    known = kept_buckets(store)
    for other, bucket in known.items():
        if bucket == kept and _free(other, folder, settings):
            return other
    taken = known.get(name)
    if not _free(name, folder, settings) or taken is not None and taken != kept and Path(taken.folder).is_dir():
        name = f"{name}-{hashlib.sha256(_pack(kept)).hexdigest()[:8]}"
    store.put_artifacts([ArtifactRow(_NOBODY, _TYPE, name, "", "", _pack(kept), now)])
    return name


def _free(name: str, folder: Path, settings: Mapping[str, Any]) -> bool:
    """Has the operator given the name to nothing else?"""
    given = next((settings[key] for key in bucket_settings(name, folder, "") if key in settings), None)
    if given is None:
        return True
    if str(given).startswith("s3:"):
        return False
    known = object_store(str(given))
    return isinstance(known, FolderStore) and known.root.resolve() == folder
