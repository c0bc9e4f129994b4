"""The audit's key: whoever can write to the database, and has not the key, cannot make the chain anew."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import astuple, replace

from penstock.app.access.audit import AuditLog, ChainHead
from penstock.errors import AuditKeyUnreadable
from penstock.host.clock import ManualClock
from penstock.store.audit_chain import FIRST, AuditRow
from penstock.store.sqlite import Sqlite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def opened(path: Path) -> Iterator[AuditLog]:
    store = Sqlite(path, engine=False)
    yield AuditLog(store, ManualClock(1_700_000_000_000))
    store.close()


@pytest.fixture
def audit(path: Path) -> Iterator[AuditLog]:
    for log in opened(path):
        for i in range(1, 6):
            log.record("t", "kim", "registry.put", f"template:{i}", {"n": i})
        yield log


def plain_hash(prev: str, row: AuditRow) -> str:
    """As rows were linked before there was a key: anybody can do it."""
    head = json.dumps([row.tenant, row.no, row.at, row.actor, row.action, row.target], separators=(",", ":")).encode()
    return hashlib.sha256(b"\n".join((prev.encode(), head, row.body))).hexdigest()


def forge(path: Path, rows: list[AuditRow]) -> None:
    with closing(sqlite3.connect(path)) as c:
        c.execute("DELETE FROM audit")
        c.executemany("INSERT INTO audit VALUES(?,?,?,?,?,?,?,?,?)", [astuple(row) for row in rows])
        c.execute("INSERT OR REPLACE INTO mark VALUES('audit:t', ?)", (len(rows),))
        c.commit()


def relinked(rows: list[AuditRow]) -> list[AuditRow]:
    made: list[AuditRow] = []
    for row in rows:
        linked = replace(row, prev=made[-1].hash if made else FIRST)
        made.append(replace(linked, hash=plain_hash(linked.prev, linked)))
    return made


def test_z23_a_chain_that_was_made_anew_without_the_key_is_found(path: Path, audit: AuditLog) -> None:
    """Z23: the row is named from which on it is not what was written, although every hash fits."""
    assert audit.verify("t") == []
    file = path.with_name("store.db.audit-key")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    rows = audit.store.audit_chain("t")
    changed = [row if row.no != 3 else replace(row, actor="nobody") for row in rows]
    forge(path, [*rows[:2], *relinked(changed)[2:]])
    assert [(broken.no, "seal" in broken.why or "follow" in broken.why) for broken in audit.verify("t")][:1] == [
        (3, True)
    ]
    forge(path, relinked(changed))
    assert [broken.no for broken in audit.verify("t")] == [1, 2, 3, 4, 5]
    assert all("no seal of the audit key" in broken.why for broken in audit.verify("t"))
    forge(path, rows)
    assert audit.verify("t") == []


def test_z23_a_chain_from_before_is_verified_and_goes_on_with_seals(path: Path) -> None:
    """Z23: rows that were there before the key count as they are; none can be added to them, and none changed."""
    Sqlite(path).close()
    old = [AuditRow("t", i, 1000 + i, "kim", "x", f"y:{i}", b"{}") for i in range(1, 4)]
    forge(path, relinked(old))
    for log in opened(path):
        assert log.verify("t") == [] and not path.with_name("store.db.audit-key").exists(), "nobody has written yet"
        log.record("t", "lee", "registry.put", "a")
        assert log.verify("t") == []
        rows = log.store.audit_chain("t")
        assert [row.hash.startswith("k1:") for row in rows] == [False, False, False, True]
        forge(path, [*relinked([replace(old[0], actor="nobody"), *old[1:]]), rows[3]])
        assert [broken.no for broken in log.verify("t")] == [3, 4], "its end is noted with the key"


def test_z23_a_key_that_is_missing_or_another_is_named(path: Path, audit: AuditLog) -> None:
    """Z23: said once, with the file that should have it; nothing is called changed that nobody can judge."""
    file = path.with_name("store.db.audit-key")
    kept = file.read_bytes()
    file.unlink()
    for log in opened(path):
        (missing,) = log.verify("t")
        assert missing.no == 1 and str(file) in missing.why and json.loads(kept)["keys"][0]["id"] in missing.why
        log.record("t", "lee", "registry.put", "goes on")  # with a key of its own
        assert [broken.no for broken in log.verify("t")] == [1]
    both = json.loads(kept)
    both["keys"].append(json.loads(file.read_bytes())["keys"][0])
    file.write_text(json.dumps(both))
    for log in opened(path):
        assert log.verify("t") == [], "with both keys all of it can be judged"
    file.write_text('{"keys": []}')
    for log in opened(path):
        with pytest.raises(AuditKeyUnreadable, match="audit-key"):
            log.verify("t")


def test_z23_an_exported_head_shows_that_the_end_was_cut_off(path: Path, audit: AuditLog) -> None:
    """Z23: without it a chain that ends earlier holds as well."""
    head = audit.head("t")
    assert (head.tenant, head.no) == ("t", 5) and audit.verify("t", head) == []
    audit.record("t", "lee", "x", "later")
    assert audit.verify("t", head) == [], "it has grown since"
    rows = audit.store.audit_chain("t")
    forge(path, rows[:4])
    assert audit.verify("t") == []
    assert [broken.no for broken in audit.verify("t", head)] == [5]
    assert [broken.no for broken in audit.verify("t", ChainHead("t", 4, "k1:0:0"))] == [4]
