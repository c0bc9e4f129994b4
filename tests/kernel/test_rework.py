"""Rework of finished work (P-X.15): allowed as long as nothing was made of it, then as if it had never been done."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import Refused, StatusConflict
from penstock.kernel import command as C
from penstock.net.compiled import Compiled
from penstock.net.model import INCLUSIVE, MERGE, Body, Effect, Net, Node, Set, Trigger, Work
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, edge, net, task
from tests.kernel.storm import Storm

AGENT = Effect(executor="agent", args={"told": {"$expr": "feedback"}})


def item(id: str, *, agent: bool = False, **more: Any) -> Node:
    return Node(id=id, kind="work", work=Work(agent=agent, modes=True), effect=AGENT, **more)


def tracked(nodes: list[Node], ways: Any, **more: Any) -> Net:
    return net([S, *nodes, X], ways, tracks_origin=True, undo_policy="group", **more)


class Desk(Storm):
    """A run that crashes before every turn; people are called by the activity."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self.known: dict[str, int] = {}
        super().__init__(*args, **more)

    def no(self, node: str) -> int:
        for no in self.st.items:
            self.known[self.net.nodes[self.st.firings[no].node].id] = no
        return self.known[node]

    def submit(self, node: str, body: Any = None) -> None:
        self.do(C.work(self.no(node), "submit", "kim", body))

    def begin(self, node: str) -> None:
        self.do(C.work(self.no(node), "start", "kim"))

    def rework(self, node: str, comment: str | None = None) -> None:
        self.do(C.work(self.known[node], "rework", "boss", None, comment))

    def open(self) -> dict[str, str]:
        return {self.net.nodes[self.st.firings[no].node].id: i.status for no, i in self.st.items.items()}

    def refused(self, node: str, why: str) -> None:
        before = len(self.facts)
        with pytest.raises(Refused, match=why):
            self.rework(node)
        assert len(self.facts) == before


def chain() -> Desk:
    a = item("a", undo=("u",), sets=(Set(name="n", expr="output.n"),), out=("made",))
    return Desk(tracked([a, task("t"), item("b"), task("u", off_path=True)], "s>a a>t t>b b>x"))


def test_finished_work_is_done_again() -> None:
    """P-X.15, P-4.1.6, P-4.1.7: what follows is superseded, the same key is tried again, both statuses are told, the
    draft, the comment and the variables stay readable, and the ledger has one entry."""
    m = chain()
    m.submit("a", {"n": 1})
    m.ok("t")
    assert m.open() == {"b": "TODO"}
    b, before = m.no("b"), m.known["a"]
    m.rework("a", "one is missing")
    moved = [(x.node, x.data["event"], x.data["to"], x.data.get("why")) for x in m.of("work.moved")][-3:]
    assert moved == [("b", "cancel", "CANCELLED", "superseded"), ("a", "rework", "REWORK", None),
                     ("a", "redo", "TODO", None)]  # fmt: skip
    assert [x.data.get("comment") for x in m.of("work.moved")][-2] == "one is missing"
    assert m.open() == {"a": "TODO"} and m.no("a") == before and m.st.closed_items == {b: "CANCELLED"}
    held = m.st.items[before]
    assert (held.draft, held.comment, held.by) == ({"n": 1}, "one is missing", None)
    assert m.vars() == {"n": 1, "made": {"n": 1}}
    assert [e.status for e in m.st.ledger] == ["withdrawn"]
    assert m.of("work.opened")[-1].node == "a", "whoever keeps a list of open items hears of it again"
    m.submit("a", {"n": 2})
    m.ok("t")
    m.submit("b")
    assert m.status == "COMPLETED" and m.vars()["n"] == 2
    assert [e.status for e in m.st.ledger] == ["withdrawn", "open"] and m.fired() == [
        "s", "a", "t", "b", "t", "b", "x",
    ]  # fmt: skip


def test_an_agent_is_asked_again_under_the_same_key() -> None:
    """P-X.15, P-X.40, E2: with the comment, as the next attempt; a person's item waits for a person."""
    m = Desk(tracked([item("a", agent=True), item("b")], "s>a a>b b>x"))
    first = m.asked("a")
    assert first is not None
    m.known["a"] = first.no
    m.ok("a", "draft")
    m.rework("a", "again")
    keys = [(x.data["key"], x.data["attempt"], x.data["args"]) for x in m.of("effect.asked")]
    assert keys == [("default/r1/a@~0#1", 1, {"told": None}), ("default/r1/a@~0#1", 2, {"told": "again"})]
    m.do(C.work(first.no, "take_over", "kim"))
    m.submit("a")
    m.rework("a")
    assert m.open() == {"a": "TODO"} and not m.effects() and m.st.items[first.no].mode == "MANUAL"
    m.do(C.work(first.no, "set_mode", "boss", "AUTONOMOUS"))
    assert m.asked("a").attempt == 3  # type: ignore[union-attr]


