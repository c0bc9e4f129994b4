"""Retries, breakers, checkpoints and dead letters of the seed's test cases (13.2) over HTTP, on both stores (H15)."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.journals import compared, told
from tests.api.served import Served, on_both, served
from tests.api.serving import until
from tests.conformance.decision.make import data, document, value, wait
from tests.executors.bench import Seen, as_json

Sites = dict[str, Served]
_numbers = itertools.count(1)
MANUAL = {"type": "manual"}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with on_both(tmp_path_factory.mktemp("sites"), served) as found:
        for site in found.values():
            site.puts("channels/slack", webhook_url=f"{site.plant.url}/slack")
        yield found


@pytest.fixture(autouse=True)
def forgotten(sites: Sites) -> None:
    for site in sites.values():
        site.plant.seen.clear()
        site.statuses.clear()
        site.answers.clear()


def fresh(name: str) -> str:
    """Breakers, queues and versions outlive a test: one that is tried again has others."""
    return f"{name}_{next(_numbers)}"


def ran(look: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["status"] for one in look["firings"]}


def ms(moment: str) -> int:
    return round(datetime.datetime.fromisoformat(moment).timestamp() * 1000)


# ---- TC-WF-006 -------------------------------------------------------------------------------------------------------


def delays(site: Served, run: str) -> list[int]:
    """How long it was to wait after each failure, as the facts tell."""
    failed = [one for one in told(site, run) if one["fact"] == "attempt.failed"]
    return [one["data"]["next_at"] - ms(one["at"]) for one in failed]


EXPONENTIAL = {"type": "exponential", "initial_ms": 50, "multiplier": 3, "max_ms": 200, "jitter": False}


@pytest.mark.parametrize(
    ("retry", "wanted"),
    [
        ({"max": 3, "backoff_ms": 100}, [100, 100, 100]),
        ({"max": 3, "backoff_ms": 100, "backoff_type": "linear"}, [100, 200, 300]),
        ({"max": 3, "backoff_ms": 100, "backoff_type": "exponential"}, [100, 200, 400]),
        ({"max_attempts": 4, "backoff": EXPONENTIAL}, [50, 150, 200]),
    ],
)
def test_how_long_it_waits(sites: Sites, retry: dict[str, Any], wanted: list[int]) -> None:
    """TC-WF-006, W-7.2.1, W-7.2.2, W-7.2.4, C-15, H15: three kinds, both shapes, the longest delay; at the node and as
    the policy of all; the trace tells as many retries."""

    def scene(site: Served) -> list[str]:
        runs = []
        for nodes, top in (([data("a", retry=retry)], {}), ([data("a")], {"policies": {"retry": retry}})):
            site.statuses["a"] += [503] * 3
            runs.append(site.plays(nodes, **top))
            site.ends(runs[-1], "COMPLETED")
            assert delays(site, runs[-1]) == wanted
            trace = site.operator.get(f"/instances/{runs[-1]}/trace").json()["workflow_execution"]
            assert [one["retry_count"] for one in trace["nodes_executed"]] == [3]
        return runs

    compared(sites, scene, at_once=True)


def test_jitter_is_the_runs_own(sites: Sites) -> None:
    """TC-WF-006, W-7.2.4, C-73, H15: half of the delay to all of it, another one every time, and what the run's seed
    says: whoever has the journal can compute it."""
    retry = {"max_attempts": 3, "backoff": {"type": "fixed", "initial_ms": 200}}

    def scene(site: Served) -> list[str]:
        runs, drawn = [], []
        for _ in range(4):
            site.statuses["a"] += [503] * 2
            runs.append(site.plays([data("a", retry=retry)]))
            site.ends(runs[-1], "COMPLETED")
            facts = told(site, runs[-1])
            seed = facts[0]["data"]["seed"]
            (firing,) = {one["data"]["firing"] for one in facts if one["fact"] == "attempt.failed"}
            found = delays(site, runs[-1])
            assert len(found) == 2 and all(100 <= one <= 200 for one in found), found
            for attempt, delay in enumerate(found, 1):
                digest = hashlib.sha256(f"{seed}/{firing}/{attempt}".encode()).digest()
                assert delay == 200 * (500 + int.from_bytes(digest[:4], "big") % 501) // 1000
            drawn += found
        assert len(set(drawn)) > 2, drawn
        return runs

    compared(sites, scene, at_once=True)


# ---- TC-WF-007 -------------------------------------------------------------------------------------------------------


def breaker(site: Served, name: str) -> dict[str, Any]:
    found = [one for one in site.operator.get("/circuit-breakers").json()["items"] if one["name"] == f"{name}/a"]
    return found[0] if found else {}


def test_a_breaker_opens_and_closes(sites: Sites) -> None:
    """TC-WF-007, W-7.3.2, W-7.3.3, C-19, H15: closed, open, half open, open, half open, closed. How long it is open is
    the version's in force: an hour, and then none at all."""
    name = fresh("wf_breaker")

    def scene(site: Served) -> list[str]:
        runs: list[str] = []

        def called(code: str | None, status: str) -> None:
            runs.append(site.begun(name))
            site.ends(runs[-1], "FAILED" if code else "COMPLETED", code)
            assert breaker(site, name)["status"] == status, len(runs)

        def version(cooldown: int, number: int) -> None:
            policy = {"failure_threshold": 2, "half_open_requests": 2, "cooldown_ms": cooldown}
            site.released(document([data("a", circuit_breaker=policy)], id=name, version=number))

        version(3_600_000, 1)
        assert breaker(site, name) == {}
        called(None, "closed")
        site.statuses["a"] += [503, 503]
        called("HTTP_5XX", "closed")
        called("HTTP_5XX", "open")
        called("CIRCUIT_OPEN", "open")
        assert len(site.to("a")) == 3 and breaker(site, name)["opened_at"]
        version(0, 2)
        site.statuses["a"].append(503)
        called("HTTP_5XX", "open")
        called(None, "half_open")
        called(None, "closed")
        assert len(site.to("a")) == 6 and breaker(site, name)["opened_at"] is None
        return runs

    compared(sites, scene)


