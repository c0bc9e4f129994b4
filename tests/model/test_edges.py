"""What an edge may carry: ttl, capacity, transform, priority."""

from __future__ import annotations

from dataclasses import replace

from tests.model.net import XOR, Body, Edge, Net, Node, Trigger
from tests.model.sim import Sim, chain, edges
from tests.model.small_nets import S, X


def with_edge(net: Net, name: str, **fields) -> Net:
    return replace(net, edges=tuple(replace(e, **fields) if e.id == name else e for e in net.edges))


def two_inputs(**fields) -> Net:
    """a and b are joined; a's edge to the join has the fields."""
    net = Net((S, *chain("a", "b"), Node("j"), *chain("d"), X), edges("s>a s>b a>j b>j j>x a:dead>d d>x"))
    return with_edge(net, "a>j", **fields)


# ---------------------------------------------------------------- ttl
def test_expired_token_goes_to_the_dead_port():  # D-X.23
    sim = Sim(two_inputs(ttl=10))
    sim.ok("a", "old")
    assert list(sim.state["timers"]) == ["token/a>j||0|0"]
    sim.tick(10)
    assert [f["why"] for f in sim.said("absorbed")] == ["expired"]
    assert sim.said("fired")[-1]["taken"][0]["env"] == "old"
    sim.ok("b")
    sim.ok("d")
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "DEADLOCK"  # b waits for a token that is gone


def test_token_that_is_taken_in_time_does_not_expire():
    sim = Sim(two_inputs(ttl=10))
    sim.ok("a")
    sim.ok("b")
    assert sim.status == "COMPLETED" and not sim.said("absorbed")


def test_a_ttl_is_waited_for_before_a_deadlock_is_called():
    net = with_edge(Net((S, *chain("a", "b"), Node("j"), X), edges("s>a a>j b>j j>x")), "a>j", ttl=10)
    net = replace(net, nodes=tuple(replace(n, off_path=n.id == "b") for n in net.nodes))  # b never starts
    sim = Sim(net)
    sim.ok("a")
    assert sim.status == "WAITING"
    sim.due()
    assert sim.status == "COMPLETED"


def test_ttl_in_a_scope_is_waited_for_and_swept_with_it():
    net = Net(
        (
            S,
            Node("p", "scope", body=Body("one", entry="i"), triggers=(Trigger("out", "signal", name="OUT"),)),
            Node("i", "start", scope="p"),
            *chain("a", scope="p"),
            Node("g", scope="p", split="first", no_match="end"),
            Node("j", scope="p"),
            X,
        ),
        (
            *edges("s>p p>x p:out>x i>a a>g"),
            Edge("a>j", "a", "j", ttl=10),
            Edge("g>j", "g", "j", guard=lambda v: False),
        ),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.status == "WAITING" and sim.state["timers"]
    sim.due()
    assert sim.status == "COMPLETED"
    sim = Sim(net)
    sim.ok("a")
    sim.do(c="signal", id="1", name="OUT")
    assert sim.status == "COMPLETED" and len(sim.said("swept")[0]["timers"]) == 1


# ---------------------------------------------------------------- capacity
def test_full_edge_holds_its_source_back():  # D-X.23
    net = Net((S, *[Node(f"t{i}", "task") for i in range(3)], Node("m", join=XOR), Node("w", "task", group="g"), X), ())
    made = [*edges("s>t0 s>t1 s>t2 t0>m t1>m t2>m w>x"), Edge("m>w", "m", "w", capacity=1)]
    sim = Sim(replace(net, edges=tuple(made), limits=(("g", 1),)))
    for i in range(3):
        sim.ok(f"t{i}")
    assert sim.fired().count("m") == 2 and len(sim.state["tokens"]) == 2  # one works, one rests, one is held back
    sim.ok("w")
    assert sim.fired().count("m") == 3
    sim.ok("w")
    sim.ok("w")
    assert sim.status == "COMPLETED"


def test_deadlock_names_the_full_edge():
    net = Net((S, Node("a", join=XOR), Node("j"), X), edges("s>a j>x"))
    made = [*net.edges, Edge("s>a2", "s", "a"), Edge("a>j", "a", "j", capacity=1), Edge("a2>j", "a", "j", port="other")]
    sim = Sim(replace(net, edges=tuple(made)))
    assert sim.status == "FAILED"
    detail = {d["node"]: d for d in sim.state["failure"]["detail"]}
    assert detail["a"] == {"node": "a", "held": ["s>a2"], "missing": ["s>a"], "full": ["a>j"]}


# ---------------------------------------------------------------- transform, priority
def test_transform_is_applied_to_what_is_put():
    net = with_edge(Net((S, *chain("a"), Node("r", out=("r",)), X), edges("s>a a>r r>x")), "a>r", transform=double)
    sim = Sim(net)
    sim.ok("a", 21)
    assert sim.state["vars"]["r"] == 42 and sim.state["outputs"]["a"]["output"] == 21


def double(view: dict) -> int:
    return view["body"] * 2


def test_priority_of_an_edge_is_asked_after_the_nodes_and_before_declaration():
    nodes = (S, *chain("a", "b", "c"), Node("d", "task", priority=1))
    made = [Edge("s>a", "s", "a"), Edge("s>b", "s", "b", priority=5), Edge("s>c", "s", "c"), Edge("s>d", "s", "d")]
    assert Sim(Net(nodes, tuple(made))).fired() == ["s", "d", "b", "a", "c"]


def test_only_edges_that_hold_a_token_lend_their_priority():
    nodes = (S, *chain("a"), Node("b", "task", join=XOR), *chain("c"))
    made = [Edge("s>a", "s", "a"), Edge("s>b", "s", "b"), Edge("c>b", "c", "b", priority=1)]
    sim = Sim(Net(nodes, (*made, Edge("a>c", "a", "c"))))
    assert sim.fired() == ["s", "a", "b"]
