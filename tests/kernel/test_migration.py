"""Moving a running run to another net (KERNEL 7): planned, obstacles named, one fact; the inverse undoes it (L9)."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import MigrationBlocked, StatusConflict
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.migrate import inverse, plan
from penstock.kernel.run import Run
from penstock.kernel.state import State, encode_state
from penstock.net.compiled import Compiled
from penstock.net.model import ANY, INCLUSIVE, MERGE, Body, Branch, Edge, Effect, Net, Node, Retry, Trigger
from tests.kernel.harness import Naming, Sim
from tests.kernel.nets import S, X, edge, net, task, tasks
from tests.kernel.storm import answer, laws, pick, told
from tests.model import random_nets as R
from tests.model.bridge import to_product

SEEDS = st.integers(0, 10**9)
INPUTS = st.integers(0, 255).map(R.bits)


class Mover(Sim):
    """A run that may be moved. After the command the caller goes on with the new net, as the host does."""

    def __init__(self, one: Net, input: Any = None, **more: Any) -> None:
        super().__init__(one, input, begin=False, **more)
        self.nets = {self.net.hash: self.net}
        self.reader = Naming(self.nets.__getitem__)
        self.do(C.start("r1", input))

    def move(
        self, to: Net, nodes: dict[str, str] | None = None, edges: dict[str, str] | None = None, *, cold: bool = False
    ) -> None:
        """`cold`: the run was just loaded, as a waiting one is."""
        new = Compiled(to)
        if cold:
            self.crash()
        self.nets[new.hash] = new
        check, self.check = self.check, False
        try:
            self.do(C.migrate(new, nodes, edges))
        finally:
            self.check = check
        self.net = new
        self.run = Run.load(new, self.st)
        if check:
            self.laws(self.status, [])

    def plan(self, to: Net, nodes: dict[str, str] | None = None, edges: dict[str, str] | None = None) -> list[str]:
        return plan(self.net, Compiled(to), self.st, nodes or {}, edges or {}).obstacles

    def refuses(
        self, to: Net, why: str, nodes: dict[str, str] | None = None, edges: dict[str, str] | None = None
    ) -> None:
        """The plan names the obstacle, the command is refused with it, and nothing has changed."""
        before = encode_state(self.st)
        assert any(why in told_ for told_ in self.plan(to, nodes, edges)), (
            f"{why}: not among {self.plan(to, nodes, edges)}"
        )
        with pytest.raises(MigrationBlocked, match=why):
            self.do(C.migrate(Compiled(to), nodes, edges))
        assert encode_state(self.st) == before


def essence(state: State) -> bytes:
    return encode_state(msgspec.structs.replace(state, n=0, at=0))


OLD = net([S, *tasks("a", "b"), X], "s>a a>b b>x")


# ---- what moves ------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_in_a_net_with_inserted_nodes():
    """V1: by id; numbers change, since nodes stand elsewhere in the new net."""
    new = net([X, task("c"), S, *tasks("b", "b2", "a")], "s>c c>a b>b2 b2>x a>b")
    sim = Mover(OLD)
    sim.ok("a", 1)
    sim.move(new)
    assert sim.st.net == sim.net.hash and [x.data["net"] for x in sim.of("migrated")] == [sim.net.hash]
    sim.ok("b", 2)
    sim.ok("b2", 3)
    assert sim.status == "COMPLETED" and sim.fired() == ["s", "a", "b", "b2", "x"]
    sim.crash()
    assert sim.status == "COMPLETED"


def test_tokens_move_with_their_edge():
    """KERNEL 7, token: by id, or by the author's table."""
    old = net([S, *tasks("a", "b"), Node(id="j"), X], "s>a s>b a>j b>j j>x")
    new = net([S, X, Node(id="meet"), *tasks("b", "a")], "meet>x b>meet s>b s>a a>meet")
    sim = Mover(old)
    sim.ok("a", 1)
    sim.move(new, {"j": "meet"}, {"a>j": "a>meet", "b>j": "b>meet", "j>x": "meet>x"})
    sim.ok("b", 2)
    assert sim.status == "COMPLETED" and sim.fired().count("meet") == 1