def test_the_short_shape_of_a_breaker(sites: Sites) -> None:
    """TC-WF-007, W-7.3.5, C-19, H15: a full window decides; what is refused for good says nothing about the other."""
    policies = {"circuit_breaker": {"fail_rate": 0.5, "window": 4, "cooldown_s": 3600}}
    name = fresh("wf_short")

    def scene(site: Served) -> list[str]:
        site.statuses["a"] += [200, 503, 400, 200, 503]
        site.released(document([data("a")], policies=policies, id=name))
        runs = []
        for code in (None, "HTTP_5XX", "HTTP_4XX", None, "HTTP_5XX", "CIRCUIT_OPEN"):
            runs.append(site.begun(name))
            site.ends(runs[-1], "FAILED" if code else "COMPLETED", code)
        assert len(site.to("a")) == 5 and breaker(site, name)["status"] == "open"
        return runs

    compared(sites, scene)


@pytest.mark.parametrize("action", ["skip", "fail", "fallback"])
def test_what_an_open_breaker_does(sites: Sites, action: str) -> None:
    """TC-WF-007, W-7.3.3, W-7.4.1, C-76, H15: skip, fail, or another node in its place, whose answer is the node's; it
    is there already for the call whose failure has opened it."""
    on_open = {"action": action, **({"fallback_node": "b"} if action == "fallback" else {})}
    policy = {"failure_threshold": 1, "cooldown_ms": 3_600_000, "on_open": on_open}
    nodes = [data("a", circuit_breaker=policy), value("after", "a.at"), *([data("b")] if action == "fallback" else [])]
    name = fresh("wf_open")

    def scene(site: Served) -> list[str]:
        site.statuses["a"].append(503)
        site.released(document(nodes, ["a>after"], id=name))
        first = site.begun(name)
        if action == "fallback":
            assert site.ends(first, "COMPLETED")["output"] == "b"
        else:
            site.ends(first, "FAILED", "HTTP_5XX")
        run = site.begun(name)
        if action == "fail":
            site.ends(run, "FAILED", "CIRCUIT_OPEN")
        else:
            look = site.ends(run, "COMPLETED")
            assert ran(look)["a"] == ("skipped" if action == "skip" else "succeeded")
            assert look["output"] == (None if action == "skip" else "b")
        assert len(site.to("a")) == 1 and len(site.to("b")) == (2 if action == "fallback" else 0)
        return [first, run]

    compared(sites, scene)


