"""What BPMN files have beyond tasks and gateways, each as the net that the process language makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.net.model import MERGE, Body, Effect, Node, OnError, Trigger, Work
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, net, task
from tests.kernel.storm import Storm


def scope(id: str, entry: str, **more: Any) -> list[Node]:
    body = more.pop("body", None) or Body(entry=entry)
    return [Node(id=id, kind="scope", body=body, **more), Node(id=entry, kind="start", scope=id)]


def item(id: str, **more: Any) -> Node:
    return Node(id=id, kind="work", work=Work(), **more)


def run(nodes: list[Node], ways: Any, given: Any = None, **more: Any) -> Storm:
    return Storm(net([S, *nodes, X], ways, **more), given)


def signal(port: str, name: str, **more: Any) -> Trigger:
    return Trigger(port=port, kind="signal", name=name, **more)


# ---- event sub-process -----------------------------------------------------------------------------------------------


def event_sub(*, interrupting: bool, **more: Any) -> Storm:
    """A sub-process «p» with a task, and an event sub-process «v» in it that a signal starts.

    «p» is two scopes: the outer one holds the body and the event sub-process, so that it ends when both have; the
    event is a trigger on the body's firing.
    """
    trigger = signal("go", "NEWS", interrupting=interrupting)
    nodes = [
        *scope("p", "pe", **more),
        *scope("body", "be", scope="p", triggers=(trigger,)),
        task("t", scope="body"),
        *scope("v", "ve", scope="p", join=MERGE),
        task("h", scope="v"),
        task("after"),
    ]
    return run(nodes, "s>p pe>body be>t body:go>v ve>h p>after after>x")


def test_an_event_sub_process_runs_beside_its_sub_process() -> None:
    """P-X.25: each event starts one; the sub-process has ended when all of them have."""
    m = event_sub(interrupting=False)
    m.do(C.signal("1", "NEWS", {"n": 1}))
    m.do(C.signal("2", "NEWS", {"n": 2}))
    assert [m.net.nodes[f.node].id for f in m.effects()] == ["t", "h", "h"]
    m.ok("t")
    assert not m.asked("after") and m.do(C.signal("3", "NEWS"))[-1].fact == "signal.kept"
    m.ok("h")
    m.ok("h")
    m.ok("after")
    assert m.status == "COMPLETED" and m.fired().count("v") == 2


def test_an_event_sub_process_takes_the_place_of_its_sub_process() -> None:
    """P-X.25: it interrupts what runs, once, and the flow goes on behind the sub-process."""
    m = event_sub(interrupting=True)
    slow = m.asked("t")
    assert slow is not None
    m.do(C.signal("1", "NEWS", {"n": 1}))
    assert not m.asked("t") and m.asked("h") and m.run.stops == [slow.no]
    assert m.do(C.signal("2", "NEWS"))[-1].fact == "signal.kept"
    m.ok("h")
    m.ok("after")
    assert m.status == "COMPLETED"


def test_a_boundary_event_ends_sub_process_and_event_sub_process_together() -> None:
    """P-X.25: the event sub-process lives in the sub-process."""
    m = event_sub(interrupting=False, triggers=(Trigger(port="late", after_ms=50),))
    m.do(C.signal("1", "NEWS"))
    m.tick()
    assert not m.effects() and m.status == "COMPLETED" and ("p", "interrupted") in m.settled()


def test_an_error_event_sub_process_catches_what_fails_inside() -> None:
    """P-X.25: as a row of the body's failure table."""
    nodes = [
        *scope("p", "pe"),
        *scope("body", "be", scope="p", on_error=(OnError(match="E7", action="port:err"),)),
        task("t", scope="body"),
        *scope("v", "ve", scope="p"),
        task("h", scope="v"),
    ]
    m = run(nodes, "s>p pe>body be>t body:err>v ve>h p>x")
    m.bad("t", "E7")
    m.ok("h")
    assert m.status == "COMPLETED"
    m = run(nodes, "s>p pe>body be>t body:err>v ve>h p>x")
    m.bad("t", "E8")
    assert m.status == "FAILED"


