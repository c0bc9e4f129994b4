"""10.2, the seed's own known deadlock: a START edge and a skippable way back before one node. Here it must run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.diagram.make import END, START, cond, job
from tests.conformance.diagram.running import Ran, drawn, go


def problem(**condition: Any) -> bytes:
    """The seed's graph: start -> person_job -> condition (skippable) -> person_job, and a way out."""
    nodes = [
        START,
        job("person_job", max_iteration=3),
        cond("condition", condition_type="detect_max_iterations", skippable=True, **condition),
        END,
    ]
    ways = ["Start>person_job", "person_job>condition", "condition[condfalse]>person_job", "condition[condtrue]>End"]
    return drawn(nodes, ways)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return go(tmp_path_factory.mktemp("problem"), problem())


def test_the_first_three_steps(ran: Ran) -> None:
    """D-10.2.1, D-10.2.2, D-10.2.3, D-5.2.1: START publishes, PersonJob runs on it alone, publishes to Condition."""
    told = [(e.name, e.edge or e.node) for e in ran.events][:9]
    assert told == [
        ("run.started", ""),
        ("node.started", "Start"),
        ("node.completed", "Start"),
        ("token.published", "Start>person_job"),
        ("token.consumed", "Start>person_job"),
        ("node.started", "person_job"),
        ("node.completed", "person_job"),
        ("token.published", "person_job>condition"),
        ("token.consumed", "person_job>condition"),
    ]


def test_the_condition_publishes_and_person_job_goes_on(ran: Ran) -> None:
    """D-10.2.4, D-10.2.5, D-10.2.6: false puts the token on `condfalse`; PersonJob takes it and runs iteration 2."""
    assert [x.data["port"] for x in ran.of("settled", "condition")] == ["condfalse", "condfalse", "condtrue"]
    assert ran.puts("condition:condfalse>person_job") == [("condition:condfalse>person_job", 0, n) for n in (0, 1)]
    assert ran.took("person_job") == [
        ["Start>person_job"],
        ["condition:condfalse>person_job"],
        ["condition:condfalse>person_job"],
    ]


def test_it_ends_by_its_limit(ran: Ran) -> None:
    """D-10.2.6, D-5.2.3, D-12.1: never a deadlock, never a hang; the limit lets the token out."""
    assert ran.status == "COMPLETED"
    assert ran.look.failure is None
    assert ran.look.nodes["person_job"] == "MAXITER_REACHED"
    assert ran.times("End") == 1


def test_without_a_way_out_it_ends_too(tmp_path: Path) -> None:
    """D-10.2.6, D-X.8: the seed draws no exit at all; then the limit alone ends the run, with a warning."""
    nodes = [START, job("person_job", max_iteration=3), cond("condition", expression="false", skippable=True)]
    ways = ["Start>person_job", "person_job>condition", "condition[condfalse]>person_job"]
    ran = go(tmp_path, drawn(nodes, ways))
    assert ran.status == "COMPLETED"
    assert ran.times("person_job") == 3
    assert ran.warned() == ["max_iteration_without_exit"]


@pytest.mark.parametrize("skippable", [True, False])
def test_whatever_lies_between_start_and_the_loop(tmp_path: Path, skippable: bool) -> None:
    """D-5.2.3, D-X.2: the entry may come through other nodes, and the way back too."""
    back = cond("Back", expression="counters.Head >= 2", skippable=skippable)
    nodes = [START, job("Before"), job("Head", max_iteration=2), back, job("Again"), END]
    ways = ["Start>Before", "Before>Head", "Head>Back", "Back[condfalse]>Again", "Again>Head", "Back[condtrue]>End"]
    ran = go(tmp_path, drawn(nodes, ways))
    assert ran.order() == ["Start", "Before", "Head", "Back", "Again", "Head", "Back", "End"]
    assert ran.status == "COMPLETED"
