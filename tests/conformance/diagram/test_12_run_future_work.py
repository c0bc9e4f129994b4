"""12, what the seed lists as future work and Penstock has: in a run."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.app.maintenance.verify import verify
from penstock.app.runs.timeline.replay import replay
from penstock.errors import BadInput
from tests.conformance.diagram import killed
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
    until_settled,
)

ROOT = Path(__file__).parents[3]

# ---- time to live ----------------------------------------------------------------------------------------------------


@awaited
async def test_a_token_expires(tmp_path: Path) -> None:
    """D-12.3, D-X.23: after `ttl_s` the token is taken by a fact of its own and leaves by the source's `dead` port."""
    gates = Gates()
    nodes = [START, job("A"), gate("B"), saw("N", join_policy="k_of_n", join_k=2), job("C"), END]
    nodes.append({"label": "Gone", "type": "endpoint"})
    ways = ["Start>A", "Start>B", "Start>C", ("A>N", {"ttl_s": 0.05}), "B>N", "A[dead]>Gone", "C>End"]
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        run = await p.start(p.release(drawn([*nodes], [*ways, "N>End"])))
        ran = await reached(p, run, lambda ran: bool(ran.told("token.expired")) and bool(gates.waiting))
        (expired,) = ran.told("token.expired")
        assert (expired.edge, expired.sequence_number) == ("A>N", 0)
        assert [t.fate for t in p.tokens(run, edge="A>N")] == ["expired"]
        assert ran.bodies("A:dead>Gone") == ran.output("A")
        await p.cancel(run)
        assert Ran(p, run).balance() == 0


def test_a_token_that_is_taken_in_time_does_not_expire(tmp_path: Path) -> None:
    """D-12.3: its timer goes with it."""
    ran = go(tmp_path, drawn([START, job("A"), END], ["Start>A", ("A>End", {"ttl_s": 0.01})]))
    assert ran.status == "COMPLETED"
    assert ran.told("token.expired") == []
    lagging = go(
        tmp_path / "join",
        drawn(
            [START, job("A"), job("B"), saw("N"), END], ["Start>A", "Start>B", ("A>N", {"ttl_s": 600}), "B>N", "N>End"]
        ),
    )
    assert lagging.took("N") == [["A>N", "B>N"]]
    assert lagging.status == "COMPLETED", "the run does not wait for a timer that nobody needs"


def test_an_expired_token_is_no_deadlock(tmp_path: Path) -> None:
    """D-12.3, D-X.8: a token that will expire is not stuck; when it is gone the run completes."""
    nodes = [START, job("A"), cond("C", expression="false"), job("B"), saw("N"), END]
    ways = ["Start>A", "Start>C", "C[condtrue]>B", ("A>N", {"ttl_s": 0.05}), "B>N", "N>End"]
    ran = go(tmp_path, drawn(nodes, ways))
    assert (ran.status, ran.look.failure) == ("COMPLETED", None)
    assert [e.edge for e in ran.told("token.expired")] == ["A>N"]


# ---- priority --------------------------------------------------------------------------------------------------------


def test_priority_of_nodes(tmp_path: Path) -> None:
    """D-12.4, D-X.23: of several ready nodes the smaller number goes first; among equals the order of the document."""
    nodes = [START, job("A"), job("B", priority=5), job("C"), job("D", priority=1), saw("N"), END]
    ways = [*(f"Start>{n}" for n in "ABCD"), *(f"{n}>N" for n in "ABCD"), "N>End"]
    ran = go(tmp_path, drawn(nodes, ways), max_concurrent=1)
    assert ran.order()[1:5] == ["D", "B", "A", "C"]


def test_priority_of_connections(tmp_path: Path) -> None:
    """D-12.4, D-X.23: the same by the connection that brings the token."""
    nodes = [START, job("A"), job("B"), job("C"), saw("N"), END]
    ways = ["Start>A", ("Start>B", {"priority": 7}), ("Start>C", {"priority": 3}), "A>N", "B>N", "C>N", "N>End"]
    ran = go(tmp_path, drawn(nodes, ways), max_concurrent=1)
    assert ran.order()[1:4] == ["C", "B", "A"]


# ---- transformers ----------------------------------------------------------------------------------------------------


def test_transform(tmp_path: Path) -> None:
    """D-12.6, D-X.23: an expression on a connection changes the body on its way, and on no other connection."""
    nodes = [START, text("T"), saw("N"), END, {"label": "Raw", "type": "endpoint"}]
    ways = [
        "Start>T", ("T>N", {"label": "n", "transform": "fn.length(body.rows) * 2"}), "T>Raw", "N>End",
    ]  # fmt: skip
    ran = go(tmp_path, drawn(nodes, ways), executors={"template": lambda: {"rows": [1, 2, 3]}})
    assert ran.output("N")[0]["newest"] == {"n": 6}
    assert ran.look.outputs["Raw"] == {"rows": [1, 2, 3]}
    assert ran.bodies("T>N") == [6]


