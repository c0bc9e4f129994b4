"""What simulations learn from earlier runs, forecasts of open runs, and replays on another version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.app.releases.release_report import ReportRequest, report_release
from penstock.app.releases.start_release import start as start_release
from penstock.app.simulation import replay_release, simulate_release
from penstock.app.simulation.report import simulate
from penstock.app.simulation.subject import of_run
from penstock.app.simulation.virtual.history import read_history
from penstock.errors import ReleaseNotFound, RunNotFound
from penstock.store.address import place
from tests.app.simulation.scenes import NAME, line_workflow, release, scripted, with_runs
from tests.conformance.decision.make import act
from tests.servers import postgres

DECISIONS = ["critical", "warning", "normal", "normal", "critical", "normal"]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six ended runs, two of them with an approval, of which one was refused."""
    server = request.param == "postgresql"
    made = place(postgres.database()) if server else tmp_path_factory.mktemp("history") / "store.db"
    with_runs(made, DECISIONS, answers=["approved", "rejected"])
    return made


@contextmanager
def opened(store: Path) -> Iterator[Penstock]:
    """A door that drives nothing."""
    door = Penstock(store, drive=False).open()
    try:
        yield door
    finally:
        door.close()


def test_history_is_read_from_the_journal(store: Path) -> None:
    with opened(store) as door:
        history = read_history(door, NAME)
    assert history.runs == 6 and len(history.inputs) == 6
    judged = [sample.body["decision"] for sample in history.effects["judge"]]
    assert sorted(judged) == sorted(DECISIONS)
    assert all(sample.ms >= 0 and sample.failure is None for sample in history.effects["judge"])
    votes = [vote for sample in history.people["stop"] for vote in sample.data]
    assert sorted(vote["vote"] for vote in votes) == ["approved", "rejected"]
    assert {vote["by"] for vote in votes} == {"manager@example.com"}
    assert {sample.verb for sample in history.people["stop"]} == {"vote"}
    assert len(history.effects["warn"]) == 1 and len(history.effects["log"]) == 3


def test_a_release_is_simulated_with_its_history(store: Path) -> None:
    """W-9.4.1: simulation of a submitted version, with what its runs have shown."""
    with opened(store) as door:
        report = simulate_release(door, NAME, 1, runs=1_500, due_ms=60_000)
    forecast, dry = report.monte_carlo, report.dry_run
    assert report.ok and report.version == 1 and report.inputs_from == "history"
    assert dry is not None and dry.unreached == []
    assert forecast is not None and forecast.assumptions == [] and forecast.history.runs == 6
    reached = {node.id: node.reached_share for node in forecast.nodes}
    assert reached["stop"] == pytest.approx(2 / 6, abs=0.05) and reached["log"] == pytest.approx(3 / 6, abs=0.05)
    cancelled = {each.status: each.share for each in forecast.outcomes}["CANCELLED"]
    assert cancelled == pytest.approx(1 / 6, abs=0.04)  # half of a third is refused
    assert report.warnings == ["LITTLE_HISTORY", "MISSING"]
    assert [(each.pointer, each.message) for each in report.missing] == [
        ("/nodes/0/policy/rule_pack_id", "There is no rule pack «pack» here.")
    ]
    assert "There is no rule pack" in report.as_html("ko")
    assert forecast.paths[0].nodes == ["judge", "which", "log"]


def test_given_input_and_answers_go_before_history(store: Path) -> None:
    with opened(store) as door:
        report = simulate_release(door, NAME, input={"say": "x"}, answers={"judge": {"decision": "warning"}}, runs=50)
    assert report.monte_carlo is not None and [each.nodes for each in report.monte_carlo.paths] == [
        ["judge", "which", "warn"]
    ]


def test_a_release_that_there_is_not(store: Path) -> None:
    with opened(store) as door:
        for name, version in ((NAME, 9), ("nobody", None)):
            with pytest.raises(ReleaseNotFound):
                simulate_release(door, name, version)
        with pytest.raises(ReleaseNotFound):
            replay_release(door, NAME, 9)


def test_a_run_that_is_gone(store: Path) -> None:
    """A simulation of a run that is gone is a typed error, and no traceback."""
    with opened(store) as door, pytest.raises(RunNotFound):
        of_run(door, "r0123456789abcdef")


def test_the_rest_of_an_open_run_is_forecast(tmp_path: Path) -> None:
    """Only the approval is left: nothing before it runs again, and what it has waited already counts."""
    *_, run = with_runs(tmp_path / "store.db", ["critical", "critical"], answers=["approved"], open_last=True)
    with opened(tmp_path / "store.db") as door:
        subject = of_run(door, run)
        report = simulate(subject, runs=40, due_ms=3_600_000)
        assert door.view(run).internal_status == "WAITING"
    assert report.run == run and report.status == "WAITING" and report.dry_run is None
    assert report.monte_carlo is not None
    fired = {node.id for node in report.monte_carlo.nodes if node.visits}
    assert fired == set()  # the approval has fired already, and nothing comes after it
    assert report.monte_carlo.due is not None and report.monte_carlo.due.odds == 1.0
    assert [load.role for load in report.monte_carlo.roles] == ["quality_manager"]


def test_an_ended_run_is_simulated_from_its_start(store: Path) -> None:
    with opened(store) as door:
        ended = door.store.runs(limit=1, tenant=door.tenant)[0]
        report = simulate(of_run(door, ended.id), runs=20)
    assert report.dry_run is not None and report.status is None and report.run == ended.id


