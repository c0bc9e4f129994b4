"""A door that only reads, for a process beside the one that drives: what it is told, and how it is opened."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.runs.long.kept_folds import KeptFolds
from penstock.host.tenants import Shared
from penstock.store.address import Server


class ReaderOptions(msgspec.Struct, frozen=True):
    """`conninfo` is None where the store is a file. It may hold a password: it goes through a pipe, and never into the
    arguments or the environment of a process."""

    path: str
    conninfo: dict[str, str] | None
    settings: bytes
    shared: Shared
    tenant: str


def options_of(door: Penstock) -> ReaderOptions:
    path = door.path
    conninfo = path.conninfo if isinstance(path, Server) else None
    return ReaderOptions(str(path), conninfo, _packed(door.given_settings), door.shared, door.tenant)


def _packed(settings: Mapping[str, Any]) -> bytes:
    """Pickled, since a setting may be a path or know how to find a secret. What cannot be handed over is left out."""
    packed: dict[str, bytes] = {}
    for name, value in settings.items():
        try:
            packed[name] = pickle.dumps(value)
        except (pickle.PicklingError, AttributeError, TypeError):
            continue
    return msgspec.msgpack.encode(packed)


def open_reader(options: ReaderOptions) -> tuple[Penstock, KeptFolds]:
    """The door, open, and the folds that it keeps. What it is told comes from the process that has started this one."""
    packed = msgspec.msgpack.decode(options.settings, type=dict[str, bytes])
    settings = {name: pickle.loads(value) for name, value in packed.items()}  # noqa: S301
    store: Server | str = options.path
    if options.conninfo is not None:
        store = Server(options.path)
        store.conninfo, store.shown = options.conninfo, options.path
    door = Penstock(
        store, drive=False, create=False, settings=settings, shared=options.shared, tenant=options.tenant
    ).open()
    return door, door.keep_folds()
