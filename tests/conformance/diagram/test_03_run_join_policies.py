"""3, join policies in a run: ALL, ANY, K_OF_N."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from tests.conformance.diagram.make import END, START, cond, job
from tests.conformance.diagram.running import (
    PATIENCE_S,
    Gates,
    Ran,
    awaited,
    door,
    drawn,
    gate,
    go,
    reached,
    saw,
    script,
)


@asynccontextmanager
async def meeting(folder: Path, sources: str, **join: Any) -> AsyncIterator[tuple[Penstock, str, Gates]]:
    """Nodes with gates, all started at once, before one node N."""
    gates = Gates()
    nodes = [START, *(gate(n) for n in sources), saw("N", **join), END]
    ways = [*(f"Start>{n}" for n in sources), *((f"{n}>N", {"label": n.lower()}) for n in sources), "N>End"]
    async with door(folder, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ways)))
        yield p, run, gates


async def arrived(p: Penstock, run: str, gates: Gates, node: str) -> Ran:
    gates.let(node)
    return await reached(p, run, lambda ran: bool(ran.of("settled", node)))


async def at_end(p: Penstock, run: str) -> Ran:
    await p.wait(run, timeout=PATIENCE_S)
    return Ran(p, run)


# ---- 3.1 ALL ---------------------------------------------------------------------------------------------------------


@awaited
async def test_all_waits_for_all(tmp_path: Path) -> None:
    """D-A.6, D-3.1, D-9.5: N executes once, after B, with both bodies."""
    async with meeting(tmp_path, "AB") as (p, run, gates):
        ran = await arrived(p, run, gates, "A")
        assert ran.times("N") == 0
        assert ran.look.tokens == {"A>N": 1}
        await arrived(p, run, gates, "B")
        ran = await at_end(p, run)
        assert ran.took("N") == [["A>N", "B>N"]]
        assert ran.output("N")[0]["newest"] == {"a": "A", "b": "B"}
        assert ran.at("settled", "B") < ran.at("fired", "N")
        assert (ran.status, ran.balance()) == ("COMPLETED", 0)


def test_all_does_not_wait_for_a_branch_that_was_not_chosen(tmp_path: Path) -> None:
    """D-3.1, D-X.2: straight from a condition the edge of the other branch is not waited for, whoever comes first."""
    persons = {"Slow": script("slow", delay_ms=60), "Quick": script("quick")}
    for who in ("Slow", "Quick"):
        nodes = [START, job("A", person=who), job("B", person="Quick" if who == "Slow" else "Slow")]
        nodes += [cond("C", expression="input.yes"), saw("N"), END, {"label": "Else", "type": "endpoint"}]
        ways = ["Start>A", "Start>B", "B>C", "A>N", "C[condtrue]>N", "C[condfalse]>Else", "N>End"]
        source = drawn(nodes, ways, persons=persons)
        chosen = go(tmp_path / who / "yes", source, {"yes": True})
        assert chosen.took("N") == [["A>N", "C:condtrue>N"]]
        other = go(tmp_path / who / "no", source, {"yes": False})
        assert other.took("N") == [["A>N"]]
        assert {chosen.status, other.status} == {"COMPLETED"}


@pytest.mark.parametrize("late", ["A", "C"])
@awaited
async def test_a_decision_for_the_other_branch_is_known_at_once(tmp_path: Path, late: str) -> None:
    """D-X.2, D-4.1.4: N does not wait until all is quiet: it executes while something else is still at work."""
    gates = Gates()
    nodes = [START, gate("A"), gate("Before"), cond("C", expression="false"), gate("Other"), saw("N"), END]
    nodes.append({"label": "Out", "type": "endpoint"})
    ways = ["Start>A", "Start>Before", "Before>C", "Start>Other", "A>N", "C[condtrue]>N", "N>End", "Other>Out"]
    first, then = ("Before", "A") if late == "A" else ("A", "Before")
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ways)))
        ran = await arrived(p, run, gates, first)
        assert ran.times("N") == 0
        gates.let(then)
        ran = await reached(p, run, lambda ran: ran.times("End") == 1)
        assert (ran.took("N"), gates.waiting) == ([["A>N"]], ["Other"])
        gates.let("Other")
        ran = await at_end(p, run)
    assert ran.status == "COMPLETED"


def test_all_has_nothing_to_wait_for_when_quiet(tmp_path: Path) -> None:
    """D-X.2: a condition that nothing will ever reach stops blocking when everything else has come to rest."""
    nodes = [START, cond("First", expression="input.on"), cond("Second", expression="true"), job("A"), saw("N"), END]
    ways = ["Start>First", "Start>A", "First[condtrue]>Second", "Second[condtrue]>N", "A>N", "N>End"]
    ran = go(tmp_path, drawn(nodes, ways), {"on": False})
    assert ran.took("N") == [["A>N"]]
    assert ran.of("fired", "N")[0].data["relaxed"]
    assert ran.status == "COMPLETED"


@pytest.mark.parametrize("rounds", [1, 3])
@awaited
async def test_all_takes_everything_that_lies_there(tmp_path: Path, rounds: int) -> None:
    """D-X.7, D-7.1.3: several tokens on one edge go in one execution; the newest is the input, the rest is history."""
    gates = Gates()
    done = cond("Done", condition_type="detect_max_iterations")
    nodes = [START, job("Work", person="Count", max_iteration=rounds), done, gate("Late"), saw("N"), END]
    ways = ["Start>Work", "Start>Late", "Work>Done", "Done[condfalse]>Work", "Done[condtrue]>Out", "N>End"]
    ways += [("Work>N", {"label": "work"}), ("Late>N", {"label": "late"})]
    nodes.append({"label": "Out", "type": "endpoint"})
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ways, persons={"Count": script(*range(1, 9))})))
        await reached(p, run, lambda ran: ran.times("Out") == 1)
        await arrived(p, run, gates, "Late")
        ran = await at_end(p, run)
    assert ran.took("N") == [["Work>N"] * rounds + ["Late>N"]]
    (seen,) = ran.output("N")
    assert seen["newest"] == {"work": rounds, "late": "Late"}
    assert seen["older"]["work"] == list(range(1, rounds))
    assert [n for _, _, n in ran.puts("Work>N")] == list(range(rounds))


# ---- 3.2 ANY ---------------------------------------------------------------------------------------------------------


@awaited
async def test_any_fires_on_each_arrival(tmp_path: Path) -> None:
    """D-A.7, D-3.2, D-9.5: on the first arrival, and again for the later one."""
    async with meeting(tmp_path, "AB", join_policy="any") as (p, run, gates):
        await arrived(p, run, gates, "B")
        ran = await reached(p, run, lambda ran: len(ran.of("settled", "N")) == 1)
        assert ran.took("N") == [["B>N"]]
        await arrived(p, run, gates, "A")
        ran = await at_end(p, run)
        assert ran.took("N") == [["B>N"], ["A>N"]]
        assert [x["newest"] for x in ran.output("N")] == [{"b": "B"}, {"a": "A"}]
        assert ran.times("End") == 2
        assert (ran.status, ran.balance()) == ("COMPLETED", 0)


@awaited
async def test_a_condition_joins_with_any(tmp_path: Path) -> None:
    """D-3.2, D-X.12: a condition decides for every token that comes; `join_policy: all` makes it wait."""
    for policy, times in (({}, 2), ({"join_policy": "all"}, 1)):
        gates = Gates()
        nodes = [START, gate("A"), gate("B"), cond("C", expression="true", **policy), END]
        source = drawn(nodes, ["Start>A", "Start>B", "A>C", "B>C", "C[condtrue]>End"])
        async with door(tmp_path / str(times), settings={"services": {"gates": gates}}) as p:
            run = await p.start(p.release(source))
            await arrived(p, run, gates, "A")
            await arrived(p, run, gates, "B")
            ran = await at_end(p, run)
        assert ran.times("C") == times
        assert ran.status == "COMPLETED"


# ---- 3.3 K_OF_N ------------------------------------------------------------------------------------------------------


@awaited
async def test_k_of_n_fires_at_the_kth(tmp_path: Path) -> None:
    """D-A.8, D-3.3, D-X.12: not with one, but with two of three; the third is absorbed by a fact, never a deadlock."""
    async with meeting(tmp_path, "ABC", join_policy="k_of_n", join_k=2) as (p, run, gates):
        ran = await arrived(p, run, gates, "C")
        assert ran.times("N") == 0
        await arrived(p, run, gates, "A")
        ran = await reached(p, run, lambda ran: bool(ran.of("settled", "N")))
        assert ran.took("N") == [["A>N", "C>N"]]
        await arrived(p, run, gates, "B")
        ran = await at_end(p, run)
        assert ran.times("N") == 1
        assert [(e.edge, e.data["why"]) for e in ran.told("token.absorbed")] == [("B>N", "late")]
        assert (ran.status, ran.balance()) == ("COMPLETED", 0)
        assert [(t.fate, t.sequence_number) for t in p.tokens(run, edge="B>N")] == [("absorbed", 0)]


@awaited
async def test_k_of_n_that_can_not_be_reached_is_a_deadlock(tmp_path: Path) -> None:
    """D-3.3, D-X.8: when fewer than k can still come, the run says so and does not wait for ever."""
    gates = Gates()
    nodes = [START, gate("A"), cond("C", expression="false"), gate("B"), saw("N", join_policy="k_of_n", join_k=2), END]
    ways = ["Start>A", "Start>C", "C[condtrue]>B", "A>N", "B>N", "N>End"]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ways)))
        gates.let("A")
        ran = await at_end(p, run)
    assert ran.status == "FAILED"
    assert ran.look.failure is not None
    assert (ran.look.failure["code"], ran.look.failure["node"]) == ("DEADLOCK", "N")
    assert ran.balance() == 0


def test_start_edges_count_among_n(tmp_path: Path) -> None:
    """D-X.12: two of START and two others."""
    nodes = [START, job("A"), job("B"), saw("N", join_policy="k_of_n", join_k=3), END]
    ran = go(tmp_path, drawn(nodes, ["Start>A", "Start>B", "Start>N", "A>N", "B>N", "N>End"]))
    assert [sorted(x) for x in ran.took("N")] == [["A>N", "B>N", "Start>N"]]
    assert ran.status == "COMPLETED"


@awaited
async def test_each_round_of_a_loop_counts_anew(tmp_path: Path) -> None:
    """D-X.12: late tokens of a round are absorbed, those of the next round are not, in the same epoch."""
    gates = Gates()
    done = cond("Done", condition_type="detect_max_iterations")
    nodes = [START, job("Head", max_iteration=3), job("A"), job("B"), gate("C"), done, END]
    nodes.append(saw("N", join_policy="k_of_n", join_k=2))
    ways = ["Start>Head", "Head>A", "Head>B", "Head>C", "A>N", "B>N", "C>N", "N>Done"]
    ways += ["Done[condfalse]>Head", "Done[condtrue]>End"]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn(nodes, ways)))
        ran = await reached(p, run, lambda ran: ran.times("End") == 1)
        assert ran.took("N") == [["A>N", "B>N"]] * 3
        gates.let("C")
        ran = await at_end(p, run)
    assert (ran.times("Head"), ran.times("N"), ran.times("C")) == (3, 3, 3)
    assert [e.edge for e in ran.told("token.absorbed")] == ["C>N"] * 3
    assert (ran.status, ran.balance()) == ("COMPLETED", 0)


# ---- join timeout ----------------------------------------------------------------------------------------------------


@awaited
async def test_join_timeout(tmp_path: Path) -> None:
    """D-X.26: with `join_timeout_ms` a node that waits too long fails; off by default."""
    async with meeting(tmp_path, "AB", join_timeout_ms=50) as (p, run, gates):
        gates.let("A")
        await reached(p, run, lambda ran: bool(ran.of("settled", "N")))
        gates.let("B")
        ran = await at_end(p, run)
    assert ran.status == "FAILED"
    assert ran.look.failure is not None
    assert (ran.look.failure["code"], ran.look.failure["node"]) == ("JOIN_TIMEOUT", "N")
    assert ran.took("N") == [["A>N"]]
    assert ran.look.nodes["N"] == "FAILED"
