"""4, condition nodes in a run: the branch that is chosen, and conditions that may be skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.dialects.diagram.words import GONE
from tests.conformance.diagram.make import END, START, cond, job, text
from tests.conformance.diagram.running import (
    EXAMPLES,
    PATIENCE_S,
    Gates,
    Ran,
    awaited,
    door,
    drawn,
    gate,
    go,
    loop,
    reached,
    saw,
    script,
)

# ---- 4.1 branch selection --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("score", "taken", "other"), [(90, "condtrue", "condfalse"), (10, "condfalse", "condtrue")])
def test_only_the_chosen_branch_gets_a_token(tmp_path: Path, score: int, taken: str, other: str) -> None:
    """D-A.4, D-4.1.1, D-4.1.2, D-4.1.3, D-4.1.4, D-9.4: one branch has a token, the other node is SKIPPED."""
    ran = go(tmp_path, EXAMPLES / "branches.yaml", {"score": score})
    targets = {"condtrue": "Accept", "condfalse": "Reject"}
    assert len(ran.puts(f"Enough:{taken}>{targets[taken]}")) == 1
    assert ran.puts(f"Enough:{other}>{targets[other]}") == []
    assert ran.look.nodes[targets[taken]] == "COMPLETED"
    assert ran.look.nodes[targets[other]] == "SKIPPED"
    assert ran.look.branches == {"Enough": taken}
    assert {e.node for e in ran.told("node.skipped")} == {targets[other], f"{targets[other]}ed"}
    assert {e.data["skip_reason"] for e in ran.told("node.skipped")} == {"no_token"}


def test_a_decision_can_be_asked_for_downstream(tmp_path: Path) -> None:
    """D-4.1.3, D-X.21: `branches.<label>` is what was decided."""
    nodes = [START, cond("C", expression="input.yes"), job("A"), job("B"), text("M", join_policy="any")]
    nodes += [cond("Was", expression="branches.C == 'condtrue'"), END, {"label": "No", "type": "endpoint"}]
    ways = [
        "Start>C",
        "C[condtrue]>A",
        "C[condfalse]>B",
        "A>M",
        "B>M",
        "M>Was",
        "Was[condtrue]>End",
        "Was[condfalse]>No",
    ]
    for yes in (True, False):
        ran = go(tmp_path / str(yes), drawn(nodes, ways), {"yes": yes})
        assert ran.look.branches == {"C": "condtrue" if yes else "condfalse", "Was": "condtrue" if yes else "condfalse"}


def test_decisions_have_a_history(tmp_path: Path) -> None:
    """D-X.21, D-11.4: per epoch the last one wins; all of them are in the events, with epoch and iteration."""
    ran = go(tmp_path, EXAMPLES / "epochs.yaml")
    told = [(e.epoch, e.iteration, e.data["branch"]) for e in ran.told("branch.decided") if e.node == "C1"]
    assert told == [(epoch, n, "condtrue" if n == 2 else "condfalse") for epoch in (0, 1, 2) for n in (1, 2)]
    assert ran.look.branches["C1"] == "condtrue"


def test_a_decision_of_another_epoch_is_not_seen(tmp_path: Path) -> None:
    """D-X.21, D-9.3: in a new epoch nothing is decided yet."""
    nodes = [START, job("Head", max_iteration=1), cond("Seen", expression="branches.Turn == null"), job("Fresh")]
    nodes += [cond("Turn", expression="epoch >= 1", loop_controller=True), END, {"label": "Stale", "type": "endpoint"}]
    ways = [
        "Start>Head",
        "Head>Seen",
        "Seen[condtrue]>Fresh",
        "Seen[condfalse]>Stale",
        "Fresh>Turn",
        "Turn[condfalse]>Head",
        "Turn[condtrue]>End",
    ]
    ran = go(tmp_path, drawn(nodes, ways))
    assert ran.order().count("Fresh") == 2
    assert ran.look.nodes["Stale"] == "SKIPPED"
    assert ran.status == "COMPLETED"


@pytest.mark.parametrize(
    ("value", "branch"), [(None, "condfalse"), (0, "condfalse"), ("yes", "condfalse"), (True, "condtrue")]
)
def test_a_condition_always_decides(tmp_path: Path, value: Any, branch: str) -> None:
    """D-4.1.1: only true is true; what is neither true nor false still decides."""
    ran = go(
        tmp_path, drawn([START, cond("C", expression="input.x"), END], ["Start>C", "C[condtrue]>End"]), {"x": value}
    )
    assert ran.look.branches == {"C": branch}
    assert ran.times("End") == (branch == "condtrue")
    assert ran.status == "COMPLETED"


def test_an_expression_that_cannot_be_evaluated_fails_the_node(tmp_path: Path) -> None:
    """D-X.10, D-4.1.4: then nothing was decided, and no branch gets a token."""
    nodes = [START, cond("C", expression="input.x > 1"), END, {"label": "No", "type": "endpoint"}]
    ran = go(tmp_path, drawn(nodes, ["Start>C", "C[condtrue]>End", "C[condfalse]>No"]), {"x": "text"})
    assert ran.status == "FAILED"
    assert ran.look.nodes["C"] == "FAILED"
    assert ran.look.branches == {}
    assert ran.told("branch.decided") == []
    assert ran.puts() == [("Start>C", 0, 0)]


# ---- exact emission --------------------------------------------------------------------------------------------------


def emissions(ran: Ran) -> list[tuple[str, str, list[str]]]:
    """For every decision: the condition, the handle it chose, and the edges that got a token before anything else
    executed."""
    found: list[tuple[str, str, list[str]]] = []
    mine: list[str] | None = None
    for line in ran.lines:
        if line.fact == "settled":
            mine = None
            if "port" in line.data and line.data["status"] == "done":
                mine = []
                found.append((line.node, line.data["port"], mine))
        elif line.fact == "put" and mine is not None:
            source = ran.net.edge_by_id[line.edge].src.id
            assert source == found[-1][0], "nobody else publishes in between"
            mine.append(line.edge)
    return found


FAN = drawn(
    [START, job("Work", max_iteration=4), cond("C", condition_type="detect_max_iterations"), job("A"), job("B"), END],
    ["Start>Work", "Work>C", "C[condfalse]>Work", "C[condtrue]>A", "C[condtrue]>B", "A>End", "B>End"],
)


@pytest.mark.parametrize(
    "source",
    [
        FAN,
        loop(),
        loop(skippable=True),
        loop(expression="counters.PersonJob >= 2"),
        *(EXAMPLES / f"{name}.yaml" for name in ("epochs", "branches", "diamond", "judge", "early_exit")),
    ],
    ids=["fan", "loop", "skippable", "custom", "epochs", "branches", "diamond", "judge", "early_exit"],
)
def test_exactly_the_edges_of_the_chosen_handle_get_one_token_each(tmp_path: Path, source: bytes | Path) -> None:
    """D-X.3, D-12.2: after each decision, whatever the targets wait for."""
    ran = go(tmp_path, source)
    found = emissions(ran)
    assert found
    for node, handle, edges in found:
        assert edges == [e.id for e in ran.net.by_id[node].outs if e.port == handle]
    assert ran.status == "COMPLETED"


@pytest.mark.parametrize("yes", [True, False])
def test_a_decision_is_published_on_its_handle_and_nowhere_else(tmp_path: Path, yes: bool) -> None:
    """D-X.3, D-12.2: what a subscriber sees after `branch.decided`: one token on each edge of that handle, also where
    two lead to one target and where the target waits for something else; none on the other handle."""
    nodes = [START, cond("C"), saw("Ready"), saw("Waits"), job("Never"), saw("Other"), END]
    ways = [
        "Start>C", "C[condtrue]>Ready", ("C[condtrue]>Ready", {"label": "again"}), "C[condtrue]>Waits", "Never>Waits",
        "C[condfalse]>Other", "Ready>End", "Waits>End", "Other>End", "C[condfalse]>Waits", "Other>Never",
    ]  # fmt: skip
    ran = go(tmp_path, drawn(nodes, ways), {"yes": yes})
    (decided,) = ran.told("branch.decided")
    assert decided.data == {"branch": "condtrue" if yes else "condfalse"}
    told = [(e.edge, e.sequence_number) for e in ran.told("token.published") if e.node == "C"]
    if yes:
        assert told == [("C:condtrue>Ready", 0), ("C:condtrue>Ready#2", 0), ("C:condtrue>Waits", 0)]
    else:
        assert told == [("C:condfalse>Other", 0), ("C:condfalse>Waits", 0)]


@awaited
async def test_emission_does_not_ask_the_target(tmp_path: Path) -> None:
    """D-X.3: the token is put although its target is not ready, and lies there until it is."""
    gates = Gates()
    nodes = [START, gate("A"), cond("C", expression="true"), saw("N"), END]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ["Start>A", "Start>C", "A>N", "C[condtrue]>N", "N>End"])))
        ran = await reached(p, run, lambda ran: bool(ran.puts("C:condtrue>N")))
        assert ran.look.tokens == {"C:condtrue>N": 1}
        gates.let("A")
        await p.wait(run, timeout=PATIENCE_S)
        assert Ran(p, run).took("N") == [["A>N", "C:condtrue>N"]]


# ---- 4.2 skippable ---------------------------------------------------------------------------------------------------


def optional(skippable: bool) -> bytes:
    """D-A.5: N with an edge from A and one from a condition."""
    nodes = [START, gate("A"), cond("Check", expression="input.strict", skippable=skippable), saw("N"), END]
    return drawn(nodes, ["Start>A", "Start>Check", "A>N", "Check[condtrue]>N", "N>End"])


@pytest.mark.parametrize("strict", [False, True])
@awaited
async def test_a_skippable_condition_does_not_block(tmp_path: Path, strict: bool) -> None:
    """D-A.5, D-4.2.1, D-4.2.2, D-4.2.3: N executes with A's token; what the condition gave is taken along."""
    gates = Gates()
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(optional(True)), {"strict": strict})
        ran = await reached(p, run, lambda ran: bool(ran.of("settled", "Check")))
        assert ran.times("N") == 0
        gates.let("A")
        await p.wait(run, timeout=PATIENCE_S)
        ran = Ran(p, run)
    assert ran.took("N") == [["A>N", "Check:condtrue>N"] if strict else ["A>N"]]
    assert ran.status == "COMPLETED"


