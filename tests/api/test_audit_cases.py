"""The seed's test cases (13.2) over HTTP: `penstock serve` on both stores, its answers, and the same journals (H15)."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.journals import compared
from tests.api.served import Served, on_both, served
from tests.api.serving import until
from tests.conformance.decision.make import approval, data, parallel, switch, undo, value, wait
from tests.executors.bench import Seen, as_json

Sites = dict[str, Served]
THREE = {"x": ["a"], "y": ["b"], "z": ["c"]}
MANUAL = {"type": "manual"}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with on_both(tmp_path_factory.mktemp("sites"), served) as found:
        yield found


@pytest.fixture(autouse=True)
def forgotten(sites: Sites) -> None:
    for site in sites.values():
        site.plant.seen.clear()
        site.statuses.clear()
        site.answers.clear()


def ran(look: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["status"] for one in look["firings"]}


# ---- TC-WF-001, TC-WF-002 --------------------------------------------------------------------------------------------

BY_VALUE = switch("s", "${input.v}", [(1, "a"), ("two", "b"), (True, "c")])
CASES = [
    {"condition": "input.v > 1", "goto": "a"}, {"condition": "input.v > 2", "goto": "b", "priority": 5},
    {"condition": "input.v > 3", "goto": "c", "priority": 1},
]  # fmt: skip


def matching(mode: str) -> dict[str, Any]:
    return {"id": "s", "type": "SWITCH", "cases": CASES, "multi_match": {"enabled": True, "mode": mode}}


def test_the_basic_flow(sites: Sites) -> None:
    """TC-WF-001, W-2.2.2, W-10.2.1, H15: created, pending, running, completed; the trace tells both nodes."""

    def scene(site: Served) -> list[str]:
        run = site.plays([data("a"), value("v", "a.at + '!'")], "a>v", given={"n": 1})
        look = site.ends(run, "COMPLETED")
        moved = site.operator.get(f"/instances/{run}/history").json()["items"]
        of_it = [one["to"] for one in moved if one["of"] == "instance" and one["event"] != "node_complete"]
        assert of_it == ["created", "pending", "running", "completed"] and look["output"] == "a!"
        whole = site.operator.get(f"/instances/{run}/trace").json()
        told = whole["workflow_execution"]
        assert (len(whole["trace_id"]), len(whole["span_id"])) == (32, 16)
        assert (told["instance_id"], told["tenant_id"], told["version"]) == (run, look["tenant"], 1)
        assert told["trigger"] == {"type": "manual", "source": "user:op"} and told["input_summary"] == {"n": 1}
        assert [(one["node_id"], one["type"], one["status"], one["retry_count"]) for one in told["nodes_executed"]] == [
            ("a", "DATA", "succeeded", 0), ("v", "DATA", "succeeded", 0)
        ]  # fmt: skip
        assert told["errors"] == [] and told["completed_at"] >= told["started_at"] and told["duration_ms"] >= 0
        return [run]

    compared(sites, scene)


@pytest.mark.parametrize(
    ("node", "v", "ways"),
    [
        (BY_VALUE, 1, "a"), (BY_VALUE, "two", "b"), (BY_VALUE, True, "c"), (BY_VALUE, "1", ""),
        ({**BY_VALUE, "default": {"goto": "b"}}, 9, "b"), ({**BY_VALUE, "default": {"goto": "end"}}, 9, ""),
        (matching("first"), 9, "a"), (matching("all"), 9, "abc"), (matching("priority"), 9, "c"),
        (matching("all"), 1, ""),
    ],
)  # fmt: skip
def test_a_switch_chooses(sites: Sites, node: dict[str, Any], v: Any, ways: str) -> None:
    """TC-WF-002, W-4.8.2, W-4.8.4, C-11, C-12, C-14, H15: by value, first, all, priority, default, `end`, no match."""

    def scene(site: Served) -> list[str]:
        run = site.plays([node, data("a"), data("b"), data("c")], given={"v": v})
        look = site.ends(run, "COMPLETED")
        assert "".join(sorted(one for one in ran(look) if one in "abc" and ran(look)[one] == "succeeded")) == ways
        lost = not ways and "default" not in node
        assert [one["code"] for one in look["warnings"]] == (["SWITCH_NO_MATCH"] if lost else [])
        return [run]

    compared(sites, scene, in_order=len(ways) < 2)


# ---- TC-WF-003 -------------------------------------------------------------------------------------------------------


def fanned(site: Served, bad: str = "", **fields: Any) -> str:
    for place in bad:
        site.statuses[place].append(400)
    branches, more = fields.pop("branches", THREE), fields.pop("more", [])
    return site.plays([parallel("p", branches, **fields), data("a"), data("b"), data("c"), data("after"), *more],
                      "p>after", given={})  # fmt: skip


def test_branches_run_at_the_same_time(sites: Sites) -> None:
    """TC-WF-003, W-4.9.1, H15: three calls that are answered only when all of them are there."""

    def scene(site: Served) -> list[str]:
        meeting = threading.Barrier(3, timeout=20)

        def meet(seen: Seen) -> Any:
            meeting.wait()
            return as_json({})

        site.answers.update(dict.fromkeys("abc", meet))
        run = fanned(site)
        site.ends(run, "COMPLETED")
        assert not meeting.broken
        return [run]

    compared(sites, scene, in_order=False)


@pytest.mark.parametrize(
    ("strategy", "bad", "join", "state"),
    [
        ("all", "", {}, "COMPLETED"), ("all", "b", {}, "FAILED"),
        ("all", "b", {"on_partial_failure": "continue"}, "COMPLETED"),
        ("any", "abc", {}, "FAILED"), ("n_of", "a", {"n": 2}, "COMPLETED"), ("n_of", "ab", {"n": 2}, "FAILED"),
    ],
)  # fmt: skip
def test_joins(sites: Sites, strategy: str, bad: str, join: dict[str, Any], state: str) -> None:
    """TC-WF-003, C-22: all, any, n_of; `continue` goes on with what is there."""
    for site in sites.values():
        branches = {name: {"nodes": nodes, "required": strategy == "all"} for name, nodes in THREE.items()}
        run = fanned(site, bad, strategy=strategy, branches=branches, join=join)
        look = site.stands(run, state)
        assert bool(site.to("after")) is (state == "COMPLETED")
        if state == "COMPLETED" and strategy == "all":
            told = {name: one["status"] for name, one in look["variables"]["parallel_results"].items()}
            assert told == {"x": "succeeded", "y": "failed" if bad else "succeeded", "z": "succeeded"}


def test_a_partial_failure_is_undone(sites: Sites) -> None:
    """TC-WF-003, TC-WF-008, C-22: what has succeeded is undone, and the failed one is not; COMPENSATED."""
    nodes = [parallel("p", {"x": ["a"], "y": ["b"]}, join={"on_partial_failure": "compensate"}), data("a"), data("b"),
             undo("ua", "a"), undo("ub", "b")]  # fmt: skip

    def scene(site: Served) -> list[str]:
        going = threading.Event()

        def held(seen: Seen) -> Any:
            going.wait(30)
            return as_json({}, 400)

        site.answers["b"] = held
        run = site.plays(nodes, given={})
        until(lambda: ran(site.look(run)).get("a"), lambda status: status == "succeeded")
        going.set()
        site.ends(run, "COMPENSATED", "HTTP_4XX")
        assert len(site.to("undo/a")) == 1 and not site.to("undo/b")
        return [run]

    compared(sites, scene)


# ---- TC-WF-004 -------------------------------------------------------------------------------------------------------

NEWS = {"type": "event", "event": {"source": "news", "filter": {"n": "${input.n}"}}}
POLL = {"type": "polling", "polling": {"endpoint": "/poll", "interval_sec": 0.2,
                                       "success_condition": "response.status == 'completed'"}}  # fmt: skip


def sent(site: Served, payload: Any, **more: Any) -> list[str]:
    answer = site.admin.post("/events", json={"source": "news", "payload": payload, **more})
    assert answer.status_code == 202, answer.text
    found: list[str] = answer.json()["resumed"]
    return found


WAITS: dict[str, dict[str, Any]] = {
    "event": NEWS,
    "manual": MANUAL,
    "polling": POLL,
    "time": {"type": "time", "duration_ms": 3000},
}


@pytest.mark.parametrize("killed", [False, True])
def test_every_wait_is_resumed(sites: Sites, killed: bool) -> None:
    """TC-WF-004, W-4.7.1, W-4.7.2, W-4.7.3, W-4.7.4, W-8.3.2, H15: event, signal, time and poll; also when the server
    is killed meanwhile."""
    n = f"killed {killed} {secrets.token_hex(4)}"  # news are kept: a second try has others

    def scene(site: Served) -> list[str]:
        going = {"status": "running"}
        site.answers["poll"] = lambda seen: as_json(going)
        runs = {}
        for kind, condition in WAITS.items():
            nodes = [data(f"a_{kind}"), wait("w", condition, output={"variable": "got"}), data(f"after_{kind}")]
            runs[kind] = site.plays(nodes, f"a_{kind}>w w>after_{kind}", given={"n": n})
        for run in runs.values():
            until(lambda run=run: ran(site.look(run)), lambda found: "w" in found)
        if killed:
            site.server.kill()
            site.start()
        assert sent(site, {"n": "another"}) == []
        until(lambda: site.look(runs["event"])["state"], lambda state: state == "WAITING")
        assert sent(site, {"n": n}, id=n) == [runs["event"]]
        done = site.operator.post(f"/instances/{runs['manual']}/nodes/w/signal", json={"payload": {"go": True}})
        assert done.status_code == 200, done.text
        until(lambda: len(site.to("poll")), lambda times: times >= 2)
        until(lambda: site.look(runs["polling"])["state"], lambda state: state == "WAITING")
        going["status"] = "completed"
        got = {kind: site.ends(run, "COMPLETED")["variables"]["got"] for kind, run in runs.items()}
        assert got.pop("time")["waited_ms"] >= 3000
        assert got == {"event": {"n": n}, "manual": {"go": True}, "polling": {"status": "completed"}}
        for kind in runs:
            assert len(site.to(f"a_{kind}")) == len(site.to(f"after_{kind}")) == 1, "no node is executed twice"
        return [run for kind, run in runs.items() if kind != "polling"]  # how often it was asked is the clock's affair

    compared(sites, scene)


@pytest.mark.parametrize("how", ["fail", "skip", "default_value", "alternative_path"])
def test_the_time_of_a_wait_is_over(sites: Sites, how: str) -> None:
    """TC-WF-004, W-4.7.5, C-36, H15: fail, skip, default_value, alternative_path."""
    known: dict[str, dict[str, Any]] = {
        "default_value": {"default": {"status": "none"}}, "alternative_path": {"goto": "other"}
    }  # fmt: skip
    more = known.get(how, {})
    node = wait("w", MANUAL, timeout={"duration_ms": 300, "on_timeout": how, **more})

    def scene(site: Served) -> list[str]:
        others = [data("other")] if how == "alternative_path" else []
        run = site.plays([node, data("after"), *others], "w>after", given={})
        site.ends(run, "FAILED" if how == "fail" else "COMPLETED", "WAIT_TIMEOUT" if how == "fail" else None)
        assert bool(site.to("after")) is (how in ("skip", "default_value"))
        assert bool(site.to("other")) is (how == "alternative_path")
        return [run]

    compared(sites, scene)


def test_an_early_event_is_found(sites: Sites) -> None:
    """TC-WF-004, C-37, H15: it came while the workflow was still at another node; a wrong one is not taken for it."""

    def scene(site: Served) -> list[str]:
        run = site.plays([wait("first", MANUAL), wait("w", NEWS)], "first>w", given={"n": 3})
        site.stands(run, "WAITING")
        for n in (2, 3, 4):
            assert sent(site, {"n": n, "early": True}, id=f"early {n}") == []
        site.done(run, "signal", {"name": "manual:first"})
        assert site.ends(run, "COMPLETED")["output"] == {"n": 3, "early": True}
        return [run]

    compared(sites, scene)


# ---- TC-WF-005 -------------------------------------------------------------------------------------------------------


def decide(site: Served, who: str, run: str, verb: str = "approve", **body: Any) -> int:
    return site.people[who].post(f"/approvals/{run}:ask/{verb}", json=body).status_code


@pytest.mark.parametrize(
    ("type", "targets", "who", "not_who"),
    [
        ("role", ["qa"], ["qa1"], ["it", "boss"]), ("user", ["it"], ["it"], ["qa1"]),
        ("group", ["night"], ["qa2"], ["qa1"]), ("any_of", ["role:chief", "user:it"], ["it"], ["qa1"]),
        ("all_of", ["role:qa", "role:it"], ["qa1", "it"], ["boss"]),
    ],
)  # fmt: skip
def test_who_decides(sites: Sites, type: str, targets: list[str], who: list[str], not_who: list[str]) -> None:
    """TC-WF-005, W-4.6.4, C-32, H15: user, role, group, any_of, all_of; others are refused; decided once."""

    def scene(site: Served) -> list[str]:
        run = site.plays([approval("ask", *targets, type=type), data("after")], "ask>after")
        site.stands(run, "WAITING")
        facts = site.look(run)["facts"]
        assert [decide(site, one, run) for one in (*not_who, "op")] == [403] * (len(not_who) + 1)
        assert site.look(run)["facts"] == facts, "who was refused has changed nothing"
        for one in who:
            assert site.look(run)["state"] == "WAITING" and not site.to("after")
            assert decide(site, one, run, comment=f"by {one}") == 200
        result = site.ends(run, "COMPLETED")["variables"]["approval_result"]
        assert result["status"] == "approved" and [one["user"] for one in result["approvals"]] == who
        assert decide(site, who[0], run) == 409
        return [run]

    compared(sites, scene)


def test_one_no_is_enough(sites: Sites) -> None:
    """TC-WF-005, C-40, W-4.6.2, H15: also where others have approved already; an edge takes it where there is one."""
    both = approval("ask", "role:qa", "role:it", type="all_of")

    def scene(site: Served) -> list[str]:
        run = site.plays([both, data("after")], "ask>after")
        site.stands(run, "WAITING")
        assert (decide(site, "qa1", run), decide(site, "it", run, "reject", comment="no")) == (200, 200)
        site.stands(run, "CANCELLED")
        taken = site.plays([both, data("no")], ("ask>no", {"when": "rejected"}))
        site.stands(taken, "WAITING")
        assert decide(site, "it", taken, "reject", comment="no") == 200
        site.ends(taken, "COMPLETED")
        assert not site.to("after") and len(site.to("no")) == 1
        return [run, taken]

    compared(sites, scene)


@pytest.mark.parametrize(("how", "state"), [("reject", "CANCELLED"), ("auto_approve", "COMPLETED")])
def test_nobody_decides_in_time(sites: Sites, how: str, state: str) -> None:
    """TC-WF-005, W-4.6.1, H15: what on_timeout says."""

    def scene(site: Served) -> list[str]:
        run = site.plays([approval("ask", "qa", timeout={"duration_ms": 300, "on_timeout": how})])
        assert site.stands(run, state)["state"] == state
        return [run]

    compared(sites, scene)


def test_an_escalation_asks_others(sites: Sites) -> None:
    """TC-WF-005, W-4.6.1, C-34: by itself when the time is over; whoever was asked first may not decide any more."""
    timeout = {"duration_seconds": 4, "on_timeout": "escalate", "escalate_to": ["role:chief"]}

    def scene(site: Served) -> None:
        run, boss = site.plays([approval("ask", "qa", timeout=timeout)]), site.people["boss"]
        until(lambda: [one["run"] for one in boss.get("/inbox").json()["items"]], lambda waits: run in waits)
        item = boss.get(f"/inbox/{run}/ask").json()
        assert item["escalation_level"] >= 1 and item["candidates"] == ["role:chief"]
        assert site.look(run)["state"] == "WAITING" and decide(site, "qa1", run) == 403
        assert decide(site, "boss", run) == 200
        site.ends(run, "COMPLETED")

    for site in sites.values():
        scene(site)


# ---- TC-WF-006, TC-WF-007 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statuses", "calls", "code"),
    [([503, 503], 3, None), ([503] * 3, 3, "HTTP_5XX"), ([400], 1, "HTTP_4XX"), ([403], 1, "HTTP_401_403")],
)
@pytest.mark.parametrize(
    "retry", [{"max": 2, "backoff_ms": 100}, {"max_attempts": 3, "backoff": {"initial_ms": 100, "max_ms": 150}}]
)
def test_trouble_is_tried_again(
    sites: Sites, retry: dict[str, Any], statuses: list[int], calls: int, code: str | None
) -> None:
    """TC-WF-006, W-7.2.1, W-7.2.2, C-15, W-4.5.8, H15: both shapes; trouble passes or is used up, a refusal is final;
    one key."""

    def scene(site: Served) -> list[str]:
        site.statuses["a"] += statuses
        run = site.plays([data("a", retry=retry)])
        look = site.ends(run, "FAILED" if code else "COMPLETED", code)
        keys = [seen.headers["idempotency-key"] for seen in site.to("a")]
        assert len(keys) == calls and len(set(keys)) == 1
        (firing,) = [one for one in look["firings"] if one["node"] == "a"]
        assert [one["n"] for one in firing["attempts"]] == list(range(1, calls + 1))
        site.plant.seen.clear()
        return [run]

    compared(sites, scene)


def test_a_breaker_is_every_runs(sites: Sites) -> None:
    """TC-WF-007, W-7.3.2, W-7.3.3, W-7.3.5, C-66, H15: three failures open it, the fourth run calls nobody; it is
    listed, survives kill -9, and a reset closes it."""
    breaker = {"failure_threshold": 3, "half_open_requests": 2, "cooldown_ms": 3_600_000}

    def scene(site: Served) -> list[str]:
        nodes = [data("a", circuit_breaker=breaker)]
        name, runs = site.known(nodes), []
        site.statuses["a"] += [503] * 3
        for code in ("HTTP_5XX", "HTTP_5XX", "HTTP_5XX", "CIRCUIT_OPEN"):
            runs.append(site.begun(name))
            site.ends(runs[-1], "FAILED", code)
        assert len(site.to("a")) == 3
        listed = {one["name"]: one["status"] for one in site.operator.get("/circuit-breakers").json()["items"]}
        assert listed[f"{name}/a"] == "open"
        site.server.kill()
        site.start()
        runs.append(site.begun(name))
        site.ends(runs[-1], "FAILED", "CIRCUIT_OPEN")
        assert site.operator.post(f"/circuit-breakers/{name}/a/reset").status_code == 200
        runs.append(site.begun(name))
        site.ends(runs[-1], "COMPLETED")
        assert len(site.to("a")) == 4
        return runs

    compared(sites, scene)


# ---- TC-WF-008 -------------------------------------------------------------------------------------------------------


def undone(site: Served) -> list[str]:
    return [seen.path.removeprefix("/undo/") for seen in site.plant.seen if seen.path.startswith("/undo/")]


def test_what_was_done_is_undone_backwards(sites: Sites) -> None:
    """TC-WF-008, W-4.10.1, C-45, W-7.5.2, H15: A and B, C fails: B, then A; COMPENSATED, and a letter all the same."""

    def scene(site: Served) -> list[str]:
        site.statuses["c"].append(400)
        undos = [undo("ua", "a"), undo("ub", "b"), undo("uc", "c")]
        run = site.plays([data("a"), data("b"), data("c"), *undos], "a>b", "b>c")
        look = site.ends(run, "COMPENSATED", "HTTP_4XX")
        assert undone(site) == ["b", "a"] and look["status"] == "compensated"
        assert site.admin.get(f"/dlq/{run}").status_code == 200
        return [run]

    compared(sites, scene)


def test_an_undoing_that_fails(sites: Sites) -> None:
    """TC-WF-008, W-4.10.3, H15: two retries, then FAILED, and nothing more is undone."""
    retry = {"max": 2, "backoff_ms": 100, "on_failure": "alert_and_manual"}

    def scene(site: Served) -> list[str]:
        site.statuses["c"].append(400)
        site.statuses["undo/b"] += [503] * 3
        undos = [undo("ua", "a"), undo("ub", "b", retry=retry)]
        run = site.plays([data("a"), data("b"), data("c"), *undos], "a>b", "b>c")
        site.ends(run, "FAILED", "COMPENSATION_FAILED")
        assert undone(site) == ["b"] * 3
        return [run]

    compared(sites, scene)


@pytest.mark.parametrize("on", ["workflow_cancel", "manual"])
def test_undone_by_hand_or_by_cancelling(sites: Sites, on: str) -> None:
    """TC-WF-008, W-4.10.5, C-41, C-66, H15: each trigger does its own and no other's."""
    nodes = [data("a"), wait("w", MANUAL), undo("u", "a", trigger={"on": [on]})]

    def scene(site: Served) -> list[str]:
        # one after the other: both call the same place, and the journal has which of its calls was answered
        cancelled, asked = (site.stands(site.plays(nodes, "a>w"), "WAITING")["id"] for _ in range(2))
        assert site.operator.post(f"/instances/{cancelled}/cancel").status_code == 200
        site.stands(cancelled, "COMPENSATED" if on == "workflow_cancel" else "CANCELLED")
        assert undone(site) == (["a"] if on == "workflow_cancel" else [])
        if on == "manual":
            assert site.operator.post(f"/instances/{asked}/compensate").status_code == 200
            site.stands(asked, "COMPENSATED")
            assert undone(site) == ["a"]
        return [cancelled, asked]

    compared(sites, scene)


