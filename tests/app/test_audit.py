"""The audit: a chain that shows every change of it, and holds no secret."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock.app.access.audit import AuditLog, masked
from penstock.errors import StoreFull
from penstock.host.clock import ManualClock
from penstock.store.sqlite import Sqlite


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Sqlite]:
    one = Sqlite(tmp_path / "store.db")
    yield one
    one.close()


@pytest.fixture
def audit(store: Sqlite) -> AuditLog:
    found = AuditLog(store, ManualClock(1_700_000_000_000))
    for i in range(1, 6):
        found.record("t", "kim", "registry.put", f"template:{i}", {"b": i, "a": "가"})
    found.record("u", "lee", "key.create", "key:1")
    return found


def test_z23_who_changed_what(audit: AuditLog) -> None:
    """Z23: newest first, a page at a time; a chain that was left alone holds."""
    assert [one.no for one in audit.each("t", limit=2)] == [5, 4]
    (one,) = audit.each("t", target="template:3")
    assert (one.actor, one.action, one.body) == ("kim", "registry.put", {"a": "가", "b": 3})
    assert audit.tenants() == ["t", "u"] and audit.verify("t") == audit.verify("u") == audit.verify("none") == []


TAMPERED: dict[str, tuple[str, list[int]]] = {
    "the body": ("UPDATE audit SET body=x'7b7d' WHERE tenant='t' AND no=3", [3]),
    "the actor": ("UPDATE audit SET actor='lee' WHERE tenant='t' AND no=3", [3]),
    "the action": ("UPDATE audit SET action='x' WHERE tenant='t' AND no=1", [1]),
    "the target": ("UPDATE audit SET target='x' WHERE tenant='t' AND no=5", [5]),
    "the time": ("UPDATE audit SET at=at+1 WHERE tenant='t' AND no=2", [2]),
    "a hash": ("UPDATE audit SET hash=replace(hash, substr(hash,1,1), 'g') WHERE tenant='t' AND no=2", [2, 3]),
    "what was before": ("UPDATE audit SET prev=hash WHERE tenant='t' AND no=4", [4]),
    "one in the middle": ("DELETE FROM audit WHERE tenant='t' AND no=3", [3]),
    "the first": ("DELETE FROM audit WHERE tenant='t' AND no=1", [1]),
    "the last": ("DELETE FROM audit WHERE tenant='t' AND no=5", [5]),
    "all of it": ("DELETE FROM audit WHERE tenant='t'", [1]),
    "another's body": (
        "UPDATE audit SET body=(SELECT body FROM audit WHERE tenant='t' AND no=4) WHERE tenant='t' AND no=3",
        [3],
    ),
    "one more": (
        "INSERT INTO audit SELECT tenant,6,at,actor,action,target,body,prev,hash FROM audit WHERE no=5",
        [6, 6],
    ),
    "another tenant's": ("UPDATE audit SET tenant='t', no=6 WHERE tenant='u'", [6, 6]),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_z23_tampering_is_found_where_it_is(audit: AuditLog, store: Sqlite, what: str) -> None:
    """Z23: whatever is changed, taken out or put in, the row is named."""
    statement, broken = TAMPERED[what]
    with closing(sqlite3.connect(store.path)) as c:
        assert c.execute(statement).rowcount
        c.commit()
    found = audit.verify("t")
    assert [one.no for one in found] == broken and all(one.why for one in found), found


def test_z23_every_byte_counts(audit: AuditLog, store: Sqlite) -> None:
    """Z23: flip one byte anywhere in a row."""
    (row,) = store.c.execute("SELECT body FROM audit WHERE tenant='t' AND no=2").fetchone()
    for i in range(len(row)):
        changed = bytes(b ^ 1 if j == i else b for j, b in enumerate(row))
        store.c.execute("UPDATE audit SET body=? WHERE tenant='t' AND no=2", (changed,))
        assert [one.no for one in audit.verify("t")] == [2]
        assert audit.each("t", limit=5), "it can still be looked at"


def test_z10_secrets_are_masked(audit: AuditLog) -> None:
    """Z10: by the name that they stand under and by how they look; what only sounds like one stays."""
    token = "ps_" + "0" * 16 + "_" + "A" * 43
    body = {
        "password": "hunter2", "nested": [{"api_key": "abc", "Authorization": "Bearer abcdefghijkl"}],
        "url": "https://kim:pw@host/x", "text": f"made {token}.", "jwt": "eyJhbGciOiJ.eyJzdWIi.c2ln",
        "max_tokens": 5, "token": "${secrets.LAB}", "note": "the password is long", "secret": True,
    }  # fmt: skip
    kept = audit.record("t", "kim", "x", "connection:db", body).body
    assert kept == {
        "password": "***", "nested": [{"api_key": "***", "Authorization": "***"}], "url": "https://***@host/x",
        "text": "made ***.", "jwt": "***", "max_tokens": 5, "token": "${secrets.LAB}", "note": "the password is long",
        "secret": True,
    }  # fmt: skip
    assert audit.record("t", "kim", "registry.put", "secret:LAB", {"value": "v", "ref": "env:X"}).body == {
        "value": "***", "ref": "env:X",
    }  # fmt: skip
    assert masked({"value": "v"}) == {"value": "v"}


@pytest.mark.parametrize(
    "body",
    [float("nan"), {1: {2: b"x"}}, {"a": "\ud800"}, "\0", {"x": object()}, ["y" * 100_000], {"big": 2**80}, None],
)
def test_whatever_is_recorded_is_kept(audit: AuditLog, body: Any) -> None:
    """Z27: what a stranger sends does not keep the record from being made."""
    entry = audit.record("t", "kim\0\ud800" + "x" * 999, "a", "b", body)
    assert entry.no == 6 and len(entry.actor) <= 500 and audit.verify("t") == []


def test_many_at_once_share_a_commit(audit: AuditLog, store: Sqlite) -> None:
    """Z23: each gets its own entry, the chains hold, and it is not a commit for each; when it fails, each hears it."""
    commits: list[int] = []
    put = store.append_audit

    def counted(rows: Any) -> Any:
        commits.append(len(rows))
        return put(rows)

    store.append_audit = counted  # type: ignore[method-assign]

    async def many() -> list[Any]:
        asked = [audit.recorded("tu"[i % 2], f"user{i}", "x", "y", {"i": i}) for i in range(40)]
        return await asyncio.gather(*asked, return_exceptions=True)

    found = asyncio.run(many())
    assert [(one.actor, one.body) for one in found] == [(f"user{i}", {"i": i}) for i in range(40)]
    assert commits == [40] and audit.verify("t") == audit.verify("u") == []
    assert [one.no for one in audit.each("u", limit=2)] == [21, 20]
    store.append_audit = broken  # type: ignore[method-assign]
    assert {type(one) for one in asyncio.run(many())} == {StoreFull}


def broken(_: Any) -> Any:
    raise StoreFull


def test_a_long_chain_is_verified_in_slices(audit: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks a server whether a chain holds keeps nobody waiting for more than a page, however many ask; and is
    told what whoever reads it at once is told."""
    monkeypatch.setattr("penstock.app.access.audit.PAGE", 2)
    audit.store.c.execute("UPDATE audit SET actor='lee' WHERE tenant='t' AND no=3")  # type: ignore[attr-defined]
    passes, read = 0, list[tuple[int, int]]()
    plain = audit.store.audit_chain

    def chain(tenant: str, after: int = 0, limit: int = 1000) -> Any:
        rows = plain(tenant, after, limit)
        if after:
            read.append((passes, len(rows)))
        return rows

    monkeypatch.setattr(audit.store, "audit_chain", chain)

    async def main() -> None:
        nonlocal passes
        asked = [asyncio.ensure_future(audit.verified("t")) for _ in range(3)]
        while not all(task.done() for task in asked):
            passes += 1
            await asyncio.sleep(0)
        assert [task.result() for task in asked] == [audit.verify("t")] * 3

    asyncio.run(main())
    here = read[:-3]  # the last three were read at once
    assert sum(rows for _, rows in here) >= 3 * 3 and max(rows for _, rows in here) <= 2
    assert len({at for at, _ in here}) == len(here), "one page in a pass of the loop, whoever asks"
