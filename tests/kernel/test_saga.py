"""Compensation of a process: parallel groups in every shape, why each item was cancelled, what a second try does."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.kernel.fact_lines import group_of
from penstock.net.model import MERGE, Body, Effect, Node, Trigger, Work
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, edge, net, task


def act(id: str, *, undo: bool = True, approve: bool = False, **more: Any) -> Node:
    """An activity of an agent, undone by `-id`."""
    work = Work(agent=True, approve=approve, modes=True)
    handler = (f"-{id}",) if undo else ()
    return Node(id=id, kind="work", work=work, effect=Effect(executor="agent"), undo=handler, **more)


def process(nodes: list[Node], ways: Any, given: Any = None, **more: Any) -> Sim:
    args = {"data": {"$expr": "undone"}}
    known = {n.id for n in nodes}
    handlers = [task(u, off_path=True, args=args) for n in nodes for u in n.undo if u not in known]
    return Sim(net([S, *nodes, X, *handlers], ways, undo_policy="group", **more), given)


def undo_all(m: Sim, *, fails: str = "") -> list[str]:
    """Answers every step; tells which ran, in order."""
    ran = []
    while m.effects():
        node = m.net.nodes[m.effects()[0].node].id
        ran.append(node)
        if node[1:] in fails.split():
            m.bad(node)
        else:
            m.ok(node)
    return ran


def done(m: Sim, ids: str) -> None:
    for id in ids.split():
        m.ok(id, f"made by {id}")


def cancelled(m: Sim) -> dict[str, str]:
    return {x.node: x.data["why"] for x in m.of("work.moved") if x.data["to"] == "CANCELLED"}


def ended(m: Sim) -> dict[str, str]:
    """The last status of each activity that was not cancelled."""
    nodes = {x.data["firing"]: x.node for x in m.of("work.moved") if x.node}
    names = {no: name.partition("@")[0] for name, no in m.reader.named.items()}
    out = {}
    for x in m.of("work.moved"):
        firing = x.data["firing"]
        out[nodes.get(firing) or names[firing]] = x.data["to"]
    return out


# ---- shapes ----------------------------------------------------------------------------------------------------------


def test_longer_branches_are_undone_to_their_beginning() -> None:
    """P-X.37, P-5.5.2: not only where a branch stands now; each in reverse order of completion."""
    nodes = [act(i) for i in ("p", "a1", "a2", "a3", "b1", "b2", "c")]
    m = process([*nodes, Node(id="j")], "s>p p>a1 a1>a2 a2>a3 a3>j p>b1 b1>b2 b2>j p>c c>j j>x")
    done(m, "p a1 b1 a2 b2")
    m.bad("c")
    assert cancelled(m) == {"c": "execution_failed", "a3": "failed"}
    assert undo_all(m) == ["-b2", "-a2", "-b1", "-a1", "-p"] and m.status == "COMPENSATED"
    assert {k: v for k, v in ended(m).items() if v != "CANCELLED"} == dict.fromkeys(
        ("p", "a1", "b1", "a2", "b2"), "COMPENSATED"
    )


def nested(fails: str = "", *, before: str = "p a q x a2 y") -> tuple[Sim, list[str]]:
    """p, then a fork: branch 0 is a, a2; branch 1 is q, a fork of x and y, then z; branch 2 fails."""
    nodes = [act(i) for i in ("p", "a", "a2", "q", "x1", "y", "z", "f")]
    gates = [Node(id="o"), Node(id="i"), Node(id="ij"), Node(id="oj")]
    ways = "s>p p>o o>a a>a2 a2>oj o>q q>i i>x1 i>y x1>ij y>ij ij>z z>oj o>f f>oj oj>x"
    m = process([*nodes, *gates], ways)
    done(m, before.replace(" x ", " x1 "))
    m.bad("f")
    return m, undo_all(m, fails=fails)


def test_nested_forks_are_undone_from_the_inside() -> None:
    """P-X.37: whatever lies behind the inner fork before what lies before it, and so for the outer one."""
    m, ran = nested()
    assert ran == ["-y", "-a2", "-x1", "-q", "-a", "-p"] and m.status == "COMPENSATED"
    m, ran = nested(before="p a q x y z")
    assert ran == ["-z", "-y", "-x1", "-q", "-a", "-p"]


@pytest.mark.parametrize(
    ("fails", "ran", "left"),
    [
        ("x1", ["-y", "-a2", "-x1", "-a"], ["q", "p"]),
        ("a2", ["-y", "-a2", "-x1", "-q", "-a"], ["p"]),
        ("q", ["-y", "-a2", "-x1", "-q", "-a"], ["p"]),
        ("p", ["-y", "-a2", "-x1", "-q", "-a", "-p"], []),
    ],
)
def test_what_lies_before_a_fork_waits_for_all_of_its_branches(fails: str, ran: list[str], left: list[str]) -> None:
    """P-5.5.2, P-X.20, P-X.37: a failed step keeps open what lies before the forks around it, and only that; the rest
    is tried, and a second try does the failed step and what was left, nothing twice."""
    m, first = nested(fails)
    assert first == ran and m.status == "FAILED"
    ledger = {m.net.nodes[e.node].id: e.status for e in m.st.ledger}
    assert ledger.pop(fails) == "FAILED" and [n for n, s in ledger.items() if s == "open"] == left[::-1]
    assert m.of("undo.ended")[-1].data["result"] == "PARTIAL"
    assert m.st.incidents[-1][0] == "COMPENSATION_STEP_FAILED"
    m.crash()
    m.do(C.compensate())
    assert undo_all(m) == [f"-{n}" for n in (fails, *left)]
    assert m.status == "COMPENSATED" and m.of("undo.ended")[-1].data["result"] == "COMPLETE"
    assert m.do(C.compensate())[0].data["why"] == "nothing_left"


def test_an_earlier_group_lies_before_a_later_fork() -> None:
    """P-X.20: it is another group, and not another branch."""
    ways = "s>a s>b a>j b>j j>f f>c f>d f>e c>k d>k e>k k>x"
    m = process([*(act(i) for i in "abcde"), Node(id="j"), Node(id="f"), Node(id="k")], ways)
    done(m, "a b c d")
    m.bad("e")
    assert undo_all(m, fails="c") == ["-d", "-c"]
    m.do(C.compensate())
    assert undo_all(m) == ["-c", "-b", "-a"]


def test_in_a_sequence_a_failed_step_stops_nothing() -> None:
    """P-X.20, P-5.3.6, P-A.12."""
    m = process([act(i) for i in "abc"], "s>a a>b b>c c>x")
    done(m, "a b")
    m.bad("c")
    assert undo_all(m, fails="b") == ["-b", "-a"] and m.status == "FAILED"
    assert ended(m) == {"a": "COMPENSATED", "b": "DONE", "c": "CANCELLED"}


# ---- ids of groups and branches --------------------------------------------------------------------------------------


def groups(m: Sim) -> dict[str, Any]:
    open_ = {m.net.nodes[f.node].id: group_of(f.path, m.net) for f in m.st.firings.values()}
    return open_ | {m.net.nodes[e.node].id: group_of(e.path, m.net) for e in m.st.ledger}


def test_every_step_knows_its_group_and_branch() -> None:
    """P-5.5.6, P-X.5: a gateway's id; of an implicit fork the activity's (P-X.37); of a multi-instance its own."""
    nodes = [act("p"), Node(id="p.out", origin="p"), *(act(i) for i in "abc"), Node(id="gw"), act("d"), act("e")]
    m = process(nodes, "s>p p>p.out p.out>a p.out>b p.out>gw gw>c gw>d a>x b>x c>x d>e e>x")
    assert groups(m) == {"p": None}
    done(m, "p d")
    assert groups(m) == {"p": None, "a": ("p", 0), "b": ("p", 1), "c": ("gw", 0), "d": ("gw", 1), "e": ("gw", 1)}
    each = Node(id="m", kind="scope", body=Body(mode="each", items="input", entry="i"))
    m = process([each, Node(id="i", kind="start", scope="m"), act("a", scope="m")], "s>m i>a m>x", [1, 2])
    assert [group_of(f.path, m.net) for f in m.effects()] == [("m", 0), ("m", 1)]
    late = Trigger(port="late", after_ms=5, interrupting=False)
    m = process([act("a", triggers=(late,)), act("b", undo=False)], "s>a a>x a:late>b b>x")
    m.tick()
    assert groups(m) == {"a": None, "b": None}
    odd = [act("me@home"), *(act(i) for i in "ab")]
    m = process(odd, "s>me@home me@home>a me@home>b a>x b>x")
    done(m, "me@home")
    assert groups(m)["b"] == ("me@home", 1)


def test_groups_are_known_without_any_compensation() -> None:
    """P-X.5: a work item has its group also where nothing can be undone."""
    m = process([Node(id="gw"), act("a", undo=False), act("b", undo=False)], "s>gw gw>a gw>b a>x b>x")
    assert groups(m) == {"a": ("gw", 0), "b": ("gw", 1)}


# ---- what each item ends as ------------------------------------------------------------------------------------------


def test_drafts_and_visits() -> None:
    """P-5.5.4, P-X.21, P-4.1.11: a submitted draft is compensated, every visit of a loop by itself, latest first."""
    loop = [Node(id="m", join=MERGE), act("a"), Node(id="g", split="first"), act("b", approve=True), act("c")]
    ways: list[Any] = ["s>m m>a a>g", edge("g>m", guard="counters.a < 3"), edge("g>f", default=True)]
    m = process([*loop, Node(id="f")], [*ways, "f>b f>c b>x c>x"])
    done(m, "a a a b")
    m.bad("c")
    assert undo_all(m) == ["-b", "-a", "-a", "-a"]
    args = [x.data["args"]["data"] for x in m.of("effect.asked") if x.node.startswith("-")]
    assert args == ["made by b", "made by a", "made by a", "made by a"]
    visits = [m.st.ledger[x.data["undoes"]].id for x in m.of("settled") if x.node == "-a"]
    assert visits == ["a@~0#3", "a@~0#2", "a@~0#1"]
    assert [x.data["to"] for x in m.of("work.moved")].count("COMPENSATED") == 4
    assert "CANCELLED" not in [x.data["to"] for x in m.of("work.moved") if x.node in ("a", "b")]


def branches(**more: Any) -> Sim:
    """a fails or goes on; b works."""
    return process([act("a", undo=False, **more), act("b", undo=False), Node(id="j")], "s>a s>b a>j b>j j>x")


def test_every_cancelled_item_says_why() -> None:
    """P-X.16, P-4.1.8, P-4.1.9, P-5.5.8: its own failure, the saga, the user, an event, an end, a lost race."""
    m = branches()
    m.now = 7
    m.bad("a", "E1")
    assert cancelled(m) == {"a": "execution_failed", "b": "failed"}
    own = [x for x in m.lines if x.data.get("failure") and x.fact == "settled"]
    assert own[0].node == "a" and own[0].data["failure"]["code"] == "E1", "the error is told with it"
    assert {x.at for x in m.of("work.moved") if x.data["to"] == "CANCELLED"} == {7}
    assert m.run.stops == [m.reader.named["b@~0#1"]], "P-4.1.9: its agent is told to stop"
    m = branches()
    m.do(C.cancel())
    assert cancelled(m) == {"a": "cancelled", "b": "cancelled"}
    m = branches()
    m.do(C.cancel_firing("a"))
    assert cancelled(m) == {"a": "cancelled"}
    m = process([act("a", triggers=(Trigger(port="late", after_ms=5),))], "s>a a>x a:late>x")
    m.tick()
    assert cancelled(m) == {"a": "interrupted"}
    stop = Node(id="t", kind="end", join=MERGE, ends="terminate")
    m = process([act("a"), act("b"), stop], "s>a s>b a>t b>x")
    m.ok("a")
    assert cancelled(m) == {"b": "terminated"} and m.status == "COMPLETED"
    race = Node(id="p", kind="scope", body=Body(mode="each", items="input", entry="e", need=1))
    m = process([race, Node(id="e", kind="start", scope="p"), act("a", scope="p")], "s>p e>a p>x", [1, 2])
    m.ok("a")
    assert cancelled(m) == {"a": "closed"} and m.status == "COMPLETED"
    m = process([act("a"), act("b")], "s>a a>b b>x")
    m.ok("a")
    m.do(C.compensate())
    assert cancelled(m) == {"b": "compensated"} and undo_all(m) == ["-a"]


@pytest.mark.parametrize("agent", [False, True])
def test_a_person_may_undo(agent: bool) -> None:
    """P-X.18: the handler is an activity; its item is no work that a rework could order again."""
    nodes = [Node(id="a", kind="work", work=Work(modes=True), effect=Effect(executor="agent"), undo=("ua",)), act("b")]
    handler = Node(
        id="ua", kind="work", off_path=True, work=Work(agent=agent, modes=True), effect=Effect(executor="agent")
    )
    m = process([*nodes, handler], "s>a a>b b>x", tracks_origin=True)
    m.do(C.work(m.item("a"), "submit", "kim", {"n": 1}))
    m.bad("b")
    assert m.status == "COMPENSATING"
    if agent:
        m.ok("ua")
    else:
        m.crash()
        m.do(C.work(m.item("ua"), "submit", "kim"))
    assert m.status == "COMPENSATED" and [e.status for e in m.st.ledger] == ["EXECUTED"] and not m.st.redoable