async def slow_check(folder: Path, *, skippable: bool, decides: bool) -> tuple[int, Ran]:
    """A comes at once, the check decides late; how often N executed before that, and the whole run."""
    gates = Gates()
    check = cond("Check", expression="input.strict", skippable=skippable)
    nodes = [START, gate("A"), gate("Before"), check, saw("N"), END]
    ways = ["Start>A", "Start>Before", "Before>Check", "A>N", "Check[condtrue]>N", "N>End"]
    async with door(folder, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ways)), {"strict": decides})
        gates.let("A")
        before = await reached(p, run, lambda ran: bool(ran.of("settled", "A")))
        gates.let("Before")
        await p.wait(run, timeout=PATIENCE_S)
        return before.times("N"), Ran(p, run)


@pytest.mark.parametrize(("skippable", "before"), [(True, 1), (False, 0)])
@awaited
async def test_a_slow_check_blocks_only_if_it_is_not_skippable(tmp_path: Path, skippable: bool, before: int) -> None:
    """D-4.2.2, D-4.2.3: an optional check that has not decided yet must not block the main flow; another one does."""
    executed, ran = await slow_check(tmp_path, skippable=skippable, decides=False)
    assert executed == before
    assert (ran.took("N"), ran.status) == ([["A>N"]], "COMPLETED")


