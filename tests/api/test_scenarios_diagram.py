"""The acceptance scenarios of diagrams that HTTP can drive, against a started process on every store.

The journals are the same on each (H15). D-A.19 clears a table by a command that is not HTTP's; tests/cli has it.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.api.journals import on_every_store
from tests.api.serving import ROOT, until
from tests.api.sites import Site, events

GONE = ("token.consumed", "token.absorbed", "token.expired", "token.discarded")
LOOP = ["Start", *["PersonJob", "Condition"] * 3, "Ask", "Endpoint"]
START, END = {"label": "Start", "type": "start"}, {"label": "End", "type": "endpoint"}


def example(name: str) -> str:
    return (ROOT / "examples" / "diagram" / f"{name}.yaml").read_text()


def drawn(name: str, nodes: list[dict[str, Any]], *ways: str, **persons: Any) -> dict[str, Any]:
    """A way is "A>B" or "C[condtrue]>B"."""
    ends = [way.split(">") for way in ways]
    return {
        "version": "light", "name": name, "persons": {"Bot": {"service": "mock"}, **persons}, "nodes": nodes,
        "connections": [{"from": one, "to": other} for one, other in ends],
    }  # fmt: skip


def job(label: str, person: str = "Bot", **fields: Any) -> dict[str, Any]:
    return {"label": label, "type": "person_job", "person": person, "default_prompt": "go", **fields}


def order(site: Site, run: str) -> list[str]:
    """Which nodes were executed, one after the other."""
    return [one["node"] for one in site.steps(run) if one["name"] == "node.completed"]


def begun(site: Site, run: str) -> list[str]:
    return [one["node"] for one in site.steps(run) if one["name"] == "node.started"]


@pytest.mark.parametrize("name", ["loop", "loop_skippable"])
@on_every_store()
def test_the_loop_has_its_nine_steps(site: Site, name: str) -> list[str]:
    """D-A.1, D-A.2, D-A.18: nine steps in order, epoch 0; MAXITER_REACHED; a subscriber hears the same, balanced."""
    run = site.drawn(example(name))
    ended = site.diagram(run, "COMPLETED")
    assert begun(site, run) == LOOP and ended["nodes"]["PersonJob"] == "MAXITER_REACHED" and ended["output"]
    assert {one["epoch"] for one in site.steps(run) if one["name"] == "node.started"} == {0}
    told = [json.loads(line) for line in events(site.operator.get(f"/diagram-runs/{run}/events").text)]
    told = [one for one in told if one]
    assert [one["seq"] for one in told] == list(range(1, len(told) + 1))
    names = [one["name"] for one in told]
    assert names.count("token.published") == sum(names.count(one) for one in GONE) > 0
    return [run]


@on_every_store()
def test_the_loop_ends_early(site: Site) -> list[str]:
    """D-A.3: the condition is true at the second iteration."""
    run = site.drawn(example("early_exit"))
    ended = site.diagram(run, "COMPLETED")
    assert begun(site, run).count("Try") == 2 and ended["nodes"]["Try"] == "COMPLETED"
    assert ended["branches"]["Good enough"] == "condtrue"
    return [run]


@pytest.mark.parametrize(("score", "taken", "other"), [(90, "Accept", "Reject"), (10, "Reject", "Accept")])
@on_every_store()
def test_one_branch_has_a_token(site: Site, score: int, taken: str, other: str) -> list[str]:
    """D-A.4: the other node is SKIPPED, and the decision is told."""
    run = site.drawn(example("branches"), {"score": score})
    ended = site.diagram(run, "COMPLETED")
    assert taken in begun(site, run) and ended["nodes"][other] == "SKIPPED"
    assert ended["branches"]["Enough"] == ("condtrue" if score == 90 else "condfalse")
    assert [one["edge"] for one in site.tokens(run) if one["edge"].endswith((">Accept", ">Reject"))] == [
        f"Enough:{ended['branches']['Enough']}>{taken}"
    ]
    return [run]


@on_every_store(in_order=False)
def test_a_skippable_input_holds_nobody_up(site: Site) -> list[str]:
    """D-A.5: it executes with the other token alone."""
    run = site.drawn(example("optional_check"), {"strict": False})
    site.diagram(run, "COMPLETED")
    assert begun(site, run).count("Publish") == 1
    assert [one["edge"] for one in site.tokens(run) if one["by"].startswith("Publish")] == ["Write>Publish"]
    return [run]


@pytest.mark.parametrize(("policy", "times"), [("all", 1), ("any", 2)])
@on_every_store(in_order=False)
def test_all_waits_and_any_does_not(site: Site, policy: str, times: int) -> list[str]:
    """D-A.6, D-A.7: with ALL once, after the slower one, with both; with ANY on the first, and again."""
    nodes = [START, job("A"), job("B", "Slow"), job("N", join_policy=policy), END]
    ways = ("Start>A", "Start>B", "A>N", "B>N", "N>End")
    run = site.drawn(drawn(f"join {policy}", nodes, *ways, Slow={"service": "mock", "delay_ms": 400}))
    site.diagram(run, "COMPLETED")
    ran = order(site, run)
    assert ran.count("N") == times and (ran.index("B") < ran.index("N")) is (policy == "all")
    took = [one["edge"] for one in site.tokens(run) if one["by"].startswith("N")]
    assert sorted(took) == ["A>N", "B>N"]
    return [run]


@on_every_store(in_order=False)
def test_two_of_three_are_enough(site: Site) -> list[str]:
    """D-A.8: it executes when two have arrived; four of three are refused."""
    run = site.drawn(example("quorum"))
    site.diagram(run, "COMPLETED")
    ran = order(site, run)
    assert ran.index("Decide") < ran.index("Third") and ran.count("Decide") == 1
    wrong = example("quorum").replace("join_k: 2", "join_k: 4")
    checked = site.admin.post("/diagrams:validate", json={"document": wrong}).json()
    assert not checked["valid"] and site.admin.post("/diagrams", json={"document": wrong}).status_code == 400
    return [run]


@pytest.mark.parametrize(("limit", "most"), [(None, 20), (5, 5)])
@on_every_store(in_order=False)
def test_so_many_at_once(site: Site, limit: int | None, most: int) -> list[str]:
    """D-A.9: thirty independent nodes; at most 20, or as many as the run was told."""
    many = [f"N{i:02}" for i in range(30)]
    nodes = [START, *(job(label, "Slow") for label in many), END]
    ways = [*(f"Start>{label}" for label in many), *(f"{label}>End" for label in many)]
    document = drawn("many", nodes, *ways, Slow={"service": "mock", "delay_ms": 500})
    run = site.drawn(document, **({} if limit is None else {"max_concurrent": limit}))
    site.diagram(run, "COMPLETED")
    now = highest = 0
    for one in site.steps(run):
        if one["node"] in many and one["name"] in ("node.started", "node.completed"):
            now += 1 if one["name"] == "node.started" else -1
            highest = max(highest, now)
    assert highest == most
    return [run]


@on_every_store(in_order=False)
def test_a_diamond_with_all_is_a_deadlock(site: Site) -> list[str]:
    """D-A.10: a warning; DEADLOCK names the node and the edge; with ANY it completes."""
    wrong = example("diamond").replace("    join_policy: any\n", "").replace("name: diamond", "name: diamond all")
    assert site.kept(wrong)["warnings"]
    stuck = site.drawn(wrong, {"express": True})
    failed = site.diagram(stuck, "FAILED")["error"]
    assert (failed["code"], failed["node"]) == ("DEADLOCK", "Book") and "By sea>Book" in failed["message"]
    run = site.drawn(example("diamond"), {"express": True})
    site.diagram(run, "COMPLETED")
    return [stuck, run]


def test_a_loop_without_an_end_is_refused(sites: dict[str, Site]) -> None:
    """D-A.11: UNBOUNDED_LOOP, and nothing is kept."""
    endless = drawn("endless", [START, job("A"), job("B"), END], "Start>A", "A>B", "B>A", "B>End")
    for site in sites.values():
        checked = site.admin.post("/diagrams:validate", json={"document": endless}).json()
        assert not checked["valid"] and "UNBOUNDED_LOOP" in json.dumps(checked["problems"])
        assert site.admin.post("/diagrams", json={"document": endless}).status_code == 400


@on_every_store()
def test_start_is_executed_once(site: Site) -> list[str]:
    """D-A.12: a loop of five; one token on its edge, number 0."""
    run = site.drawn(
        example("loop").replace("max_iteration: 3", "max_iteration: 5").replace("name: loop", "name: five")
    )
    site.diagram(run, "COMPLETED")
    assert begun(site, run).count("Start") == 1 and begun(site, run).count("PersonJob") == 5
    (token,) = [one for one in site.tokens(run) if one["edge"] == "Start>PersonJob"]
    assert (token["sequence_number"], token["epoch"]) == (0, 0)
    return [run]


@on_every_store()
def test_two_loops_in_three_epochs(site: Site) -> list[str]:
    """D-A.13: PJ six times, two in each epoch; the controller's tokens carry epochs 1 and 2."""
    run = site.drawn(example("epochs"))
    site.diagram(run, "COMPLETED")
    steps = [one for one in site.steps(run) if one["name"] == "node.started" and one["node"] == "PJ"]
    assert [one["epoch"] for one in steps] == [0, 0, 1, 1, 2, 2]
    assert [one["epoch"] for one in site.tokens(run) if one["edge"] == "C2:condfalse>PJ"] == [1, 2]
    return [run]