# ---- escalation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interrupting", [True, False])
def test_an_escalation_end_reaches_the_boundary(interrupting: bool) -> None:
    """P-X.25: the nearest scope around that listens for its code, over scopes that do not."""
    heard = Trigger(port="esc", kind="escalation", name="E1", interrupting=interrupting)
    deaf = Trigger(port="esc", kind="escalation", name="E2")
    up = Node(id="up", kind="end", join=MERGE, scope="q", ends="escalate:E1")
    nodes = [*scope("p", "pe", triggers=(heard,)), *scope("q", "qe", scope="p", triggers=(deaf,)),
             task("t", scope="q"), task("u", scope="q"), up, task("h")]  # fmt: skip
    m = run(nodes, "s>p pe>q qe>t qe>u t>up p:esc>h h>x p>x")
    m.ok("t", {"n": 1})
    assert m.asked("h") and m.firing("h").takes[0].envelope.body == {"code": "E1", "node": "up", "output": {"n": 1}}
    assert bool(m.asked("u")) is not interrupting
    m.ok("h")
    if not interrupting:
        m.ok("u")
    assert m.status == "COMPLETED" and not m.incidents()


def test_an_escalation_throw_goes_on() -> None:
    """P-X.25: a fork of which one way ends in the escalation."""
    heard = Trigger(port="esc", kind="escalation", name="E1", interrupting=False)
    up = Node(id="up", kind="end", join=MERGE, scope="p", ends="escalate:E1")
    nodes = [*scope("p", "pe", triggers=(heard,)), Node(id="th", scope="p"), up, task("t", scope="p"), task("h")]
    m = run(nodes, "s>p pe>th th>up th>t p:esc>h h>x p>x")
    assert m.asked("h") and m.asked("t")
    m.ok("t")
    m.ok("h")
    assert m.status == "COMPLETED"


def test_an_escalation_that_nobody_hears_is_told() -> None:
    up = Node(id="up", kind="end", join=MERGE, ends="escalate:E1")
    m = run([up], "s>up")
    assert m.status == "COMPLETED" and m.incidents() == ["ESCALATION"]


# ---- compensation, terminate, error ----------------------------------------------------------------------------------


def undoable(id: str, **more: Any) -> list[Node]:
    return [task(id, undo=(f"-{id}",), **more), task(f"-{id}", off_path=True)]


def test_a_compensation_throw_undoes_one_activity_of_its_scope() -> None:
    """P-X.25, P-4.1.10: only what it names, every visit of it, and only in the scope around; then the flow goes on."""
    throw = Node(id="z", kind="undo", scope="p", only=("a",))
    nodes = [*undoable("a0"), *scope("p", "pe"), *undoable("a", scope="p"), *undoable("b", scope="p"), throw, task("t")]
    m = run(nodes, "s>a0 a0>p pe>a a>b b>z p>t t>x")
    m.ok("a0")
    m.ok("a")
    m.ok("b")
    m.ok("-a")
    assert m.asked("t") and [e.status for e in m.st.ledger] == ["open", "EXECUTED", "open"]
    m.bad("t")
    m.ok("-b")
    m.ok("-a0")
    assert m.status == "COMPENSATED"


def test_a_compensation_throw_without_a_name_undoes_its_scope() -> None:
    """P-X.25: what was done outside stays; an activity of a nested scope belongs to it."""
    throw = Node(id="z", kind="undo", scope="p")
    nodes = [*undoable("a0"), *scope("p", "pe"), *scope("q", "qe", scope="p"), *undoable("a", scope="q"), throw]
    m = run(nodes, "s>a0 a0>p pe>q qe>a q>z p>x")
    m.ok("a0")
    m.ok("a")
    m.ok("-a")
    assert m.status == "COMPLETED" and [e.status for e in m.st.ledger] == ["open", "EXECUTED"]


