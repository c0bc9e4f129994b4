"""Jobs on PostgreSQL, of which several servers have connections of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.store_suite import PostgresKit
from tests.contract.test_jobs import a_job, opened, take

psycopg = pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[PostgresKit]:
    one = PostgresKit(tmp_path)
    yield one
    one.close()


def test_who_takes_a_job_waits_for_nobody_who_has_another(kit: PostgresKit) -> None:
    """P-X.28: the lock of one job is over, and another server withdraws it just now. Whoever waited for that one with
    other rows in its hands could wait for ever, or be the one whom the database ends."""
    store = opened(kit, a_job(1), a_job(2), a_job(3))
    assert [job.id for job in take(store, now=100, lock=50, limit=2)] == ["r1~2.1", "r2~2.1"]
    with psycopg.connect(kit.url) as other:
        other.execute("UPDATE job SET state='WITHDRAWN',due_at=NULL,ended_at=200 WHERE id='r1~2.1'")
        store.c.execute("SET lock_timeout='2s'")
        assert [job.id for job in take(store, now=200, limit=5)] == ["r2~2.1", "r3~2.1"]
        other.commit()
    assert store.job("t", "r1~2.1").state == "WITHDRAWN"
