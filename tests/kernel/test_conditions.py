"""Conditional triggers: they come true with the data of the run, once each time, and a reload changes nothing."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.kernel.view import View
from penstock.net.model import Body, Declares, Net, Node, Set, Trigger
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, net, task, tasks

KNOWN = Declares(variables={"n": None, "m": None})


def when(expr: str, **fields: Any) -> Trigger:
    return Trigger(kind="condition", match=expr, **fields)


def beside(*triggers: Trigger, kind: str = "task") -> Net:
    """`b` sets n; `a` has the triggers."""
    a = task("a", triggers=triggers) if kind == "task" else Node(id="a", kind="wait", triggers=triggers)
    writers = [task(id, sets=(Set(name="n", expr="output"),)) for id in ("b", "c", "d", "e")]
    ways = "s>a s>b b>c c>d d>e e>x a>x a:t>r r>x" if kind == "task" else "s>a s>b b>c c>d d>e e>x a>r r>x"
    return net([S, a, *writers, task("r"), X], ways, declares=KNOWN)


def test_a_wait_goes_on_as_soon_as_its_condition_holds() -> None:
    """P-X.25: not before, and in the turn that has made it true."""
    m = Sim(beside(when("n > 2"), kind="wait"))
    m.ok("b", 1)
    assert m.asked("r") is None
    lines = m.ok("c", 3)
    assert [x.node for x in lines if x.fact == "fired"][-1] == "r"
    (said,) = [x for x in lines if x.fact == "condition"]
    assert said.node == "a" and said.data["holds"] is True


def test_a_condition_that_holds_already_is_there_at_once() -> None:
    """P-X.25: it holds when the event is reached; of what it interrupts nothing is begun."""
    m = Sim(net([S, task("a", triggers=(when("input.n > 2", port="t"),)), task("r"), X], "s>a a>x a:t>r r>x"), {"n": 3})
    assert m.asked("a") is None and m.asked("r") is not None
    assert not [x for x in m.of("effect.asked") if x.node == "a"]


def test_what_is_interrupted_is_stopped() -> None:
    """P-X.25: an interrupting condition at an activity that works."""
    m = Sim(beside(when("n > 2", port="t")))
    m.ok("b", 3)
    assert m.asked("a") is None and m.settled()[-1] == ("a", "interrupted") and m.asked("r") is not None


def test_what_does_not_interrupt_comes_again_only_after_it_has_not_held() -> None:
    """P-X.25, BPMN 10.5.2: «The condition Expression for the Event MUST become false and then true before the Event can
    be triggered again.»"""
    m = Sim(beside(when("n > 2", port="t", interrupting=False)))
    for writer, value, fired in (("b", 3, 1), ("c", 4, 1), ("d", 0, 1), ("e", 5, 2)):
        m.ok(writer, value)
        m.crash()
        assert m.fired().count("r") == fired, writer
    assert [x.data["holds"] for x in m.of("condition")] == [True, False, True]


def test_data_that_is_not_there_yet_makes_nothing_true() -> None:
    """P-X.25: what cannot be compared yet fails nothing."""
    m = Sim(beside(when("n.deep.er > 2 and fn.length(n) > 1", port="t")))
    assert m.asked("a") is not None and m.status == "RUNNING"


def test_it_comes_before_the_end_of_what_it_interrupts() -> None:
    """P-X.25: the last thing done in a scope makes its condition true: the scope is interrupted, not done."""
    body = Body(mode="one", entry="b", names={})
    inner = task("b", scope="p", sets=(Set(name="n", expr="output"),))
    nodes = [S, Node(id="p", kind="scope", body=body, triggers=(when("n > 2", port="t"),)), inner, *tasks("r", "q"), X]
    m = Sim(net(nodes, "s>p p>q q>x p:t>r r>x", declares=KNOWN))
    m.ok("b", 3)
    assert m.asked("r") is not None and m.asked("q") is None


def test_an_operator_can_make_it_true() -> None:
    """P-X.25: whoever changes the data."""
    m = Sim(net([S, Node(id="w", kind="wait", triggers=(when("n == 1"),)), X], "s>w w>x", declares=KNOWN))
    assert m.status == "WAITING"
    m.crash()
    m.do(C.set_variable("n", 1))
    assert m.status == "COMPLETED"


def test_a_paused_run_looks_when_it_goes_on() -> None:
    """P-X.25, K16: nothing fires while it is paused, and nothing is lost."""
    m = Sim(beside(when("n > 2", port="t")))
    m.do(C.pause())
    m.ok("b", 3)
    assert m.asked("a") is not None
    m.crash()
    m.do(C.resume())
    assert m.asked("r") is not None


def test_those_inside_come_before_what_interrupts_them() -> None:
    """P-X.25, BPMN 10.5.4: of one change of the data, what it triggers in a level happens before that level is left."""
    body = Body(mode="one", entry="a", names={})
    level = Node(id="o", kind="scope", body=body, triggers=(when("n > 2", port="t"),))
    inner = task("a", scope="o", triggers=(when("n > 2", port="t", interrupting=False),))
    nodes = [S, level, inner, task("h", scope="o"), task("r"), X]
    m = Sim(net(nodes, "s>o o>x o:t>r r>x a:t>h", declares=KNOWN))
    lines = m.do(C.set_variable("n", 3))
    assert [x.node for x in lines if x.fact == "condition"] == ["a", "o"]
    assert m.asked("r") is not None and m.asked("h") is None


def test_a_net_without_conditions_looks_at_none() -> None:
    """P-X.25: runs without them pay nothing."""
    m = Sim(net([S, *tasks("a", "b"), X], "s>a a>b b>x"))
    m.ok("a", 1)
    assert m.run.conditions == {} and m.run.judged == -1


def test_a_crash_changes_no_fact() -> None:
    """P-X.25, K1: the facts are the same, with and without a reload after every turn."""
    runs = [Sim(beside(when("n > 2", port="t", interrupting=False))) for _ in range(2)]
    for writer, value in (("b", 3), ("c", 1), ("d", 7), ("e", 7)):
        for m in runs:
            m.ok(writer, value)
        runs[0].crash()
    assert runs[0].trace() == runs[1].trace()


@pytest.mark.parametrize("seed", range(60))
def test_what_holds_has_fired(seed: int) -> None:
    """P-X.25, K1: random waits and boundaries over two variables, random writes and reloads: when a run
    is quiet, what was said of a condition is what it is, and an interrupting one that holds has fired."""
    random = Random(seed)
    triggers = [
        when(f"{random.choice('nm')} {random.choice(['>', '<', '=='])} {random.randint(0, 4)}", port="t",
             interrupting=random.random() < 0.5)
        for _ in range(4)
    ]  # fmt: skip
    nodes = [S, *(task(f"a{i}", triggers=(trigger,)) for i, trigger in enumerate(triggers))]
    nodes += [Node(id="w", kind="wait", triggers=(when("n == m"),)), task("r"), X]
    ways = "s>w w>x r>x " + " ".join(f"s>a{i} a{i}>x a{i}:t>r" for i in range(4))
    m = Sim(net(nodes, ways, declares=KNOWN))
    for _ in range(12):
        if m.status not in ("RUNNING", "WAITING"):
            break
        m.do(C.set_variable(random.choice("nm"), random.randint(0, 5)))
        if random.random() < 0.3:
            m.crash()
        _check_quiet(m)


def _check_quiet(m: Sim) -> None:
    for firing in m.st.firings.values():
        node = m.net.nodes[firing.node]
        for i in node.conditions:
            match = node.match[i]
            assert match is not None
            now = match(View(m.run, m.st.scopes[0], 0, node, firing)) is True
            assert (i in (firing.holds or ())) is now, node.id
            assert not (now and node.spec.triggers[i].interrupting), node.id