def test_a_compensated_work_item_says_so() -> None:
    """P-4.1.10: also when the run goes on."""
    throw = Node(id="z", kind="undo", only=("a",))
    m = run([item("a", undo=("-a",)), task("-a", off_path=True), throw, task("t")], "s>a a>z z>t t>x")
    no = m.item("a")
    m.do(C.work(no, "submit", "kim", 1))
    m.ok("-a")
    assert m.asked("t") and m.st.closed_items == {no: "COMPENSATED"}


def test_terminate_ends_only_its_sub_process() -> None:
    """P-X.25."""
    stop = Node(id="stop", kind="end", join=MERGE, scope="p", ends="terminate")
    m = run([*scope("p", "pe"), task("a", scope="p"), item("b", scope="p"), stop, task("t"), task("o")],
            "s>p s>o pe>a pe>b a>stop p>t t>x o>x")  # fmt: skip
    m.ok("a")
    assert m.asked("t") and m.asked("o") and not m.st.items
    m.ok("t")
    m.ok("o")
    assert m.status == "COMPLETED"


@pytest.mark.parametrize("mode", ["one", "each", "each_seq", "loop"])
def test_an_error_end_is_caught_by_its_code(mode: str) -> None:
    """P-X.25: at the boundary of the scope around it, or of the next one."""
    body = {
        "one": Body(entry="qe"), "each": Body(mode="each", entry="qe", items="input"),
        "each_seq": Body(mode="each_seq", entry="qe", items="input"),
        "loop": Body(mode="loop", entry="qe", again="true"),
    }[mode]  # fmt: skip
    rows = (OnError(match="E1", action="port:one"), OnError(match="*", action="port:all"))
    boom = Node(id="boom", kind="end", join=MERGE, scope="q", ends="error:E1")
    nodes = [
        *scope("p", "pe", on_error=rows),
        *scope("q", "qe", scope="p", body=body, on_error=(OnError(match="E2", action="port:two"),)),
        task("t", scope="q"), boom, task("h"), task("i"),
    ]  # fmt: skip
    m = run(nodes, "s>p pe>q qe>t t>boom p:one>h p:all>i h>x i>x p>x", [1])
    m.ok("t")
    assert m.asked("h") and not m.asked("i")
    m.ok("h")
    assert m.status == "COMPLETED"


# ---- multi-instance --------------------------------------------------------------------------------------------------


def test_a_completion_condition_ends_a_multi_instance() -> None:
    """P-X.25: in parallel the others are cancelled, in sequence none follows."""
    each = Body(mode="each", entry="e", items="input", until="done >= 2", collect="outputs")
    m = run([*scope("p", "e", body=each), item("a", scope="p"), task("t")], "s>p e>a p>t t>x", [1, 2, 3])
    for no in list(m.st.items)[:2]:
        m.do(C.work(no, "submit", "kim", no))
    assert m.asked("t") and not m.st.items
    assert [x.data["why"] for x in m.of("work.moved") if x.data["to"] == "CANCELLED"] == ["closed"]
    each = Body(mode="each_seq", entry="e", items="input", until="last == 7", collect="outputs")
    m = run([*scope("p", "e", body=each), task("a", scope="p"), task("t")], "s>p e>a p>t t>x", [1, 2, 3])
    m.ok("a", 1)
    m.ok("a", 7)
    assert m.asked("t") and m.output("p") == [1, 7]


def test_a_standard_loop_asks_after_every_round() -> None:
    """P-X.25."""
    loop = Body(mode="loop", entry="e", again="last.more == true", collect="last")
    m = run([*scope("p", "e", body=loop), item("a", scope="p")], "s>p e>a p>x")
    m.do(C.work(m.item("a"), "submit", "kim", {"more": True}))
    m.do(C.work(m.item("a"), "submit", "kim", {"more": False}))
    assert m.status == "COMPLETED" and m.fired().count("a") == 2


# ---- boundary events and the event-based gateway ---------------------------------------------------------------------

