"""Soundness: known verdicts, traces told in names, and agreement with plays of the token game."""

from __future__ import annotations

import importlib
import random
from collections import Counter
from typing import Any

import pytest

from penstock.lang.compile import compile_document
from penstock.net.model import (
    ALL,
    ANY,
    DIAGRAM,
    INCLUSIVE,
    MERGE,
    Body,
    Branch,
    Edge,
    Join,
    Net,
    Node,
    Trigger,
)
from penstock.net.soundness import TooManyMarkings, Verdict, explain, limited_markings, verdict, verdicts
from tests.net.make import edges, net
from tests.net.tangled import tangled

XOR = "first"


def both(one: Net, scope: str = "") -> Verdict:
    """The verdict, which must be the same without reductions."""
    found = verdict(one, scope)
    assert verdict(one, scope, reductions=False).status == found.status
    return found


def node(id: str, split: str = "all", join: Join | None = None, **more: object) -> Node:
    return Node(id=id, split=split, join=join or Join(), **more)  # type: ignore[arg-type]


BLOCK = "s>f f>a f>b a>j b>j j>x"


def test_a_parallel_block_is_sound() -> None:
    assert both(net(BLOCK)).status == "sound"


def test_an_exclusive_split_into_all_is_a_deadlock_told_by_names() -> None:
    """D-X.9, P-X.12: the branch not taken is waited for."""
    one = net(
        "s>f f:yes>a f:no>b a>j b>j j>x",
        Node(id="f", split="first", port="input.ok", label="approve"),
        Node(id="b", label="check stock"),
        Node(id="j", label="merge"),
    )
    found = both(one)
    assert (found.status, found.why) == ("unsound", "deadlock")
    assert found.held == ("a>j",)
    assert explain(one, found) == (
        "After «approve» takes «yes», «merge» waits for «check stock», which nothing can reach any more."
    )


def test_a_parallel_split_into_a_merge_ends_twice() -> None:
    one = net(BLOCK, node("j", join=MERGE))
    found = both(one)
    assert (found.status, found.why) == ("unsound", "improper end")
    assert "The end is reached" in explain(one, found)


def test_a_parallel_split_in_a_loop_piles_tokens_up() -> None:
    one = net("s>m m>f f>m f>x", node("m", join=MERGE))
    found = both(one)
    assert found.status == "unsound"
    assert found.why in ("unbounded", "improper end")


def test_inclusive_blocks() -> None:
    text = "s>f f?>a f?>b a>j b>j j>x"
    assert both(net(text, node("f", "every"), node("j", join=INCLUSIVE))).status == "sound"
    assert both(net(text, node("f", "every"))).status == "unsound"
    assert both(net(text, node("f", "every"), node("j", join=MERGE))).status == "unsound"


def test_an_inclusive_block_inside_an_inclusive_block_inside_a_loop_is_sound() -> None:
    """The second half of the inclusive rule: without it this waits for itself."""
    text = "s>m m>o o?>a o?>i i?>b i?>c b>k c>k a>p k>p p>g g?>m g!>x"
    nodes = [node("m", join=MERGE), node("o", "every"), node("i", "every"), node("g", XOR)]
    assert both(net(text, *nodes, node("k", join=INCLUSIVE), node("p", join=INCLUSIVE))).status == "sound"


def test_a_loop_without_a_way_to_the_end_is_a_livelock() -> None:
    one = net("s>g g?>x g!>m m>t t>m", node("g", XOR), node("m", join=MERGE))
    found = both(one)
    assert (found.status, found.why) == ("unsound", "livelock")
    assert "goes round for ever" in explain(one, found)


def test_a_loop_with_a_choice_is_sound() -> None:
    assert both(net("s>m m>t t>g g?>m g!>x", node("m", join=MERGE), node("g", XOR))).status == "sound"


