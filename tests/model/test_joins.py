"""Joins and splits: all, merge, k of n, inclusive, limits."""

from __future__ import annotations

import pytest

from tests.model.kernel import Refused, canon
from tests.model.net import ANY, DEFAULT, INC, XOR, Edge, Net, Node, Trigger, at_least
from tests.model.sim import Sim, chain, edges
from tests.model.small_nets import S, X


def test_sequence():
    sim = Sim(Net((S, *chain("a", "b"), X), edges("s>a a>b b>x")))
    assert sim.status == "RUNNING"
    sim.ok("a", 1)
    sim.ok("b", 2)
    assert sim.status == "COMPLETED" and sim.fired() == ["s", "a", "b", "x"]


def test_and_split_join_once():
    net = Net((S, *chain("a", "b", "c"), Node("j"), X), edges("s>a s>b s>c a>j b>j c>j j>x"))
    sim = Sim(net)
    sim.ok("a")
    sim.ok("c")
    assert "j" not in sim.fired() and sim.status == "RUNNING"
    sim.ok("b")
    assert sim.fired().count("j") == 1 and sim.status == "COMPLETED"


def test_two_tokens_one_edge_do_not_make_all():  # K9
    net = Net(
        (S, Node("f"), *chain("a", "b"), Node("m", join=XOR), *chain("c"), Node("j"), X),
        edges("s>a s>b a>m b>m m>j s>c c>j j>x"),
        on_stuck="fail",
    )
    sim = Sim(net)
    sim.ok("a")
    sim.ok("b")
    assert sim.fired().count("j") == 0
    sim.ok("c")
    assert sim.fired().count("j") == 1 and sim.status == "FAILED" and sim.state["failure"]["code"] == "DEADLOCK"
    assert sim.state["failure"]["detail"][0] == {"node": "j", "held": ["m>j"], "missing": ["c>j"]}


def test_parallel_loop_second_round_waits():  # zenbpm#641
    net = Net(
        (S, Node("m", join=XOR), Node("f"), *chain("a", "b"), Node("j"), Node("g", split="first"), X),
        (
            *edges("s>m m>f f>a f>b a>j b>j j>g"),
            Edge("g>m", "g", "m", guard=lambda v: v["count"]("g") < 2),
            Edge("g>x", "g", "x", guard=DEFAULT),
        ),
    )
    sim = Sim(net)
    sim.ok("a")
    sim.ok("b")
    assert sim.fired().count("j") == 1
    sim.ok("a")
    assert sim.fired().count("j") == 1
    sim.ok("b")
    assert sim.fired().count("j") == 2 and sim.status == "COMPLETED"


def test_xor_no_match_start():
    net = Net((S, Node("g", split="first"), X), (*edges("s>g"), Edge("g>x", "g", "x", guard=lambda v: False)))
    sim = Sim(net)
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "NO_MATCHING_BRANCH"


def test_switch_no_match_ends_path():  # C-14
    net = Net(
        (S, Node("g", split="first", no_match="end"), X), (*edges("s>g"), Edge("g>x", "g", "x", guard=lambda v: False))
    )
    assert Sim(net).status == "COMPLETED"


def test_submit_without_branch_is_refused_and_changes_nothing():  # P-X.11
    net = Net(
        (S, Node("w", "work"), Node("g", split="first"), X),
        (*edges("s>w w>g"), Edge("g>x", "g", "x", guard=lambda v: v["nodes"]["w"].get("ok"))),
    )
    sim = Sim(net)
    before = canon(sim.state)
    with pytest.raises(Refused) as e:
        sim.do(c="work", item=sim.item("w"), verb="submit", output={})
    assert e.value.code == "NO_BRANCH" and canon(sim.state) == before
    sim.do(c="work", item=sim.item("w"), verb="submit", output={"ok": True})
    assert sim.status == "COMPLETED"