def test_slow_calls_are_failures(sites: Sites) -> None:
    """TC-WF-007, W-7.3.4, H15: they are answered well, and open the breaker all the same."""
    policy = {"failure_threshold": 2, "cooldown_ms": 3_600_000,
              "metrics": {"track_latency": True, "latency_threshold_ms": 30}}  # fmt: skip
    name = fresh("wf_slow")

    def slow(seen: Seen) -> Any:
        time.sleep(0.06)
        return as_json({"at": "a"})

    def scene(site: Served) -> list[str]:
        site.answers["a"] = slow
        site.released(document([data("a", circuit_breaker=policy)], id=name))
        runs = [site.begun(name)]
        site.ends(runs[-1], "COMPLETED")
        runs.append(site.begun(name))
        site.ends(runs[-1], "COMPLETED")
        runs.append(site.begun(name))
        site.ends(runs[-1], "FAILED", "CIRCUIT_OPEN")
        assert breaker(site, name)["status"] == "open" and len(site.to("a")) == 2
        return runs

    compared(sites, scene)


# ---- TC-WF-012 -------------------------------------------------------------------------------------------------------

PLAIN = {"type": "database", "encryption": False}


def rows(site: Served, run: str) -> list[dict[str, Any]]:
    """The oldest first."""
    found: list[dict[str, Any]] = site.operator.get(f"/instances/{run}/checkpoints").json()["items"]
    return found[::-1]


@pytest.mark.parametrize(
    ("policy", "nodes"),
    [
        ({"strategy": "node_boundary"}, ["a", "b", "w", "w", "c", "d"]),
        ({"strategy": "explicit"}, ["b", "w"]),
        ({"strategy": "time_interval", "time_interval_ms": 3_600_000}, ["b", "w"]),
        ({"strategy": "time_interval", "time_interval_ms": 1}, ["b", "w", "w", "c", "d"]),
    ],
)
def test_three_strategies(sites: Sites, policy: dict[str, Any], nodes: list[str]) -> None:
    """TC-WF-012, W-8.1.1, W-8.1.2, W-8.1.5, W-8.2.1, H15: at every boundary, as time goes, or where a node asks for it;
    numbered without a hole; what one holds is told of it alone."""
    policies = {"checkpoint": {**policy, "storage": PLAIN}}
    whole = [data("a", output={"variable": "got"}), data("b", checkpoint=True), data("x"), wait("w", MANUAL),
             data("c"), data("d")]  # fmt: skip

    def scene(site: Served) -> list[str]:
        run = site.plays(whole, "a>b b>x x>w w>c c>d", given={"n": 1}, policies=policies)
        site.stands(run, "WAITING")
        site.done(run, "signal", {"name": "manual:w", "id": "go"})
        site.ends(run, "COMPLETED")
        found = rows(site, run)
        assert [one["checkpoint_number"] for one in found] == list(range(1, len(found) + 1))
        assert [one["node_id"] for one in found] == nodes
        (waits,) = [one for one in found if one["status"] == "waiting"]
        held = site.operator.get(f"/instances/{run}/checkpoints/{waits['checkpoint_number']}").json()
        assert (held["status"], held["size_bytes"]) == ("waiting", waits["size_bytes"]) and waits["size_bytes"] > 0
        assert held["context_snapshot"]["input"] == {"n": 1} and held["damaged"] == []
        assert held["node_id"] == "w" and held["node_outputs"]["outputs"]["got"]["at"] == "a"
        assert [one["name"] for one in held["pending_events"]["waits"]] == ["manual:w"]
        for number in (len(found) + 1, 0):
            missing = site.operator.get(f"/runs/{run}/checkpoints/{number}")
            assert missing.status_code in (404, 422), missing.text
        return [run]

    compared(sites, scene)