def test_a_run_that_was_just_loaded_moves_and_nothing_else_happens():
    """KERNEL 7: after the fact the old net's numbers mean nothing any more; no candidate of it may be looked at."""
    join = Node(id="j", join=INCLUSIVE)
    old = net([S, *tasks("a", "b"), join, X], "s>a s>b a>j b>j j>x")
    new = net([X, join, Node(id="k"), *tasks("a", "b"), S], "j>k k>x b>j s>b s>a a>j")
    sim = Mover(old)
    sim.ok("a", 1)
    before = len(sim.facts)
    sim.move(new, cold=True)
    assert [F.name_of(fact) for fact in sim.facts[before:]] == ["migrated"]
    sim.ok("b", 2)
    assert sim.status == "COMPLETED" and sim.fired() == ["s", "a", "b", "j", "k", "x"]


def test_counters_outputs_and_numbers_are_renamed():
    """KERNEL 7: visits go on counting, an output is found under the new id, no token gets a used number."""
    ways = ["s>m m>a a>g", edge("g>m", guard="visit < 3"), edge("g>x", default=True)]
    nodes = [S, Node(id="m", join=MERGE), task("a"), Node(id="g", split="first"), X]
    late = [X, Node(id="gate", split="first"), S, task("w", args={"$expr": "w.output"}), Node(id="m", join=MERGE)]
    new = net(late, ["m>w s>m w>gate", edge("gate>m", guard="visit < 3"), edge("gate>x", default=True)])
    sim = Mover(net([*nodes[:2], task("a", args={"$expr": "a.output"}), *nodes[3:]], ways))
    sim.ok("a", "one")
    sim.move(new, {"a": "w", "g": "gate"}, {"m>a": "m>w", "a>g": "w>gate", "g>m": "gate>m", "g>x": "gate>x"})
    firing = sim.asked("w")
    assert firing is not None and firing.visit == 2 and firing.args == "one"
    sim.ok("w", "two")
    assert sim.asked("w").args == "two" and sim.asked("w").visit == 3
    sim.ok("w", "three")
    assert sim.status == "COMPLETED"


def saga(*names: str) -> Net:
    undo = [task(f"u{n}", off_path=True, args={"$expr": "undone"}) for n in names]
    chain = " ".join(f"{a}>{b}" for a, b in zip(("s", *names), (*names, "x"), strict=True))
    return net([S, *[task(n, undo=(f"u{n}",)) for n in names], *undo, X], chain)


def test_the_ledger_moves():
    """KERNEL 7, C4: what was done under the old name is undone by the new net's undo node."""
    sim = Mover(saga("a", "b"))
    sim.ok("a", "ra")
    new = saga("first", "second")
    names = {"a": "first", "b": "second", "ua": "ufirst", "ub": "usecond"}
    sim.move(new, names, {"s>a": "s>first", "a>b": "first>second", "b>x": "second>x"})
    sim.bad("second")
    assert sim.status == "COMPENSATING" and sim.asked("ufirst").args == "ra"
    sim.ok("ufirst")
    assert sim.status == "COMPENSATED"


def group(scope: str = "p", keys: str = "ab", mode: Any = "branches", **more: Any) -> Net:
    body = Body(mode=mode, branches=tuple(Branch(key=k, entry=f"i{k}") for k in keys), **more)
    inner = [n for k in keys for n in (Node(id=f"i{k}", kind="start", scope=scope), task(f"t{k}", scope=scope))]
    ways = " ".join(f"i{k}>t{k}" for k in keys)
    return net([S, Node(id=scope, kind="scope", body=body), *inner, X], f"s>{scope} {scope}>x {ways}")


def test_open_scopes_move():
    """KERNEL 7, scope: its children go on where they are."""
    sim = Mover(group())
    sim.ok("ta", 1)
    sim.move(group("q", "abc"), {"p": "q"}, {"s>p": "s>q", "p>x": "q>x"})
    sim.ok("tb", 2)
    assert sim.status == "COMPLETED" and list(sim.output("q")) == ["a", "b"]