def test_the_options_of_a_connection_together(tmp_path: Path) -> None:
    """D-12.4, D-12.6, D-12.10, D-X.23: label, transform, priority, capacity, ttl in one diagram."""
    ran = go(tmp_path, EXAMPLES / "edge_options.yaml")
    assert ran.status == "COMPLETED"
    assert ran.output("Count") == ["2 lines"]
    assert ran.output("Name") == ["order 7"]
    assert ran.look.nodes["Expired"] == "SKIPPED"


# ---- back-pressure ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("capacity", "order"), [(1, "PNPNPN"), (2, "PPNPN"), (None, "PPPN")])
def test_capacity(tmp_path: Path, capacity: int | None, order: str) -> None:
    """D-12.10, D-X.23: a source whose edge is full is not ready; it goes on when a token was taken."""
    nodes = [
        START,
        job("P", max_iteration=3, priority=1),
        cond("C", condition_type="detect_max_iterations", priority=1),
    ]
    nodes += [job("N", priority=9), END, {"label": "Out", "type": "endpoint"}]
    full = {} if capacity is None else {"capacity": capacity}
    ways = ["Start>P", "P>C", "C[condfalse]>P", ("P>N", full), "N>End", "C[condtrue]>Out"]
    ran = go(tmp_path, drawn(nodes, ways), max_concurrent=1)
    assert "".join(n for n in ran.order() if n in "PN") == order
    lying = most = 0
    for line in ran.lines:
        lying += (line.fact == "put" and line.edge == "P>N") - len(
            [1 for edge, _ in line.data.get("takes", ()) if edge == "P>N"]
        )
        most = max(most, lying)
    assert most == (capacity or 3)
    assert (ran.status, ran.times("P"), ran.balance()) == ("COMPLETED", 3, 0)


@pytest.mark.parametrize("most", [2, 5])
def test_a_full_edge_that_nothing_empties(tmp_path: Path, most: int) -> None:
    """D-12.10, D-6.1.1, D-X.8: then the run is stuck and says so; neither capacity nor `max_iteration` gives way."""
    nodes = [START, job("P", max_iteration=most), cond("C", expression="false"), job("Late"), saw("N"), END]
    ways = ["Start>P", "P>C", "C[condfalse]>P", ("P>N", {"capacity": 1}), "Start>Late", "Late>N", "N>End"]
    ran = go(tmp_path, drawn(nodes, ways))
    assert ran.times("N") == 1
    assert ran.times("P") == 2, "one before N took its token, one after; the third would find the edge full"
    assert ran.status == "FAILED"
    assert ran.look.failure is not None
    assert ran.look.failure["code"] == "DEADLOCK"
    assert {one["node"] for one in ran.look.failure["detail"]} >= {"N"}


# ---- replay and fork -------------------------------------------------------------------------------------------------


@awaited
async def test_replay(tmp_path: Path) -> None:
    """D-12.7, D-X.23, D-11.4: a run can be stepped through fact by fact; every step is what it was."""
    async with door(tmp_path) as p:
        ran = await until_settled(p, loop())
        seen = [replay(p, ran.id, n) for n in range(1, ran.look.facts + 1)]
        assert [one.look.facts for one in seen] == list(range(1, ran.look.facts + 1))
        assert seen[-1].look.status == "COMPLETED"
        assert {one.look.status for one in seen[:-1]} == {"RUNNING"}
        assert [one.look.counters.get("PersonJob", 0) for one in seen] == sorted(
            one.look.counters.get("PersonJob", 0) for one in seen
        )
        assert seen[2].look.tokens == {"Start>PersonJob": 1}
        assert len({one.digest for one in seen}) == len(seen)
        assert [one.digest for one in seen] == [replay(p, ran.id, n).digest for n in range(1, ran.look.facts + 1)]
        with pytest.raises(BadInput):
            replay(p, ran.id, ran.look.facts + 1)


