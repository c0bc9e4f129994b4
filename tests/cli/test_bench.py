"""penstock bench: small workloads, for the shape of what it prints; figures are never asserted."""

from __future__ import annotations

import pytest

from tests.cli.shell import Shell

WORKLOADS = {
    "chain": (["--runs", "20", "--concurrent", "5"], {"steps_per_s", "bytes_per_step"}),
    "latency": (["--runs", "5"], {"p50_ms", "p99_ms", "limit"}),
    "fan": (["--width", "20"], {"steps_per_s", "limit"}),
    "loop": (["--rounds", "300"], {"steps_per_s", "limit"}),
    "waiting": (["--runs", "50"], {"rss_per_run"}),
}


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_workload_prints_its_figures(penstock: Shell, workload: str) -> None:
    options, keys = WORKLOADS[workload]
    found = penstock("bench", workload, *options, "--json").json()
    assert found["workload"] == workload
    assert keys <= found.keys()
    assert not penstock.store.exists()


def test_the_store_of_a_bench_can_be_kept_and_traced(penstock: Shell) -> None:
    penstock("bench", "chain", "--runs", "2", "--store", "kept.db")
    run = penstock("ps", "--all", "--store", "kept.db", "--json").json()[0]["run_id"]
    lines = penstock("trace", run, "--store", "kept.db", "--json").json()
    assert sum(x["fact"] == "effect.asked" for x in lines) == 10
    assert sum(x["fact"] == "settled" and x["node"].startswith("n") for x in lines) == 10
    assert penstock("verify", "--store", "kept.db", "--json").json()["violations"] == []


def test_an_option_of_another_workload_is_refused(penstock: Shell) -> None:
    assert "--rounds" in penstock("bench", "chain", "--rounds", "5", "--json", code=2).error()["message"]