def test_a_checkpoint_is_sealed(sites: Sites) -> None:
    """TC-WF-012, W-8.1.3, C-47, C-79, H15: without a key nothing starts that wants it sealed; with another key nobody
    can read what was written, with its own everybody who may; the largest is a metric, measured after compression."""
    nodes, policies = [data("a"), wait("w", MANUAL)], {"checkpoint": {"strategy": "node_boundary"}}
    given, name = {"text": "nobody may read this " * 500}, fresh("wf_sealed")

    def scene(site: Served) -> list[str]:
        site.released(document(nodes, ["a>w"], policies=policies, id=name))
        site.admin.delete("/secrets/checkpoint_key")  # there is one where this is tried again
        refused = site.operator.post("/runs", json={"definition": name, "input": given})
        assert (refused.status_code, refused.json()["code"]) == (422, "PS-422-CHECKPOINT-KEY")
        assert site.operator.get(f"/runs?name={name}").json()["items"] == []
        site.puts("secrets/checkpoint_key", value="the first")
        run = site.begun(name, given)
        site.stands(run, "WAITING")
        (row,) = rows(site, run)
        held = f"/runs/{run}/checkpoints/1"
        assert site.operator.get(held).json()["context_snapshot"]["input"] == given
        site.puts("secrets/checkpoint_key", value="another")
        lost = site.operator.get(held)
        assert (lost.status_code, lost.json()["code"]) == (404, "PS-404-CHECKPOINT")
        site.puts("secrets/checkpoint_key", value="the first")
        assert site.operator.get(held).json()["context_snapshot"]["input"] == given
        assert 0 < row["size_bytes"] < len(given["text"]) / 3
        metrics = dict(line.rsplit(" ", 1) for line in site.admin.get("/metrics").text.splitlines())
        assert float(metrics["checkpoint_size_bytes"]) >= row["size_bytes"]
        return [run]

    compared(sites, scene)


# ---- TC-WF-013 -------------------------------------------------------------------------------------------------------


def failing(site: Served, times: int, dlq: dict[str, Any], id: str) -> list[str]:
    """So many runs that end badly."""
    site.released(document([data("a")], policies={"dlq": dlq}, id=id))
    runs = []
    for n in range(times):
        site.statuses["a"].append(400)
        runs.append(site.begun(id, {"n": n}))
        site.ends(runs[-1], "FAILED", "HTTP_4XX")
    return runs


def test_too_many_letters_are_told_once(sites: Sites) -> None:
    """TC-WF-013, W-7.5.1, W-7.5.3, H15: more than the threshold within the window: one message on its channels; they
    lie in the queue that the document names, as long as it says, without what it leaves out."""
    name = fresh("wf_alerts")
    dlq = {"queue_name": f"queue of {name}", "retention_days": 3, "include": {"execution_history": False},
           "alerts": {"threshold": 2, "window_minutes": 60, "channels": ["slack"]}}  # fmt: skip

    def scene(site: Served) -> list[str]:
        runs = failing(site, 5, dlq, name)
        heard = until(lambda: [seen.json["text"] for seen in site.to("slack")], bool)
        assert len(heard) == 1 and "3 runs have ended badly within 60 minutes" in heard[0], heard
        letters = site.admin.get(f"/dlq?name={name}").json()["items"]
        assert [one["run"] for one in letters] == runs[::-1]
        for one in letters:
            assert one["queue"] == f"queue of {name}" and one["execution_history"] is None and one["error"]
            assert ms(one["until"]) - ms(one["at"]) == 3 * 86_400_000
        return runs

    compared(sites, scene)


