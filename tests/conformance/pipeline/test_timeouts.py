"""The time of an attempt (F-1.1.11) and of a stage (F-1.2.13): what is retried, resumed and finally TIMEOUT (F-X.6)."""

from __future__ import annotations

from typing import Any

from penstock.dialects.pipeline.words import execution_status
from penstock.kernel import command as C
from penstock.net.model import Net
from tests.conformance.pipeline.make import lowered, node, pipeline, stage
from tests.kernel.harness import Sim


def begun(net: Net) -> Sim:
    m = Sim(net, {})
    assert m.status == "PENDING"
    m.do(C.admit())
    assert m.status == "RUNNING"
    return m


def again(m: Sim) -> None:
    """The delay is over, and there is room."""
    m.tick()
    m.do(C.admit())


def asked(m: Sim) -> list[str]:
    return [line.node for line in m.of("effect.asked")]


def test_f_1_2_13_every_stage_has_its_own_time() -> None:
    assert node(lowered(pipeline(stage("a", timeout_seconds=7))), "a").timeout_ms == 7000


def test_f_1_1_11_f_x_6_every_attempt_that_runs_out_of_time_is_tried_again() -> None:
    """Each attempt has the whole time; after the last one the execution has failed."""
    m = begun(lowered(pipeline(stage("a", 1), stage("b", 2), timeout_seconds=10, max_retries=2)))
    for attempt in range(3):
        start = m.now
        m.now += 4000
        m.ok("a")
        m.tick()
        assert m.now == start + 10_000, attempt
        assert m.st.failure is not None
        assert (m.st.failure.code, m.st.failure.category, m.st.failure.node) == ("WORKFLOW_TIMEOUT", "timeout", "b")
        assert m.status == ("PENDING" if attempt < 2 else "FAILED")
        if attempt < 2:
            again(m)
    assert asked(m) == ["a", "b"] * 3 and m.st.retries == 2
    assert execution_status(m.status, "timeout", 2) == "FAILED"


def test_f_2_7_f_s_5_every_attempt_out_of_time_is_resumed_where_it_was() -> None:
    m = begun(lowered(pipeline(stage("a", 1), stage("b", 2), timeout_seconds=10, max_retries=0)))
    m.ok("a")
    m.tick()
    assert execution_status(m.status, "timeout", 0) == "TIMEOUT"
    m.do(C.retry("here"))
    assert m.status == "PENDING"
    m.do(C.admit())
    m.now += 9000
    m.ok("b")
    assert m.status == "COMPLETED" and asked(m) == ["a", "b", "b"]


def test_f_x_6b_every_group_out_of_time_goes_on_with_what_is_unfinished() -> None:
    side: dict[str, Any] = {"on_failure": "RETRY"}
    net = lowered(pipeline(stage("a", 1, **side), stage("b", 1, **side), timeout_seconds=10, parallelism=2))
    m = begun(net)
    m.ok("a")
    m.tick()
    assert m.status == "PENDING"
    again(m)
    m.ok("b")
    assert m.status == "COMPLETED" and asked(m) == ["a", "b", "b"]


def test_f_x_6_time_of_an_optional_stage_is_the_attempt_s_all_the_same() -> None:
    m = begun(lowered(pipeline(stage("a", is_optional=1), timeout_seconds=10, max_retries=0)))
    m.tick()
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.category == "timeout"