def test_agent_without_branch_blocks_with_incident():
    net = Net(
        (S, Node("w", "task"), Node("g", split="first"), X),
        (*edges("s>w w>g"), Edge("g>x", "g", "x", guard=lambda v: v["nodes"]["w"].get("ok"))),
    )
    sim = Sim(net)
    sim.ok("w", {})
    assert (
        sim.status == "WAITING"
        and sim.state["incidents"][0]["code"] == "NO_MATCHING_BRANCH"
        and len(sim.state["firings"]) == 1
    )
    sim.do(c="resolve", firing=next(iter(sim.state["firings"])), output={"ok": 1})
    assert sim.status == "COMPLETED"


def test_terminate_end_sweeps():
    net = Net((S, *chain("a", "b"), Node("t", "end", ends="terminate"), X), edges("s>a s>b a>t b>x"))
    sim = Sim(net)
    e = sim.effect("b")
    sim.ok("a")
    assert sim.status == "COMPLETED"
    f = sim.do(c="outcome", effect=e, status="done")
    assert f[0]["f"] == "ignored" and f[0]["why"] == "superseded"


def test_any_absorbs_late():  # K10
    net = Net((S, *chain("a", "b"), Node("j", join=ANY), *chain("c"), X), edges("s>a s>b a>j b>j j>c c>x"))
    sim = Sim(net)
    sim.ok("a")
    assert sim.fired().count("j") == 1
    sim.ok("c")
    assert sim.status == "RUNNING"
    sim.ok("b")
    assert sim.fired().count("j") == 1 and sim.status == "COMPLETED"
    assert [f["why"] for f in sim.facts if f["f"] == "absorbed"] == ["late"]


def test_merge_fires_for_each():  # D-A.7
    net = Net((S, *chain("a", "b"), Node("j", join=XOR), X), edges("s>a s>b a>j b>j j>x"))
    sim = Sim(net)
    sim.ok("a")
    sim.ok("b")
    assert sim.fired().count("j") == 2 and sim.status == "COMPLETED"


def test_k_of_n():  # K11
    net = Net((S, *chain("a", "b", "c"), Node("j", join=at_least(2)), X), edges("s>a s>b s>c a>j b>j c>j j>x"))
    sim = Sim(net)
    sim.ok("c")
    assert "j" not in sim.fired()
    sim.ok("a")
    assert sim.fired().count("j") == 1
    sim.ok("b")
    assert sim.fired().count("j") == 1 and sim.status == "COMPLETED"