def test_what_somebody_has_begun_is_not_taken_back() -> None:
    """P-X.15: 409."""
    m = chain()
    m.submit("a", {"n": 1})
    m.refused("a", "«t» has been begun")
    m.ok("t")
    m.begin("b")
    m.refused("a", "«b» has been begun")
    m.submit("b")
    assert m.status == "COMPLETED"
    with pytest.raises(StatusConflict, match="COMPLETED"):
        m.rework("b")
    m = Desk(tracked([item("a"), item("b"), item("c")], "s>a a>b b>c c>x"))
    m.submit("a")
    m.submit("b")
    m.refused("a", "has gone on")
    m.rework("b")
    assert m.open() == {"b": "TODO"}
    m.refused("a", "has gone on")


def test_what_needs_other_work_is_not_taken_back() -> None:
    """P-X.15: behind a join the other branch's work would be lost; before it only the own token is taken back."""
    nodes = [item("a"), item("b"), Node(id="j"), item("c")]
    m = Desk(tracked(nodes, "s>a s>b a>j b>j j>c c>x"))
    m.submit("a")
    assert m.open() == {"b": "TODO"} and m.st.live == 1
    m.rework("a")
    assert m.open() == {"b": "TODO", "a": "TODO"} and m.st.live == 0
    m.submit("a")
    m.submit("b")
    assert m.open() == {"c": "TODO"}
    m.refused("a", "comes from other work, too")
    m.refused("b", "comes from other work, too")
    m.submit("c")
    assert m.status == "COMPLETED" and m.fired().count("j") == 1


def test_branches_that_come_of_it_alone_go_together() -> None:
    """P-X.15: an implicit fork, and a fork that is joined again, come of one work."""
    nodes = [item("a"), item("b"), item("c"), Node(id="j"), item("d")]
    m = Desk(tracked(nodes, "s>a a>b a>c b>j c>j j>d d>x"))
    m.submit("a")
    assert m.open() == {"b": "TODO", "c": "TODO"}
    m.rework("a")
    assert m.open() == {"a": "TODO"}
    m.submit("a")
    m.submit("b")
    m.refused("a", "has gone on")
    nodes = [item("a"), Node(id="f"), Node(id="r"), Node(id="q"), Node(id="j"), item("d")]
    m = Desk(tracked(nodes, "s>a a>f f>r f>q r>j q>j j>d d>x"))
    m.submit("a")
    m.rework("a")
    m.submit("a")
    m.submit("d")
    assert m.status == "COMPLETED" and m.fired().count("d") == 2


def test_another_answer_takes_another_branch() -> None:
    """P-X.15, P-X.10: exclusive and inclusive, with an inclusive join that asks again."""
    gate = Node(id="g", split="every", join=MERGE)
    nodes = [item("a"), gate, item("b"), item("c"), Node(id="j", join=INCLUSIVE), item("d")]
    ways = ["s>a a>g b>j c>j j>d d>x", edge("g>b", guard="a.b == true"), edge("g>c", guard="a.c == true")]
    m = Desk(tracked(nodes, ways))
    m.submit("a", {"b": True, "c": True})
    m.rework("a")
    m.submit("a", {"b": False, "c": True})
    assert m.open() == {"c": "TODO"}
    m.submit("c")
    assert m.open() == {"d": "TODO"}
    m.rework("c")
    m.submit("c")
    m.submit("d")
    assert m.status == "COMPLETED"


def test_every_visit_of_a_loop_by_itself() -> None:
    """P-X.15: only the last one can still be done again."""
    nodes = [Node(id="m", join=MERGE), item("a"), Node(id="g", split="first")]
    m = Desk(tracked(nodes, ["s>m m>a a>g", edge("g>m", guard="a.again == true"), edge("g>x", default=True)]))
    first = m.no("a")
    m.submit("a", {"again": True})
    second = m.no("a")
    m.do(C.work(first, "rework", "boss"))
    assert m.open() == {"a": "TODO"} and m.st.closed_items == {second: "CANCELLED"}
    m.known["a"] = first
    m.submit("a", {"again": True})
    third = m.no("a")
    assert third not in (first, second)
    m.submit("a", {"again": True})
    m.known["a"] = first
    m.refused("a", "has gone on")
    m.known["a"] = third
    m.rework("a")
    m.submit("a")
    assert m.status == "COMPLETED"


def sub(*inside: Node, body: Body | None = None, **more: Any) -> list[Node]:
    scope = Node(id="p", kind="scope", body=body or Body(entry="e"), **more)
    return [scope, Node(id="e", kind="start", scope="p"), *inside]


def test_a_sub_process_that_nobody_has_begun_goes_with_it() -> None:
    """P-X.15: what it holds is superseded with it; inside, work is done again as outside."""
    nodes = [item("a"), *sub(item("b", scope="p"), item("c", scope="p")), item("d")]
    m = Desk(tracked(nodes, "s>a a>p e>b b>c p>d d>x"))
    m.submit("a")
    m.rework("a")
    assert m.open() == {"a": "TODO"} and set(m.st.scopes) == {0}
    m.submit("a")
    m.submit("b")
    m.refused("a", "has gone on")
    m.rework("b")
    assert m.open() == {"b": "TODO"}
    m.submit("b")
    m.submit("c")
    assert m.open() == {"d": "TODO"}
    m.refused("c", "has gone on")
    m.submit("d")
    assert m.status == "COMPLETED"
    m = Desk(tracked(nodes, "s>a a>p e>b e>c p>d d>x"))
    m.submit("a")
    m.begin("c")
    m.refused("a", "«c» has been begun")


