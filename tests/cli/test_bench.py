"""penstock bench: small workloads, for the shape of what it prints; figures are never asserted."""

from __future__ import annotations

import pytest

from tests.cli.shell import Shell

TIMES = {"p50_ms", "p99_ms"}
WORKLOADS = {
    "chain": (["--runs", "20", "--concurrent", "5"], {"bytes_per_step", *TIMES}),
    "latency": (["--runs", "5"], {"bytes_per_step", *TIMES}),
    "fan": (["--width", "20"], {"bytes_per_step"}),
    "loop": (["--rounds", "300"], {"bytes_per_step", *TIMES}),
    "waiting": (["--runs", "50"], {"rss_per_run", "starts_per_s", "resumes_per_s", *TIMES}),
}


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_workload_prints_its_figures(penstock: Shell, workload: str) -> None:
    options, keys = WORKLOADS[workload]
    found = penstock("bench", workload, *options, "--json").json()
    assert found["workload"] == workload
    assert {"steps_per_s", "fdatasync_ms", "limit", *keys} <= found.keys()
    limit = found["limit"]
    assert {"step_us", "commit_us", "dispatch_us", "total_us", "cpu_us", "sync_us"} == limit["spent"].keys()
    assert limit["bound"] in ("disk", "processor") and limit["fdatasync_ms"] >= 0 and limit["steps_per_commit"] > 0
    assert not penstock.store.exists()


def test_a_figure_is_told_beside_what_the_disk_took(penstock: Shell) -> None:
    told = penstock("bench", "chain", "--runs", "3").out
    for line in told.splitlines():
        assert not line.startswith(("steps_per_s", "p50_ms", "p99_ms")) or "fdatasync" in line, line


def test_a_profile_names_the_functions_that_take_the_time(penstock: Shell) -> None:
    found = penstock("bench", "chain", "--runs", "5", "--profile", "--json").json()["profile"]
    assert found == sorted(found, key=lambda one: -one["total_ms"])
    assert any(one["function"].startswith("kernel/step.py") and one["calls"] for one in found)
    assert all(one["own_ms"] <= one["total_ms"] for one in found)


def test_the_bare_loop_leaves_nothing_beside_a_kept_store(penstock: Shell) -> None:
    penstock("bench", "latency", "--runs", "2", "--store", "here/kept.db")
    left = {path.name for path in (penstock.folder / "here").iterdir()}
    assert left <= {"kept.db", "kept.db-wal", "kept.db-shm", "kept.db.lock"}


def test_the_store_of_a_bench_can_be_kept_and_traced(penstock: Shell) -> None:
    penstock("bench", "chain", "--runs", "2", "--store", "kept.db")
    run = penstock("ps", "--all", "--store", "kept.db", "--json").json()[0]["run_id"]
    lines = penstock("trace", run, "--store", "kept.db", "--json").json()
    asked = [x["turn"] for x in lines if x["fact"] == "effect.asked"]
    settled = [x["turn"] for x in lines if x["fact"] == "settled" and x["node"].startswith("n")]
    assert asked == list(range(1, 11)) and settled == list(range(2, 12)), "a commit between any two steps"
    assert penstock("verify", "--store", "kept.db", "--json").json()["violations"] == []


def test_an_option_of_another_workload_is_refused(penstock: Shell) -> None:
    assert "--rounds" in penstock("bench", "chain", "--rounds", "5", "--json", code=2).error()["message"]