def test_timers_of_tokens_and_joins_move():
    """KERNEL 7: a token's time to live and a join's patience name an edge and a node, whose numbers change."""
    ways = [
        "s>a s>b b>j j>x",
        Edge(id="a>j", src="a", dst="j", ttl_ms=50),
        Edge(id="a:dead>h", src="a", dst="h", port="dead"),
        "h>x",
    ]
    nodes = [S, *tasks("a", "b", "h"), Node(id="j"), X]
    sim = Mover(net(nodes, ways))
    sim.ok("a", "old")
    sim.move(net(nodes[::-1], ways[::-1]))
    sim.tick()
    assert [x.data["why"] for x in sim.of("absorbed")] == ["expired"] and sim.asked("h") is not None
    patient = [S, *tasks("a", "b", "j", "h"), X]
    patient[3] = task("j", join_timeout_ms=100)
    sim = Mover(net(patient, "s>a s>b a>j b>j j>x j:failed>h h>x"))
    sim.ok("a")
    sim.move(net(patient[::-1], "h>x j:failed>h j>x b>j a>j s>b s>a"))
    sim.tick()
    assert sim.asked("h") is not None


def test_work_under_way_can_fail_and_retry_in_the_new_net():
    """KERNEL 7: armed triggers, timers and the attempts made so far go along."""
    old = net(
        [S, task("a", retry=Retry(max=2, base_ms=10), triggers=(Trigger(port="late", after_ms=100),)), X],
        "s>a a>x a:late>x",
    )
    new = net([X, S, task("z", join=MERGE), old.nodes[1]], "a>z z>x a:late>z s>a")
    sim = Mover(old)
    sim.bad("a", "T", "transient")
    sim.move(new)
    sim.tick()
    assert sim.asked("a").attempt == 2
    sim.tick(200)
    assert sim.asked("z") is not None and sim.settled()[-1] == ("a", "interrupted")


# ---- what stands in the way ------------------------------------------------------------------------------------------


def test_a_token_whose_edge_is_gone():
    """KERNEL 7."""
    sim = Mover(net([S, *tasks("a", "b"), Node(id="j"), X], "s>a s>b a>j b>j j>x"))
    sim.ok("a")
    sim.refuses(net([S, *tasks("a", "b"), X], "s>a s>b a>x b>x"), "a token rests on edge «a>j», which is gone")


def nested(where: str) -> Net:
    """a, b and the join behind them lie in scope p or in scope q; c is always in p."""
    scopes = [Node(id=n, kind="scope", body=Body(mode="one", entry=f"i{n}")) for n in "pq"]
    starts = [Node(id=f"i{n}", kind="start", scope=n) for n in "pq"]
    inside = [*tasks("a", "b", scope=where), Node(id="j", scope=where)]
    ways = [f"s>p p>q q>x ip>c a>j b>j i{where}>a", edge(f"i{where}>b", guard="false")]
    return net([S, *scopes, *starts, task("c", scope="p"), *inside, X], ways)


def test_a_token_whose_scope_is_another():
    """KERNEL 7: the scope node must be the mapped one, not only one of the same depth."""
    sim = Mover(nested("p"))
    sim.ok("a")
    sim.refuses(nested("q"), "«a>j», which lies in another scope now")


def test_work_whose_node_is_gone_or_of_another_kind():
    """KERNEL 7."""
    sim = Mover(OLD)
    sim.refuses(net([S, *tasks("b"), X], "s>b b>x"), "«a» is at work and is gone")
    sim.refuses(net([S, Node(id="a"), *tasks("b"), X], "s>a a>b b>x"), "«a» is at work and is of another kind now")
    sim.move(net([S, *tasks("b"), X], "s>b b>x"), {"a": "b"})
    sim.ok("b")
    assert sim.status == "COMPLETED"


def test_an_effect_in_flight_keeps_its_executor():
    """KERNEL 7: at rest it may change."""
    other = Node(id="a", kind="task", effect=Effect(executor="other"))
    new = net([S, other, *tasks("b"), X], "s>a a>b b>x")
    sim = Mover(OLD)
    sim.refuses(new, "an effect of «a» is in flight and has another executor now")
    sim.ok("a")
    sim.move(new)
    sim.ok("b")
    assert sim.status == "COMPLETED"