# ---- replay ----------------------------------------------------------------------------------------------------------


def replayed(store: Path, body: dict[str, Any]) -> dict[str, Any]:
    with opened(store) as door:
        if door.store.release(door.tenant, NAME, body["version"]) is None:
            release(door, body, active=False)
        return replay_release(door, NAME, body["version"]).as_json()


def test_the_same_version_goes_the_same_way(store: Path) -> None:
    """Replay of real runs on the version that they were on: no difference at all."""
    with opened(store) as door:
        report = replay_release(door, NAME, 1)
    assert (report.runs, report.same, report.different, report.skipped) == (6, 6, 0, 0)
    assert report.unanswered == [] and report.as_json()["share_same"] == 1.0


def test_another_condition_shows_which_runs_go_otherwise(store: Path) -> None:
    """W-9.4.1: a version that stops the line for warnings, too: the one warned run goes to the approval instead."""
    report = replayed(store, line_workflow(2, cases=[("critical", "stop"), ("warning", "stop"), ("unknown", "warn")]))
    assert (report["runs"], report["same"], report["different"]) == (6, 5, 1)
    (difference,) = report["differences"]
    assert difference["path_removed"] == ["warn"] and difference["path_added"] == ["stop"]
    assert report["unanswered"] == ["stop"]  # no recorded run has an approval of a warning


def test_a_new_node_is_added_to_every_way(store: Path) -> None:
    report = replayed(store, line_workflow(3, more=[act("archive")], ways=("judge>archive",)))
    assert report["different"] == 6 and all(each["path_added"] == ["archive"] for each in report["differences"])
    assert report["unanswered"] == ["archive"]


def test_another_question_has_no_recorded_answer(store: Path) -> None:
    """W-9.4.1: a version that judges by another rule pack: what the old one answered is no answer of the new one, so no
    run is called the same."""
    body = line_workflow(4)
    body["nodes"][0]["policy"]["rule_pack_id"] = "another_pack"
    report = replayed(store, body)
    assert (report["runs"], report["same"], report["different"], report["unknown"]) == (6, 0, 0, 6)
    assert report["not_comparable"] == ["judge"] and report["warnings"] == ["NOT_COMPARABLE"]
    assert report["share_same"] == 0.0 and report["unanswered"] == []


def test_a_question_that_only_some_runs_ask(store: Path) -> None:
    """W-9.4.1: the message of three runs says something else; the other three are the same."""
    body = line_workflow(5)
    next(node for node in body["nodes"] if node["id"] == "log")["message"] = "logged"
    report = replayed(store, body)
    assert (report["same"], report["unknown"], report["not_comparable"]) == (3, 3, ["log"])


@pytest.mark.parametrize(
    ("version", "change", "recommended"),
    [
        (6, {"name": "renamed"}, "deploy"),
        (7, {"cases": [("critical", "stop"), ("warning", "stop"), ("unknown", "warn")]}, "review"),
        (8, {}, "review"),
    ],
)
def test_a_report_recommends_what_its_replay_bears_out(
    store: Path, version: int, change: dict[str, Any], recommended: str
) -> None:
    """W-9.4.1: a version is recommended only where every replayed run goes the same way, and its page shows that."""
    body = line_workflow(version, **change)
    if version == 8:
        body["nodes"][0]["policy"]["rule_pack_id"] = "another_pack"

    async def reported(door: Penstock) -> str:
        report = await report_release(door, NAME, version, ReportRequest(runs=5))
        row = door.store.simulation(door.tenant, report.simulation_id)
        assert row is not None and row.report is not None
        page = row.report.decode()
        assert f"버전 {version} 대 1" in page and page.count("<h1>") == 1
        return str(msgspec.msgpack.decode(row.result)["recommendation"])

    with opened(store) as door:
        release(door, body, active=False)
        assert asyncio.run(reported(door)) == recommended


def test_nothing_replayed_is_nothing_shown(tmp_path: Path) -> None:
    """W-9.4.1: without a single real run a person has to look."""

    async def reported(door: Penstock) -> Any:
        report = await report_release(door, NAME, 2, ReportRequest(runs=5))
        row = door.store.simulation(door.tenant, report.simulation_id)
        assert row is not None
        return msgspec.msgpack.decode(row.result)

    with opened(tmp_path / "store.db") as door:
        release(door, line_workflow())
        release(door, line_workflow(2, name="renamed"), active=False)
        result = asyncio.run(reported(door))
    assert result["ok"] and result["replay"]["runs"] == 0 and result["recommendation"] == "review"


def test_a_run_that_was_steered_is_left_out(tmp_path: Path) -> None:
    """Somebody paused it: what they did belongs to the version that it was on."""
    with_runs(tmp_path / "store.db", ["normal"])

    async def steered() -> None:
        async with scripted(Penstock(tmp_path / "store.db")) as door:
            run = await start_release(door, NAME, {"say": "critical"})
            await door.pause(run)
            await door.resume(run)
            await door.cancel(run)
            await door.wait(run)

    asyncio.run(steered())
    with opened(tmp_path / "store.db") as door:
        report = replay_release(door, NAME, 1)
    assert (report.runs, report.skipped) == (1, 1)


def test_nothing_to_replay(tmp_path: Path) -> None:
    with opened(tmp_path / "store.db") as door:
        release(door, line_workflow())
        report = replay_release(door, NAME, 1)
    assert report.runs == 0 and report.warnings == ["NO_RUNS"] and "1" in report.as_html("ko")
