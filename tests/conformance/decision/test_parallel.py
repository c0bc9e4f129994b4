"""PARALLEL on the kernel: branches, joins, failures, times and results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.kernel import command as C
from tests.conformance.decision.make import (
    HOUR,
    Play,
    act,
    data,
    document,
    edges,
    found,
    node,
    parallel,
    rules,
    switch,
    undo,
    wait,
)  # fmt: skip

ABC = [act("a"), act("b"), act("c")]
THREE = {"x": ["a"], "y": ["b"], "z": ["c"]}


def played(
    *args: Any, branches: Any = THREE, after: bool = True, more: Any = (), input: Any = None, **fields: Any
) -> Play:
    named = {id for one in branches.values() for id in (one["nodes"] if isinstance(one, dict) else one)}
    nodes = [parallel("p", branches, *args, **fields), *(one for one in ABC if one["id"] in named), *more]
    return Play([*nodes, act("after")] if after else nodes, *(["p>after"] if after else []), input=input)


def statuses(m: Play) -> dict[str, str]:
    return {key: record["status"] for key, record in m.output("p").items()}


def test_branches_run_at_once_and_members_in_order() -> None:
    """W-4.9.1, C-23: the list is the order; an edge may say the same."""
    m = Play([parallel("p", {"x": ["a", "b"], "y": ["c"]}), *ABC], "a>b")
    assert m.asks() == ["a", "c"]
    m.ok("a")
    assert m.asks() == ["c", "b"] and m.all_ok() == ["c", "b"] and m.status == "COMPLETED"
    assert Play([parallel("p", {"x": ["a", "b"], "y": ["c"]}), *ABC]).all_ok() == ["a", "c", "b"]


def test_w_4_9_1_the_list_is_the_order_and_not_the_document() -> None:
    """W-4.9.1, C-23: whatever stands first in `nodes`; of one branch never two at once, of all branches one each."""
    m = Play([*ABC, act("d"), act("e"), parallel("p", {"x": ["c", "a", "b"], "y": ["e", "d"]})])
    asked = []
    for id in ("c", "a", "b", "e", "d"):
        asked.append(m.asks())
        m.ok(id)
    assert asked == [["c", "e"], ["e", "a"], ["e", "b"], ["e"], ["d"]] and m.status == "COMPLETED"


def test_w_4_9_1_two_branches_of_one_second_take_one() -> None:
    """W-4.9.1: branches run concurrently; by the clock of the run."""
    second = {"type": "time", "duration_seconds": 1}
    m = Play([parallel("p", {"x": ["v"], "y": ["w"]}), wait("v", second), wait("w", second), act("after")], "p>after")
    assert m.run.wake_at() == 1000
    m.tick(1000)
    assert m.asks() == ["after"]


def test_w_4_9_1_nothing_runs_without_branches_or_join() -> None:
    """W-4.9.1, W-12.1.2: both are required, with what each of them needs."""
    whole = parallel("p", {"x": ["a"]})
    for without, at in (
        ("branches", "/nodes/0"), ("join", "/nodes/0"), ("branches/0/id", "/nodes/0/branches/0"),
        ("branches/0/nodes", "/nodes/0/branches/0"), ("join/strategy", "/nodes/0/join"),
    ):  # fmt: skip
        made = json.loads(json.dumps(whole))
        held = made
        *way, last = without.split("/")
        for step in way:
            held = held[int(step) if isinstance(held, list) else step]
        del held[last]
        told = [(f.rule, f.where.pointer) for f in found(document([made, act("a")])) if f.severity == "error"]
        assert ("missing_field", at) in told, without


def test_a_branch_begins_at_its_first_member_even_where_context_is_fetched() -> None:
    """C-64, W-4.9.4: what a member reads from outside is fetched inside its branch."""
    m = Play([parallel("p", {"x": ["a"]}), act("a", message="${aas.line.L01.name}")])
    assert m.asks() == ["a.context"] and node(m.net.net, "a.context").scope == "p"


def test_w_4_9_4_members_are_no_start_nodes_where_assets_are_fetched_first() -> None:
    """W-4.9.4, C-21: though no edge leads to them, what comes before every start comes before the PARALLEL alone."""
    context = {"aas_context": ["line.L01"]}
    nodes = [*ABC, act("other"), act("last"), parallel("p", {"x": ["a", "b"], "y": ["c"]})]
    m = Play(nodes, "other>last p>last", context=context)
    assert [edge.dst for edge in m.net.net.edges if edge.src == "context.prefetch"] == ["other", "p"]
    m.ok("context.prefetch", {"aas": {"line": {"L01": {}}}})
    assert sorted(m.asks()) == ["a", "c", "other"]


def test_w_4_9_4_nothing_but_its_parallel_leads_to_a_member() -> None:
    """W-4.9.4, C-20: an edge from outside is refused; before the PARALLEL has begun no member runs."""
    nodes = [*ABC, act("before"), parallel("p", {"x": ["a", "b"], "y": ["c"]})]
    assert [one[0] for one in rules(nodes, "before>p before>b")] == ["error"]
    m = Play(nodes, "before>p")
    assert m.asks() == ["before"]
    m.ok("before")
    assert m.asks() == ["a", "c"]


def test_all_waits_for_every_branch_also_after_a_failure() -> None:
    """W-4.9.5, C-22: no fail-fast; the failure of a required branch fails the node in the end."""
    m = played()
    m.bad("a")
    assert m.asks() == ["b", "c"] and m.status == "RUNNING"
    m.ok("b"), m.ok("c")
    assert m.status == "FAILED" and m.failure()[:2] == ("X", "permanent") and m.states()["p"] == "failed"


def test_an_optional_branch_may_fail() -> None:
    """W-4.9.3: required false."""
    m = played(branches={"x": {"nodes": ["a"], "required": False}, "y": ["b"], "z": ["c"]})
    m.bad("a"), m.ok("b", 1), m.ok("c", 2)
    assert m.asks() == ["after"] and statuses(m) == {"x": "failed", "y": "succeeded", "z": "succeeded"}
    assert m.output("p")["x"]["error"]["code"] == "X" and m.output("p")["y"]["output"] == 1


def test_any_takes_the_first_success() -> None:
    """C-22: a failed branch does not satisfy it; the rest is swept."""
    m = played("any")
    m.bad("a")
    assert m.asks() == ["b", "c"]
    m.ok("c", "won")
    assert m.asks() == ["after"] and statuses(m) == {"x": "failed", "y": "skipped", "z": "succeeded"}


def test_any_fails_when_nobody_can_win() -> None:
    """C-22."""
    m = played("any")
    m.bad("a"), m.bad("b"), m.bad("c")
    assert m.status == "FAILED"


def test_n_of() -> None:
    """W-4.9.1, C-22: n successes; it fails as soon as that is impossible."""
    m = played("n_of", join={"n": 2})
    m.ok("b")
    assert m.asks() == ["a", "c"]
    m.ok("a")
    assert m.asks() == ["after"] and statuses(m) == {"x": "succeeded", "y": "succeeded", "z": "skipped"}
    m = played("n_of", join={"n": 2})
    m.bad("a")
    assert m.status == "RUNNING"
    m.bad("b")
    assert m.status == "FAILED" and m.asks() == []


def test_required_under_any() -> None:
    """W-4.9.3: it is waited for too, and its success is needed."""
    branches = {"x": {"nodes": ["a"], "required": True}, "y": ["b"], "z": ["c"]}
    m = played("any", branches=branches)
    m.ok("b")
    assert m.asks() == ["a", "c"]
    m.ok("a")
    assert m.asks() == ["after"]
    m = played("any", branches=branches)
    m.bad("a")
    assert m.status == "FAILED"


def test_a_branch_with_a_false_condition_is_not_run() -> None:
    """W-4.9.2, W-4.14.1: nor counted."""
    branches = {"x": ["a"], "y": {"nodes": ["b"], "condition": "input.severity == 'critical'"}}
    m = played(branches=branches, input={"severity": "low"}, more=())
    assert m.asks() == ["a"]
    m.ok("a")
    assert m.asks() == ["after"] and list(m.output("p")) == ["x"]
    assert played(branches=branches, input={"severity": "critical"}).asks() == ["a", "b"]


@pytest.mark.parametrize("strategy", ["all", "any", "n_of"])
def test_no_active_branch(strategy: str) -> None:
    """C-22: succeeded, with an empty result."""
    branches = {"x": {"nodes": ["a"], "condition": "false"}}
    m = played(strategy, branches=branches, join={"n": 1})
    assert m.asks() == ["after"] and m.output("p") == {}


@pytest.mark.parametrize(("how", "end"), [("continue", "RUNNING"), ("fail", "FAILED"), (None, "FAILED")])
def test_partial_failure(how: str | None, end: str) -> None:
    """C-22: continue goes on with what is there; fail is the default."""
    m = played(join={"on_partial_failure": how} if how else {})
    m.ok("a", 1), m.bad("b"), m.ok("c", 3)
    assert m.status == end
    if how == "continue":
        assert m.asks() == ["after"] and statuses(m) == {"x": "succeeded", "y": "failed", "z": "succeeded"}
        assert m.states()["p"] == "done"


def test_partial_failure_that_compensates() -> None:
    """C-22: the whole ledger in reverse, members first; the run is COMPENSATED, whatever would handle the failure."""
    nodes = [act("before"), parallel("p", {"x": ["a"], "y": ["b"]}, join={"on_partial_failure": "compensate"}),
             act("a"), act("b"), undo("u_before", "before"), undo("u_a", "a"), act("handler")]  # fmt: skip
    m = Play(nodes, "before>p", ("p>handler", {"when": "failed"}))
    m.ok("before"), m.ok("a"), m.bad("b")
    assert m.status == "COMPENSATING" and m.all_ok() == ["u_a", "u_before"]
    assert m.status == "COMPENSATED" and m.failure()[0] == "X"


@pytest.mark.parametrize(("how", "end"), [("continue", "RUNNING"), ("fail", "FAILED")])
def test_the_time_of_a_join(how: str, end: str) -> None:
    """C-22, C-72: unfinished branches get the status timeout; JOIN_TIMEOUT is of category timeout."""
    m = played(join={"timeout_ms": 5000, "on_partial_failure": how})
    m.ok("a", 1)
    m.tick(4999)
    assert m.asks() == ["b", "c"]
    m.tick(5000)
    assert m.status == end
    if how == "continue":
        assert m.asks() == ["after"] and statuses(m) == {"x": "succeeded", "y": "timeout", "z": "timeout"}
    else:
        assert m.failure()[:2] == ("JOIN_TIMEOUT", "timeout")


def test_the_inner_timer_comes_first_at_the_same_moment() -> None:
    """C-72: a wait of two hours in a branch whose join has as much."""
    w = wait("w", {"type": "event", "event": {"source": "e"}}, timeout={"duration_hours": 2, "on_timeout": "skip"})
    m = Play([parallel("p", {"x": ["w"]}, join={"timeout_ms": 2 * HOUR}), w])
    m.tick(2 * HOUR)
    assert m.status == "COMPLETED" and m.states() == {"w": "skipped", "p": "done"}


@pytest.mark.parametrize(
    ("merge", "wanted"),
    [
        ("array", [("x", "succeeded", 1), ("y", "failed", None), ("z", "succeeded", 3)]),
        ("object", {"x": ("x", "succeeded", 1), "y": ("y", "failed", None), "z": ("z", "succeeded", 3)}),
        (None, {"x": ("x", "succeeded", 1), "y": ("y", "failed", None), "z": ("z", "succeeded", 3)}),
    ],
)
def test_how_results_are_merged(merge: str | None, wanted: Any) -> None:
    """C-23: records in the order of declaration, or by branch; the alias is parallel_results (C-10)."""
    output = {"merge_strategy": merge} if merge else {}
    m = played(join={"on_partial_failure": "continue"}, output=output)
    m.now = 7
    m.ok("c", 3), m.bad("b"), m.ok("a", 1)

    def short(record: Any) -> tuple[Any, ...]:
        assert set(record) == {"branch_id", "status", "output", "error", "duration_ms"} and record["duration_ms"] == 7
        return record["branch_id"], record["status"], record["output"]

    result = m.vars()["parallel_results"]
    assert (list(map(short, result)) if merge == "array" else {k: short(v) for k, v in result.items()}) == wanted


def test_the_first_success_in_time() -> None:
    """C-23: not the first in the list."""
    m = played(output={"variable": "won", "merge_strategy": "first_success"})
    m.now = 1
    m.ok("c", "third")
    m.now = 2
    m.ok("a", "first"), m.ok("b", "second")
    assert m.vars()["won"] == "third"


def test_the_output_of_a_branch_is_its_last_node_s() -> None:
    """C-23: the last that was executed; a skipped one gives null."""
    m = Play([parallel("p", {"x": ["a", "b"]}), act("a"), act("b", condition="false")])
    m.ok("a", {"v": 1})
    assert m.output("p")["x"]["output"] is None and m.output("p")["x"]["status"] == "succeeded"


def test_a_switch_in_a_branch_jumps_among_members() -> None:
    """C-23, C-12: to a later member, or to the end of the branch."""
    s = switch("s", "input.v", [(1, "b")], default={"goto": "end"})
    nodes = [parallel("p", {"x": ["s", "a", "b"], "y": ["c"]}), s, *ABC, act("after")]
    m = Play(nodes, "p>after", input={"v": 1})
    assert m.asks() == ["b", "c"] or m.asks() == ["c", "b"]
    m = Play(nodes, "p>after", input={"v": 2})
    assert m.asks() == ["c"]
    m.ok("c")
    assert m.asks() == ["after"]


def test_c_12_a_member_may_be_called_end() -> None:
    """C-12: then `end` is that member, and does not end the branch."""
    nodes = [parallel("p", {"x": ["s", "a", "end"]}), switch("s", "input.v", [(1, "end")]), act("a"), act("end")]
    m = Play([*nodes, act("after")], "p>after", input={"v": 1})
    assert m.asks() == ["end"]
    m.ok("end")
    assert m.asks() == ["after"]


def test_nested_parallels() -> None:
    """C-23."""
    nodes = [parallel("p", {"x": ["q"], "y": ["c"]}), parallel("q", {"i": ["a"], "j": ["b"]}, "any"), *ABC]
    m = Play(nodes)
    assert sorted(m.asks()) == ["a", "b", "c"]
    m.ok("b", 2)
    assert m.asks() == ["c"]
    m.ok("c")
    assert m.status == "COMPLETED" and m.output("p")["x"]["output"]["j"]["output"] == 2


def test_a_member_handles_its_own_failure() -> None:
    """C-39: a failed edge inside a branch, and skip_on_error, leave the branch a success."""
    nodes = [parallel("p", {"x": ["a", "b"], "y": ["c"]}), act("a"), act("b"), act("c", skip_on_error=True)]
    m = Play(nodes, ("a>b", {"when": "failed"}))
    m.bad("a"), m.bad("c")
    assert m.asks() == ["b"]
    m.ok("b")
    assert m.status == "COMPLETED" and statuses(m) == {"x": "succeeded", "y": "succeeded"}


def test_a_failed_parallel_is_handled_by_an_edge() -> None:
    """C-39: a live failed edge handles the error."""
    nodes = [parallel("p", {"x": ["a"]}), act("a"), act("handler", message="${p.error.code}")]
    m = Play(nodes, ("p>handler", {"when": "failed"}))
    m.bad("a", "BROKEN")
    assert m.args("handler")["message"] == "BROKEN"
    assert m.all_ok() == ["handler"] and m.status == "COMPLETED"
    m = Play([parallel("p", {"x": ["a"]}, skip_on_error=True), act("a"), act("b")], "p>b")
    m.bad("a")
    assert m.asks() == ["b"] and m.states()["p"] == "skipped"


def test_a_guard_skips_all_of_it() -> None:
    """W-4.0.2."""
    m = Play([parallel("p", {"x": ["a"]}, condition="input.on"), act("a"), act("b")], "p>b", input={"on": False})
    assert m.asks() == ["b"] and m.states()["p"] == "skipped"


def test_an_output_made_of_the_result() -> None:
    """W-4.0.3: output.expression on any node: computed from `output`; the node and its variable have it."""
    output = {"variable": "n", "expression": "fn.length(output)"}
    m = Play(
        [
            parallel("p", THREE, output={**output, "merge_strategy": "array"}),
            *ABC,
            act("after", message="${n} ${p.output}"),
        ],
        "p>after",
    )
    assert node(m.net.net, "a").scope == "p.do" and sorted(m.asks()) == ["a", "b", "c"]
    m.ok("a"), m.ok("b"), m.ok("c")
    assert m.vars()["n"] == 3 and m.args("after")["message"] == "3 3"


def test_a_late_success_of_a_swept_branch_is_told() -> None:
    """C-22: ignored, with an incident where it could be undone."""
    nodes = [parallel("p", {"x": ["a"], "y": ["b"]}, "any"), act("a"), act("b"), undo("u", "b"), act("after")]
    m = Play(nodes, "p>after")
    late = m.asked("b")
    assert late is not None
    m.ok("a")
    m.do(C.done(late.no, 1, 0, {}))
    assert m.incidents() == ["LATE_SUCCESS"] and m.asks() == ["after"]


@pytest.mark.parametrize(
    ("branches", "ways", "rule", "at"),
    [
        ({"x": ["a", "gone"]}, [], "branch_members_exist", "/nodes/0/branches/0/nodes/1"),
        ({"x": ["a"], "y": ["a"]}, [], "node_in_multiple_branches", "/nodes/0/branches/1/nodes/0"),
        ({"x": ["a"], "y": ["b"]}, ["a>b"], "branch_escape", "/edges/0"),
        ({"x": ["a"]}, ["a>b"], "branch_escape", "/edges/0"),
        ({"x": ["a"]}, ["b>a"], "branch_escape", "/edges/0"),
        ({"x": ["a", "b"]}, ["b>a"], "no_cycles", "/nodes/1"),
    ],
)
def test_what_a_branch_may_not(branches: Any, ways: list[str], rule: str, at: str) -> None:
    """C-23, W-9.2.2, C-21."""
    nodes = [parallel("p", branches), act("a"), act("b")]
    if not any("b" in members for members in branches.values()) and not ways:
        nodes.pop()
    findings = rules(nodes, *ways)
    assert ("error", rule, at) in findings


def test_join_numbers() -> None:
    """W-9.2.2 n_of_range, W-4.9.6 max_parallel_branches."""
    assert rules([parallel("p", {"x": ["a"]}, "n_of", join={"n": 2}), act("a")]) == [
        ("error", "n_of_range", "/nodes/0/join/n")
    ]
    assert rules([parallel("p", {"x": ["a"]}, "n_of"), act("a")])[0][1] == "n_of_range"
    many = {f"b{i}": [f"n{i}"] for i in range(11)}
    told = rules([parallel("p", many), *(data(f"n{i}") for i in range(11))])
    assert told == [("warning", "max_parallel_branches", "/nodes/0/branches")]
    few = {f"b{i}": [f"n{i}"] for i in range(10)}
    assert rules([parallel("p", few), *(data(f"n{i}") for i in range(10))]) == [] and edges("a>b")