def waiting(*triggers: Trigger) -> Net:
    return net([S, task("a", triggers=triggers), *tasks("h"), X], "s>a a>x a:late>h a:news>h h>x")


def test_an_armed_trigger_must_still_be_there():
    """KERNEL 7: as many, and of the same kind."""
    late, news = Trigger(port="late", after_ms=50), Trigger(port="news", kind="signal", name="N")
    sim = Mover(waiting(late, news))
    sim.refuses(waiting(late), "a trigger of «a» is armed and is gone")
    sim.refuses(waiting(news, late), "a trigger of «a» is armed and is gone")


def test_an_open_scope_keeps_its_mode_and_its_open_branches():
    """KERNEL 7."""
    sim = Mover(group())
    sim.refuses(group(mode="one", entry="ia"), "scope «p» is open and has another mode now")
    sim.ok("ta")
    sim.refuses(group(keys="a"), "«tb» is at work and is gone")
    without_key = group(keys="ab")
    body = msgspec.structs.replace(without_key.nodes[1].body, branches=without_key.nodes[1].body.branches[:1])
    nodes = (without_key.nodes[0], msgspec.structs.replace(without_key.nodes[1], body=body), *without_key.nodes[2:])
    sim.refuses(msgspec.structs.replace(without_key, nodes=nodes), "branch «b»")


def test_finished_work_must_stay_undoable():
    """KERNEL 7, ledger."""
    sim = Mover(saga("a", "b"))
    sim.ok("a")
    sim.refuses(net([S, *tasks("a", "b"), X], "s>a a>b b>x"), "«a» could no longer be undone")


def test_refused_while_compensating_and_after_the_end():
    """KERNEL 7, K3."""
    sim = Mover(saga("a", "b"))
    sim.ok("a")
    sim.bad("b")
    sim.refuses(saga("a", "b", "c"), "the run is compensating")
    sim.ok("ua")
    assert sim.status == "COMPENSATED"
    with pytest.raises(StatusConflict):
        sim.do(C.migrate(Compiled(saga("a", "b", "c"))))


def test_two_things_do_not_become_one():
    """K5, E2: tokens of two edges on one would be lost or doubled, and two firings would share one key."""
    old = net([S, *tasks("a", "b", "c"), Node(id="j"), X], "s>a s>b s>c a>j b>j c>j j>x")
    sim = Mover(old)
    new = net([S, *tasks("q", "c"), Node(id="j"), X], "s>q s>c q>j c>j j>x")
    both = {"a": "q", "b": "q"}
    assert sim.plan(new, both), "two firings would both be q@~0#1"
    sim.ok("a")
    sim.ok("b")
    ways = {"a>j": "q>j", "b>j": "q>j"}
    if not sim.plan(new, both, ways):
        sim.move(new, both, ways)
        assert sum(scope.live for scope in sim.st.scopes.values()) == 2
        assert sum(len(q) for scope in sim.st.scopes.values() for q in scope.tokens.values()) == 2


def test_the_key_of_work_under_way_outlives_a_rename():
    """E2: an effect's key is the same on every attempt, process and version."""
    sim = Mover(net([S, task("a", retry=Retry(max=1, base_ms=10)), X], "s>a a>x"))
    key = sim.run.effect_key(sim.asked("a"))
    sim.bad("a", "T", "transient")
    sim.move(
        net([S, task("q", retry=Retry(max=1, base_ms=10)), X], "s>q q>x"), {"a": "q"}, {"s>a": "s>q", "a>x": "q>x"}
    )
    sim.tick()
    assert sim.run.effect_key(sim.asked("q")) == key


def test_debts_are_dropped():
    """KERNEL 7: owed is dropped; the next late token fires."""
    one = net([S, *tasks("a", "b"), Node(id="j", join=ANY), *tasks("c"), X], "s>a s>b a>j b>j j>c c>x")
    sim = Mover(one)
    sim.ok("a")
    assert sim.st.scopes[0].owed
    sim.move(net(one.nodes[::-1], "c>x j>c b>j a>j s>b s>a"))
    assert not sim.st.scopes[0].owed


