"""A store whose pages are damaged, one at a time: `verify` names each damage that changes what the store says.

Each copy gets one damage: a whole page of noise, or one changed byte. A damage does not matter where the store says the
same as before, row by row and by every index: a page that holds nothing, or room on a page that is not used.

    python -m tools.attacks.damaged_pages [PAGES] [SEED]
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import shutil
import sqlite3
import struct
import sys
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from penstock.app.access.audit import AuditLog
from penstock.app.maintenance.verify import verify
from penstock.app.penstock import Penstock
from penstock.app.releases.start_release import start
from penstock.demo import sample_runs
from penstock.errors import PenstockError
from penstock.net import codec
from penstock.store.run_store import Batch
from penstock.store.sqlite import Sqlite
from penstock.store.tables import TABLES
from tools.attacks.contract import AttackResult

PAGE = 4096
Kind = Literal["page", "byte"]
#: what becomes of a damage: named, without effect, or neither
NOTICED, UNUSED, SILENT = "noticed", "unused", "silent"
#: tables whose rows are written down nowhere else: a changed value in one of them can only be seen by its reader
ALONE = frozenset({
    "written once",
    "mark", "outbox", "intent", "inbox", "gate", "memo", "artifact", "message", "event", "schedule", "letter",
    "checkpoint", "api_key", "request", "draft", "remark", "ended_session", "past_judgment",
})  # fmt: skip
#: of these tables some columns are known by a hash or by the journal; the others are written once
KNOWN = {
    "release": ("tenant", "name", "version", "hash", "document"), "net": ("no", "hash", "body"),
    "blob": ("hash", "body"),
    "run": ("no", "id", "tenant", "net", "status", "wake_at", "checkpoint_seq", "checkpoint"),
}  # fmt: skip


@dataclass(frozen=True)
class Damage:
    number: int
    kind: Kind
    outcome: str
    why: str
    tables: frozenset[str] = frozenset()


def make_store(path: Path, rounds: int = 6) -> None:
    """Runs of every language of the house, open and ended, with work items, large values, documents and an audit; some
    pages of it are free again."""

    async def scene() -> None:
        async with Penstock(path) as door:
            names = sample_runs.put_in_force(door)
            audit = AuditLog(door.store)
            for round_ in range(rounds):
                for name, given in sample_runs.FIRST:
                    if name in names:
                        await start(door, name, given, key=f"{name}-{given}-{round_}", trigger={})
                        audit.record(door.tenant, "somebody", "run.start", name, given)
            await asyncio.sleep(2)

    asyncio.run(scene())
    store, large = Sqlite(path), random.Random(0).randbytes(20_000)
    store.commit(Batch(blobs=[(hashlib.sha256(large).hexdigest(), len(large), large)]))
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as c:
        c.execute("CREATE TABLE scratch(x BLOB)")
        c.executemany("INSERT INTO scratch VALUES(zeroblob(20000))", [()] * 4)
        c.execute("DROP TABLE scratch")
        c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def attack(store: Path, folder: Path, pages: int, seed: int, kind: Kind) -> list[Damage]:
    before, free = contents(store), _free_pages(store)
    dice = random.Random(seed)
    count = store.stat().st_size // PAGE
    numbers = dice.sample(range(1, count + 1), min(pages, count))
    return [_damaged(store, folder / "damaged.db", number, dice, kind, before, free) for number in numbers]


def _damaged(
    store: Path, copy: Path, number: int, dice: random.Random, kind: Kind, before: dict[str, Any], free: set[int]
) -> Damage:
    for leftover in copy.parent.glob(f"{copy.name}*"):
        leftover.unlink()
    copy_of(store, copy)
    with copy.open("r+b") as file:
        at = (number - 1) * PAGE + (dice.randrange(PAGE) if kind == "byte" else 0)
        file.seek(at)
        was = file.read(1 if kind == "byte" else PAGE)
        file.seek(at)
        file.write(bytes([was[0] ^ 1 << dice.randrange(8)]) if kind == "byte" else dice.randbytes(PAGE))
    why = noticed(copy)
    if why:
        return Damage(number, kind, NOTICED, why)
    if number in free:
        return Damage(number, kind, UNUSED, "a free page")
    after = contents(copy)
    changed = frozenset(name for name, rows in before.items() if _known(name, after.get(name)) != _known(name, rows))
    if not changed and after != before:
        changed = frozenset({"written once"})
    return Damage(number, kind, SILENT if changed else UNUSED, "it says the same", changed)


def _known(table: str, said: Any) -> Any:
    """What a table says in the columns that are written down elsewhere, too."""
    if table not in KNOWN or not isinstance(said, tuple):
        return said
    names = next(t.names for t in TABLES if t.name == table)
    places = [names.index(name) for name in KNOWN[table]]
    rows = [[row[place] for place in places] for row in said[0]]
    if table == "net":  # its hash leaves out where in the document everything stands
        rows = [[*row[:-1], _content_hash(row[-1])] for row in rows]
    return rows, said[1]


def _content_hash(body: bytes) -> str:
    try:
        return codec.content_hash(codec.decode(body))
    except Exception as error:
        return repr(error)


def copy_of(store: Path, to: Path) -> Path:
    """The file, and the keys beside it."""
    for key in store.parent.glob(f"{store.name}.*-key"):
        shutil.copy(key, to.with_name(key.name.replace(store.name, to.name, 1)))
    return Path(shutil.copy(store, to))


def noticed(path: Path) -> str:
    """What `verify` says first, or the code with which the store is not opened; empty when all is well. Anything else
    that is raised goes through: it would be a traceback for whoever asks."""
    try:
        store = Sqlite(path, engine=False, create=False)
    except PenstockError as error:
        return error.code
    try:
        violations = verify(store).violations
    finally:
        store.close()
    return f"{violations[0].check} {violations[0].run} {violations[0].detail}" if violations else ""


def contents(path: Path) -> dict[str, Any]:
    """Every row of every table, by the table itself and by each of its indexes."""
    found: dict[str, Any] = {}
    with closing(sqlite3.connect(path)) as c:
        for table in TABLES:
            try:
                rows = sorted(c.execute(f'SELECT * FROM "{table.name}" NOT INDEXED').fetchall(), key=repr)
                ways = [
                    len(c.execute(
                        f'SELECT 1 FROM "{table.name}" INDEXED BY "{index.name}" WHERE {index.where or "1"}'
                    ).fetchall())
                    for index in table.indexes
                ]  # fmt: skip
                found[table.name] = (rows, ways)
            except sqlite3.Error as error:
                found[table.name] = str(error)
    return found


def _free_pages(path: Path) -> set[int]:
    """The pages of the free list: its trunks, whose leaves hold nothing at all."""
    data = path.read_bytes()
    (trunk,) = struct.unpack_from(">I", data, 32)
    leaves: set[int] = set()
    while trunk:
        at = (trunk - 1) * PAGE
        (following, count) = struct.unpack_from(">II", data, at)
        leaves |= set(struct.unpack_from(f">{count}I", data, at + 8))
        trunk = following
    return leaves


def run(pages: int = 60, seed: int = 11, folder: Path | None = None) -> AttackResult:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        store = Path(place) / "penstock.db"
        make_store(store)
        if why := noticed(copy_of(store, Path(place) / "damaged.db")):
            return AttackResult(f"{pages} damaged pages", "bad", {}, f"a whole store is called damaged: {why}")
        whole = attack(store, Path(place), pages, seed, "page")
        bytes_ = attack(store, Path(place), pages, seed + 1, "byte")
    silent = [damage for damage in (*whole, *bytes_) if damage.outcome == SILENT and damage.tables - ALONE]
    alone = [damage for damage in (*whole, *bytes_) if damage.outcome == SILENT and not damage.tables - ALONE]
    figures: dict[str, str | float] = {}
    for name, damages in (("pages", whole), ("bytes", bytes_)):
        counts = Counter(damage.outcome for damage in damages)
        figures |= {f"{name} {word}": counts[word] for word in (NOTICED, UNUSED)}
    figures["unnoticed"] = len(silent)
    figures["in rows written once"] = len(alone)
    note = f"page {silent[0].number}: {', '.join(sorted(silent[0].tables))}" if silent else ""
    return AttackResult(f"{pages} damaged pages", "bad" if silent else "ok", figures, note)


if __name__ == "__main__":
    result = run(*map(int, sys.argv[1:]))
    print(result.name, result.verdict, *(f"{key} {value}" for key, value in result.figures.items()), result.note)
    sys.exit(result.verdict == "bad")
