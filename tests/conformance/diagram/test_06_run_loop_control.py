"""6, loop control in a run: max_iteration, what happens at the limit, and how a loop ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.diagram.make import END, START, cond, job, text
from tests.conformance.diagram.running import EXAMPLES, drawn, go, loop, saw, script

OUT = {"label": "Out", "type": "endpoint"}

# ---- 6.1 iteration ---------------------------------------------------------------------------------------------------


def test_at_the_limit(tmp_path: Path) -> None:
    """D-6.1.1, D-6.1.3, D-6.1.4, D-X.5: MAXITER_REACHED when execution number `max_iteration` ends; it still emits."""
    ran = go(tmp_path, loop(2))
    assert ran.times("PersonJob") == 2
    assert ran.look.nodes["PersonJob"] == "MAXITER_REACHED"
    (told,) = ran.told("node.maxiter_reached")
    assert (told.node, told.iteration) == ("PersonJob", 2)
    assert len(ran.puts("PersonJob>Condition")) == 2
    assert ran.look.branches == {"Condition": "condtrue"}


def test_below_the_limit(tmp_path: Path) -> None:
    """D-A.3, D-6.1.3: a custom condition true at the second iteration of five: it ran twice and is COMPLETED."""
    ran = go(tmp_path, EXAMPLES / "early_exit.yaml")
    assert ran.times("Try") == 2
    assert ran.look.nodes["Try"] == "COMPLETED"
    assert ran.told("node.maxiter_reached") == []
    assert ran.look.outputs == {"Endpoint": "done"}
    assert ran.status == "COMPLETED"


def test_the_same_graph_left_early(tmp_path: Path) -> None:
    """D-A.3, D-6.2.4: the exit path is taken, and PersonJob is not at its limit."""
    ran = go(tmp_path, loop(3, expression="counters.PersonJob >= 2"))
    assert ran.order() == ["Start", "PersonJob", "Condition", "PersonJob", "Condition", "Ask", "Endpoint"]
    assert ran.look.nodes["PersonJob"] == "COMPLETED"


def test_a_limit_of_one_outside_a_loop_is_no_limit_reached(tmp_path: Path) -> None:
    """D-X.5: outside a cycle the state is COMPLETED."""
    ran = go(tmp_path, drawn([START, job("Once", max_iteration=1), END], ["Start>Once", "Once>End"]))
    assert ran.look.nodes["Once"] == "COMPLETED"
    assert ran.told("node.maxiter_reached") == []


def test_a_limit_of_one_inside_a_loop_is(tmp_path: Path) -> None:
    """D-X.5, D-6.1.3: on a cycle it is MAXITER_REACHED after its one execution."""
    assert go(tmp_path, loop(1)).look.nodes["PersonJob"] == "MAXITER_REACHED"


# ---- beyond the limit ------------------------------------------------------------------------------------------------


def stubborn(most: int, leave: int) -> bytes:
    """A condition that sends the token back until it has decided so often, whatever the limit."""
    nodes = [START, job("Work", max_iteration=most, person="Count"), cond("C", expression=f"counters.C >= {leave}")]
    ways = ["Start>Work", ("Work>C", {"label": "answer"}), "C[condfalse]>Work", "C[condtrue]>End"]
    return drawn([*nodes, END], ways, persons={"Count": script("one", "two", "three")})


def test_the_first_later_token_is_forwarded_once(tmp_path: Path) -> None:
    """D-X.5: it is taken, the handler does not run, and the last output goes on once more, marked `maxiter`."""
    ran = go(tmp_path, stubborn(2, 2))
    assert ran.times("Work") == 2
    assert ran.bodies("Work>C") == ["one", "two", "two"]
    assert [x.data.get("maxiter") for x in ran.of("put") if x.edge == "Work>C"] == [None, None, True]
    assert [(e.edge, e.data["why"]) for e in ran.told("token.absorbed")] == [("C:condfalse>Work", "max_iteration")]
    assert ran.look.counters["Work"] == 2
    assert ran.look.outputs == {"End": "two"}
    assert (ran.status, ran.warned(), ran.balance()) == ("COMPLETED", [], 0)


def test_further_tokens_are_absorbed(tmp_path: Path) -> None:
    """D-X.5, D-X.8: the second later token goes nowhere; the run completes with a warning, as no endpoint ran."""
    ran = go(tmp_path, stubborn(2, 99))
    assert ran.times("Work") == 2
    assert [e.edge for e in ran.told("token.absorbed")] == ["C:condfalse>Work"] * 2
    assert len(ran.puts("Work>C")) == 3
    assert ran.status == "COMPLETED"
    assert ran.look.warnings == [{"code": "max_iteration_without_exit", "node": "Work", "detail": None}]
    assert ran.look.nodes["End"] == "SKIPPED"
    assert ran.balance() == 0


def test_no_warning_when_an_endpoint_ran(tmp_path: Path) -> None:
    """D-X.8: a loop beside the way out may end at its limit without a word."""
    nodes = [START, job("Work", max_iteration=2), cond("C", expression="false"), END]
    ran = go(tmp_path, drawn(nodes, ["Start>Work", "Work>C", "C[condfalse]>Work", "Start>End"]))
    assert (ran.status, ran.warned()) == ("COMPLETED", [])


def test_unlimited_nodes_are_protected(tmp_path: Path) -> None:
    """D-X.5: without `max_iteration` a node executes at most `max_node_executions` times; then ITERATION_LIMIT."""
    nodes = [START, text("Work"), cond("C", expression="false"), END]
    ways = ["Start>Work", "Work>C", "C[condfalse]>Work", "C[condtrue]>End"]
    ran = go(tmp_path, drawn(nodes, ways, max_node_executions=25))
    assert ran.status == "FAILED"
    assert ran.look.failure is not None
    assert (ran.look.failure["code"], ran.look.failure["node"]) == ("ITERATION_LIMIT", "Work")
    assert len([x for x in ran.of("settled", "Work") if x.data["status"] == "done"]) == 25


def test_the_protection_is_a_thousand_by_default(tmp_path: Path) -> None:
    """D-X.5: 1000 executions of one node unless it is said otherwise."""
    nodes = [START, cond("A", expression="true"), cond("B", expression="true"), END]
    ran = go(tmp_path, drawn(nodes, ["Start>A", "A[condtrue]>B", "B[condtrue]>A", "B[condfalse]>End"]))
    assert ran.status == "FAILED"
    assert ran.look.failure is not None
    assert ran.look.failure["code"] == "ITERATION_LIMIT"
    assert len([x for x in ran.of("settled", "A") if x.data["status"] == "done"]) == 1000


# ---- 6.2 the flow of a loop ------------------------------------------------------------------------------------------


def test_false_goes_back_true_goes_out(tmp_path: Path) -> None:
    """D-6.2.1, D-6.2.2, D-6.2.3, D-6.2.4: the condition looks at the counter; false back, true to the exit path."""
    ran = go(tmp_path, loop(3))
    decided = [(x.data["visit"], x.data["port"]) for x in ran.of("settled", "Condition")]
    assert decided == [(1, "condfalse"), (2, "condfalse"), (3, "condtrue")]
    assert len(ran.puts("Condition:condfalse>PersonJob")) == 2
    assert len(ran.puts("Condition:condtrue>Ask")) == 1


def test_a_loop_ends_when_no_token_comes(tmp_path: Path) -> None:
    """D-6.2.5, D-11.1: nothing tells it to end; it has ended when the token has left."""
    ran = go(tmp_path, loop(2))
    assert ran.look.tokens == {}
    assert ran.order()[-1] == "Endpoint"
    assert ran.lines[-1].fact == "run.moved"
    assert ran.balance() == 0


@pytest.mark.parametrize(("first", "second"), [(2, 3), (3, 3), (3, 2)])
def test_all_person_jobs_of_the_cycle_count(tmp_path: Path, first: int, second: int) -> None:
    """D-X.6, D-6.1.4: true when every person_job of the cycle is at its limit; one that is there already forwards."""
    nodes = [START, job("A", max_iteration=first), job("B", max_iteration=second), END]
    nodes.append(cond("C", condition_type="detect_max_iterations"))
    ran = go(tmp_path, drawn(nodes, ["Start>A", "A>B", "B>C", "C[condfalse]>A", "C[condtrue]>End"]))
    assert (ran.times("A"), ran.times("B")) == (first, second)
    assert [x.data["port"] for x in ran.of("settled", "C")] == ["condfalse"] * (max(first, second) - 1) + ["condtrue"]
    assert (ran.status, ran.warned()) == ("COMPLETED", [])


def test_outside_a_cycle_every_upstream_one_counts(tmp_path: Path) -> None:
    """D-X.6: a condition behind the loop is true when the loop has used up its limit."""
    for most, branch in ((2, "condtrue"), (9, "condfalse")):
        nodes = [START, job("A", max_iteration=most), cond("Again", expression="counters.A >= 2"), text("T")]
        nodes += [cond("Used", condition_type="detect_max_iterations"), END, OUT]
        ways = [
            "Start>A",
            "A>Again",
            "Again[condfalse]>A",
            "Again[condtrue]>T",
            "T>Used",
            "Used[condtrue]>End",
            "Used[condfalse]>Out",
        ]
        ran = go(tmp_path / str(most), drawn(nodes, ways))
        assert ran.look.branches["Used"] == branch


def test_loops_inside_loops(tmp_path: Path) -> None:
    """D-6.2.5, D-2.2.4, D-11.1: an inner loop of two in an outer loop of three epochs."""
    nodes = [START, job("Inner", max_iteration=2), cond("In", condition_type="detect_max_iterations"), saw("Step")]
    nodes += [cond("Outer", expression="epoch >= 2", loop_controller=True), END]
    ways = [
        "Start>Inner",
        "Inner>In",
        "In[condfalse]>Inner",
        "In[condtrue]>Step",
        "Step>Outer",
        "Outer[condfalse]>Inner",
        "Outer[condtrue]>End",
    ]
    ran = go(tmp_path, drawn(nodes, ways))
    assert [x.epoch for x in ran.of("fired", "Inner")] == [0, 0, 1, 1, 2, 2]
    assert [x.epoch for x in ran.of("fired", "Step")] == [0, 1, 2]
    assert ran.status == "COMPLETED"


def test_first_prompt_and_later_prompts(tmp_path: Path) -> None:
    """D-6.1.1, D-X.15, D-X.17: `first_only_prompt` at iteration 1, `default_prompt` afterwards."""
    nodes = [START, job("A", person="Echo", max_iteration=3, first_only_prompt="begin", default_prompt="go on")]
    nodes += [cond("C", condition_type="detect_max_iterations"), END]
    ways = ["Start>A", "A>C", "C[condfalse]>A", "C[condtrue]>End"]
    ran = go(tmp_path, drawn(nodes, ways, persons={"Echo": {"service": "echo"}}))
    assert ran.output("A") == ["begin", "go on", "go on"]