@on_every_store()
def test_tokens_have_envelopes(site: Site) -> list[str]:
    """D-A.14: text, JSON and bytes come back equal, with who made them, how long it took, and one trace."""
    said = {"service": "script", "answers": ['{"n": [1, null, "셋"]}']}
    nodes = [
        START, job("Text", "Poet"), {"label": "Json", "type": "code_job", "code": "result = {'n': [1, None, '셋']}"},
        {"label": "Bytes", "type": "code_job", "code": r"result = b'\x00\xff\x07'"}, END,
    ]  # fmt: skip
    run = site.drawn(drawn("envelopes", nodes, "Start>Text", "Text>Json", "Json>Bytes", "Bytes>End", Poet=said))
    site.diagram(run, "COMPLETED")
    by_edge = {one["edge"]: one["envelope"] for one in site.tokens(run)}
    text, json_, binary = (by_edge[edge] for edge in ("Text>Json", "Json>Bytes", "Bytes>End"))
    assert (text["body"], json_["body"]) == (said["answers"][0], {"n": [1, None, "셋"]})
    assert (binary["content_type"], base64.b64decode(binary["body"])) == ("binary", b"\x00\xff\x07")
    assert [one["produced_by"] for one in (text, json_, binary)] == ["Text", "Json", "Bytes"]
    assert all(one["metadata"]["execution_time_ms"] >= 0 for one in by_edge.values())
    assert len({one["trace_id"] for one in by_edge.values()}) == 1
    return [run]