def test_any_rearms_when_owed_cannot_come():  # discriminator in a loop, branch not taken in round 1
    def g(v):
        return v["count"]("g") >= 2

    net = Net(
        (
            S,
            Node("m", join=XOR),
            Node("f", split="every"),
            *chain("a", "b"),
            Node("j", join=ANY),
            Node("g", split="first"),
            X,
        ),
        (
            *edges("s>m m>f a>j b>j j>g"),
            Edge("f>a", "f", "a"),
            Edge("f>b", "f", "b", guard=lambda v: v["count"]("f") >= 2),
            Edge("g>x", "g", "x", guard=g),
            Edge("g>m", "g", "m", guard=DEFAULT),
        ),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.fired().count("j") == 1  # b was never started: owed b>j is released, not kept for round 2
    sim.ok("b")
    assert sim.fired().count("j") == 2
    sim.ok("a")
    assert sim.fired().count("j") == 2 and sim.status == "COMPLETED"


def inc_net(extra_nodes=(), extra=()):
    return Net(
        (S, Node("o", split="every"), *chain("a", "b", "c"), Node("j", join=INC), X, *extra_nodes),
        (
            Edge("s>o", "s", "o"),
            Edge("o>a", "o", "a", guard=lambda v: v["input"][0]),
            Edge("o>b", "o", "b", guard=lambda v: v["input"][1]),
            Edge("o>c", "o", "c", guard=lambda v: v["input"][2]),
            *edges("a>j b>j c>j j>x"),
            *extra,
        ),
    )


@pytest.mark.parametrize("pick", [(1, 0, 0), (1, 1, 0), (0, 1, 1), (1, 1, 1)])
def test_inclusive_waits_for_activated_only(pick):
    sim = Sim(inc_net(), input=pick)
    live = [n for n, p in zip("abc", pick, strict=False) if p]
    for n in live[:-1]:
        sim.ok(n)
        assert "j" not in sim.fired()
    sim.ok(live[-1])
    assert sim.fired().count("j") == 1 and sim.status == "COMPLETED"


def test_inclusive_rechecks_on_token_death():  # camunda#19460: b's error leaves by another way
    net = Net(
        (S, *chain("a"), Node("b", "task"), *chain("h"), Node("j", join=INC), X),
        edges("s>a s>b a>j b>j b:failed>h h>x j>x"),
    )
    sim = Sim(net)
    sim.ok("a")
    assert "j" not in sim.fired()
    sim.bad("b")
    assert "j" in sim.fired()
    sim.ok("h")
    assert sim.status == "COMPLETED"


def test_inclusive_two_tokens_on_one_edge():  # camunda#19464: never active without an element
    net = Net(
        (
            S,
            *chain("a"),
            Node("b", "task", triggers=(Trigger("msg", "signal", name="M1", interrupting=False),)),
            Node("m", join=XOR),
            Node("j", join=INC),
            *chain("c"),
            X,
        ),
        edges("s>a s>b b>m b:msg>m m>j a>j j>c c>x"),
    )
    sim = Sim(net)
    sim.do(c="signal", id="1", name="M1")
    sim.ok("b")
    sim.ok("a")
    assert sim.fired().count("j") == 2
    sim.ok("c")
    sim.ok("c")
    assert sim.status == "COMPLETED"


def test_inclusive_in_loop():
    net = Net(
        (
            S,
            Node("m", join=XOR),
            Node("o", split="every"),
            *chain("a", "b"),
            Node("j", join=INC),
            Node("g", split="first"),
            X,
        ),
        (
            *edges("s>m m>o a>j b>j j>g"),
            Edge("o>a", "o", "a"),
            Edge("o>b", "o", "b", guard=lambda v: v["count"]("o") == 2),
            Edge("g>m", "g", "m", guard=lambda v: v["count"]("g") < 3),
            Edge("g>x", "g", "x", guard=DEFAULT),
        ),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.fired().count("j") == 1
    sim.ok("a")
    assert sim.fired().count("j") == 1
    sim.ok("b")
    assert sim.fired().count("j") == 2
    sim.ok("a")
    assert sim.status == "COMPLETED"


def test_inclusive_vicious_circle_is_released_in_order():
    net = Net(
        (S, Node("j1", join=INC), Node("j2", join=INC), Node("g1", split="first"), Node("g2", split="first"), X),
        (
            *edges("s>j1 s>j2 j1>g1 j2>g2"),
            Edge("g1>j2", "g1", "j2", guard=lambda v: False),
            Edge("g1>x", "g1", "x", guard=DEFAULT),
            Edge("g2>j1", "g2", "j1", guard=lambda v: False),
            Edge("g2>x", "g2", "x", guard=DEFAULT),
        ),
    )
    sim = Sim(net)
    assert sim.status == "COMPLETED" and any(f.get("relaxed") for f in sim.facts if f["f"] == "fired")


def test_deadpath_failed_and_skipped_edges():  # C-39: when failed / unlabelled
    net = Net(
        (S, Node("a", "task"), *chain("ok", "fix"), Node("j", "task", join=INC), X),
        edges("s>a a>ok a:failed>fix ok>j fix>j j>x"),
    )
    sim = Sim(net)
    sim.bad("a")
    assert sim.effect("ok") is None
    sim.ok("fix")
    sim.ok("j")
    assert sim.status == "COMPLETED"
    sim = Sim(net)
    sim.ok("a")
    sim.ok("ok")
    sim.ok("j")
    assert sim.status == "COMPLETED" and "fix" not in sim.fired()


def test_deadpath_nested_switch():
    def sw(k):
        return lambda v: v["input"] == k

    net = Net(
        (
            S,
            Node("g", split="first", no_match="end"),
            *chain("a", "b"),
            Node("h", split="first", no_match="end"),
            *chain("c", "d"),
            Node("j", "task", join=INC),
            X,
        ),
        (
            *edges("s>g a>j b>h c>j d>j j>x"),
            Edge("g>a", "g", "a", guard=lambda v: v["input"] == "a"),
            Edge("g>b", "g", "b", guard=DEFAULT),
            Edge("h>c", "h", "c", guard=sw("c")),
            Edge("h>d", "h", "d", guard=sw("d")),
        ),
    )
    for inp, way in (("a", ["a"]), ("c", ["b", "c"]), ("d", ["b", "d"])):
        sim = Sim(net, input=inp)
        for n in way:
            sim.ok(n)
        sim.ok("j")
        assert sim.status == "COMPLETED" and sim.fired().count("j") == 1
    sim = Sim(net, input="zzz")
    sim.ok("b")
    assert sim.status == "COMPLETED" and "j" not in sim.fired()  # all dead -> not run


def test_concurrency_limit():  # D-A.9, T-7.2
    ns = [Node(f"n{i}", "task", group="g") for i in range(6)]
    sim = Sim(Net((S, *ns), tuple(Edge(f"s>n{i}", "s", f"n{i}") for i in range(6)), limits=(("g", 2),)))
    assert len(sim.state["effects"]) == 2
    sim.ok("n0")
    assert sorted(x["firing"][:2] for x in sim.state["effects"].values()) == ["n1", "n2"]
    for i in (1, 2, 3, 4, 5):
        sim.ok(f"n{i}")
    assert sim.status == "COMPLETED"


def test_iteration_limit():
    net = Net(
        (S, Node("m", join=XOR), Node("g", split="first"), X),
        (*edges("s>m m>g"), Edge("g>m", "g", "m", guard=lambda v: True), Edge("g>x", "g", "x", guard=DEFAULT)),
        max_visits=50,
    )
    sim = Sim(net)
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "ITERATION_LIMIT"


def test_or_block_inside_or_block_inside_loop():
    """The rule without its second half deadlocks or fires the wrong join here."""

    def t(v):
        return True

    net = Net(
        (
            S,
            Node("m", join=XOR),
            Node("o", split="every"),
            *chain("a"),
            Node("o2", split="every"),
            *chain("b", "c", "d"),
            Node("j2", join=INC),
            Node("j", join=INC),
            Node("g", split="first"),
            X,
        ),
        (
            *edges("s>m m>o b>j2 c>j2 d>j2 a>j j2>j j>g"),
            Edge("o>a", "o", "a", guard=t),
            Edge("o>o2", "o", "o2", guard=t),
            Edge("o2>b", "o2", "b", guard=t),
            Edge("o2>c", "o2", "c", guard=t),
            Edge("o2>d", "o2", "d", guard=DEFAULT),
            Edge("g>m", "g", "m", guard=lambda v: v["visit"] < 2),
            Edge("g>x", "g", "x", guard=DEFAULT),
        ),
    )
    sim = Sim(net)
    for _ in range(2):
        sim.ok("b")
        sim.ok("c")
        assert sim.fired()[-1] == "j2"
        sim.ok("a")
    assert sim.status == "COMPLETED" and sim.fired().count("j") == 2 and sim.fired().count("j2") == 2


def test_wait_inside_or_branch_blocks_join():
    net = Net(
        (S, *chain("a"), Node("w", "wait", triggers=(Trigger("done", "signal", name="A"),)), Node("j", join=INC), X),
        edges("s>a s>w a>j w>j j>x"),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.status == "WAITING" and "j" not in sim.fired()
    sim.do(c="signal", id="1", name="A")
    assert sim.status == "COMPLETED"
