"""11, what the seed claims for tokens, as far as it can be counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from penstock.net.model import Join, Net
from tests.conformance.diagram.make import END, START, cond, job, net_of, text
from tests.conformance.diagram.running import (
    EXAMPLES,
    PATIENCE_S,
    Gates,
    Ran,
    awaited,
    door,
    drawn,
    go,
    loop,
    reached,
)

# ---- simplicity and flexibility --------------------------------------------------------------------------------------


def test_one_mechanism(tmp_path: Path) -> None:
    """D-11.1: a chain, a branch, a join and a loop are told with the same few facts."""
    words = {"run.started", "put", "fired", "effect.asked", "settled", "dead", "result", "run.moved"}
    for name in ("loop", "loop_skippable", "branches", "diamond", "early_exit"):
        ran = go(tmp_path / name, EXAMPLES / f"{name}.yaml", {"score": 90} if name == "branches" else None)
        assert {x.fact for x in ran.lines} <= words
        assert ran.status == "COMPLETED"


def test_a_loop_needs_nothing_special(tmp_path: Path) -> None:
    """D-11.2, D-11.1: the loop's nodes are lowered exactly as those of a chain; only the edge back is more."""
    nodes = [START, job("A", max_iteration=2), cond("C", condition_type="detect_max_iterations"), job("B"), END]
    ways = ["Start>A", "A>C", "C[condtrue]>B", "B>End"]
    chain, looped = net_of(nodes, ways), net_of(nodes, [*ways, "C[condfalse]>A"])
    assert chain.nodes == looped.nodes
    assert {e.id for e in looped.edges} - {e.id for e in chain.edges} == {"C:condfalse>A"}
    assert go(tmp_path, drawn(nodes, [*ways, "C[condfalse]>A"])).times("A") == 2


@pytest.mark.parametrize(
    ("join", "times"),
    [
        (Join(mode="k", k=2, take="all", late="fire"), [2]),
        (Join(mode="k", k=1, take="one", late="fire"), [1, 1, 1]),
        (Join(mode="k", k=1, take="all", late="absorb"), [1]),
        (Join(mode="all"), [3]),
        (Join(mode="inclusive"), [3]),
    ],
    ids=["two, and again for later ones", "each by itself", "the first only", "all", "inclusive"],
)
@awaited
async def test_join_policies_are_data(tmp_path: Path, join: Join, times: list[int]) -> None:
    """D-11.2, D-9.5: a join is a value of the net; other policies than the seed's three run without new code."""
    sources = [text(n) for n in "ABC"]
    drawn_net = net_of(
        [START, *sources, text("N"), END], [*(f"Start>{n}" for n in "ABC"), *(f"{n}>N" for n in "ABC"), "N>End"]
    )
    nodes = tuple(replace(n, join=join) if n.id == "N" else n for n in drawn_net.nodes)
    net: Net = replace(drawn_net, nodes=nodes)
    gates = Gates()
    p = door(tmp_path)

    @p.executor("template")
    async def work(request) -> str:  # type: ignore[no-untyped-def]
        if request.node in "ABC":
            await gates.passes(request.node)
        return str(request.node)

    async with p:
        run = await p.start(p.release(net))
        for node in "ABC":
            gates.let(node)
            await reached(p, run, lambda ran, node=node: bool(ran.of("settled", node)))
        await p.wait(run, until_waiting=True, timeout=PATIENCE_S)
        ran = Ran(p, run)
    assert [len(x) for x in ran.took("N")] == times


# ---- performance, counted --------------------------------------------------------------------------------------------


def test_a_round_costs_the_same_in_every_iteration(tmp_path: Path) -> None:
    """D-11.3: facts grow by the same number per iteration, however many there were before."""
    facts = {most: go(tmp_path / str(most), loop(most)).look.facts for most in (10, 20, 120)}
    per_round = (facts[20] - facts[10]) / 10
    assert per_round == int(per_round)
    assert facts[120] == facts[20] + 100 * per_round


def test_a_round_costs_the_same_in_every_epoch(tmp_path: Path) -> None:
    """D-11.3, D-2.2.3: epochs that are left leave nothing behind, neither in facts nor in the state."""
    sizes = {}
    for epochs in (5, 10, 60):
        nodes = [
            START,
            job("A", max_iteration=1),
            cond("C", expression=f"epoch >= {epochs}", loop_controller=True),
            END,
        ]
        source = drawn(nodes, ["Start>A", "A>C", "C[condfalse]>A", "C[condtrue]>End"])
        sizes[epochs] = _facts_and_counters(tmp_path / str(epochs), source)
    per_epoch = (sizes[10][0] - sizes[5][0]) / 5
    assert sizes[60][0] == sizes[10][0] + 50 * per_epoch
    assert sizes[60][1] == sizes[5][1]


