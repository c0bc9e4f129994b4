"""Every store: how runs fit their versions is replaced by run, counted by deviation, and nobody else's."""

from __future__ import annotations

from typing import Any

from penstock.store.run_fit_tables import RUN_FIT
from penstock.store.run_fits import RunFitCount, RunFitRow
from tests.contract.store_suite import Kit


def a_fit(run: int, **more: Any) -> RunFitRow:
    given: dict[str, Any] = {"tenant": "t", "run": run, "run_id": f"r{run}", "process": "p", "version": 1, "at": run}
    return RunFitRow(**{**given, **more})


def test_the_rows_have_the_columns_of_their_table() -> None:
    assert RunFitRow.__struct_fields__ == RUN_FIT.names


def test_runs_are_counted_by_their_first_deviation_and_replaced(kit: Kit) -> None:
    """P-7.2.2, P-7.5.2: a run that is read again counts once; nobody sees those of another tenant."""
    store = kit.open()
    skipped = {"kind": "skipped", "activity": "b", "before": "a", "after": "c"}
    store.put_run_fits("t", [a_fit(1), a_fit(2), a_fit(3, **skipped), a_fit(4, version=2)], 40)
    store.put_run_fits("u", [a_fit(5, tenant="u")], 7)
    store.put_run_fits("t", [a_fit(2, **skipped), a_fit(6, process="q")], 30)
    assert store.run_fit_counts("t", "p") == [
        RunFitCount("p", 1, "skipped", "b", "a", "c", 2), RunFitCount("p", 1, "", "", "", "", 1),
        RunFitCount("p", 2, "", "", "", "", 1),
    ]  # fmt: skip
    assert [one.process for one in store.run_fit_counts("t")] == ["p", "p", "p", "q"]
    assert store.run_fit_counts("u", "p") == [RunFitCount("p", 1, "", "", "", "", 1)]
    found = store.run_fits("t", "p", 1, ("skipped", "b", "a", "c"), 0, 10)
    assert [row.run_id for row in found] == ["r2", "r3"] and found[0] == a_fit(2, **skipped)
    assert [row.run for row in store.run_fits("t", "p", 1, ("skipped", "b", "a", "c"), 2, 10)] == [3]
    assert [row.run for row in store.run_fits("t", "p", 1, ("skipped", "b", "a", "c"), 0, 1)] == [2]


def test_the_mark_never_goes_back(kit: Kit) -> None:
    store = kit.open()
    assert store.run_fit_mark("t") == 0
    store.put_run_fits("t", [], 50)
    store.put_run_fits("t", [], 40)
    assert (store.run_fit_mark("t"), store.run_fit_mark("u")) == (50, 0)