@on_every_store()
def test_a_node_fails(site: Site) -> list[str]:
    """D-A.15: FAILED with the message, and nothing after it has a token; with `continue` it gets an error envelope."""
    text = example("keep_going").replace("    on_error: continue\n", "").replace("name: keep_going", "name: stops")
    stops = site.drawn(text)
    failed = site.diagram(stops, "FAILED")
    assert failed["nodes"]["Load"] == "FAILED" and failed["nodes"]["Report"] == "SKIPPED" and failed["error"]["message"]
    assert "Load>Report" not in [one["edge"] for one in site.tokens(stops)]
    run = site.drawn(example("keep_going"))
    site.diagram(run, "COMPLETED")
    (token,) = [one for one in site.tokens(run) if one["edge"] == "Load>Report"]
    assert "not-there.txt" in json.dumps(token["envelope"])
    return [stops, run]


@on_every_store()
def test_a_person_answers(site: Site) -> list[str]:
    """D-A.16: WAITING, then COMPLETED; the value has reached the next node; a second answer is a conflict."""
    run = site.drawn(example("ask"))
    site.diagram(run, "WAITING")
    where = f"/diagram-runs/{run}/nodes/Ask name:respond"
    assert site.admin.post(where, json={"value": "Kim"}).status_code == 200
    assert "Hello Kim!" in json.dumps(site.diagram(run, "COMPLETED")["outputs"])
    assert site.admin.post(where, json={"value": "Lee"}).status_code == 409
    return [run]


@on_every_store()
def test_killed_in_the_middle_of_a_loop(site: Site) -> list[str]:
    """D-A.17: kill -9 and a new process: as many iterations as there may be, no token lost or doubled."""
    text = (
        example("loop").replace("service: mock", "service: mock\n    delay_ms: 300").replace("name: loop", "name: slow")
    )
    run = site.drawn(text)
    until(lambda: begun(site, run).count("PersonJob"), lambda times: times >= 2)
    site.server.kill()
    site.start()
    assert site.diagram(run, "COMPLETED")["nodes"]["PersonJob"] == "MAXITER_REACHED"
    assert order(site, run) == LOOP
    tokens = site.tokens(run)
    assert len({(one["edge"], one["epoch"], one["sequence_number"]) for one in tokens}) == len(tokens)
    assert all(one["fate"] for one in tokens)
    return [run]


@on_every_store(in_order=False)
def test_a_check_that_comes_late_holds_nobody_up(site: Site) -> list[str]:
    """D-A.5, D-X.29: the node is executed while the skippable condition has not decided yet; one that is not skippable
    is waited for, and then left out."""
    runs = []
    for skippable in (True, False):
        check = {"label": "C", "type": "condition", "expression": "input.strict", "skippable": skippable}
        nodes = [START, job("A"), job("B", "Slow"), check, job("N"), END]
        ways = ("Start>A", "Start>B", "A>N", "B>C", "C[condtrue]>N", "N>End")
        run = site.drawn(drawn(f"late {skippable}", nodes, *ways, Slow={"service": "mock", "delay_ms": 800}))
        site.diagram(run, "COMPLETED")
        ran = order(site, run)
        assert ran.count("N") == 1 and (ran.index("N") < ran.index("C")) is skippable, ran
        runs.append(run)
    return runs
