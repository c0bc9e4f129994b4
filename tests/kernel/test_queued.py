"""A run of a queued net waits, PENDING, until it is admitted; and before every retry of the whole again."""

from __future__ import annotations

import pytest

from penstock.errors import Refused, StatusConflict
from penstock.kernel import command as C
from penstock.net.model import Net, RunRetry
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, net, task


def queued(**more: object) -> Net:
    return net([S, task("a", on_final="restart"), X], "s>a a>x", queued=True, **more)


def moves(m: Sim) -> list[str]:
    return [line.data["to"] for line in m.of("run.moved")]


def test_f_2_1_every_queued_run_is_pending_until_it_is_admitted() -> None:
    """F-2.1, F-1.3.9: PENDING → RUNNING when it is picked up; nothing is asked before."""
    m = Sim(queued())
    assert m.status == "PENDING" and m.fired() == [] and m.of("effect.asked") == []
    m.crash()
    m.do(C.admit())
    assert m.status == "RUNNING" and m.asked("a") is not None
    m.ok("a")
    assert m.status == "COMPLETED" and moves(m) == ["PENDING", "RUNNING", "COMPLETED"]


def test_f_2_1_only_what_is_pending_is_admitted() -> None:
    m = Sim(queued())
    m.do(C.admit())
    with pytest.raises(StatusConflict):
        m.do(C.admit())
    plain = Sim(net([S, task("a"), X], "s>a a>x"))
    with pytest.raises(StatusConflict):
        plain.do(C.admit())


def test_f_x_6_an_attempt_that_has_failed_is_queued_again_when_its_delay_is_over() -> None:
    """F-X.6: back to PENDING with its delay; then it waits for room like any other, and keeps its error meanwhile."""
    m = Sim(queued(run_retry=RunRetry(max=1, delay_ms=60_000)))
    m.do(C.admit())
    m.bad("a")
    assert m.status == "PENDING" and m.st.failure is not None
    with pytest.raises(Refused):
        m.do(C.admit())
    m.tick()
    assert m.status == "PENDING" and m.run.wake_at() is None
    m.crash()
    m.do(C.admit())
    assert m.status == "RUNNING" and m.st.retries == 1
    m.ok("a")
    assert m.status == "COMPLETED" and moves(m) == ["PENDING", "RUNNING"] * 2 + ["COMPLETED"]


def test_f_2_6_every_run_that_is_queued_can_be_cancelled_by_the_kernel() -> None:
    """F-X.8: whether a language lets people do so is its own affair."""
    m = Sim(queued())
    m.do(C.cancel("now"))
    assert m.status == "CANCELLED" and m.fired() == []


def test_f_s_5_what_is_resumed_by_hand_is_queued_first() -> None:
    """F-S.5, F-2.7, F-X.7: FAILED → PENDING, its error gone and its retries counted anew; then it is admitted like any
    other, and goes on at what has failed."""
    m = Sim(queued(run_retry=RunRetry(max=1, delay_ms=1)))
    m.do(C.admit())
    m.bad("a")
    m.tick()
    m.do(C.admit())
    m.bad("a")
    assert (m.status, m.st.retries) == ("FAILED", 1)
    asked = len(m.of("effect.asked"))
    m.do(C.retry("here"))
    assert (m.status, m.st.retries, m.st.failure) == ("PENDING", 0, None)
    assert len(m.of("effect.asked")) == asked and m.run.wake_at() is None
    with pytest.raises(StatusConflict):
        m.do(C.retry("here"))
    m.crash()
    m.do(C.admit())
    assert m.status == "RUNNING" and len(m.of("effect.asked")) == asked + 1
    m.bad("a")
    assert m.status == "PENDING" and m.st.failure is not None, "its automatic retries are there again"
    m.tick()
    m.do(C.admit())
    m.ok("a")
    assert (m.status, m.st.retries) == ("COMPLETED", 1)


@pytest.mark.parametrize("how", ["here", "restart"])
def test_f_s_5_both_ways_to_go_on_wait_for_room(how: str) -> None:
    """F-S.5: also from the start again; and what waits can be cancelled by the kernel."""
    m = Sim(queued())
    m.do(C.admit())
    m.bad("a")
    m.do(C.retry(how))
    m.crash()
    assert m.status == "PENDING"
    m.do(C.admit())
    m.crash()
    assert m.status == "RUNNING"
    m.bad("a")
    m.do(C.retry(how))
    m.do(C.cancel("now"))
    assert m.status == "CANCELLED"
