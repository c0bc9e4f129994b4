"""The sample tenant's metrics (C-50): each of them can be asked about 30 days, three lines and three shifts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from penstock import sample_tenant
from penstock.errors import ThingInvalid
from tests.app.workflows import opened

SEED = ("defect_rate", "defect_count", "yield_rate")


def test_c_50_the_catalogue_of_the_sample_tenant(tmp_path: Path) -> None:
    """C-50: the seed's metrics, on fact_daily_defect, and every entry passes its own check."""
    bodies = {id: body for type, id, body in sample_tenant.registered() if type == "metric"}
    assert {*SEED} <= bodies.keys()
    assert {bodies[name]["table"] for name in SEED} == {"fact_daily_defect"}
    with opened(tmp_path) as door:
        for id, body in bodies.items():
            assert door.registry.put("metric", id, body) == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""), ({"table": "t"}, ""), ({"table": "t", "column": "c", "sql": "c"}, ""),
        ({"table": 5, "column": "c"}, "/table"), ({"table": "t", "column": "c", "default_agg": "mean"}, "/default_agg"),
        ({"table": "t", "column": "c", "timezone": "Mars/North"}, "/timezone"),
        ({"table": "t", "sql": "c; DROP TABLE t"}, "/sql"), ({"table": "t", "sql": "pg_sleep(9)"}, "/sql"),
    ],
)  # fmt: skip
def test_c_50_a_metric_that_cannot_be(tmp_path: Path, body: dict[str, object], pointer: str) -> None:
    """C-50: refused when it is registered, with its place and a hint."""
    with opened(tmp_path) as door:
        with pytest.raises(ThingInvalid) as wrong:
            door.registry.put("metric", "it", body)
        assert pointer in [finding.where.pointer for finding in wrong.value.findings]
        assert all(finding.hint for finding in wrong.value.findings)


def test_c_81_what_11_1_reads_has_not_changed(tmp_path: Path) -> None:
    """C-81, W-11.1.3: the last day of a line has the two rows that it always had; 30 days lie behind them."""
    with opened(tmp_path) as door:
        door.load_sample()
    with closing(sqlite3.connect(tmp_path / "sample.db")) as base:
        day = "SELECT defect_count, produced, defect_rate FROM fact_daily_defect WHERE line_id = ?"
        day += " AND date >= strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 day') ORDER BY date DESC"
        assert base.execute(day, ("L01",)).fetchall() == [(96, 1180, 0.0814), (31, 1195, 0.0259)]
        assert base.execute(day, ("L02",)).fetchall() == [(5, 890, 0.0056), (7, 902, 0.0078)]
        (days, lines, shifts) = base.execute(
            "SELECT count(DISTINCT days_ago), count(DISTINCT line_id), count(DISTINCT shift) FROM daily_defect"
        ).fetchone()
        assert (days, lines, shifts) == (30, 3, 3)
