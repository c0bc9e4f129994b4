"""The contract of a store: what it can do, how a test opens one, and the shelf of all stores.

A store joins by one line in `STORES`. A capability that it does not declare skips the tests that need it, visibly.
"""

from __future__ import annotations

import enum
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.kernel import fact as F
from penstock.store.address import open_store
from penstock.store.contract import Store
from penstock.store.run_store import Batch, NetRow
from penstock.store.sqlite import Sqlite

ROOT = Path(__file__).resolve().parents[2]


class Capability(enum.Enum):
    """What a store says it can do."""

    DURABLE = "a commit that has returned survives kill -9"
    FENCED = "an old holder's commit changes no row"
    ONE_ENGINE = "a second engine is refused while the first one lives"
    READERS = "other processes read while an engine writes"
    INBOX = "other processes leave commands for the engine"
    REBUILD = "projections are made again from the journal"
    FULL = "without room nothing is half-written, and with room it goes on"
    FILE = "it is one file, with its schema and its migrations"


class Kit:
    """How a test gets at one kind of store."""

    name = ""
    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened: list[Store] = []

    def open(self, *, engine: bool = True) -> Any:
        store = self.make(engine=engine)
        self.opened.append(store)
        return store

    def close(self) -> None:
        for store in self.opened:
            store.close()
        self.opened = []

    def clean(self) -> None:
        """Nothing of it outlives its test."""

    def make(self, *, engine: bool) -> Store:
        raise NotImplementedError

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Every row of a table, seen by somebody else's connection."""
        raise NotImplementedError

    def steal(self) -> None:
        """Another host takes the store: its fence grows by one."""
        raise NotImplementedError

    def fill(self, store: Any) -> Callable[[], None]:
        """Leave the store no room; what is returned gives it room again."""
        raise NotImplementedError

    def child(self, code: str, *args: str) -> subprocess.Popen[str]:
        """A process of its own that has `kit` on the same store."""
        head = "import sys; from pathlib import Path; from tests.contract.store_suite import *\n"
        return python(f"{head}kit = STORES[{self.name!r}](Path({str(self.folder)!r}))\n{code}", *args)


def python(code: str, *args: str, **more: Any) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *args], env=env, cwd=ROOT, text=True, stdout=subprocess.PIPE, **more
    )


class SqliteKit(Kit):
    name = "sqlite"
    capabilities = frozenset(Capability)

    @property
    def path(self) -> Path:
        return self.folder / "store.db"

    def make(self, *, engine: bool) -> Sqlite:
        return Sqlite(self.path, engine=engine)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.path) as c:
            return sorted(c.execute(f'SELECT * FROM "{table}"').fetchall(), key=repr)

    def steal(self) -> None:
        with sqlite3.connect(self.path) as c:
            c.execute("UPDATE mark SET value=value+1 WHERE name='fence'")

    def fill(self, store: Sqlite) -> Callable[[], None]:
        (pages,) = store.c.execute("PRAGMA page_count").fetchone()
        store.c.execute(f"PRAGMA max_page_count={pages}")

        def again() -> None:
            store.c.execute("PRAGMA max_page_count=1073741823")

        return again


class PostgresKit(Kit):
    """A database of its own in a server that the tests start; children find it by a file in the folder."""

    name = "postgresql"
    capabilities = frozenset(Capability) - {Capability.FILE}
    disk: Path | None = None

    @property
    def url(self) -> str:
        said = self.folder / "store.url"
        if not said.exists():
            pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
            from tests.servers.postgres import database

            said.write_text(database())
        return said.read_text()

    def make(self, *, engine: bool) -> Store:
        return open_store(self.url, engine=engine)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as c:
            cursor = c.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return sorted(self.ask(f'SELECT * FROM "{table}"'), key=repr)

    def steal(self) -> None:
        self.ask("UPDATE worker SET fence=fence+1")

    def fill(self, store: Any) -> Callable[[], None]:
        """The table of large values moves to a file system that has no room for them (R9)."""
        from tests.servers.postgres import small_disk

        disk = self.disk = small_disk()
        self.ask(f"CREATE TABLESPACE \"{disk.name}\" LOCATION '{disk}'")
        self.ask("ALTER TABLE blob ALTER COLUMN body SET STORAGE EXTERNAL")  # or a million zeros would be a few bytes
        self.ask(f'ALTER TABLE blob SET TABLESPACE "{disk.name}"')
        return lambda: resize(disk, "64m")

    def clean(self) -> None:
        if self.disk is not None:
            self.ask("DROP TABLE blob")
            self.ask(f'DROP TABLESPACE "{self.disk.name}"')
            subprocess.run(["umount", str(self.disk)], check=True)
            self.disk.rmdir()

    def child(self, code: str, *args: str) -> subprocess.Popen[str]:
        """The database is made here: a child that is killed would leave the server that it has started."""
        assert self.url
        return super().child(code, *args)


def resize(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def sim_kit(folder: Path) -> Kit:
    """The simulation's store of dicts; imported here, since it leans on this file."""
    from tests.sim.kit import SimKit

    return SimKit(folder)


#: every store of the house
STORES: dict[str, Callable[[Path], Kit]] = {
    "sqlite": SqliteKit,
    "sim": sim_kit,
    "postgresql": PostgresKit,
}


def needs(*capabilities: Capability) -> pytest.MarkDecorator:
    return pytest.mark.needs(*capabilities)


def report() -> list[str]:
    """Which store can do what; printed after every run of the suite."""
    lines = []
    for name, make in STORES.items():
        can = make(Path()).capabilities
        lines.append(f"store «{name}»: {len(can)} of {len(Capability)} capabilities")
        lines += [f"  {'yes' if one in can else 'NO '} {one.name:<11}{one.value}" for one in Capability]
    return lines


# ---- rows by hand ----------------------------------------------------------------------------------------------------


def a_net(store: Store, name: str = "n") -> int:
    return store.add_net(NetRow(0, f"hash of {name}", name, "net", b"body of " + name.encode(), b"source", 1000))


def a_run(no: int, **more: Any) -> tuple[Any, ...]:
    row: dict[str, Any] = {
        "no": no, "id": f"r{no:015d}", "tenant": "default", "net": 1, "key": None, "status": 2, "priority": 1000,
        "created_at": 1000, "updated_at": 1000, "wake_at": None, "parent": None, "checkpoint_seq": 0,
        "checkpoint": None,
    }  # fmt: skip
    assert not more.keys() - row.keys()
    return tuple({**row, **more}.values())


def a_turn(run: int, first: int, last: int | None = None, body: bytes = b"") -> tuple[Any, ...]:
    facts = body or F.encode_facts([(F.IGNORED, "tick", "nothing_due", None)] * ((last or first) - first + 1))
    return (run, first, last or first, 1000 + first, bytearray(facts))


def a_batch(**rows: list[tuple[Any, ...]]) -> Batch:
    batch = Batch()
    for name, values in rows.items():
        setattr(batch, name, values)
    return batch


def started(no: int, turns: int = 1, **more: Any) -> Batch:
    """A run and its first turns."""
    return a_batch(new=[a_run(no, **more)], journal=[a_turn(no, seq) for seq in range(1, turns + 1)])