def test_a_node_nothing_leads_to_is_dead() -> None:
    one = net("s>x a>b b>a", Node(id="a", label="Orphan"))
    found = both(one)
    assert (found.status, found.why, found.nodes) == ("unsound", "dead nodes", ("b", "a"))
    assert explain(one, found) == "«b» and «Orphan» can never run, whatever the choices."


def test_several_starts_begin_together() -> None:
    two = net("p>j q>j j>x", Node(id="p", kind="start"), Node(id="q", kind="start"))
    assert both(two).status == "sound"


def test_with_several_ends_only_dead_ends_and_endless_loops_are_looked_for() -> None:
    assert both(net("s>f f>a f>b")).status == "sound"
    assert both(net("s>f f?>a f!>b", node("f", XOR))).status == "sound"
    assert both(net("s>f f?>a f!>b a>j b>j j>y f?>z", node("f", XOR))).why == "deadlock"


def test_a_port_without_a_way_ends_the_token() -> None:
    """A condition with one branch drawn may go the other way, and that is an end too."""
    one = net("s>c c:condtrue>a a>x", Node(id="c", split="first", port="true"))
    assert both(one).status == "sound"
    assert both(net("s>f f>c f>j c:condtrue>j j>x", Node(id="c", split="first", port="true"))).why == "deadlock"


def test_ports_exclude_each_other() -> None:
    assert both(net("s>t t>j t:failed>j j>x")).why == "deadlock"
    assert both(net("s>t t>j t:failed>j j>x", node("j", join=MERGE))).status == "sound"


def test_a_port_with_several_ways_takes_them_all() -> None:
    assert both(net("s>t t>a t>b a>j b>j j>m t:failed>m m>x", node("m", join=MERGE))).status == "sound"


def test_a_trigger_that_does_not_interrupt_may_come_beside() -> None:
    def wait(interrupting: bool) -> Node:
        return Node(id="t", kind="work", triggers=(Trigger(port="remind", after_ms=5, interrupting=interrupting),))

    merge = node("m", join=MERGE)
    assert both(net("s>t t>m t:remind>m m>x", merge, wait(True))).status == "sound"
    assert both(net("s>t t>m t:remind>m m>x", merge, wait(False))).why == "improper end"
    assert both(net("s>t t>j t:remind>j j>x", wait(False))).why == "deadlock"


def test_terminate_ends_everything_that_is_under_way() -> None:
    stop = Node(id="z", kind="end", ends="terminate")
    assert both(net("s>f f>a f>z a>w w>a", stop, node("a", join=MERGE))).status == "sound"
    assert both(net("s>f f>a f>z a>w w>a", Node(id="z", kind="end"), node("a", join=MERGE))).why == "livelock"


@pytest.mark.parametrize(("k", "status"), [(1, "sound"), (2, "sound"), (3, "sound"), (4, "unsound")])
def test_a_quorum_absorbs_what_is_late(k: int, status: str) -> None:
    """k of three fires once; k of more never."""
    one = net("s>f f>a f>b f>c a>j b>j c>j j>x", node("j", join=Join(mode="k", k=k, late="absorb")))
    assert both(one).status == status


def test_any_in_a_race_ends_once() -> None:
    assert both(net(BLOCK, node("j", join=ANY))).status == "sound"


def diagram(text: str, *nodes: Node, **roles: str) -> Net:
    """Edges of role `cond` or `skip` by id, with > written as _."""
    made = net(text, *nodes)
    ways = tuple(
        Edge(id=e.id, src=e.src, dst=e.dst, port=e.port, role=roles.get(e.dst + "_" + e.port, "plain"))  # type: ignore[arg-type]
        for e in made.edges
    )
    return Net(name="d", nodes=made.nodes, edges=ways)


COND = Node(id="c", split="first", join=MERGE, port="true")


