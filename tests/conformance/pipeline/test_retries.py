"""Retries (F-2.5, F-X.6): of a stage first, then of the whole; what a failure is tried again for, and how often."""

from __future__ import annotations

import pytest

from tests.conformance.pipeline.make import lowered, pipeline, stage
from tests.conformance.pipeline.test_timeouts import again, asked, begun

D = 5_000


@pytest.mark.parametrize("category", ["transient", "external", "resource", "timeout"])
def test_f_a_6_failing_stages_are_tried_four_times_with_growing_delays(category: str) -> None:
    """F-A.6, F-2.5: d, 2d and 4d lie between the tries; then the execution has failed there."""
    once = stage("a", max_retries=3, retry_strategy="EXPONENTIAL", processor_config={"retry_delay_seconds": 5})
    m = begun(lowered(pipeline(once, max_retries=0)))
    for delay in (D, 2 * D, 4 * D):
        before = m.now
        m.bad("a", "PROCESSOR_ERROR", category)
        assert m.status in ("RUNNING", "WAITING")
        m.tick()
        assert m.now - before == delay
    m.bad("a", "PROCESSOR_ERROR", category)
    assert m.status == "FAILED" and asked(m) == ["a"] * 4 and m.st.failure is not None
    assert (m.st.failure.node, m.st.failure.code) == ("a", "PROCESSOR_ERROR")


@pytest.mark.parametrize("category", ["validation", "permanent"])
def test_f_x_10_what_is_not_valid_is_not_tried_again(category: str) -> None:
    """F-X.10: the stage; the whole may be, as its definition says. The same where a processor says that it is final."""
    m = begun(lowered(pipeline(stage("a", max_retries=3), max_retries=1, retry_delay_seconds=7)))
    m.bad("a", "VALIDATION", category)
    assert m.status == "PENDING" and asked(m) == ["a"]
    again(m)
    m.bad("a", "VALIDATION", category)
    assert (m.status, m.st.retries, asked(m)) == ("FAILED", 1, ["a", "a"])


@pytest.mark.parametrize("failures", [3, 2])
def test_f_a_7_two_retries_are_three_attempts(failures: int) -> None:
    """F-A.7, F-9.3: FAILED with retry_count 2; or COMPLETED, when the third attempt succeeds."""
    m = begun(lowered(pipeline(stage("a", 1, max_retries=0), stage("b", 2, max_retries=0), max_retries=2)))
    for number in range(3):
        if number:
            again(m)
        m.ok("a")
        if number < failures:
            m.bad("b")
        else:
            m.ok("b")
    assert (m.status, m.st.retries) == ("FAILED" if failures == 3 else "COMPLETED", 2)
    assert asked(m) == ["a", "b"] * 3
