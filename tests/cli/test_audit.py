"""`penstock audit`: what people and programs get."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from penstock.app.access.audit import AuditLog
from penstock.store.sqlite import Sqlite


def test_z23_the_audit_is_listed_and_verified(tmp_path: Path, penstock: Any) -> None:
    """Z23: exit code 3, and the row, when somebody has changed it."""
    store = Sqlite(tmp_path / "a.db")
    audit = AuditLog(store)
    for i in range(3):
        audit.record("tenant_001", f"user{i}", "key.create", f"key:{i}", {"name": f"line {i}"})
    audit.record("other", "lee", "key.create", "key:x")
    store.close()
    told = penstock("audit", "verify", "--store", "a.db", "--json").json()
    assert [(one["tenant"], one["rows"], len(one["head"])) for one in told["tenants"]] == [
        ("other", 1, 80), ("tenant_001", 3, 80),
    ]  # fmt: skip
    assert "4 rows of 2 tenants" in penstock("audit", "verify", "--store", "a.db").out
    told = penstock("audit", "ls", "--store", "a.db", "--limit", "2").out
    assert "user2 key.create key:2" in told and '{"name":"line 2"}' in told and "user0" not in told
    (one,) = penstock("audit", "ls", "--store", "a.db", "--by", "user1", "--json").json()
    assert (one["no"], one["target"], one["body"]) == (2, "key:1", {"name": "line 1"})
    assert "Nothing is recorded" in penstock("audit", "ls", "--store", "a.db", "--tenant", "none").out
    with closing(sqlite3.connect(tmp_path / "a.db")) as c:
        c.execute("UPDATE audit SET actor='nobody' WHERE tenant='tenant_001' AND no=2")
        c.commit()
    assert "tenant_001 2 it is not what was written" in penstock("audit", "verify", "--store", "a.db", code=3).out
    (wrong,) = penstock("audit", "verify", "--store", "a.db", "--json", code=3).json()["breaks"]
    assert wrong == {"tenant": "tenant_001", "no": 2, "why": "it is not what was written"}