def test_the_loop_of_the_diagram_language_is_sound() -> None:
    """Start, person job, condition, back or on: a loop head does not wait for its own loop."""
    one = diagram("s>p p>c c:condfalse>p c:condtrue>x", Node(id="p", join=DIAGRAM), COND, p_condfalse="cond")
    assert both(one).status == "sound"
    skip = diagram("s>p p>c c:condfalse>p c:condtrue>x", Node(id="p", join=DIAGRAM), COND, p_condfalse="skip")
    assert both(skip).status == "sound"


def test_a_diamond_in_the_diagram_language() -> None:
    """D-X.9: through plain nodes it deadlocks; straight from the condition the branch not taken is not waited for."""
    head = Node(id="j", join=DIAGRAM)
    assert both(diagram("s>c c:condtrue>a c:condfalse>b a>j b>j j>x", COND, head)).why == "deadlock"
    roles = {"j_condtrue": "cond", "j_condfalse": "cond"}
    assert both(diagram("s>c c:condtrue>j c:condfalse>j j>x", COND, head, **roles)).status == "sound"


def test_every_level_and_every_branch_is_asked() -> None:
    branches = (Branch(key="1", entry="k"), Branch(key="2", entry="i"))
    nodes = (
        Node(id="s", kind="start"),
        Node(id="x", kind="end"),
        Node(id="p", kind="scope", body=Body(mode="branches", branches=branches)),
        *(Node(id=v, scope="p", split="first" if v == "i" else "all") for v in "iabjkl"),
    )
    one = Net(name="n", nodes=nodes, edges=edges("s>p p>x i?>a i!>b a>j b>j k>l"))
    found = verdicts(one)
    assert {scope: v.status for scope, v in found.items()} == {"": "sound", "p": "unsound"}
    assert found["p"].why == "deadlock"
    assert verdict(one, "nobody").status == "undecided"


def test_an_entry_something_leads_back_to() -> None:
    body = Node(id="p", kind="scope", body=Body(entry="i"))
    nodes = (body, Node(id="i", scope="p", join=MERGE), Node(id="g", scope="p", split="first"), Node(id="o", scope="p"))
    assert both(Net(name="n", nodes=nodes, edges=edges("i>g g?>i g!>o")), "p").status == "sound"
    waits = (body, Node(id="i", scope="p"), *nodes[2:])
    assert both(Net(name="n", nodes=waits, edges=edges("i>g g?>i g!>o")), "p").status == "sound"


def test_a_small_budget_gives_undecided_never_a_wrong_answer() -> None:
    text = " ".join(f"s>a{i} a{i}>b{i} b{i}>j" for i in range(6)) + " j>x b0>b1"
    one = net(text, node("b1", join=INCLUSIVE))
    assert verdict(one, budget=2, reductions=False).status == "undecided"
    assert "not decided" in explain(one, verdict(one, budget=2, reductions=False))


# ---- agreement with plays --------------------------------------------------------------------------------------------


def random_net(seed: int) -> Net:
    """Nested blocks of every type and loops, then up to two mutations."""
    rng = random.Random(seed)
    kinds: list[list[object]] = []
    ways: list[tuple[str, str]] = []

    def new(join: Join = Join(), split: str = "all") -> str:  # noqa: B008
        kinds.append([f"v{len(kinds)}", join, split])
        return str(kinds[-1][0])

    def block(depth: int) -> tuple[str, str]:
        kind = rng.choice(["task", "seq", "all", "first", "every", "loop"] if depth else ["task"])
        if kind == "task":
            v = new()
            return v, v
        if kind == "seq":
            (a, b), (c, d) = block(depth - 1), block(depth - 1)
            ways.append((b, c))
            return a, d
        if kind == "loop":
            head, (a, b), turn, out = new(MERGE), block(depth - 1), new(split="first"), new()
            ways.extend([(head, a), (b, turn), (turn, head), (turn, out)])
            return head, out
        fork, join = new(split=kind), new({"all": Join(), "first": MERGE, "every": INCLUSIVE}[kind])
        for _ in range(rng.choice([2, 3])):
            a, b = block(depth - 1)
            ways.extend([(fork, a), (b, join)])
        return fork, join

    first, last = block(rng.choice([2, 2, 3]))
    for _ in range(rng.choice([0, 1, 1, 2])):
        one = rng.choice(kinds)
        match rng.randrange(3):
            case 0:
                one[1] = rng.choice([Join(), MERGE, INCLUSIVE])
            case 1:
                one[2] = rng.choice(["all", "first", "every"])
            case _:
                ways.append((str(rng.choice(kinds)[0]), str(one[0])))
    ways = [("s", first), *ways, (last, "x")]
    split = {str(k[0]): str(k[2]) for k in kinds}
    made = [Node(id=str(k[0]), join=k[1], split=k[2]) for k in kinds]  # type: ignore[arg-type]
    return Net(
        name="n",
        nodes=(Node(id="s", kind="start"), *made, Node(id="x", kind="end")),
        edges=tuple(
            Edge(id=f"{i}", src=a, dst=b, guard=None if split.get(a, "all") == "all" else "g")
            for i, (a, b) in enumerate(ways)
        ),
    )


