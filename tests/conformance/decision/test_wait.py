"""WAIT on the kernel: four conditions, four ends of its time, retries, early news."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel import command as C
from tests.conformance.decision.make import DAY, HOUR, Play, act, node, rules, undo, wait

EVENT = {"type": "event", "event": {"source": "lab.done", "filter": {"sample_id": "${input.id}"}}}
MANUAL = {"type": "manual"}
POLL = {"type": "polling", "polling": {"endpoint": "/x/${input.id}", "interval_sec": 60,
                                       "success_condition": "response.status == 'completed'"}}  # fmt: skip
TIME = {"type": "time", "duration_hours": 24}
KINDS = {"event": EVENT, "manual": MANUAL, "polling": POLL}


def played(condition: Any, *ways: Any, more: Any = (), input: Any = None, **fields: Any) -> Play:
    nodes = [wait("wait_x", condition, **fields), act("after", message="${x_result}"), *more]
    return Play(nodes, "wait_x>after", *ways, input=input or {"id": "S1"})


def test_an_event_whose_filter_matches_resumes() -> None:
    """W-4.7.2, W-11.2.8: another sample does not; the payload is the output, under the alias (C-10)."""
    m = played(EVENT)
    assert m.status == "WAITING"
    m.news("lab.done", {"sample_id": "S2"})
    m.news("lab.other", {"sample_id": "S1"})
    assert m.status == "WAITING"
    m.news("lab.done", {"sample_id": "S1", "ok": True})
    assert m.vars()["x_result"] == {"sample_id": "S1", "ok": True} and m.args("after")["message"]


def test_an_event_without_a_filter_takes_the_first() -> None:
    """W-4.7.2."""
    m = played({"type": "event", "event": {"source": "${input.id}.done"}})
    m.news("S1.done", {"a": 1})
    assert m.vars()["x_result"] == {"a": 1}


def test_filters_of_waits_have_operators() -> None:
    """C-30: and their values are computed when the wait begins."""
    condition = {
        "type": "event",
        "event": {"source": "e", "filter": {"severity": {"$gte": "${input.least}"}, "n": {"$in": [1, 2]}}},
    }
    m = played(condition, input={"least": "high"})
    m.news("e", {"severity": "warning", "n": 1})
    m.news("e", {"severity": "critical", "n": 3})
    assert m.status == "WAITING"
    m.news("e", {"severity": "critical", "n": 2})
    assert m.asks() == ["after"]


def test_an_early_event_is_found() -> None:
    """C-37: what came before the wait began is looked at first."""
    m = Play([act("a"), wait("w", EVENT)], "a>w", input={"id": "S1"})
    m.news("lab.done", {"sample_id": "S1", "n": 1})
    m.ok("a")
    assert m.status == "COMPLETED" and m.output("w")["n"] == 1


def test_a_filter_value_that_is_null_fails() -> None:
    """C-37: FILTER_VALUE_NULL, or any event would match by accident."""
    m = played(EVENT, input={"other": 1})
    assert m.status == "FAILED" and m.failure() == ("FILTER_VALUE_NULL", "validation", "wait_x")


@pytest.mark.parametrize(
    "wanted",
    [
        {"sample_id": "${input.gone}"}, {"sample_id": None}, {"sample_id": {"$gte": "${input.gone}"}},
        {"sample_id": {"$in": ["S1", "${input.gone}"]}}, {"$or": [{"sample_id": "S1"}, {"n": "${input.gone}"}]},
        {"line": {"id": "${input.gone}"}, "sample_id": "S1"},
    ],
)  # fmt: skip
def test_w_4_7_6_null_anywhere_in_a_filter_fails(wanted: Any) -> None:
    """W-4.7.6, C-37: however deep it stands; the failure is told with the filter as it would have been."""
    m = played({"type": "event", "event": {"source": "lab.done", "filter": wanted}}, input={"id": "S1"})
    assert m.status == "FAILED" and m.failure() == ("FILTER_VALUE_NULL", "validation", "wait_x")
    assert m.st.failure is not None and m.st.failure.detail.keys() == wanted.keys()
    m = played({"type": "event", "event": {"source": "lab.done", "filter": {"n": 0, "ok": False, "text": ""}}})
    assert m.status == "WAITING"  # nothing is missing: these are values


def test_w_4_7_6_early_events_in_their_order_and_for_many() -> None:
    """W-4.7.6, C-37: the oldest that fits is taken, another source or another sample is not; one resumes many waits."""
    m = Play([act("a"), wait("w", EVENT)], "a>w", input={"id": "S1"})
    m.news("lab.begun", {"sample_id": "S1", "n": 0})
    m.news("lab.done", {"sample_id": "S2", "n": 1})
    m.news("lab.done", {"sample_id": "S1", "n": 2})
    m.news("lab.done", {"sample_id": "S1", "n": 3})
    m.ok("a")
    assert m.status == "COMPLETED" and m.output("w")["n"] == 2
    m = Play([act("a"), wait("v", EVENT), wait("w", EVENT)], "a>v a>w", input={"id": "S1"})
    m.ok("a")
    m.do(C.signal("e1", "lab.done", {"sample_id": "S1", "n": 4}, broadcast=True))
    assert m.status == "COMPLETED" and m.output("v")["n"] == m.output("w")["n"] == 4


@pytest.mark.parametrize("kind", ["event", "polling", "manual"])
def test_w_4_7_6_the_day_begins_with_the_wait(kind: str) -> None:
    """W-4.7.6, C-38: 24 hours after it has begun to wait, not after the run has; of category timeout."""
    m = Play([act("a"), wait("w", KINDS[kind])], "a>w", input={"id": "S1"})
    m.tick(HOUR)
    m.ok("a")
    if kind == "polling":
        m.ok("w", {"status": "running"})
    m.tick(DAY + HOUR - 1)
    assert m.status != "FAILED"
    m.tick(DAY + HOUR)
    assert m.status == "FAILED" and m.failure() == ("WAIT_TIMEOUT", "timeout", "w")


def test_a_wait_for_a_moment_has_no_limit_of_its_own() -> None:
    """W-4.7.6, C-38: time: none, though it is longer than a day."""
    m = played({"type": "time", "duration_days": 3})
    assert m.run.wake_at() == 3 * DAY
    m.tick(2 * DAY)
    assert m.status == "WAITING"
    m.tick(3 * DAY)
    assert m.vars()["x_result"]["waited_ms"] == 3 * DAY


@pytest.mark.parametrize(
    "answer",
    [
        ["failed"], "failed", None, 5, {"status": "FAILED?"}, {"state": "failed"}, {"status": ["failed"]},
        *({"status": word} for word in ("unknown", "pending", "running", "rejected", "aborted", "timeout", "", None)),
    ],
)  # fmt: skip
def test_w_4_7_6_what_is_no_status_is_not_yet(answer: Any) -> None:
    """W-4.7.6, C-38: only `response.status`, and only one of the four words; the first poll is at once."""
    m = played(
        {"type": "polling", "polling": {"endpoint": "/x", "success_condition": "fn.type_of(response) == 'boolean'"}}
    )
    assert m.asks() == ["wait_x"] and m.run.wake_at() == DAY
    m.ok("wait_x", answer)
    assert m.status == "WAITING" and m.run.wake_at() == 60_000
    m.tick(60_000)
    m.ok("wait_x", True)
    assert m.asks() == ["after"]


def test_a_manual_go() -> None:
    """W-4.7.4: output is what was sent with it."""
    m = played(MANUAL)
    m.news("manual:wait_x", {"by": "kim"})
    assert m.vars()["x_result"] == {"by": "kim"}


@pytest.mark.parametrize(
    ("condition", "due"),
    [
        (TIME, 24 * HOUR),
        ({"type": "time", "time": {"duration_minutes": 2, "duration_seconds": 3, "duration_ms": 4}}, 123_004),
        ({"type": "time", "duration_days": 1.5}, 36 * HOUR),
        ({"type": "time", "until": "1970-01-01T00:01:00Z"}, 60_000),
        ({"type": "time", "until": "${input.at}"}, 90_000),
        ({"type": "time", "until": "${input.day}T00:00:05Z"}, 5000),
        ({"type": "time", "time": {"until": "1970-01-01T09:00:07+09:00"}}, 7000),
    ],
)
def test_a_moment(condition: Any, due: int) -> None:
    """C-35, W-4.7.4, W-11.3.6: durations are summed; until is a text or a template; time has no timeout by default."""
    m = played(condition, input={"at": "1970-01-01T00:01:30Z", "day": "1970-01-01"})
    assert m.status == "WAITING" and m.run.wake_at() == due
    m.tick(due - 1)
    assert m.status == "WAITING"
    m.tick(due)
    assert m.asks() == ["after"] and m.vars()["x_result"]["waited_ms"] == due
    assert m.vars()["x_result"]["resumed_at"].startswith("1970-01-")


def test_a_moment_that_is_no_moment() -> None:
    """C-35."""
    m = played({"type": "time", "until": "${input.at}"}, input={"at": "tomorrow"})
    assert m.status == "FAILED" and m.failure()[1] == "validation"
    assert rules([wait("w", {"type": "time"})]) == [("error", "missing_field", "/nodes/0/condition")]
    told = rules([wait("w", {"type": "time", "duration_hours": "a day"})])
    assert told == [("error", "wrong_type", "/nodes/0/condition/duration_hours")]


def test_polling() -> None:
    """W-4.7.3, C-38: at once, then every interval, until it holds; output is the last response."""
    m = played(POLL)
    assert m.args("wait_x") == {"connection": "default_api", "method": "GET", "path": "/x/S1"}
    m.ok("wait_x", {"status": "running"})
    assert m.status == "WAITING" and m.run.wake_at() == 60_000
    m.tick()
    m.ok("wait_x", {"status": "completed", "n": 2})
    assert m.vars()["x_result"] == {"status": "completed", "n": 2}
    assert len({line.data["key"] for line in m.of("effect.asked") if line.node == "wait_x"}) == 1


def test_polling_errors_are_not_yet() -> None:
    """C-38, C-80: five in a row fail, external, whatever each was; one good answer begins the count anew."""
    m = played(POLL)
    for _ in range(4):
        m.bad("wait_x", "HTTP_5XX", "external")
        m.tick()
    m.ok("wait_x", {"status": "running"})
    m.tick()
    for _ in range(4):
        m.bad("wait_x", "HTTP_5XX", "external")
        m.tick()
        assert m.status == "RUNNING"
    m.bad("wait_x", "HTTP_4XX", "permanent")
    assert m.status == "FAILED" and m.failure() == ("POLL_UNREACHABLE", "external", "wait_x")
    failure = m.st.failure
    assert failure is not None and failure.detail["cause"]["code"] == "HTTP_4XX" and "HTTP_4XX" in failure.message


@pytest.mark.parametrize("status", ["failed", "rolled_back", "error", "cancelled"])
def test_a_polled_status_may_mean_failure(status: str) -> None:
    """C-38, W-11.3.11: POLL_FAILURE_STATUS, permanent, so that compensation applies."""
    m = Play([act("a"), wait("w", POLL), undo("u", "a")], "a>w", input={"id": 1})
    m.ok("a")
    m.ok("w", {"status": status})
    assert m.status == "COMPENSATING" and m.asks() == ["u"]
    m.ok("u")
    assert m.status == "COMPENSATED" and m.failure()[:2] == ("POLL_FAILURE_STATUS", "permanent")


def test_a_failure_condition_of_one_s_own() -> None:
    """C-38: it replaces the usual statuses."""
    polling = {**POLL["polling"], "failure_condition": "response.n < 0"}  # type: ignore[dict-item]
    m = played({"type": "polling", "polling": polling})
    m.ok("wait_x", {"status": "failed", "n": 1})
    assert m.status == "WAITING"
    m.tick()
    m.ok("wait_x", {"n": -1})
    assert m.status == "FAILED"


def test_an_answer_that_is_no_object() -> None:
    """W-4.7.3: a list or a text is only not what is waited for."""
    m = played(POLL)
    answers: list[Any] = [[], "text", None, 5]
    for answer in answers:
        m.ok("wait_x", answer)
        assert m.status == "WAITING"
        m.tick()


@pytest.mark.parametrize("kind", KINDS)
def test_time_is_over_and_it_fails(kind: str) -> None:
    """W-4.7.5: FAILED, category timeout; a failed edge handles it (C-39)."""
    for timeout in ({"duration_minutes": 2, "on_timeout": "fail"}, {"duration_minutes": 2}):
        m = played(KINDS[kind], timeout=timeout)
        m.tick(119_999)
        assert m.status in ("WAITING", "RUNNING")
        m.tick(120_000)
        assert m.status == "FAILED" and m.failure() == ("WAIT_TIMEOUT", "timeout", "wait_x")
    m = played(
        KINDS[kind], ("wait_x>handler", {"when": "failed"}), more=[act("handler")], timeout={"duration_minutes": 2}
    )
    m.tick(120_000)
    assert m.asks() == ["handler"]


@pytest.mark.parametrize("kind", KINDS)
def test_time_is_over_and_it_is_skipped(kind: str) -> None:
    """W-4.7.5, W-2.3.4: downstream runs, with null."""
    m = played(KINDS[kind], timeout={"duration_minutes": 2, "on_timeout": "skip"})
    m.tick(120_000)
    assert m.asks() == ["after"] and m.states()["wait_x"] == "skipped" and m.args("after")["message"] is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["default", "default_value"])
def test_time_is_over_and_there_is_a_default(kind: str, name: str) -> None:
    """W-4.7.5, C-36: SUCCEEDED with the default, which may be computed."""
    m = played(KINDS[kind], timeout={"duration_minutes": 2, "on_timeout": "default_value", name: {"id": "${input.id}"}})
    m.tick(120_000)
    assert m.vars()["x_result"] == {"id": "S1"} and m.states()["wait_x"] == "done"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["goto", "alternative_path", "alternative_node"])
def test_time_is_over_and_another_way_is_taken(kind: str, name: str) -> None:
    """W-4.7.5, C-36, C-20: the other node needs no edge; the usual way is not taken. Whatever was waited for, the wait
    has succeeded, with nothing."""
    timeout = {"duration_minutes": 2, "on_timeout": "alternative_path", name: "other"}
    m = played(KINDS[kind], more=[act("other", message="${x_result} ${wait_x.status}")], timeout=timeout)
    m.tick(120_000)
    assert m.vars()["x_result"] is None and m.args("other")["message"] == " succeeded"
    assert m.asks() == ["other"] and m.all_ok() == ["other"] and m.status == "COMPLETED"
    assert m.states()["wait_x"] == "done"


def test_another_way_meets_the_usual_one() -> None:
    """C-21: a merge behind both runs once."""
    timeout = {"duration_minutes": 2, "on_timeout": "alternative_path", "goto": "other"}
    m = played(MANUAL, "other>after", more=[act("other")], timeout=timeout)
    m.tick(120_000)
    assert m.all_ok() == ["other", "after"]
    m = played(MANUAL, "other>after", more=[act("other")], timeout=timeout)
    m.news("manual:wait_x", {})
    assert m.all_ok() == ["after"]


@pytest.mark.parametrize(
    ("timeout", "at"),
    [({"on_timeout": "default_value"}, "/nodes/0/timeout"), ({"on_timeout": "alternative_path"}, "/nodes/0/timeout")],
)
def test_a_default_and_another_way_must_be_named(timeout: Any, at: str) -> None:
    """C-36: missing is an error at load."""
    assert rules([wait("w", MANUAL, timeout=timeout)]) == [("error", "missing_field", at)]


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_timeout_it_is_a_day(kind: str) -> None:
    """C-38: 24 hours, then it fails."""
    m = played(KINDS[kind])
    m.tick(DAY - 1)
    assert m.status != "FAILED"
    m.tick(DAY)
    assert m.status == "FAILED" and m.failure()[0] == "WAIT_TIMEOUT"


@pytest.mark.parametrize("kind", KINDS)
def test_retries_arm_it_anew(kind: str) -> None:
    """C-75: on_timeout fail, category timeout and retries left: after the back-off it waits the full time again."""
    m = played(KINDS[kind], timeout={"duration_minutes": 2}, retry={"max": 1, "backoff_ms": 5000})
    m.tick(120_000)
    assert m.status == "RUNNING" and m.run.wake_at() == 125_000
    m.crash()
    m.tick(125_000)
    m.crash()
    if kind == "polling":
        assert m.asked("wait_x") is not None and m.firing("wait_x").attempt == 2
        m.ok("wait_x", {"status": "running"})
    assert m.status == "WAITING" and m.firing("wait_x").attempt == 2
    m.tick(244_999)
    assert m.status != "FAILED"
    m.tick(245_000)
    assert m.status == "FAILED" and m.failure()[0] == "WAIT_TIMEOUT"


def test_news_during_the_back_off_is_found() -> None:
    """C-75, C-37."""
    m = played(EVENT, timeout={"duration_minutes": 2}, retry={"max": 3, "backoff_ms": 5000})
    m.tick(120_000)
    m.news("lab.done", {"sample_id": "S1"})
    assert m.asks() == []
    m.tick(125_000)
    assert m.asks() == ["after"] and m.vars()["x_result"] == {"sample_id": "S1"}


def test_retries_of_other_categories_do_not_count() -> None:
    """C-75: the category is timeout."""
    retry = {"max_attempts": 3, "backoff": {}, "retryable_errors": ["transient"]}
    m = played(MANUAL, timeout={"duration_minutes": 2}, retry=retry)
    m.tick(120_000)
    assert m.status == "FAILED"


def test_a_part_of_the_news() -> None:
    """W-4.7.4: output.from names what is kept."""
    m = played(EVENT, output={"variable": "x_result", "from": "event.payload.values[0]"})
    m.news("lab.done", {"sample_id": "S1", "values": [7]})
    assert m.vars()["x_result"] == 7 and m.states()["wait_x"] == "done"
    m = played(POLL, output={"variable": "x_result", "from": "polling.response.n"})
    m.ok("wait_x.do", {"status": "completed", "n": 5})
    assert m.vars()["x_result"] == 5
    assert rules([wait("w", MANUAL, output={"from": "event.payload"})])[0][:2] == ("warning", "wait_output_from")
    assert rules([wait("w", EVENT, output={"from": "event.payload"})]) == []


def test_a_wait_is_durable_whatever_is_said() -> None:
    """W-4.7.1: accepted, and told; both true says nothing."""
    assert rules([wait("w", MANUAL, checkpoint={"save_context": False})]) == [
        ("info", "wait_is_durable", "/nodes/0/checkpoint")
    ]
    assert rules([wait("w", MANUAL, checkpoint={"save_context": True, "resume_on_restart": True})]) == []
    m = played(EVENT)
    m.crash()
    m.news("lab.done", {"sample_id": "S1"})
    assert m.asks() == ["after"]


@pytest.mark.parametrize(("condition", "at"), [({"type": "event"}, "condition"), ({"type": "polling"}, "condition")])
def test_what_a_condition_needs(condition: Any, at: str) -> None:
    """C-69: its own block."""
    assert ("error", "missing_field", f"/nodes/0/{at}") in rules([wait("w", condition)])


def test_an_operator_that_does_not_exist() -> None:
    """C-30."""
    condition = {"type": "event", "event": {"source": "e", "filter": {"a": {"$foo": 1}}}}
    assert rules([wait("w", condition)]) == [("error", "filter_operator", "/nodes/0/condition/event/filter/a/$foo")]


def test_timeout_ms_bounds_a_probe_and_nothing_else() -> None:
    """C-44: suspended time is not bounded; of a poll each probe is."""
    assert node(played(POLL, timeout_ms=2000).net.net, "wait_x").timeout_ms == 2000
    assert node(played(POLL).net.net, "wait_x").timeout_ms == 30_000
    assert rules([wait("w", MANUAL, timeout_ms=2000)]) == [("info", "idle_setting", "/nodes/0/timeout_ms")]


def test_an_event_s_error_is_skipped() -> None:
    """C-43: skip_on_error on a wait."""
    m = played(EVENT, input={"id": None}, skip_on_error=True)
    assert m.asks() == ["after"] and m.states()["wait_x"] == "skipped"