EVENTS = (
    signal("sig", "STOP"), Trigger(port="late", after_ms=50), signal("also", "HINT", interrupting=False),
)  # fmt: skip


def bounded(kind: str) -> Storm:
    rows = (OnError(match="E1", action="port:err"),)
    ends = [task(i, join=MERGE) for i in ("on_sig", "on_late", "on_also", "on_err")]
    inside: list[Node] = []
    ways = "s>a a>x a:sig>on_sig a:late>on_late a:also>on_also a:err>on_err on_sig>x on_late>x on_also>x on_err>x"
    if kind == "work":
        a = [Node(id="a", kind="work", work=Work(agent=True), effect=Effect(executor="agent"), triggers=EVENTS,
                  on_error=rows)]  # fmt: skip
    elif kind == "call":
        a = [Node(id="a", kind="call", effect=Effect(executor="run"), triggers=EVENTS, on_error=rows)]
    else:
        a = scope("a", "e", triggers=EVENTS, on_error=rows)
        inside, ways = [task("in", scope="a")], ways + " e>in"
    return run([*a, *inside, *ends], ways)


@pytest.mark.parametrize("kind", ["work", "call", "scope"])
@pytest.mark.parametrize("event", ["sig", "late", "also", "err"])
def test_boundary_events(kind: str, event: str) -> None:
    """P-X.25: on a task, a call and a sub-process; one that does not interrupt leaves it at work."""
    m = bounded(kind)
    worker = "in" if kind == "scope" else "a"
    at_work = m.asked(worker)
    assert at_work is not None
    if event == "late":
        m.tick()
    elif event == "err":
        m.bad(worker, "E1")
    else:
        m.do(C.signal("1", {"sig": "STOP", "also": "HINT"}[event], {"n": 1}))
    assert [m.net.nodes[f.node].id for f in m.effects()] == ([worker] if event == "also" else []) + [f"on_{event}"]
    if event in ("sig", "late"):
        assert m.run.stops == [at_work.no]
    m.ok(f"on_{event}")
    if event == "also":
        m.ok(worker)
    assert m.status == "COMPLETED" and not m.st.timers and not m.st.waits


@pytest.mark.parametrize("first", ["MSG", "SIG", "timer"])
def test_of_an_event_based_gateway_the_first_event_decides(first: str) -> None:
    """P-X.25: the others are closed; one that came early counts."""
    triggers = (signal("m", "MSG", match="event.id == filter.id", filter={"id": {"$expr": "input"}}),
                signal("g", "SIG"), Trigger(port="t", after_ms=50))  # fmt: skip
    wait = Node(id="w", kind="wait", triggers=triggers)
    nodes = [wait, *(task(i) for i in ("on_m", "on_g", "on_t"))]
    ways = "s>w w:m>on_m w:g>on_g w:t>on_t on_m>x on_g>x on_t>x"
    m = run(nodes, ways, 7)
    m.do(C.signal("0", "MSG", {"id": 8}))
    if first == "timer":
        m.tick()
    else:
        m.do(C.signal("1", first, {"id": 7}))
    port = {"MSG": "on_m", "SIG": "on_g", "timer": "on_t"}[first]
    assert [m.net.nodes[f.node].id for f in m.effects()] == [port] and not m.st.waits and not m.st.timers
    m.ok(port)
    assert m.status == "COMPLETED"


def test_a_boundary_event_on_a_draft_compensates_it() -> None:
    """P-4.1.11, P-5.5.4: work that was handed in is never cancelled."""
    node = Node(id="a", kind="work", work=Work(agent=True, approve=True, modes=True), effect=Effect(executor="agent"),
                triggers=(Trigger(port="late", after_ms=50),))  # fmt: skip
    m = Sim(net([S, node, X], "s>a a>x a:late>x"))
    m.ok("a", "draft")
    m.tick()
    moved = m.of("work.moved")[-1].data
    assert (moved["to"], moved["why"]) == ("COMPENSATED", "interrupted") and m.status == "COMPLETED"