class Player:
    """The token game, written down a second time and without cleverness."""

    def __init__(self, one: Net, rng: random.Random) -> None:
        self.net, self.rng = one, rng
        self.ins = {n.id: [e for e in one.edges if e.dst == n.id] for n in one.nodes}
        self.outs = {n.id: [e for e in one.edges if e.src == n.id] for n in one.nodes}
        self.tokens: Counter[str] = Counter()
        self.ended = 0

    def reach(self, edge: Edge, goal: Edge, without: str) -> bool:
        seen, todo = set(), [edge.dst]
        while todo:
            v = todo.pop()
            if v in seen or v == without:
                continue
            seen.add(v)
            if any(e.id == goal.id for e in self.outs[v]):
                return True
            todo += [e.dst for e in self.outs[v]]
        return False

    def ready(self, n: Node) -> list[list[Edge]]:
        marked = [e for e in self.ins[n.id] if self.tokens[e.id]]
        if not marked:
            return []
        if len(self.ins[n.id]) == 1 or n.kind == "end" or n.join.mode == "k":
            return [[e] for e in marked]
        unmarked = [e for e in self.ins[n.id] if not self.tokens[e.id]]
        if n.join.mode == "all":
            return [] if unmarked else [marked]
        for f in self.net.edges:
            if self.tokens[f.id] and f not in self.ins[n.id]:
                hits = any(self.reach(f, u, n.id) for u in unmarked)
                if hits and not any(self.reach(f, m, n.id) for m in marked):
                    return []
        return [marked]

    def play(self, most: int = 300) -> str:
        self.put(self.outs["s"], "all")
        for _ in range(most):
            able = [(n, takes) for n in self.net.nodes for takes in self.ready(n)]
            if not able:
                return "good" if self.ended == 1 and not +self.tokens else "bad"
            n, takes = self.rng.choice(able)
            self.tokens.subtract(e.id for e in takes)
            self.ended += n.kind == "end"
            self.put(self.outs[n.id], n.split)
        return "long"

    def put(self, ways: list[Edge], split: str) -> None:
        if split == "first":
            ways = [self.rng.choice(ways)] if ways else []
        elif split == "every" and ways:
            ways = self.rng.sample(ways, self.rng.randrange(1, len(ways) + 1))
        self.tokens.update(e.id for e in ways)


