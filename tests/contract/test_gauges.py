"""What a collector of metrics asks a store for: counts of all tenants, each in one statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.kernel.state import COMPLETED, RUNNING, WAITING
from penstock.store.artifacts import ArtifactRow
from tests.contract.store_suite import STORES, Kit, a_batch, a_net, a_run


@pytest.fixture(params=["sqlite", "postgresql"])
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kit]:
    if request.param == "postgresql":
        pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    one = STORES[request.param](tmp_path)
    yield one
    one.close()


def test_gauges_of_all_tenants(kit: Kit) -> None:
    """W-10.1.1, C-78: open runs by tenant and status, open items by node; what has ended is not among them."""
    store = kit.open()
    a_net(store, "first")
    store.commit(a_batch(
        new=[
            a_run(1, status=WAITING), a_run(2, status=WAITING), a_run(3, status=RUNNING, tenant="other"),
            a_run(4, status=COMPLETED),
        ],
        item_new=[(1, 7, 3, "TODO", b"\x80", None, None, 5, 5), (2, 7, 3, "APPROVED", b"\x80", None, None, 5, 5)],
    ))  # fmt: skip
    store.put_artifacts([ArtifactRow("third", "config", "tenant", "", "active", b"\x80", 1)])
    found = store.gauges()
    assert sorted(map(tuple, found.runs)) == [("default", WAITING, 2), ("other", RUNNING, 1)]
    assert [tuple(one) for one in found.items] == [("default", 1, 3, 1)]
    assert list(found.letters) == [] == list(found.versions)
    assert store.tenants() == ["default", "other", "third"]
    assert list(store.largest_checkpoints(10)) == []