def test_a_call_closes_what_was_before_it() -> None:
    """P-X.4, P-X.15: a child run is work, too."""
    call = Node(id="k", kind="call", effect=Effect(executor="run"))
    m = Desk(tracked([item("a"), call, item("b")], "s>a a>k k>b b>x"))
    m.submit("a")
    m.refused("a", "«k» has been begun")
    m.ok("k")
    m.refused("a", "has gone on")
    assert m.open() == {"b": "TODO"}, "nothing was taken back"


def test_timers_are_set_anew_and_branches_beside_it_stay() -> None:
    """P-X.15: the due date of what is superseded goes, that of what is done again begins anew."""
    due = Trigger(port="late", after_ms=100, interrupting=False)
    nodes = [item("a", triggers=(due,)), item("b", triggers=(due,)), item("c"), item("n")]
    m = Desk(tracked(nodes, "s>a s>c a>b b>x c>x a:late>n b:late>n n>x".replace("b:late>n", "b:late>x")))
    m.submit("a")
    m.now = 50
    m.rework("a")
    assert [t.due for t in m.st.timers.values()] == [150] and m.open() == {"c": "TODO", "a": "TODO"}
    m.tick()
    assert m.open() == {"c": "TODO", "a": "TODO", "n": "TODO"}
    m.submit("n")
    m.submit("a")
    m.rework("a")
    assert "n" not in m.open() and m.st.closed_items[m.known["n"]] == "DONE", "the reminder was not made of its result"


def test_not_while_a_run_ends_or_undoes() -> None:
    """P-X.15: the instance is running."""
    m = Desk(tracked([item("a", undo=("u",)), item("b", agent=True), task("u", off_path=True)], "s>a a>b b>x"))
    m.submit("a")
    m.bad("b")
    assert m.status == "COMPENSATING"
    with pytest.raises(StatusConflict, match="COMPENSATING"):
        m.rework("a")
    m.ok("u")
    with pytest.raises(StatusConflict, match="COMPENSATED"):
        m.rework("a")
    assert not m.st.redoable


def test_compensated_work_is_not_done_again() -> None:
    """P-4.1.10: a compensation throw event has undone it while the run goes on."""
    throw = Node(id="z", kind="undo", only=("a",))
    m = Desk(tracked([item("a", undo=("u",)), throw, item("b"), task("u", off_path=True)], "s>a a>z z>b b>x"))
    m.submit("a")
    m.ok("u")
    with pytest.raises(StatusConflict, match="COMPENSATED"):
        m.rework("a")


def test_a_net_that_does_not_ask_for_it_keeps_nothing() -> None:
    """P-X.15: no cost for the others; they refuse."""
    m = Sim(net([S, item("a"), item("b"), X], "s>a a>b b>x"))
    a = m.item("a")
    m.do(C.work(a, "submit", "kim"))
    assert not m.st.redoable and not m.st.tracks and all(not f.passed for f in m.st.firings.values())
    with pytest.raises(StatusConflict, match="is DONE"):
        m.do(C.work(a, "rework", "boss"))


def test_only_the_newest_work_can_be_done_again() -> None:
    """SPEED: nothing in the state grows for ever; branches that have ended leave their work behind."""
    each = Body(mode="each", items="input", entry="e")
    nodes = sub(item("a", scope="p"), body=each)
    m = Sim(tracked(nodes, "s>p e>a p>x"), list(range(300)), check=False)
    items = list(m.st.items)
    for no in items[:-1]:
        m.do(C.work(no, "submit", "kim"))
    assert not m.st.redoable, "a branch that has ended is not opened again"
    ways = " ".join(f"s>a{i} a{i}>x" for i in range(300))
    m = Sim(tracked([item(f"a{i}") for i in range(300)], ways), check=False)
    for no in list(m.st.items)[:-1]:
        m.do(C.work(no, "submit", "kim"))
    assert len(m.st.redoable) == 256


def test_after_a_migration_nothing_is_taken_back() -> None:
    """P-X.15: what came of what is not known any more; what is finished from then on can be done again."""
    nodes = [item("a"), item("b"), item("c")]
    m = Sim(tracked(nodes, "s>a a>b b>c c>x"))
    a = m.item("a")
    m.do(C.work(a, "submit", "kim"))
    new = Compiled(tracked([*nodes, item("d")], "s>a a>b b>c c>d d>x", name="next"))
    m.do(C.migrate(new))
    m.net = new
    m.crash()
    with pytest.raises(Refused, match="has gone on"):
        m.do(C.work(a, "rework", "boss"))
    b = m.item("b")
    m.do(C.work(b, "submit", "kim"))
    m.do(C.work(b, "rework", "boss"))
    assert [i.status for i in m.st.items.values()] == ["TODO"] and m.item("b") == b
