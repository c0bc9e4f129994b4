"""What people leave behind is kept as long as the settings say, by the host that drives the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.app.access.audit import AuditLog
from penstock.errors import BadInput
from penstock.host.clock import ManualClock
from penstock.host.retention import AUDIT_DAYS, DAY_MS, Retention
from penstock.store.audit_chain import AuditRow
from penstock.store.drafts import DraftRow, RemarkRow
from penstock.store.sqlite import Sqlite
from tests.contract.test_document_drafts import a_draft


@pytest.fixture
def store(tmp_path: Path) -> Any:
    one = Sqlite(tmp_path / "s.db")
    yield one
    one.close()


def _filled(store: Sqlite) -> None:
    store.append_audit([AuditRow("t", 0, at * DAY_MS, "kim", "key.create", "key:1", b"{}") for at in range(10)])
    store.put_draft(DraftRow("t", "kim", "d", 1, b"x", 0), None)
    store.add_remark(RemarkRow("t", "gone/a", 1, "kim", 0, "comment", b"x"))
    store.put_document_draft(a_draft(updated_at=0), None)


def test_z23_the_audit_is_pruned_once_a_day_and_holds(store: Sqlite) -> None:
    """Z23: by the setting; what is left begins with what is young enough, and is verified with the hash that stayed."""
    _filled(store)
    keeping = Retention(store, {"audit.keep_days": 5, "drafts.keep_days": 5, "remarks.keep_days": 5})
    for _ in range(3):
        keeping.forget_old(9 * DAY_MS)
    rows = store.audit_chain("t")
    assert [row.no for row in rows] == [5, 6, 7, 8, 9, 10, 11] and rows[-1].action == "audit.prune"
    assert AuditLog(store).verify("t") == []
    assert store.drafts("t", "kim") == [] and store.remarks("t", ["gone/a"]) == []
    assert store.document_draft("t", "d1") is None
    keeping.forget_old(9 * DAY_MS + DAY_MS // 2)
    assert store.audit_chain("t") == rows, "half a day later there is nothing to say"
    for day in range(20, 200, 3):
        keeping.forget_old(day * DAY_MS)
        assert len(store.audit_chain("t")) <= 7 and AuditLog(store).verify("t") == [], day
    (last,) = store.audit_chain("t")
    assert last.action == "audit.prune", "an idle tenant has one row left, and not one more for every lap"


def test_what_is_not_old_or_is_for_ever_stays(store: Sqlite) -> None:
    """Z23: by default three years of audit; 0 is for ever, and nonsense is refused."""
    _filled(store)
    Retention(store, {}).forget_old(80 * DAY_MS)
    assert len(store.audit_chain("t")) == 10 and store.drafts("t", "kim") and store.remarks("t", ["gone/a"])
    assert store.document_draft("t", "d1") is not None
    never = {"audit.keep_days": 0, "drafts.keep_days": 0, "remarks.keep_days": 0}
    Retention(store, never).forget_old(100 * AUDIT_DAYS * DAY_MS)
    assert len(store.audit_chain("t")) == 10 and store.drafts("t", "kim") and store.remarks("t", ["gone/a"])
    assert store.document_draft("t", "d1") is not None
    for wrong in (-1, "30", True, float("nan"), 10**9):
        with pytest.raises(BadInput, match=r"audit\.keep_days"):
            Retention(store, {"audit.keep_days": wrong})


def test_the_host_keeps_so(tmp_path: Path) -> None:
    """Z23: it tidies by itself."""
    from penstock.host.embedded import Host

    store = Sqlite(tmp_path / "s.db")
    _filled(store)
    host = Host(
        store, {}, output_dir=tmp_path, input_dir=tmp_path, clock=ManualClock(40 * DAY_MS),
        settings={"audit.keep_days": 5, "drafts.keep_days": 5},
    )  # fmt: skip
    host.iterate()
    assert [row.action for row in store.audit_chain("t")] == ["audit.prune"] and store.drafts("t", "kim") == []
    assert AuditLog(store).verify("t") == []
    store.close()


def test_simulations_and_uses_are_kept_as_the_settings_say(tmp_path: Path) -> None:
    """C-58, C-59: each by its own setting; a year by default, 0 is for ever."""

    class Store:
        """Writes down what it is asked to forget."""

        def __init__(self) -> None:
            self.asked: dict[str, int] = {}

        def forget_simulations(self, before: int) -> int:
            self.asked["simulations"] = before
            return 0

        def forget_uses(self, before: int) -> int:
            self.asked["uses"] = before
            return 0

    others = {"audit.keep_days": 0, "drafts.keep_days": 0, "remarks.keep_days": 0}
    expected: dict[tuple[Any, Any], dict[str, int]] = {
        (None, None): {"simulations": 35, "uses": 35}, (10, 20): {"simulations": 390, "uses": 380},
        (0, 20): {"uses": 380}, (10, 0): {"simulations": 390},
    }  # fmt: skip
    for (simulations, uses), before in expected.items():
        store: Any = Store()
        given = {"simulations.keep_days": simulations, "uses.keep_days": uses}
        settings = {**others, **{name: days for name, days in given.items() if days is not None}}
        Retention(store, settings).forget_old(400 * DAY_MS)
        assert store.asked == {what: day * DAY_MS for what, day in before.items()}
    with pytest.raises(BadInput, match=r"uses\.keep_days"):
        Retention(Sqlite(tmp_path / "s.db"), {"uses.keep_days": "x"})
