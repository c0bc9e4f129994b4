"""Every store: simulations, past judgments and labels are kept, and found as they are asked for."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from penstock.store.simulation_tables import JUDGMENT_LABEL, PAST_JUDGMENT, SIMULATION
from penstock.store.simulations import LabelRow, PastJudgmentRow, SimulationRow
from tests.contract.store_suite import Kit, a_batch, a_run


def a_simulation(id: str, **more: Any) -> SimulationRow:
    given: dict[str, Any] = {
        "tenant": "t", "id": id, "run": "r1", "node": "n", "document": "wf", "artifact_type": "rule_pack",
        "artifact_id": "a", "candidate": "2", "baseline": None, "mode": "replay", "created_at": 10, "result": b"x",
        "format": "html", "report": b"<html>",
    }  # fmt: skip
    return SimulationRow(**{**given, **more})


def test_the_rows_have_the_columns_of_their_tables() -> None:
    assert SimulationRow.__struct_fields__ == SIMULATION.names
    assert PastJudgmentRow.__struct_fields__ == PAST_JUDGMENT.names
    assert LabelRow.__struct_fields__ == JUDGMENT_LABEL.names


def test_c_59_simulations_are_kept_once_and_listed_newest_first(kit: Kit) -> None:
    """C-59: the same id takes the place of the first; another tenant sees none of it; lists carry no reports."""
    store = kit.open()
    first, second = a_simulation("s1"), a_simulation("s2", created_at=20, artifact_id="b", run="r2")
    for row in (first, second, a_simulation("s1", tenant="u", created_at=30)):
        store.put_simulation(row)
    store.put_simulation(replace(first, result=b"y"))
    assert store.simulation("t", "s1") == replace(first, result=b"y") and store.simulation("t", "s3") is None
    assert [row.id for row in store.simulations("t")] == ["s2", "s1"]
    assert store.simulations("t", limit=1) == [replace(second, report=None)]
    assert [row.id for row in store.simulations("t", artifact_type="rule_pack", artifact_id="a")] == ["s1"]
    assert [row.id for row in store.simulations("t", run="r2")] == ["s2"] and store.simulations("t", run="r9") == []


def test_c_59_past_judgments_and_labels(kit: Kit) -> None:
    """C-59: imported judgments by time, newest first; imported again they are replaced; the last label counts."""
    store = kit.open()
    rows = [PastJudgmentRow("t", f"p{i}", "a", "normal", b"x", i * 10) for i in range(5)]
    store.put_past_judgments([*rows, PastJudgmentRow("u", "p1", "a", "normal", b"x", 10)])
    store.put_past_judgments([replace(rows[1], decision="critical")])
    store.put_past_judgments([])
    assert [row.id for row in store.past_judgments("t", 10, 30, 100)] == ["p3", "p2", "p1"]
    assert [row.id for row in store.past_judgments("t", 0, 99, 2)] == ["p4", "p3"]
    kept = store.past_judgment("t", "p1")
    assert kept is not None and kept.decision == "critical" and store.past_judgment("t", "p9") is None
    store.put_labels([LabelRow("t", "p1", "normal", "a", "", 1), LabelRow("t", "p2", "critical", "a", "n", 1)])
    store.put_labels([LabelRow("t", "p1", "warning", "b", "why", 2)])
    assert store.labels("t", ["p1", "p2", "p3"]) == {
        "p1": LabelRow("t", "p1", "warning", "b", "why", 2), "p2": LabelRow("t", "p2", "critical", "a", "n", 1),
    }  # fmt: skip
    assert store.labels("u", ["p1"]) == {} and store.labels("t", []) == {}
    assert len(store.labels("t", [f"p{i}" for i in range(1200)])) == 2


def test_judgments_of_runs_between_two_moments(kit: Kit) -> None:
    """C-59: the rows of judgments by time."""
    store = kit.open()
    store.commit(a_batch(judgment=[(f"r{i}", 1, "t", "wf", "n", "normal", 0, b"x", i * 10) for i in range(5)]))
    assert [row.run for row in store.judgments_between("t", 10, 30, 100)] == ["r3", "r2", "r1"]
    assert store.judgments_between("u", 0, 99, 100) == []


def test_old_simulations_are_forgotten_once_their_runs_have_ended(kit: Kit) -> None:
    """C-59: by age; a run that is under way still shows what it has simulated."""
    store = kit.open()
    run = a_run(1, status=2)
    store.commit(a_batch(new=[run]))
    running = a_simulation("s3", run=run[1])
    for row in (a_simulation("s1"), a_simulation("s2", created_at=20), running):
        store.put_simulation(row)
    assert store.forget_simulations(20) == 1
    assert {row.id for row in store.simulations("t")} == {"s2", "s3"}
    assert store.forget_simulations(20) == 0