@pytest.mark.parametrize("chunk", range(10))
def test_what_is_sound_ends_in_every_play_and_what_is_not_breaks_in_some(chunk: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(chunk * 40, chunk * 40 + 40):
        one = random_net(seed)
        found, plain = verdict(one, budget=2000), verdict(one, budget=2000, reductions=False)
        assert "undecided" in (found.status, plain.status) or found.status == plain.status, seed
        plays = {Player(one, random.Random(i)).play() for i in range(6)}
        counts[found.status] += 1
        if found.status == "sound":
            assert "bad" not in plays, (seed, plays)
        elif found.status == "unsound":
            counts["broke"] += bool(plays & {"bad", "long"})
            assert explain(one, found)
    assert counts["sound"] > 10
    assert counts["broke"] >= counts["unsound"] * 0.7


def shape(kind: str) -> Net:
    n = 10_000
    if kind == "chain":
        return net(" ".join(f"n{i}>n{i + 1}" for i in range(n)))
    if kind == "fan":
        return net(" ".join(f"s>n{i} n{i}>j" for i in range(n // 2)))
    half = n // 2
    text = " ".join(f"c{i}?>c{i + 1} c{i}!>m{i} m{i}>m{i + 1}" for i in range(half)) + f" c{half}>m{half}"
    turns = [node(f"c{i}", XOR) for i in range(half)]
    return net(text, *turns, *(node(f"m{i}", join=MERGE) for i in range(half + 1)))


@pytest.mark.parametrize("kind", ["chain", "fan", "ladder of exits"])
def test_ten_thousand_nodes_are_decided_by_reductions_alone(kind: str) -> None:
    """No state is looked at, however large the net is."""
    found = verdict(shape(kind))
    assert (found.status, found.states) == ("sound", 0)


def test_a_wide_deadlock_is_told_in_few_words() -> None:
    one = net(" ".join(f"s>n{i} n{i}>j" for i in range(500)), Node(id="s", kind="start", split="first"))
    assert len(explain(one, verdict(one))) < 300


def test_a_token_may_outlive_its_time() -> None:
    """It leaves by the port for the expired, or is gone; either way somebody may wait for it in vain."""

    def mortal(text: str) -> Net:
        made = net(text)
        ways = tuple(
            Edge(id=e.id, src=e.src, dst=e.dst, port=e.port, ttl_ms=9 if e.id in ("a>j", "a>x") else None)
            for e in made.edges
        )
        return Net(name="n", nodes=made.nodes, edges=ways)

    assert both(mortal("s>a a>x a:dead>y")).status == "sound"
    assert both(mortal("s>a a>x")).status == "sound"
    one = mortal("s>f f>a f>b a>j a:dead>y b>j j>x")
    assert both(one).why == "deadlock"
    assert explain(one, both(one)) == "After «a» takes «dead», «j» waits for «a», which nothing can reach any more."


def test_all_levels_of_a_net_share_what_may_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """C-78: however many sub-processes a document has, three budgets of markings are looked at and no more; and who has
    no time is told that there is more to look at."""
    module = importlib.import_module("penstock.net.soundness.explore")
    looked, plain = [0], module._Exploration._actions

    def actions(*given: Any) -> Any:
        looked[0] += 1
        return plain(*given)

    monkeypatch.setattr(module._Exploration, "_actions", actions)
    tangle = compile_document(tangled(8).encode(), name="x", unsound=True).net
    assert len([v for v in verdicts(tangle, budget=50).values() if v.why == "budget"]) == 1
    assert looked[0] > 20
    many = compile_document(tangled(8, levels=10).encode(), name="x", unsound=True).net
    looked[0] = 0
    made = verdicts(many, budget=50)
    assert len(made) >= 10 and 20 < looked[0] <= 3 * 50 + len(made), looked
    assert len([v for v in made.values() if v.why == "budget"]) >= 10
    with limited_markings(20), pytest.raises(TooManyMarkings):
        verdicts(many, budget=50)
    with limited_markings(20):
        assert {v.status for v in verdicts(net("s>a a>x")).values()} == {"sound"}


def test_a_default_beside_a_way_without_a_guard() -> None:
    """It is never taken: a join that waits for it, too, waits for ever."""

    ways = "s>a a!>j a>c c>j j>x"
    assert verdict(net(ways, node("a", "every"), node("j", join=MERGE))).status == "sound"
    assert verdict(net(ways, node("a", "every"), node("j", join=ALL))).status != "sound"