@awaited
async def test_a_slow_check_does_not_fail_the_main_flow(tmp_path: Path) -> None:
    """D-4.2.3, D-X.8: that an optional check decides when N has gone on without it is no deadlock."""
    executed, ran = await slow_check(tmp_path, skippable=True, decides=True)
    assert (executed, ran.took("N")[0]) == (1, ["A>N"])
    assert (ran.status, ran.look.failure, ran.balance()) == ("COMPLETED", None, 0)


@awaited
async def test_the_only_remaining_dependency_is_required(tmp_path: Path) -> None:
    """D-4.2.4, D-5.2.6, D-12.1: with nothing else to wait for N waits for the skippable condition, and runs on it."""
    gates = Gates()
    nodes = [START, gate("A"), cond("Check", expression="input.strict", skippable=True), saw("N"), END]
    source = drawn(nodes, ["Start>A", "A>Check", "Check[condtrue]>N", "N>End"])
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(source), {"strict": True})
        ran = await reached(p, run, lambda ran: "A" in gates.waiting)
        assert ran.times("N") == 0
        gates.let("A")
        await p.wait(run, timeout=PATIENCE_S)
        assert Ran(p, run).took("N") == [["Check:condtrue>N"]]
        other = await p.start(p.release(source), {"strict": False})
        assert (await p.wait(other, timeout=PATIENCE_S)).nodes["N"] == "SKIPPED"


