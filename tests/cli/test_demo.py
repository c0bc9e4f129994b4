"""The first command of the README: it runs, is killed for real, goes on, and proves it."""

from __future__ import annotations

from tests.cli.shell import Shell


def test_the_demo_for_programs(penstock: Shell) -> None:
    """D-A.17, D-A.1, D-10.1.9, D-6.1.2: killed in the second of three executions; nine steps in order; nothing lost."""
    found = penstock("demo", "--json").json()
    assert (found["status"], found["executions"], found["violations"]) == ("COMPLETED", 3, 0)
    assert 0 < found["killed_at_fact"] < found["facts"]
    assert found["steps"] == [
        "Start → token to PersonJob",
        "PersonJob (iteration 1) → token to Condition",
        "Condition decides condfalse → token to PersonJob",
        "PersonJob (iteration 2) → token to Condition",
        "Condition decides condfalse → token to PersonJob",
        "PersonJob (iteration 3) → token to Condition",
        "Condition decides condtrue → token to Ask",
        "Ask → token to Endpoint",
        "Endpoint → the result is kept",
    ]
    shown = penstock("show", found["run_id"], "--store", found["store"], "--json").json()
    assert shown["counters"]["PersonJob"] == 3


def test_the_demo_for_people(penstock: Shell) -> None:
    said = penstock("demo", "--store", "here/demo.db")
    before, after = said.out.split("kill -9", 2)[1:]
    assert "PersonJob (1/3) done" in before
    assert "PersonJob (3/3) done" in after
    assert "going on after fact" in after
    assert "0 violations" in after
    assert (penstock.folder / "here/demo.db").exists()
