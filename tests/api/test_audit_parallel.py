"""Branches, people and undoing of the seed's test cases (13.2) over HTTP: on both stores, with the same journals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.journals import compared, told
from tests.api.served import Served, on_both, served
from tests.api.serving import until
from tests.conformance.decision.make import approval, data, parallel, seeds, undo, wait

Sites = dict[str, Served]
THREE = {"x": ["a"], "y": ["b"], "z": ["c"]}
MANUAL = {"type": "manual"}
ABC = [data("a"), data("b"), data("c"), data("after")]


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with on_both(tmp_path_factory.mktemp("sites"), served) as found:
        for site in found.values():
            site.puts("channels/slack", webhook_url=f"{site.plant.url}/slack")
            site.puts("templates/approval_request_v1", channel="slack", body="${event}: ${title}")
        yield found


@pytest.fixture(autouse=True)
def forgotten(sites: Sites) -> None:
    for site in sites.values():
        site.plant.seen.clear()
        site.statuses.clear()
        site.answers.clear()


def ran(look: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["status"] for one in look["firings"]}


def branches_of(look: dict[str, Any]) -> dict[str, str]:
    return {name: one["status"] for name, one in look["variables"]["parallel_results"].items()}


# ---- TC-WF-002 -------------------------------------------------------------------------------------------------------


def test_the_seeds_switches(sites: Sites) -> None:
    """TC-WF-002, W-4.8.1, W-4.8.3, H15: both samples of 4.8, by value and by condition."""
    simple, complex_ = seeds("4.8")
    simple = {**simple, "multi_match": {"enabled": False, "mode": "first"}}
    asked: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        *((simple, {"decision": decision}, way) for decision, way in (
            ("critical", "action_emergency"), ("warning", "action_warning"), ("normal", "action_log"),
            ("other", "action_escalate"))),
        (complex_, {"decision": "critical", "confidence": 0.95}, "auto_action"),
        (complex_, {"decision": "critical", "confidence": 0.6}, "human_review"),
        (complex_, {"decision": "normal", "confidence": 0.8}, "standard_flow"),
    ]  # fmt: skip
    ways = {id(simple): ("action_emergency", "action_warning", "action_log", "action_escalate"),
            id(complex_): ("auto_action", "human_review", "escalate_to_manager", "standard_flow")}  # fmt: skip

    def scene(site: Served) -> list[str]:
        runs = []
        for node, verdict, way in asked:
            site.plant.seen.clear()
            targets = [data(one) for one in ways[id(node)]]
            runs.append(site.plays([node, *targets], context={"variables": {"judgment_result": verdict}}))
            site.ends(runs[-1], "COMPLETED")
            assert [seen.path.strip("/") for seen in site.plant.seen] == [way], verdict
        return runs

    compared(sites, scene)


# ---- TC-WF-003 -------------------------------------------------------------------------------------------------------


def test_branches_that_may_stay_away(sites: Sites) -> None:
    """TC-WF-003, W-4.9.2, W-4.9.3, H15: a branch whose condition is false is neither run nor counted; an optional one
    may fail."""
    asked = {**THREE, "y": {"nodes": ["b"], "condition": "${input.n == 1}"}}
    optional = {**THREE, "z": {"nodes": ["c"], "required": False}}

    def scene(site: Served) -> list[str]:
        runs = []
        for n, there in ((1, {"x", "y", "z"}), (2, {"x", "z"})):
            site.plant.seen.clear()
            runs.append(site.plays([parallel("p", asked), *ABC], "p>after", given={"n": n}))
            assert branches_of(site.ends(runs[-1], "COMPLETED")) == dict.fromkeys(there, "succeeded")
            assert bool(site.to("b")) is (n == 1) and len(site.to("after")) == 1
        site.statuses["c"].append(400)
        runs.append(site.plays([parallel("p", optional), *ABC], "p>after", given={}))
        found = branches_of(site.ends(runs[-1], "COMPLETED"))
        assert found == {"x": "succeeded", "y": "succeeded", "z": "failed"} and len(site.to("after")) == 2
        return runs

    compared(sites, scene, in_order=False)


@pytest.mark.parametrize(("strategy", "n"), [("any", 1), ("n_of", 2)])
def test_the_rest_is_left(sites: Sites, strategy: str, n: int) -> None:
    """TC-WF-003, C-22, H15: as many as are asked for are enough: what still waits is skipped, and a failure before it
    does not count."""
    branches = {"x": ["a"], "y": ["b"], "z": ["c"], "v": ["w"]}
    nodes = [parallel("p", branches, strategy, join={"n": n} if strategy == "n_of" else {}), *ABC[:2],
             wait("c", MANUAL), wait("w", MANUAL), data("after")]  # fmt: skip

    def scene(site: Served) -> list[str]:
        site.statuses["b"].append(400)
        if strategy == "any":
            site.statuses["a"].append(400)
        run = site.plays(nodes, "p>after", given={})
        site.stands(run, "WAITING")
        assert not site.to("after")
        site.done(run, "signal", {"name": "manual:w", "payload": {"ok": True}, "id": "enough"})
        found = branches_of(site.ends(run, "COMPLETED"))
        first = "failed" if strategy == "any" else "succeeded"
        assert found == {"x": first, "y": "failed", "z": "skipped", "v": "succeeded"}
        assert len(site.to("after")) == 1
        site.done(run, "signal", {"name": "manual:c"}, status=409)
        return [run]

    compared(sites, scene, in_order=False)


def test_results_are_merged(sites: Sites) -> None:
    """TC-WF-003, C-23, H15: array and object have every branch, first_success what was there first."""
    nodes = [wait("a", MANUAL), wait("b", MANUAL)]

    def scene(site: Served) -> list[str]:
        runs = []
        for merge in ("array", "object", "first_success"):
            fan = parallel("p", {"x": ["a"], "y": ["b"]}, output={"variable": "got", "merge_strategy": merge})
            run = site.plays([fan, *nodes], given={})
            site.stands(run, "WAITING")
            for one in "ba":
                site.done(run, "signal", {"name": f"manual:{one}", "payload": one, "id": one})
            got = site.ends(run, "COMPLETED")["variables"]["got"]
            if merge == "array":
                assert [(one["branch_id"], one["output"]) for one in got] == [("x", "a"), ("y", "b")]
            elif merge == "object":
                assert {name: one["output"] for name, one in got.items()} == {"x": "a", "y": "b"}
            else:
                assert got == "b"
            runs.append(run)
        return runs

    compared(sites, scene)


@pytest.mark.parametrize("how", ["fail", "continue"])
def test_the_time_of_a_join(sites: Sites, how: str) -> None:
    """TC-WF-003, C-22, C-72, W-2.2.2, H15: JOIN_TIMEOUT is a timeout, and the run goes WAITING, TIMEOUT, FAILED; with
    `continue` the branch is a `timeout`, and it goes on."""
    join = {"timeout_ms": 1500, "on_partial_failure": how}
    nodes = [parallel("p", {"x": ["a"], "z": ["c"]}, join=join), data("a"), wait("c", MANUAL), data("after")]

    def scene(site: Served) -> list[str]:
        run = site.plays(nodes, "p>after", given={})
        if how == "continue":
            look = site.ends(run, "COMPLETED")
            assert branches_of(look) == {"x": "succeeded", "z": "timeout"} and len(site.to("after")) == 1
            return [run]
        look = site.ends(run, "FAILED", "JOIN_TIMEOUT")
        assert look["failure"]["category"] == "timeout" and not site.to("after")
        moved = site.operator.get(f"/instances/{run}/history").json()["items"]
        assert [one["to"] for one in moved if one["of"] == "instance"][-3:] == ["waiting", "timeout", "failed"]
        assert site.admin.get(f"/dlq/{run}").json()["category"] == "timeout"
        return [run]

    compared(sites, scene, at_once=True)


# ---- TC-WF-005 -------------------------------------------------------------------------------------------------------


def test_reminders(sites: Sites) -> None:
    """TC-WF-005, W-4.6.3, C-33, H15: each once while nobody has decided, one that is later than the end never; the
    facts tell when, and whoever is asked hears of it."""
    timeout = {"duration_seconds": 3, "on_timeout": "reject", "reminder_intervals": [0.00025, 0.0005, 1]}
    ask = {**approval("ask", "qa", timeout=timeout), "notification": {"channels": ["slack"]}}

    def scene(site: Served) -> list[str]:
        run = site.plays([ask])
        site.stands(run, "CANCELLED")
        facts = told(site, run)
        said = [one["data"]["body"] for one in facts if one["fact"] == "put" and one["edge"].endswith("ask.notify")]
        assert [one["event"] for one in said] == ["requested", "reminder", "reminder"]
        assert [one["after_hours"] for one in said[1:]] == [0.00025, 0.0005]
        set_ = [one["data"]["due"] for one in facts if one["fact"] == "timer.set"]
        assert (set_[1] - set_[0], set_[2] - set_[0]) == (900, 2100), "0.9 s, 1.8 s, and the end at 3 s"
        heard = until(lambda: [seen.json["text"] for seen in site.to("slack")], lambda found: len(found) >= 3)
        assert sorted(heard) == ["reminder: ask", "reminder: ask", "requested: ask"]
        return [run]

    compared(sites, scene, at_once=True)


def test_two_of_them_are_needed(sites: Sites) -> None:
    """TC-WF-005, W-4.6.4, W-4.6.5, C-32, H15: one who approves twice is one."""

    def scene(site: Served) -> list[str]:
        run = site.plays([approval("ask", "qa", who={"min_approvals": 2}), data("after")], "ask>after")
        site.stands(run, "WAITING")
        where = f"/approvals/{run}:ask/approve"
        statuses = [site.people[who].post(where, json={}).status_code for who in ("qa1", "qa1", "it")]
        assert (statuses[0], statuses[2]) == (200, 403) and statuses[1] in (200, 409)
        assert site.look(run)["state"] == "WAITING" and not site.to("after")
        assert site.people["qa2"].post(where, json={}).status_code == 200
        result = site.ends(run, "COMPLETED")["variables"]["approval_result"]
        assert [one["user"] for one in result["approvals"]] == ["qa1", "qa2"] and len(site.to("after")) == 1
        return [run]

    compared(sites, scene)


def test_handed_on_by_hand(sites: Sites) -> None:
    """TC-WF-005, W-4.6.1, C-34, C-66, H15: PENDING, ESCALATED, PENDING: who could not decide before may now; only who
    may decide may hand it on."""
    ask = approval("ask", "qa", timeout={"duration_hours": 5, "on_timeout": "escalate", "escalate_to": ["role:chief"]})

    def scene(site: Served) -> list[str]:
        run = site.plays([ask])
        site.stands(run, "WAITING")
        where = f"/approvals/{run}:ask"
        assert site.people["it"].post(f"{where}/escalate", json={}).status_code == 403
        assert site.people["boss"].post(f"{where}/approve", json={}).status_code == 403
        done = site.people["qa1"].post(f"{where}/escalate", json={"comment": "too big for me"})
        assert done.status_code == 200, done.text
        assert site.look(run)["state"] == "WAITING"
        moved = site.operator.get(f"/instances/{run}/history").json()["items"]
        asked = [(one["event"], one["to"], one["by"]) for one in moved if one["of"] == "approval"]
        assert asked[-2:] == [("escalate_action", "escalated", "qa1"), ("reassign_approvers", "pending", "qa1")]
        assert run in [one["run"] for one in site.people["boss"].get("/inbox").json()["items"]]
        assert site.people["boss"].post(f"{where}/approve", json={}).status_code == 200
        assert site.ends(run, "COMPLETED")["variables"]["approval_result"]["approver"] == "boss"
        return [run]

    compared(sites, scene)


# ---- TC-WF-008 -------------------------------------------------------------------------------------------------------


def test_only_what_its_condition_asks_for_is_undone(sites: Sites) -> None:
    """TC-WF-008, W-4.10.2, W-4.10.6, C-45, H15: a condition that is false leaves it; what is sent knows the answer of
    the node."""
    release = {"type": "api", "endpoint": "/release", "method": "POST", "body": {"reservation": "${b.output.id}"}}
    nodes = [data("a"), data("b"), data("c"), undo("ua", "a", trigger={"conditions": "a.at == 'elsewhere'"}),
             undo("ub", "b", actions=[release])]  # fmt: skip

    def scene(site: Served) -> list[str]:
        site.statuses["c"].append(400)
        run = site.plays(nodes, "a>b", "b>c")
        site.ends(run, "COMPENSATED", "HTTP_4XX")
        assert [seen.json for seen in site.to("release")] == [{"reservation": "S-1"}] and not site.to("undo/a")
        return [run]

    compared(sites, scene)