# ---- TC-WF-012, TC-WF-013 --------------------------------------------------------------------------------------------


def test_killed_at_a_call_and_in_a_wait(sites: Sites) -> None:
    """TC-WF-012, W-8.1.1, W-8.3.2, W-4.5.8, C-84: kill -9 while a call is out and while it waits: the call is made
    again under its key, what had ended is not, and the checkpoints that the document asks for are there."""
    nodes = [data("a"), data("b"), wait("w", MANUAL), data("c")]
    policies = {"checkpoint": {"strategy": "node_boundary", "storage": {"type": "database", "encryption": False}}}

    def scene(site: Served) -> list[str]:
        out, going = threading.Event(), threading.Event()

        def hang(seen: Seen) -> Any:
            if not out.is_set():
                out.set()
                going.wait(30)
            return as_json({"n": 2})

        site.answers["b"] = hang
        run = site.plays(nodes, "a>b", "b>w", "w>c", policies=policies)
        assert out.wait(30)
        site.server.kill()
        going.set()
        site.start()
        site.stands(run, "WAITING")
        site.server.kill()
        site.start()
        site.done(run, "signal", {"name": "manual:w", "id": "go"})
        site.ends(run, "COMPLETED")
        keys = {place: [seen.headers["idempotency-key"] for seen in site.to(place)] for place in "abc"}
        assert [len(keys[place]) for place in "abc"] == [1, 2, 1] and len(set(keys["b"])) == 1
        rows = site.operator.get(f"/instances/{run}/checkpoints").json()["items"]
        assert {one["node_id"] for one in rows} == {"a", "w", "c"}, "b ends where w begins"
        return [run]

    compared(sites, scene)


def test_a_letter_has_its_four_parts(sites: Sites) -> None:
    """TC-WF-013, W-7.5.1, W-7.5.2, H15: error, input, context_snapshot, execution_history; in the tenant's list."""

    def scene(site: Served) -> list[str]:
        site.statuses["b"].append(400)
        run = site.plays([data("a"), data("b")], "a>b", given={"n": 7})
        site.ends(run, "FAILED", "HTTP_4XX")
        letter = until(lambda: site.admin.get(f"/dlq/{run}"), lambda one: one.status_code == 200).json()
        assert letter["input"] == {"n": 7} and letter["error"]["code"] == "HTTP_4XX" == letter["code"]
        assert "a" in json.dumps(letter["context_snapshot"]) and letter["execution_history"]
        assert run in [one["run"] for one in site.admin.get("/dlq?limit=200").json()["items"]]
        return [run]

    compared(sites, scene)