# ---- L9 --------------------------------------------------------------------------------------------------------------


def prefixed(name: str) -> str:
    return f"R{name}" if name else name


def renamed(one: Net, rng: random.Random) -> Net:
    """Every id another, and declared in another order, so that every number changes too."""

    def node(n: Node) -> Node:
        body = n.body
        if body is not None:
            branches = tuple(msgspec.structs.replace(b, entry=prefixed(b.entry)) for b in body.branches)
            body = msgspec.structs.replace(body, entry=prefixed(body.entry), branches=branches)
        undo = tuple(prefixed(u) for u in n.undo)
        return msgspec.structs.replace(n, id=prefixed(n.id), scope=prefixed(n.scope), body=body, undo=undo)

    def way(e: Edge) -> Edge:
        return msgspec.structs.replace(e, id=prefixed(e.id), src=prefixed(e.src), dst=prefixed(e.dst))

    nodes, edges = [node(n) for n in one.nodes], [way(e) for e in one.edges]
    kept = {n.id: [e for e in edges if e.src == n.id] for n in nodes}  # the order of a node's ways out has a meaning
    rng.shuffle(nodes)
    return msgspec.structs.replace(one, nodes=tuple(nodes), edges=tuple(e for n in nodes for e in kept[n.id]))


def tables(one: Net) -> tuple[dict[str, str], dict[str, str]]:
    return {n.id: prefixed(n.id) for n in one.nodes}, {e.id: prefixed(e.id) for e in one.edges}


def back(table: dict[str, str]) -> dict[str, str]:
    return {b: a for a, b in table.items()}


def ended(sim: Sim, rng: random.Random) -> None:
    while sim.effects():
        firing = pick(sim, rng)
        sim.do(answer(firing, told(sim, firing).lstrip("R")))
    assert sim.status == "COMPLETED"


@laws()
@given(SEEDS, INPUTS, st.integers(0, 20), st.booleans())
def test_l9_migrate_to_a_renamed_net_anywhere(seed, input, at, cold):
    """L9: the run ends with the same variables as if it had stayed."""
    one = to_product(R.structured(seed))
    stays, moves = Sim(one, input, check=False), Mover(one, input)
    ended(stays, random.Random(1))
    rng = random.Random(seed)
    for _ in range(at):
        if moves.effects():
            firing = pick(moves, rng)
            moves.do(answer(firing, told(moves, firing)))
    if moves.effects():
        moves.move(renamed(one, rng), *tables(one), cold=cold)
        ended(moves, rng)
    assert moves.vars() == stays.vars()
    assert sorted(n.lstrip("R") for n in moves.fired()) == sorted(stays.fired())


@laws()
@given(SEEDS, INPUTS, st.integers(0, 20))
def test_l9_there_and_back_is_the_state_it_was(seed, input, at):
    """L9: undo is `migrated` with the inverse map, and a later undo works too while everything has an image."""
    one = to_product(R.structured(seed))
    sim = Mover(one, input)
    rng = random.Random(seed)
    for _ in range(at):
        if sim.effects():
            firing = pick(sim, rng)
            sim.do(answer(firing, told(sim, firing)))
    if not sim.effects():
        return
    before, (nodes, edges), other = essence(sim.st), tables(one), renamed(one, rng)
    forth = plan(sim.net, Compiled(other), sim.st, nodes, edges)
    sim.move(other, nodes, edges)
    again = plan(sim.net, Compiled(one), sim.st, back(nodes), back(edges))
    assert sorted(again.nodes) == sorted(inverse(forth.nodes)) and sorted(again.edges) == sorted(inverse(forth.edges))
    sim.move(one, back(nodes), back(edges))
    assert essence(sim.st) == before
    sim.move(other, nodes, edges)
    firing = pick(sim, rng)
    sim.do(answer(firing, told(sim, firing).lstrip("R")))
    if sim.effects():
        sim.move(one, back(nodes), back(edges))
        ended(sim, rng)
    stays = Sim(one, input, check=False)
    ended(stays, random.Random(1))
    assert sim.vars() == stays.vars()