def _facts_and_counters(folder: Path, source: bytes) -> tuple[int, int]:
    import asyncio

    async def story() -> tuple[int, int]:
        async with door(folder) as p:
            run = await p.start(p.release(source))
            look = await p.wait(run, timeout=PATIENCE_S)
            scope = p.state_at(run).scopes[0]
            return look.facts, len(scope.visits) + len(scope.seqs)

    return asyncio.run(story())


def test_width_costs_the_same_per_branch(tmp_path: Path) -> None:
    """D-11.3, D-7.2.1: a fan of n independent branches has facts in proportion to n, and all run when tokens exist."""
    facts = {}
    for width in (5, 10, 40):
        names = [f"N{i}" for i in range(width)]
        nodes = [START, *(job(n) for n in names), text("All"), END]
        source = drawn(nodes, [*(f"Start>{n}" for n in names), *(f"{n}>All" for n in names), "All>End"])
        ran = go(tmp_path / str(width), source, max_concurrent=width)
        facts[width] = ran.look.facts
        assert ran.most_at_once(*names) == width
    assert facts[40] - facts[10] == 6 * (facts[10] - facts[5])


def test_only_nodes_with_a_token_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D-11.3: finding what is ready does not look at nodes that have nothing: a hundred of them cost no question."""
    from penstock.kernel import step

    asked = {"n": 0}
    consider = step.consider

    def counting(*args):  # type: ignore[no-untyped-def]
        asked["n"] += 1
        return consider(*args)

    monkeypatch.setattr(step, "consider", counting)
    questions = []
    for idle in (0, 100):
        rest = [job(f"Idle{i}") for i in range(idle)]
        nodes = [START, cond("No", expression="false"), *rest, job("A"), job("B"), END]
        ways = ["Start>No", "Start>A", *(f"No[condtrue]>{n['label']}" for n in rest), "A>B", "B>End"]
        asked["n"] = 0
        assert go(tmp_path / str(idle), drawn(nodes, ways)).status == "COMPLETED"
        questions.append(asked["n"])
    assert questions[0] == questions[1]


# ---- debugging -------------------------------------------------------------------------------------------------------


def test_every_token_has_a_chain_of_causes(tmp_path: Path) -> None:
    """D-11.4, D-2.3.4: from any token back to START: who put it, what that one had taken, and so on."""
    ran = go(tmp_path, EXAMPLES / "epochs.yaml")
    made_by: dict[tuple[str, int, int], tuple[str, int, int]] = {}
    took: dict[tuple[str, int, int], list[tuple[str, int, int]]] = {}
    settled = ("", 0, 0)
    for x in ran.lines:
        if x.fact == "fired":
            took[x.node, x.epoch, x.data["visit"]] = [(edge, x.epoch, n) for edge, n in x.data["takes"]]
        elif x.fact == "settled":
            settled = (x.node, x.epoch, x.data["visit"])
        elif x.fact == "put":
            made_by[x.edge, x.epoch, x.data["token"]] = settled
    (last,) = ran.puts("C2:condtrue>Endpoint")
    chain = [made_by[last]]
    while took[chain[-1]]:
        chain.append(made_by[took[chain[-1]][0]])
    assert chain[-1] == ("Start", 0, 1)
    assert [one for one in reversed(chain) if one[0] == "PJ"] == [
        ("PJ", 0, 1), ("PJ", 0, 2), ("PJ", 1, 1), ("PJ", 1, 2), ("PJ", 2, 1), ("PJ", 2, 2),
    ]  # fmt: skip


def test_iterations_have_a_history_by_epoch(tmp_path: Path) -> None:
    """D-11.4: which iteration of which epoch began and ended when."""
    ran = go(tmp_path, EXAMPLES / "epochs.yaml")
    mine = [f for f in ran.look.firings if f.node == "PJ"]
    assert [(f.epoch, f.iteration, f.status) for f in mine] == [(e, n, "COMPLETED") for e in (0, 1, 2) for n in (1, 2)]
    assert all(f.ended_at is not None and f.ended_at >= f.started_at for f in mine)