def test_a_letter_is_taken_away(sites: Sites) -> None:
    """TC-WF-013, W-7.5.2, C-66, H15: by who may operate, once, and written down; the run is as it was, and when it is
    tried again and fails there is a letter again."""
    name = fresh("wf_dropped")

    def scene(site: Served) -> list[str]:
        (run,) = failing(site, 1, {}, name)
        where = f"/dlq/{run}"
        assert site.people["boss"].delete(where).status_code == 403
        assert site.admin.get(where).status_code == 200
        assert site.operator.delete(where).status_code == 204
        again = site.operator.delete(where)
        assert (again.status_code, again.json()["code"]) == (404, "PS-404-LETTER")
        assert run not in [one["run"] for one in site.admin.get("/dlq?limit=200").json()["items"]]
        assert site.admin.post(f"{where}/replay").status_code == 404
        written = [one for one in site.admin.get("/audit?limit=50").json()["items"] if one["target"] == f"dlq/{run}"]
        assert [one["actor"] for one in written if one["action"] == "DELETE /dlq/{run}"].count("op") == 3
        assert site.look(run)["state"] == "FAILED"
        site.statuses["a"].append(400)
        site.done(run, "retry")
        until(lambda: site.admin.get(where).status_code, lambda status: status == 200)
        site.stands(run, "FAILED")
        return [run]

    compared(sites, scene)


def test_letters_are_replayed_by_a_version_that_mends_them(sites: Sites) -> None:
    """TC-WF-013, W-7.5.4, W-7.2.3, H15: each once and by itself, with its own input; a version that is only submitted
    mends nothing."""
    dlq, name = {"replay": {"auto_replay_on_fix": True}}, fresh("wf_mended")

    def scene(site: Served) -> list[str]:
        broken = failing(site, 2, dlq, name)
        whole = document([value("v", "input.n + 10")], policies={"dlq": dlq}, id=name, version=2)
        made = site.admin.post("/definitions", json={"document": whole})
        assert made.status_code == 201, made.text
        assert [site.admin.get(f"/dlq/{run}").json()["replays"] for run in broken] == [0, 0]
        site.released(whole)
        mended = until(lambda: site.operator.get(f"/runs?name={name}&state=COMPLETED").json()["items"],
                       lambda found: len(found) >= 2)  # fmt: skip
        looks = sorted((site.look(one["id"]) for one in mended), key=lambda one: str(one["input"]))
        assert [(one["output"], one["version"], one["trigger"]["type"]) for one in looks] == [
            (10, 2, "replay"), (11, 2, "replay")
        ]  # fmt: skip
        assert [site.admin.get(f"/dlq/{run}").json()["replays"] for run in broken] == [1, 1]
        return [*broken, *(one["id"] for one in looks)]

    compared(sites, scene)


def test_what_a_start_tidies(sites: Sites) -> None:
    """TC-WF-012, TC-WF-013, W-8.1.4, C-47, W-10.1.1, W-10.1.2, C-62: checkpoints whose time is over are gone, but never
    the newest of a run that waits; over ten letters are an alarm, ten are none."""
    nodes = [data("a"), data("b"), wait("w", MANUAL)]
    policies = {"checkpoint": {"storage": PLAIN, "retention": {"completed_hours": 0, "running_days": 0}}}
    name = fresh("wf_many")

    def open_(site: Served) -> list[str]:
        found = site.admin.get("/alarms?state=open").json()["items"]
        return [one["metric"] for one in found if one["metric"] == "dlq_message_count"]

    def scene(site: Served) -> list[str]:
        waits, done = (
            site.stands(site.plays(nodes, "a>b b>w", policies=policies), "WAITING")["id"] for _ in range(2)
        )  # one after the other: their answers are numbered
        site.done(done, "signal", {"name": "manual:w", "id": "go"})
        site.ends(done, "COMPLETED")
        failing(site, 11, {}, name)
        site.server.stop()
        site.start()
        until(lambda: [one["node_id"] for one in rows(site, waits)], lambda nodes: nodes == ["w"])
        until(lambda: rows(site, done), lambda found: found == [])
        assert site.look(waits)["state"] == "WAITING" and site.look(done)["state"] == "COMPLETED"
        until(lambda: open_(site), bool)
        letters = site.admin.get("/dlq?limit=200").json()["items"]
        for one in letters[10:]:
            assert site.operator.delete(f"/dlq/{one['run']}").status_code == 204
        site.server.stop()
        site.start()
        until(lambda: open_(site), lambda found: not found)
        over = [one for one in site.admin.get("/alarms").json()["items"] if one["metric"] == "dlq_message_count"]
        assert (over[0]["state"], over[0]["threshold"], over[0]["comparison"]) == ("cleared", 10, ">")
        return [done]

    compared(sites, scene, at_once=True)