# ---- kinds of conditions ---------------------------------------------------------------------------------------------


def test_nodes_executed(tmp_path: Path) -> None:
    """D-X.16: true when every node it names has executed; `check_nodes_executed` and numbers are the same."""
    for index, (kind, wanted) in enumerate(
        [("nodes_executed", ["A"]), ("check_nodes_executed", [1]), ("nodes_executed", ["A", "Never"])]
    ):
        nodes = [START, job("A"), cond("C", condition_type=kind, node_indices=wanted), job("Never"), END]
        nodes.append({"label": "No", "type": "endpoint"})
        ways = ["Start>A", "A>C", "C[condtrue]>End", "C[condfalse]>No", "Never>No"]
        ran = go(tmp_path / str(index), drawn(nodes, [*ways[:-1], ("Never>No", {})]))
        assert ran.look.branches == {"C": "condfalse" if "Never" in wanted else "condtrue"}


def test_flipped_swaps_the_handles(tmp_path: Path) -> None:
    """D-X.16: with `flipped: true` a true condition leaves by condfalse."""
    nodes = [START, cond("C", expression="true", flipped=True), END, {"label": "No", "type": "endpoint"}]
    ran = go(tmp_path, drawn(nodes, ["Start>C", "C[condtrue]>End", "C[condfalse]>No"]))
    assert ran.order() == ["Start", "C", "No"]


def test_a_custom_condition_sees_inputs_epoch_and_counters(tmp_path: Path) -> None:
    """D-X.16: labelled inputs, `epoch`, `counters.<label>`; and, or, not."""
    expression = "answer == 'no' and epoch == 0 and not (counters.A > 1) or counters['Never'] > 0"
    nodes = [START, job("A", person="Says"), cond("C", expression=expression), END, job("Never")]
    ways = ["Start>A", ("A>C", {"label": "answer"}), "C[condtrue]>End"]
    ran = go(tmp_path, drawn(nodes, ways, persons={"Says": script("no")}))
    assert ran.look.branches == {"C": "condtrue"}


@pytest.mark.parametrize("yes", [True, False])
def test_a_custom_condition_sees_what_others_decided(tmp_path: Path, yes: bool) -> None:
    """D-X.16: `branches.<label>` is the way another condition has taken."""
    nodes = [START, cond("First", expression="input.yes"), cond("C", expression="branches.First == 'condtrue'"), END]
    nodes.append({"label": "No", "type": "endpoint"})
    ways = ["Start>First", "First[condtrue]>C", "First[condfalse]>C", "C[condtrue]>End", "C[condfalse]>No"]
    ran = go(tmp_path, drawn(nodes, ways), {"yes": yes})
    assert ran.order() == ["Start", "First", "C", "End" if yes else "No"]


