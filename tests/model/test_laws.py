"""Laws of the model on random nets (KERNEL 10, L1 to L10)."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.model.kernel import canon, replay, step
from tests.model.net import INC, Body, Edge, Net, Node
from tests.model.random_nets import UNDONE, arbitrary, bits, dag, structured
from tests.model.settings import TRY
from tests.model.sim import Sim
from tests.model.soundness import check

SEEDS = st.integers(0, 10**9)
INPUTS = st.integers(0, 255).map(bits)


# ---------------------------------------------------------------- L1: dead paths = inclusive join, on acyclic nets
def dead_path_elimination(net: Net, input: list[bool], fails: set[str]) -> list[str]:
    """The reference: explicit dead tokens in topological order; returns the nodes that run."""
    live: dict[str, bool] = {}
    ran = []
    for node in net.nodes:
        ins, outs = net.ins[node.id], net.outs[node.id]
        if ins and not any(live[e.id] for e in ins):
            live.update({e.id: False for e in outs})
            continue
        ran.append(node.id)
        port = "failed" if node.id in fails else "done"
        view = {"input": input}
        chosen = [e for e in outs if e.port == port and (e.guard is None or e.guard(view))]
        if node.split == "first":
            chosen = chosen[:1]
        live.update({e.id: e in chosen for e in outs})
    return ran


@TRY
@given(SEEDS, st.integers(2, 12), INPUTS)
def test_inclusive_equals_dead_path(seed, size, input):
    net = dag(seed, size)
    rng = random.Random(seed)
    fails = {f"n{i}" for i in range(1, size) if rng.random() < 0.2}
    sim = Sim(net, input=input)
    while sim.state["effects"]:
        effect = rng.choice(sorted(sim.state["effects"]))
        node = node_of(sim, effect)
        if node in fails:
            fail(sim, effect)
        else:
            sim.do(c="outcome", effect=effect, status="done", output=node)
    assert sim.status == "COMPLETED"
    assert sorted(sim.fired()) == sorted(dead_path_elimination(net, input, fails))  # hence at most once each


def node_of(sim: Sim, effect: str) -> str:
    return sim.state["firings"][sim.state["effects"][effect]["firing"]]["node"]


def fail(sim: Sim, effect: str) -> None:
    sim.do(c="outcome", effect=effect, status="failed", failure={"code": "X", "category": "permanent"})


# ---------------------------------------------------------------- L2, L3: structured nets
def answer(sim: Sim, rng: random.Random) -> str:
    """Answer an effect; the output says only which node and visit it was."""
    effect = rng.choice(sorted(sim.state["effects"]))
    firing = sim.state["firings"][sim.state["effects"][effect]["firing"]]
    output = f"{firing['node'].lstrip('R')}.{firing['visit'] % 2}"
    sim.do(c="outcome", effect=effect, status="done", output=output)
    return effect


def drive(net: Net, input: list[bool], rng: random.Random, noise: bool = False, check: bool = True) -> Sim:
    """To the end in random order; with noise: late and double answers, and reloads, in between."""
    sim = Sim(net, input=input, check=check)
    answered: list[str] = []
    while sim.state["effects"]:
        assert len(answered) < 3000
        if noise and answered and rng.random() < 0.3:
            late_answer_changes_nothing(sim, rng.choice(answered), rng)
        if noise and rng.random() < 0.5:
            sim.state = replay(sim.facts)
        answered.append(answer(sim, rng))
    return sim


def late_answer_changes_nothing(sim: Sim, effect: str, rng: random.Random) -> None:
    before = canon({**sim.state, "n": 0})
    facts = sim.do(c="outcome", effect=effect, status=rng.choice(["done", "skipped"]), output="LATE")
    assert facts[0]["f"] == "ignored"
    assert canon({**sim.state, "n": 0}) == before


@TRY
@given(SEEDS, INPUTS)
def test_structured_nets_complete_and_are_confluent(seed, input):
    net = structured(seed)
    one = drive(net, input, random.Random(1), check=False)
    other = drive(net, input, random.Random(seed + 7), noise=True)
    assert one.status == other.status == "COMPLETED"
    assert canon(one.state["vars"]) == canon(other.state["vars"])
    assert sorted(one.fired()) == sorted(other.fired())


@TRY
@given(SEEDS, INPUTS)
def test_structured_nets_with_races_complete(seed, input):
    sim = drive(structured(seed, race=True), input, random.Random(seed + 7), noise=True)
    assert sim.status == "COMPLETED"


# ---------------------------------------------------------------- L4, L5, L6: cancel, pause, fail anywhere
@TRY
@given(SEEDS, INPUTS, st.integers(0, 40))
def test_cancel_anywhere(seed, input, at):
    sim = Sim(structured(seed, race=True), input=input)
    rng = random.Random(seed)
    count = 0
    while sim.state["effects"]:
        if count == at:
            live = list(sim.state["effects"])
            sim.do(c="cancel")
            assert sim.status == "CANCELLED"
            for effect in live:
                assert sim.do(c="outcome", effect=effect, status="done")[0]["why"] == "superseded"
            assert sim.status == "CANCELLED"
            return
        count += 1
        answer(sim, rng)
    assert sim.status == "COMPLETED"


@TRY
@given(SEEDS, INPUTS, st.integers(0, 30))
def test_pause_anywhere_then_resume_gives_the_same_end(seed, input, at):
    net = structured(seed)
    one = drive(net, input, random.Random(3), check=False)
    sim = Sim(net, input=input, check=False)
    rng = random.Random(seed)
    count = 0
    while sim.state["effects"] or sim.state["paused"]:
        if count == at:
            sim.do(c="pause")
        count += 1
        if sim.state["effects"]:
            answer(sim, rng)
        else:
            sim.do(c="resume")
    assert canon(one.state["vars"]) == canon(sim.state["vars"])
    assert sim.status == "COMPLETED"


@TRY
@given(SEEDS, INPUTS, st.integers(0, 30))
def test_failure_anywhere_ends_and_compensates_in_reverse(seed, input, at):
    plain = structured(seed)
    nodes = [replace(n, undo=("UNDO",)) if n.kind == "task" else n for n in plain.nodes]
    net = Net((*nodes, Node("UNDO", "task", off_path=True, arg=UNDONE)), plain.edges)
    sim = Sim(net, input=input)
    rng = random.Random(seed)
    done: list[int] = []
    while sim.state["effects"] and sim.status != "COMPENSATING":
        effect = rng.choice(sorted(sim.state["effects"]))
        if len(done) == at:
            fail(sim, effect)
            break
        sim.do(c="outcome", effect=effect, status="done", output=len(done))
        done.append(len(done))
    while sim.state["effects"] and sim.status == "RUNNING":  # no fail-fast: the siblings of the failed one go on
        sim.do(c="outcome", effect=rng.choice(sorted(sim.state["effects"])), status="done", output=len(done))
        done.append(len(done))
    if len(done) <= at and sim.status == "COMPLETED":
        return
    undone = []
    while sim.state["effects"]:
        (effect,) = sim.state["effects"].values()
        undone.append(effect["arg"])
        sim.state = replay(sim.facts)  # a crash before each step
        sim.ok("UNDO")
    assert undone == done[::-1]
    assert sim.status == ("COMPENSATED" if done else "FAILED")


# ---------------------------------------------------------------- L7: reach tables, also of cyclic graphs
@TRY
@given(SEEDS)
def test_reach_tables_equal_brute_force(seed):
    rng = random.Random(seed)
    size = rng.randrange(3, 10)
    ids = [f"n{i}" for i in range(size)]
    pairs = {(rng.choice(ids), rng.choice(ids)) for _ in range(rng.randrange(size, 2 * size + 3))}
    net = Net(tuple(Node(i, join=INC) for i in ids), tuple(Edge(f"{a}>{b}", a, b) for a, b in sorted(pairs)))
    for join, table in net.reach.items():
        for edge, (reaching, _) in table.items():
            for start in net.edges:
                told = bool(reaching >> net.edge_order[start.id] & 1)
                assert told == walks(net, start, edge, join), (join, edge, start.id)


def walks(net: Net, start: Edge, target: str, without: str) -> bool:
    """Is there a walk from an edge to another that does not pass a node?"""
    seen, todo = set(), [start.dst]
    while todo:
        node = todo.pop()
        if node in seen or node == without:
            continue
        seen.add(node)
        for edge in net.outs[node]:
            if edge.id == target:
                return True
            todo.append(edge.dst)
    return False


# ---------------------------------------------------------------- L8: any graph
@TRY
@given(SEEDS, INPUTS)
def test_arbitrary_nets_never_hang_silently(seed, input):
    """The run ends COMPLETED, or FAILED with a named reason; invariants hold after every step."""
    sim = Sim(arbitrary(seed), input=input)
    rng = random.Random(seed)
    count = 0
    while sim.state["effects"]:
        count += 1
        assert count < 400
        sim.do(c="outcome", effect=rng.choice(sorted(sim.state["effects"])), status="done", output=count)
    named = sim.status == "FAILED" and sim.state["failure"]["code"] in ("DEADLOCK", "ITERATION_LIMIT")
    assert sim.status == "COMPLETED" or named


# ---------------------------------------------------------------- L9: migration
def prefixed(name: str) -> str:
    return f"R{name}" if name else name


def prefixed_body(body: Body) -> Body:
    branches = tuple((key, prefixed(entry), guard, required) for key, entry, guard, required in body.branches)
    return replace(body, entry=prefixed(body.entry), branches=branches)


def prefixed_net(net: Net) -> Net:
    nodes = [replace(n, id=prefixed(n.id), scope=prefixed(n.scope), body=prefixed_body(n.body)) for n in net.nodes]
    edges = [replace(e, id=prefixed(e.id), src=prefixed(e.src), dst=prefixed(e.dst)) for e in net.edges]
    return replace(net, nodes=tuple(nodes), edges=tuple(edges))


@TRY
@given(SEEDS, INPUTS, st.integers(0, 20))
def test_migrate_to_a_renamed_net_anywhere(seed, input, at):
    net = structured(seed)
    new = prefixed_net(net)
    tables = {"nodes": {n.id: prefixed(n.id) for n in net.nodes}, "edges": {e.id: prefixed(e.id) for e in net.edges}}
    one = drive(net, input, random.Random(3), check=False)
    sim = Sim(net, input=input, check=False)
    rng = random.Random(seed)
    count = 0
    while sim.state["effects"]:
        if count == at:
            facts = step(new, sim.state, {"c": "migrate", **tables}, 0, old=net)
            sim.state = replay(facts, sim.state)
            sim.facts += facts
            sim.net = new
        count += 1
        answer(sim, rng)
    assert sim.status == "COMPLETED"
    assert canon(one.state["vars"]) == canon(sim.state["vars"])
    assert canon(replay(sim.facts)) == canon(sim.state)


# ---------------------------------------------------------------- L10: soundness
@TRY
@given(SEEDS)
def test_structured_nets_are_sound_in_every_scope_with_and_without_reductions(seed):
    net = structured(seed)
    single_entry = [n.id for n in net.nodes if n.kind == "scope" and n.body.mode != "branches"]
    for scope in ["", *single_entry]:
        assert check(net, scope).verdict == "sound"
        assert check(net, scope, reductions=False, budget=3000).verdict in ("sound", "undecided")


# ---------------------------------------------------------------- determinism
def digest_of_runs() -> str:
    digest = hashlib.sha256()
    for seed in range(40):
        sim = drive(structured(seed, race=True), bits(seed), random.Random(seed), check=False)
        digest.update(canon(sim.facts).encode())
    return digest.hexdigest()


def test_hash_seed_does_not_matter():
    code = "from tests.model.test_laws import digest_of_runs; print(digest_of_runs())"
    root = str(Path(__file__).parents[2])
    outputs = set()
    for hash_seed in (0, 1, 77):
        env = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": root}
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=root, check=True
        )
        outputs.add(run.stdout)
    assert len(outputs) == 1
