"""Structural checks: each rule fires where it should, at its place and with a hint, and is quiet elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.errors import Finding, Place
from penstock.net.checks import check
from penstock.net.model import (
    ANY,
    DIAGRAM,
    INCLUSIVE,
    MERGE,
    Body,
    Branch,
    Cache,
    Edge,
    Effect,
    Join,
    Net,
    Node,
    OnError,
    Poll,
    Pool,
    Set,
    Trigger,
    Work,
)
from tests.counted import grows_evenly
from tests.net.make import edges, net

CALL = Effect(executor="http")


def rules(one: Net) -> list[str]:
    return [f.rule for f in check(one)]


def only(one: Net, rule: str) -> Finding:
    found = check(one)
    assert [f.rule for f in found] == [rule], found
    assert found[0].hint
    return found[0]


def test_a_plain_net_has_nothing_to_be_said_about() -> None:
    assert check(net("s>f f>a f>b a>j b>j j>x")) == []


def test_duplicate_ids() -> None:
    one = net("s>a a>x", Node(id="a"), Node(id="a"))
    assert only(one, "duplicate_id").message == "2 nodes have the id «a»."
    twice = Net(name="n", nodes=(Node(id="a"), Node(id="b")), edges=edges("a>b a>b"))
    assert only(twice, "duplicate_id").message == "2 edges have the id «a>b»."


def test_an_edge_to_nobody_is_told_at_the_edge() -> None:
    one = Net(name="n", nodes=(Node(id="a"),), edges=edges("a>b"), source_map={"a>b": Place("/connections/0", 7, 3)})
    found = only(one, "dangling_edge")
    assert (found.severity, found.where.line, found.node) == ("error", 7, "a")
    assert "«b», which does not exist" in found.message


def test_scopes() -> None:
    assert only(net("s>x", Node(id="a", scope="nobody")), "unknown_scope").node == "a"
    assert "unknown_scope" in rules(net("s>x", Node(id="a", scope="s")))
    inside = net("s>x", Node(id="a", kind="scope", scope="b"), Node(id="b", kind="scope", scope="a"))
    assert "lies inside itself" in next(f.message for f in check(inside) if f.rule == "unknown_scope")
    scope = Node(id="p", kind="scope", body=Body(entry="i"))
    assert only(net("s>p p>x s>i", scope, Node(id="i", scope="p")), "crossing_scope").severity == "error"
    assert rules(net("s>p p>x", scope, Node(id="i", scope="p"))) == []


def test_entries() -> None:
    assert only(net("s>p p>x", Node(id="p", kind="scope", body=Body(entry="s"))), "unknown_entry").node == "p"
    body = Body(mode="branches", branches=(Branch(key="left", entry="i"), Branch(key="right", entry="gone")))
    found = only(net("s>p p>x", Node(id="p", kind="scope", body=body), Node(id="i", scope="p")), "unknown_entry")
    assert found.message == "The branch «right» of «p» begins at «gone», which is not inside it."


def test_links_parts_and_ports() -> None:
    assert only(net("s>a a>x", Node(id="a", undo=("u",))), "unknown_undo").node == "a"
    assert only(net("s>a a>x", Node(id="a", kind="undo", only=("u",))), "unknown_undo").node == "a"
    assert (
        only(net("s>a a>x", Node(id="a", kind="task")), "incomplete_node").message == "«a» is a task without an effect."
    )
    assert only(net("s>a a>x", Node(id="a", kind="wait")), "incomplete_node").node == "a"
    boundary = Trigger(port="late", after_ms=5)
    timed = Node(id="a", kind="task", effect=CALL, triggers=(boundary,))
    assert only(net("s>a a>x", timed), "trigger_without_edge").severity == "warning"
    assert rules(net("s>a a>x a:late>x", timed)) == []
    sent = Node(id="a", kind="task", effect=CALL, on_error=(OnError(match="*", action="port:oops"),))
    assert only(net("s>a a>x", sent), "error_port_without_edge").node == "a"


@pytest.mark.parametrize(
    "body",
    [
        Body(mode="loop", entry="i"),
        Body(mode="each", entry="i"),
        Body(mode="each_seq", entry="i"),
        Body(mode="branches"),
    ],
)
def test_a_scope_names_what_its_mode_needs(body: Body) -> None:
    one = net("s>p p>x", Node(id="p", kind="scope", body=body), Node(id="i", scope="p"))
    assert "incomplete_node" in rules(one)


def test_nothing_to_start_from() -> None:
    assert rules(Net(name="n")) == ["no_start"]
    found = [f for f in check(net("a>b b?>a b!>c")) if f.rule == "no_start"]
    assert found[0].message == "Nothing can start: every node waits for another one."


def test_what_nothing_leads_to() -> None:
    found = [f for f in check(net("s>x a?>b b>a")) if f.rule == "unreachable_node"]
    assert [(f.node, f.severity) for f in found] == [("a", "warning"), ("b", "warning")]
    undo = Node(id="u", kind="task", effect=CALL, off_path=True)
    assert rules(net("s>a a>x", Node(id="a", undo=("u",)), undo)) == []
    assert rules(net("s>a a>x", undo)) == ["unreachable_node"]


@pytest.mark.parametrize(("k", "bad"), [(0, True), (1, False), (2, False), (3, True)])
def test_a_quorum_of_more_than_there_are(k: int, bad: bool) -> None:
    """D-X.12: 1 ≤ k ≤ number of in-edges."""
    found = [f for f in check(net("s>a s>b a>j b>j j>x", Node(id="j", join=Join(mode="k", k=k, late="absorb")))) if bad]
    assert [f.rule for f in found] == (["join_never_satisfied"] if bad else [])
    assert all(f.severity == "error" for f in found)


DIAMOND = "s>c c:condtrue>a c:condfalse>b a>j b>j j>x"
COND = Node(id="c", split="first", join=MERGE, port="true", label="Good?")


@pytest.mark.parametrize("join", [Join(), DIAGRAM, Join(mode="k", k=2)])
def test_a_merge_of_exclusive_branches_with_all(join: Join) -> None:
    """D-X.9: a diamond is kept as drawn, and warned about."""
    found = only(net(DIAMOND, COND, Node(id="j", join=join, label="Merge")), "join_never_satisfied")
    assert found.severity == "warning"
    assert found.hint == "merge of exclusive branches with ALL, use ANY"
    assert found.message == "«Merge» waits for «a» and «b», but «Good?» takes only one of the two ways."


@pytest.mark.parametrize(
    "text",
    [
        "s>c s>z c:condtrue>a c:condfalse>b a>j b>j z>j j>x",  # beside a third way that is no part of it
        "s>c c:condtrue>a c:condfalse>d d?>b d!>y b>j a>j j>x",  # behind a second choice
        "s>c c:condtrue>j c:condfalse>b b>j j>x",  # one branch is the edge itself
    ],
)
def test_a_merge_of_exclusive_branches_further_away(text: str) -> None:
    second = Node(id="d", split="first")
    assert "join_never_satisfied" in rules(net(text, COND, second, Node(id="j", join=DIAGRAM)))


def test_merges_that_are_fine() -> None:
    assert rules(net(DIAMOND, COND, Node(id="j", join=MERGE))) == []
    assert rules(net(DIAMOND, COND, Node(id="j", join=INCLUSIVE))) == []
    assert rules(net("s>f f>a f>b a>j b>j j>x")) == []
    both = net("s>c c:condtrue>j c:condfalse>j j>x", COND, Node(id="j", join=DIAGRAM))
    roles = tuple(
        Edge(id=e.id, src=e.src, dst=e.dst, port=e.port, role="cond" if e.src == "c" else "plain") for e in both.edges
    )
    assert rules(Net(name="d", nodes=both.nodes, edges=roles)) == []
    beside = Trigger(port="remind", after_ms=1, interrupting=False)
    reminded = Node(id="t", kind="task", effect=CALL, triggers=(beside,))
    assert rules(net("s>t t>j t:remind>j j>x", reminded)) == []


def test_a_loop_without_a_way_out() -> None:
    """D-X.24: a cycle needs a condition or a max_iteration; the cycle is shown."""
    found = only(net("s>a a>b b>c c>a c>x", Node(id="a", join=MERGE, label="Draft")), "UNBOUNDED_LOOP")
    assert found.severity == "error"
    assert found.message == "This loop has no way out: «b» → «c» → «Draft» → «b»."


@pytest.mark.parametrize(
    "stop",
    [Node(id="b", max_iter=3), Node(id="b", split="first"), Node(id="b", port="true")],
    ids=["max_iteration", "choice", "port"],
)
def test_a_loop_that_chooses_or_counts(stop: Node) -> None:
    """D-X.24: either is enough."""
    assert rules(net("s>a a>b b>a b>x", Node(id="a", join=MERGE), stop)) == []


def test_every_cycle_needs_its_own_stop() -> None:
    """D-X.24: a condition in one loop does not excuse a second loop that avoids it."""
    one = net("s>a a>c c?>a c!>x a>b b>a", Node(id="a", join=MERGE), Node(id="c", split="first"))
    assert "UNBOUNDED_LOOP" in rules(one)


def test_a_long_loop_is_told_shortly() -> None:
    text = " ".join(f"n{i}>n{i + 1}" for i in range(50)) + " n50>n0 s>n0"
    message = only(net(text, Node(id="n0", join=MERGE)), "UNBOUNDED_LOOP").message
    assert "…" in message
    assert len(message) < 160


LOOP = "s>f f>p p>c c^>p c!>j f>b b>j j>x"


def test_two_epochs_never_meet() -> None:
    """D-X.1: the exit keeps the raised epoch, so ALL with a sibling of epoch 0 behind the loop is an error."""
    head, turn = Node(id="p", join=DIAGRAM), Node(id="c", split="first", join=MERGE)
    found = only(net(LOOP, head, turn, Node(id="j", join=DIAGRAM)), "EPOCH_MISMATCH")
    assert (found.severity, found.node) == ("error", "j")
    assert "«b»" in found.message
    assert rules(net(LOOP, head, turn, Node(id="j", join=MERGE))) == []
    assert "EPOCH_MISMATCH" in rules(net(LOOP, head, turn, Node(id="j", join=Join(mode="k", k=2, late="absorb"))))


def test_a_loop_head_may_wait_for_entry_and_back_edge() -> None:
    """D-X.1: at a loop head they differ by nature; what leaves a loop together may meet again."""
    nodes = (
        Node(id="p", join=DIAGRAM, max_iter=2),
        Node(id="c", split="first", join=MERGE),
        Node(id="d", split="first", join=MERGE),
    )
    assert rules(net("s>p p>c c?>p c!>d d^>p d!>x", *nodes)) == []
    assert rules(net("s>p p>c c?>p c!>d d^>p d!>f f>a f>b a>j b>j j>x", *nodes)) == []


def test_into_the_middle_of_a_raising_loop() -> None:
    """D-X.1: only the head is excused."""
    nodes = (Node(id="p", join=MERGE), Node(id="c", split="first", join=MERGE))
    assert "EPOCH_MISMATCH" in rules(net("s>f f>p f>q p>q q>c c^>p c!>x", *nodes))


def test_inclusive_joins_and_epochs_are_refused_together() -> None:
    nodes = (Node(id="p", join=MERGE), Node(id="c", split="first"), Node(id="o", split="every"))
    text = "s>p p>c c^>p c!>o o?>a o?>b a>j b>j j>x"
    assert only(net(text, *nodes, Node(id="j", join=INCLUSIVE)), "INCLUSIVE_WITH_EPOCHS").severity == "error"
    assert rules(net(text.replace("^", "?"), *nodes, Node(id="j", join=INCLUSIVE))) == []


def test_a_discriminator_fed_by_a_loop_beside_it() -> None:
    fed = "s>f f>a f>b a>m m>t t>g g?>m g!>y t>j b>j j>x"
    nodes = (Node(id="m", join=MERGE), Node(id="g", split="first"))
    found = [f for f in check(net(fed, *nodes, Node(id="j", join=ANY))) if f.rule == "DISCRIMINATOR_IN_LOOP"]
    assert [(f.node, f.severity) for f in found] == [("j", "warning")]
    assert rules(net(fed, *nodes, Node(id="j", join=MERGE))) == []


def test_discriminators_that_can_tell() -> None:
    inside = "s>m m>f f>a f>b a>j b>j j>g g?>m g!>x"  # the loop passes the join
    nodes = (Node(id="m", join=MERGE), Node(id="g", split="first"), Node(id="j", join=ANY))
    assert rules(net(inside, *nodes)) == []
    leaves = "s>f f>m f>b m>g g?>m g!>j b>j j>x"  # the loop is left once
    assert rules(net(leaves, *nodes)) == []


def test_two_writers_with_nothing_between_them() -> None:
    def writes(id: str, **more: object) -> Node:
        return Node(id=id, sets=(Set(name="x", expr="1"),), **more)  # type: ignore[arg-type]

    found = only(net("s>f f>a f>b a>j b>j j>x", writes("a"), writes("b")), "RACE")
    assert found.severity == "warning"
    assert found.message == "«a» and «b» both write «x», and nothing says which is last."
    assert rules(net("s>a a>b b>x", writes("a"), writes("b"))) == []
    assert rules(net("s>f f>a f>b a>b b>x", writes("a"), writes("b"))) == []
    assert rules(net(DIAMOND, COND, writes("a"), writes("b"), Node(id="j", join=MERGE))) == []
    around = "s>m m>f f>a f>b a>j b>j j>g g?>m g!>x"
    assert rules(net(around, Node(id="m", join=MERGE), Node(id="g", split="first"), writes("a"), writes("b"))) == [
        "RACE"
    ]


def test_races_between_the_branches_of_a_scope() -> None:
    body = Body(mode="branches", branches=(Branch(key="1", entry="a"), Branch(key="2", entry="b")))
    inner = [Node(id=v, scope="p", out=("found",)) for v in "ab"]
    assert rules(net("s>p p>x", Node(id="p", kind="scope", body=body), *inner)) == ["RACE"]
    local = Body(mode="branches", branches=body.branches, locals=("found",))
    assert rules(net("s>p p>x", Node(id="p", kind="scope", body=local), *inner)) == []


BROKEN = "1 +"


@pytest.mark.parametrize(
    "bad",
    [
        Node(id="a", port=BROKEN),
        Node(id="a", undo_if=BROKEN),
        Node(id="a", sets=(Set(name="x", expr=BROKEN),)),
        Node(id="a", value={"deep": [{"$expr": BROKEN}]}),
        Node(id="a", value={"$template": "Hello ${1 +}"}),
        Node(id="a", kind="task", effect=Effect(executor="http", args={"url": {"$template": "${1 +}"}})),
        Node(id="a", kind="task", effect=Effect(executor="http", cache=Cache(key=BROKEN))),
        Node(id="a", kind="task", effect=CALL, poll=Poll(every_ms=1, until=BROKEN)),
        Node(id="a", kind="work", work=Work(prompt={"$expr": BROKEN})),
        Node(id="a", kind="wait", triggers=(Trigger(match=BROKEN, kind="signal", name="n"),)),
    ],
)
def test_an_expression_that_does_not_read_is_told_at_its_node(bad: Node) -> None:
    """Expressions are read at release, not when a run comes by."""
    one = net("s>a a>x", bad, source_map={"a": Place("/nodes/1", 12, 5)})
    found = only(one, "EXPR_SYNTAX")
    assert (found.node, found.where.line, found.severity) == ("a", 12, "error")
    assert "«a» cannot be read" in found.message


def test_a_guard_that_does_not_read_is_told_at_its_edge() -> None:
    one = Net(
        name="n",
        nodes=(Node(id="a", label="Decide"), Node(id="b")),
        edges=(Edge(id="e", src="a", dst="b", guard="input.x =="),),
        source_map={"a": Place("/nodes/0"), "e": Place("/connections/0")},
    )
    found = only(one, "EXPR_SYNTAX")
    assert found.where.pointer == "/connections/0"
    assert found.message.startswith("The guard of the connection from «Decide» to «b» cannot be read: ")


def test_literal_text_is_never_read_as_an_expression() -> None:
    quiet = Node(id="a", value={"$expr": "1 +", "more": 1}, kind="route")
    assert rules(net("s>a a>x", quiet)) == []
    assert rules(net("s>a a>x", Node(id="a", value="1 +"))) == []


def test_follow_up_findings_wait_until_the_structure_is_right() -> None:
    assert rules(net("s>a a>b b>a", Node(id="c", undo=("gone",)))) == ["unknown_undo"]


def test_the_checks_grow_evenly_with_the_nodes() -> None:
    def large(half: int) -> Callable[[], Any]:
        text = " ".join(f"c{i}?>c{i + 1} c{i}!>a{i} c{i + 1}>c{i} a{i}>m{i} m{i}>m{i + 1}" for i in range(half))
        turns = [Node(id=f"c{i}", split="first", join=MERGE, sets=(Set(name="n", expr="1"),)) for i in range(half + 1)]
        merges = [Node(id=f"m{i}", join=ANY, out=(f"o{i % 7}",)) for i in range(half + 1)]
        made = net(f"s>c0 {text}", *turns, *merges)
        return lambda: check(made)

    assert grows_evenly(large, 150)
    large(5_000)()


def test_an_end_takes_every_token_unless_it_joins_as_a_diagram_does() -> None:
    """D-X.9: an endpoint that waits for both branches is warned about like any other node."""
    assert rules(net("s>c c:condtrue>a c:condfalse>b a>x b>x", COND)) == []
    waits = Node(id="x", kind="end", join=DIAGRAM)
    assert rules(net("s>c c:condtrue>a c:condfalse>b a>x b>x", COND, waits)) == ["join_never_satisfied"]


def test_a_place_that_nobody_has_is_told() -> None:
    """T-X.9: a task for an agent that is not there would wait for ever."""
    node = Node(id="a", kind="task", effect=CALL, pool="p", place="ann")
    made = net("s>a a>x", node)
    assert only(made, "unknown_pool").node == "a"
    for places, rule in (((), "unknown_pool"), (("bob",), "unknown_place")):
        assert only(Net(name="n", nodes=made.nodes, edges=made.edges, pools={"p": Pool(places=places)}), rule)
    assert check(Net(name="n", nodes=made.nodes, edges=made.edges, pools={"p": Pool(places=("ann",))})) == []