def test_a_custom_condition_sees_the_epoch_it_is_in(tmp_path: Path) -> None:
    """D-X.16, D-X.1: `epoch` is 0 first and grows with each way back of a loop controller."""
    nodes = [START, job("J"), cond("C", expression="epoch >= 2", loop_controller=True), END]
    ways = ["Start>J", "J>C", "C[condfalse]>J", "C[condtrue]>End"]
    ran = go(tmp_path, drawn(nodes, ways, max_node_executions=9))
    assert [(x.epoch, x.data["port"]) for x in ran.of("settled", "C")] == [
        (0, "condfalse"), (1, "condfalse"), (2, "condtrue"),
    ]  # fmt: skip
    assert ran.status == "COMPLETED"


@pytest.mark.parametrize("policy", ["any", "all", "k_of_n"])
@awaited
async def test_a_decision_does_not_count_itself(tmp_path: Path, policy: str) -> None:
    """D-X.16, D-X.12: `counters.<own label>` is how often it has decided before, however its inputs joined."""
    gates = Gates()
    fields = {"join_policy": policy, **({"join_k": 1} if policy == "k_of_n" else {})}
    nodes = [START, gate("A"), gate("B"), cond("C", expression="counters.C == 0", **fields), END]
    nodes.append({"label": "No", "type": "endpoint"})
    source = drawn(nodes, ["Start>A", "Start>B", "A>C", "B>C", "C[condtrue]>End", "C[condfalse]>No"])
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(source))
        gates.let("A")
        await reached(p, run, lambda ran: bool(ran.of("settled", "A")))
        gates.let("B")
        await p.wait(run, timeout=PATIENCE_S)
        decided = [x.data["port"] for x in Ran(p, run).of("settled", "C")]
    assert decided[0] == "condtrue"


def test_a_person_decides(tmp_path: Path) -> None:
    """D-X.16, D-8.1.2: llm_decision asks a person; what was judged goes on, and to everybody it is one node."""
    ran = go(tmp_path, EXAMPLES / "judge.yaml")
    assert [e.data["branch"] for e in ran.told("branch.decided")] == ["condfalse", "condtrue"]
    assert ran.look.outputs["Endpoint"] == ran.output("Write")[1]
    work = [(e.name, e.node) for e in ran.events if e.name in ("node.started", "node.completed") and e.node == "Good"]
    assert work == [("node.started", "Good"), ("node.completed", "Good")] * 2
    assert not any(e.node == "Good.ask" for e in ran.events)
    assert ran.balance() == 0
    assert {e.name for e in ran.events if e.edge == "Good.ask>Good"} <= {"token.published", *GONE}


@awaited
async def test_a_person_who_judges_is_seen_at_work(tmp_path: Path) -> None:
    """D-8.1.2, D-8.1.4, D-X.16: the condition is RUNNING while its person thinks, and FAILED when that fails."""
    p = door(tmp_path)
    gates = Gates()

    @p.executor("llm")
    async def think() -> str:
        await gates.passes("think")
        raise ValueError("no idea")

    judge = cond("Good", condition_type="llm_decision", person="Bot", judge_by="Good?")
    async with p:
        run = await p.start(p.release(drawn([START, judge, END], ["Start>Good", "Good[condtrue]>End"])))
        ran = await reached(p, run, lambda ran: bool(gates.waiting))
        assert ran.look.nodes["Good"] == "RUNNING"
        gates.let("think")
        await p.wait(run, timeout=PATIENCE_S)
        ran = Ran(p, run)
    assert ran.look.nodes["Good"] == "FAILED"
    assert [(e.name, e.node) for e in ran.told("node.failed")] == [("node.failed", "Good")]
    assert "Good" not in {e.node for e in ran.told("node.skipped")}
    assert ran.status == "FAILED"