@awaited
async def test_fork(tmp_path: Path) -> None:
    """D-12.7, D-X.23: a new run goes on from any fact of another, under keys of its own; the first stays as it was."""
    done: list[str] = []
    p = door(tmp_path)

    @p.executor("person")
    def work(request: Any) -> str:
        done.append(request.key)
        return f"by {request.run}"

    async with p:
        ran = await until_settled(p, loop())
        before = (ran.trace(), len(done))
        middle = ran.of("settled", "PersonJob")[1].seq
        fork = p.fork(ran.id, middle)
        look = await p.wait(fork, timeout=PATIENCE_S)
        other = Ran(p, fork)
        assert look.status == "COMPLETED"
        assert fork != ran.id
        assert other.output("PersonJob") == [f"by {ran.id}"] * 2 + [f"by {fork}"]
        assert len(done) == before[1] + 2, "only what had not been done by then is done"
        assert len(set(done)) == len(done)
        assert Ran(p, ran.id).trace() == before[0]
        with pytest.raises(BadInput):
            p.fork(ran.id, 10_000)


# ---- persistence -----------------------------------------------------------------------------------------------------


@awaited
async def test_tokens_outlive_the_process(tmp_path: Path) -> None:
    """D-12.8, D-X.23, D-X.28: what lies on an edge is in the journal; a new process takes it from there."""
    gates = Gates()
    ask = {"label": "Ask", "type": "user_response", "prompt": "?"}
    source = drawn([START, job("A"), ask, saw("N"), END], ["Start>A", "Start>Ask", "A>N", "Ask>N", "N>End"])
    async with door(tmp_path, settings={"services": {"gates": gates}}) as p:
        ran = await until_settled(p, source)
        assert ran.look.tokens == {"A>N": 1}
    async with door(tmp_path) as p:
        assert p.view(ran.id).tokens == {"A>N": 1}
        await p.respond(ran.id, "Ask", "here")
        await p.wait(ran.id, timeout=PATIENCE_S)
        after = Ran(p, ran.id)
    assert after.took("N") == [["A>N", "Ask>N"]]
    assert after.times("A") == 1


@awaited
async def test_an_execution_that_was_cut_off_counts_once(tmp_path: Path) -> None:
    """D-X.23, D-12.8: a node that had taken its token and not answered runs again under the same key."""
    keys: list[str] = []

    def driven(answer: bool) -> Any:
        p = door(tmp_path)

        @p.executor("person")
        async def work(request: Any) -> str:
            keys.append(request.key)
            if not answer:
                await asyncio.Event().wait()
            return "done"

        return p

    async with driven(False) as p:
        run = await p.start(p.release(drawn([START, job("A"), END], ["Start>A", "A>End"])))
        await reached(p, run, lambda ran: bool(keys))
    async with driven(True) as p:
        look = await p.wait(run, timeout=PATIENCE_S)
        ran = Ran(p, run)
    assert (look.status, look.counters["A"]) == ("COMPLETED", 1)
    assert (len(keys), len(set(keys))) == (2, 1)
    assert ran.puts("A>End") == [("A>End", 0, 0)]


@pytest.mark.parametrize("kills", [1, 3])
def test_kill_and_go_on(tmp_path: Path, kills: int) -> None:
    """D-A.17, D-12.8, D-X.23, D-X.28: kill -9 in the middle of the loop, restart; executions counted = max_iteration,
    no token identity is lost or doubled."""
    executed = tmp_path / "executed"
    for number in range(kills):
        child = subprocess.Popen([sys.executable, "-m", "tests.conformance.diagram.killed", str(tmp_path)], cwd=ROOT)
        _wait_for_lines(executed, 2 + 3 * number, child)
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    keys = executed.read_text(encoding="utf-8").split()
    assert len(set(keys)) < killed.MOST, "it was killed half-way"
    run = asyncio.run(killed.drive(tmp_path, PATIENCE_S))
    keys = executed.read_text(encoding="utf-8").split()
    assert len(set(keys)) == killed.MOST
    assert len(keys) <= killed.MOST + kills, "only what was in flight is done again, with the same key"

    async def look() -> Ran:
        async with door(tmp_path) as p:
            assert verify(p.store).violations == []
            return Ran(p, run)

    ran = asyncio.run(look())
    assert ran.status == "COMPLETED"
    assert [x.data["visit"] for x in ran.of("fired", "PersonJob")] == list(range(1, killed.MOST + 1))
    assert ran.output("PersonJob") == list(range(1, killed.MOST + 1))
    assert len(ran.puts()) == len(set(ran.puts()))
    assert ran.puts("PersonJob>Condition") == [("PersonJob>Condition", 0, n) for n in range(killed.MOST)]
    assert (ran.look.nodes["PersonJob"], ran.balance()) == ("MAXITER_REACHED", 0)


def _wait_for_lines(file: Path, count: int, child: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not file.exists() or len(file.read_text(encoding="utf-8").split()) < count:
        assert child.poll() is None, "it ended by itself"
        assert time.monotonic() < end, "it does not come so far"
        time.sleep(0.005)
