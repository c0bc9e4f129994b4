"""Where a world keeps its runs: a SQLite file, or a database of its own in the PostgreSQL server that the tests start.

Both are made and copied, and both die at a given write. A server is started once per process and only when one is asked
for; where there is none, the test is skipped and says why.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import pytest

from penstock.store.address import Server, open_store, place
from penstock.store.sqlite import Sqlite
from tests.host.dying import WRITES, Mortal

#: everything that a process can die at: more than what tests of the host alone need
STEPS = (
    *WRITES, "put_message", "outbox_moved", "put_deployment", "move_deployment", "put_simulation", "put_artifacts",
)  # fmt: skip
#: every death on a server costs a database; without this, some tests there take only every third
FULL = os.environ.get("PENSTOCK_FULL") == "1"
_numbers = itertools.count(1)


class Base(Protocol):
    """One kind of store."""

    name: str
    every: int  # of the deaths that a test may choose from

    def make(self, folder: Path) -> Path:
        """Where the store of a new world is to be."""

    def copy(self, path: Path, folder: Path) -> Path:
        """The same store once more, for the world in this folder, whose files are there already."""

    def drop(self, path: Path) -> None:
        """Nobody needs it any more."""

    def dying(self, path: Path, at: int) -> Any:
        """It, opened, and dead at its n-th step."""


class Files:
    name, every = "sqlite", 1

    def make(self, folder: Path) -> Path:
        return folder / "store.db"

    def copy(self, path: Path, folder: Path) -> Path:
        return folder / path.name

    def drop(self, path: Path) -> None:
        """Its folder is the test's, and goes with it."""

    def dying(self, path: Path, at: int) -> Dies:
        return Dies(path).doomed(at, STEPS)


class Databases:
    name, every = "postgresql", 1 if FULL else 3

    def __init__(self) -> None:
        self.made: dict[str, None] = {}
        self.template = _template()

    def make(self, folder: Path) -> Path:
        return place(self.like(self.template))

    def copy(self, path: Path, folder: Path) -> Path:
        return place(self.like(str(path)))

    def drop(self, path: Path) -> None:
        self._drop(_name(str(path)))

    def _drop(self, name: str) -> None:
        del self.made[name]
        _ask(self.template, f'DROP DATABASE "{name}" WITH (FORCE)')

    def drop_all(self) -> None:
        for name in list(self.made):
            self._drop(name)

    def dying(self, path: Path, at: int) -> Any:
        from penstock.store.postgres.store import Postgres

        class DiesThere(Mortal, Postgres):
            """A store on a server whose process dies at its n-th step."""

        assert isinstance(path, Server)
        return DiesThere(path).doomed(at, STEPS)

    def like(self, url: str) -> str:
        """The URL of a copy of a database that nobody uses."""
        name = f"world_{os.getpid()}_{next(_numbers)}_{time.time_ns() % 1_000_000}"
        _ask(self.template, f'CREATE DATABASE "{name}" TEMPLATE "{_name(url)}"')
        self.made[name] = None
        return _at(self.template, name)


class Dies(Mortal, Sqlite):
    """A store whose process dies at its n-th step: before or after a write of any kind."""


@functools.cache
def _template() -> str:
    """The URL of a database that has the tables of a store and nothing in them."""
    pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    from tests.servers.postgres import database

    url = database()
    open_store(url).close()
    return url


def _ask(url: str, sql: str) -> None:
    import psycopg

    with psycopg.connect(_at(url, "postgres"), autocommit=True) as admin:
        admin.execute(sql)


def _at(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _name(url: str) -> str:
    return urlsplit(url).path[1:]


FILES = Files()
NAMES = ("sqlite", "postgresql")


def base(name: str) -> Iterator[Base]:
    """For a fixture: a kind of store, and afterwards nothing of it is left."""
    if name == "sqlite":
        yield FILES
        return
    databases = Databases()
    yield databases
    databases.drop_all()
