"""Policies and what every node may have: guards, retries, breakers, fallbacks, idempotency, side effects, edges."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.executors.judgment import Routing
from penstock.kernel import command as C
from penstock.kernel.retry import delay_ms
from penstock.net.model import Breaker, Dedupe, OnError, Retry
from tests.conformance.decision.make import (
    Play,
    act,
    approval,
    data,
    judge,
    mcp,
    net_of,
    node,
    parallel,
    rules,
    switch,
    undo,
    value,
    wait,
)

SHORT = Retry(max=3, base_ms=1000, kind="fixed")


# ---- guards ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [act, data, judge, mcp], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("text", "runs"), [("input.on", True), ("${input.on == true}", True), ("input.off", False), ("null", False)]
)
def test_a_condition_is_a_guard(make: Any, text: str, runs: bool) -> None:
    """W-4.0.2, W-2.3.3, W-2.3.4: false or null skips, and what comes after runs with null."""
    m = Play(
        [{**make("x"), "condition": text}, act("after", message="${x.output}")],
        "x>after",
        input={"on": True, "off": False},
    )
    assert m.asks() == (["x"] if runs else ["after"])
    if not runs:
        assert m.states()["x"] == "skipped" and m.args("after")["message"] is None
        assert m.of("settled")[0].data["meta"] == {"skip_reason": "condition_false"}


def test_a_guard_that_cannot_be_computed_fails() -> None:
    """C-07."""
    m = Play([act("x", condition="input.n > 'a'")], input={"n": 1})
    assert m.status == "FAILED" and m.failure()[:2] == ("EXPR_TYPE", "validation")


@pytest.mark.parametrize(
    ("conditions", "runs"),
    [
        (None, True),
        ({"execute_if": "input.t"}, True),
        ({"execute_if": "input.f"}, False),
        ({"skip_if": "input.t"}, False),
        ({"skip_if": "input.f"}, True),
        ({"execute_if": "input.t", "skip_if": "input.t"}, False),
        ({"skip_if": "null"}, True),
        ({"execute_if": "input.t || input.f", "skip_if": "input.f || input.f"}, True),
    ],
)
def test_execute_if_and_skip_if(conditions: Any, runs: bool) -> None:
    """W-4.5.1: absent is true and false."""
    extra = {"conditions": conditions} if conditions is not None else {}
    m = Play([act("x", condition="true", **extra)], input={"t": True, "f": False})
    assert (m.asks() == ["x"]) is runs


# ---- retries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retry", "wanted"),
    [
        ({"max": 3, "backoff_ms": 1000}, SHORT),
        ({"max": 3}, SHORT),
        ({"max": 0, "backoff_ms": 1000}, Retry(max=0, base_ms=1000)),
        ({"max": 2, "backoff_ms": 60_000}, Retry(max=2, base_ms=60_000, cap_ms=60_000)),
        ({"backoff_ms": 1000}, Retry(max=2, base_ms=1000)),
        ({"max": 3, "backoff_ms": 1000, "backoff_type": "linear"}, Retry(max=3, base_ms=1000, kind="linear")),
        ({"max": 3, "backoff_type": "exponential"}, Retry(max=3, base_ms=1000, kind="exponential")),
        ({"max_attempts": 3}, Retry(max=2, base_ms=1000, kind="exponential", jitter=True)),
        ({"max_attempts": 1}, Retry(max=0, base_ms=1000, kind="exponential", jitter=True)),
        (
            {"max_attempts": 3, "backoff": {"type": "fixed", "initial_ms": 50, "jitter": False}},
            Retry(max=2, base_ms=50),
        ),
        (
            {"max": 5, "backoff_ms": 100, "max_attempts": 2, "backoff": {"max_ms": 9, "multiplier": 3}},
            Retry(max=1, base_ms=1000, kind="exponential", multiplier=3.0, cap_ms=9, jitter=True),
        ),
        ({"max": 0, "backoff": {}}, Retry(max=0, base_ms=1000, kind="exponential", jitter=True)),
        ({"max": 1, "retryable_errors": ["external", "business"]}, Retry(max=1, on=("external", "business"))),
        ({"max": 1, "non_retryable_errors": ["external"]}, Retry(max=1, on=("transient", "timeout", "resource"))),
        ({"max": 1, "retryable_errors": ["external"], "non_retryable_errors": ["external"]}, Retry(max=1, on=())),
    ],
)
def test_every_shape_of_a_retry(retry: Any, wanted: Retry) -> None:
    """W-7.2.1, W-7.2.2, C-15: max is retries, max_attempts attempts; the full shape wins; at a node and as policy."""
    assert node(net_of([act("x", retry=retry)]), "x").retry == wanted
    assert node(net_of([act("x")], policies={"retry": retry}), "x").retry == wanted


def test_the_node_comes_before_the_policy() -> None:
    """W-7.2.4: node, policy, none."""
    assert node(net_of([act("x", retry={"max": 1})], policies={"retry": {"max": 9}}), "x").retry.max == 1
    assert node(net_of([act("x")]), "x").retry == Retry()


def test_delays() -> None:
    """W-7.2.4, TC-WF-006: n-th delay of each kind, the most, and the bounds of jitter."""
    exponential = node(net_of([act("x", retry={"max_attempts": 9, "backoff": {"jitter": False}})]), "x").retry
    assert [delay_ms(exponential, n, "s") for n in range(1, 8)] == [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]
    linear = node(net_of([act("x", retry={"max": 3, "backoff_ms": 200, "backoff_type": "linear"})]), "x").retry
    assert [delay_ms(linear, n, "s") for n in (1, 2, 3)] == [200, 400, 600]
    jittered = node(net_of([act("x", retry={"max_attempts": 9, "backoff": {"type": "fixed"}})]), "x").retry
    drawn = {delay_ms(jittered, 1, f"s{i}") for i in range(500)}
    assert min(drawn) >= 500 and max(drawn) <= 1000 and len(drawn) > 100


@pytest.mark.parametrize("category", ["transient", "timeout", "external", "resource"])
def test_what_is_retried(category: str) -> None:
    """C-15, W-7.2.3: the retries agree everywhere; then FAILED."""
    m = Play([data("x", retry={"max": 1, "backoff_ms": 100}, source={"type": "api", "query": "/${sys.retry_count}"})])
    assert m.args("x")["path"] == "/0"
    m.bad("x", "C", category)
    m.tick()
    assert m.now == 100 and m.args("x")["path"] == "/1"
    m.bad("x", "C", category)
    assert m.status == "FAILED"


@pytest.mark.parametrize("category", ["permanent", "validation", "authorization", "business"])
def test_what_is_not_retried(category: str) -> None:
    """C-15."""
    m = Play([data("x", retry={"max": 5})])
    m.bad("x", "C", category)
    assert m.status == "FAILED"


# ---- skip on error, edges by outcome ---------------------------------------------------------------------------------


def test_skip_on_error() -> None:
    """W-2.3.2, C-43: FAILED to SKIPPED after the retries; downstream runs with null."""
    m = Play([data("x", skip_on_error=True, retry={"max": 1, "backoff_ms": 100}), act("after")], "x>after")
    m.bad("x", "C", "external")
    m.tick()
    m.bad("x", "C", "external")
    assert m.asks() == ["after"] and m.states()["x"] == "skipped"


@pytest.mark.parametrize(
    ("when", "ok", "bad", "skip"),
    [
        (None, True, False, True), ("succeeded", True, False, False), ("failed", False, True, False),
        ("skipped", False, False, True), ("always", True, True, True), ("output.n > 1", True, False, False),
        ("x.n == 5", False, False, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("framed", [False, True])
def test_edges_by_outcome(when: str | None, ok: bool, bad: bool, skip: bool, framed: bool) -> None:
    """C-39: labels of outcomes; anything else is an expression; a live failed edge handles the error."""
    output = {"output": {"expression": "output"}} if framed else {}
    id = "x.do" if framed else "x"
    for what, taken in (("ok", ok), ("bad", bad), ("skip", skip)):
        m = Play([data("x", **output), act("y")], ("x>y", {"when": when} if when else {}))
        if what == "ok":
            m.ok(id, {"n": 2})
        elif what == "bad":
            m.bad(id)
        else:
            m.skip(id)
        assert (m.asks() == ["y"]) is taken, what
        if what == "bad" and taken:
            assert m.all_ok() == ["y"] and m.status == "COMPLETED"


def test_a_handler_sees_the_error() -> None:
    """W-6.2.4, C-46: also of a node with a computed output."""
    for output, id in (({}, "x"), ({"output": {"expression": "output"}}, "x.do")):
        m = Play([data("x", **output), act("h", message="${x.status} ${x.error.code}")], ("x>h", {"when": "failed"}))
        m.bad(id, "BROKEN", "business")
        assert m.args("h")["message"] == "failed BROKEN"


def test_an_edge_may_read_from_outside() -> None:
    """C-39, C-64: what an edge's expression reads is fetched before its source."""
    m = Play([data("x"), act("y")], ("x>y", {"when": "aas.line.L01.capacity > 5"}))
    assert m.asks() == ["x.context"]
    m.ok("x.context", {"aas": {"line": {"L01": {"capacity": 9}}}, "rag": {}})
    m.ok("x", 1)
    assert m.asks() == ["y"]


def test_several_unlabelled_edges_are_all_taken() -> None:
    """C-21: and several starts all start; a merge waits for all live ways."""
    m = Play([act("a"), act("b"), act("c"), act("d")], "a>c a>d b>c c>d")
    assert m.asks() == ["a", "b"] and m.all_ok() == ["a", "b", "c", "d"] and m.status == "COMPLETED"


# ---- breakers and fallbacks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("breaker", "wanted"),
    [
        ({"fail_rate": 0.3, "window": 10, "cooldown_s": 60}, Breaker(name="wf_test/x", failures=0, failure_rate=0.3)),
        ({"enabled": True, "fail_rate": 0.3}, Breaker(name="wf_test/x", failures=0, failure_rate=0.3)),
        ({"enabled": False, "fail_rate": 0.3}, None),
        ({}, Breaker(name="wf_test/x")),
        ({"failure_threshold": 2}, Breaker(name="wf_test/x", failures=2)),
        ({"failure_rate_threshold": 0.4, "window_size": 20, "cooldown_ms": 5, "half_open_requests": 1},
         Breaker(name="wf_test/x", failure_rate=0.4, window=20, cooldown_ms=5, half_open_requests=1)),
        ({"metrics": {"track_latency": True}}, Breaker(name="wf_test/x", latency_ms=5000)),
        ({"metrics": {"track_latency": True, "latency_threshold_ms": 7}}, Breaker(name="wf_test/x", latency_ms=7)),
        ({"metrics": {"latency_threshold_ms": 7}}, Breaker(name="wf_test/x")),
        ({"fail_rate": 0.2, "failure_threshold": 3}, Breaker(name="wf_test/x", failures=3, failure_rate=0.2)),
    ],
)  # fmt: skip
def test_every_shape_of_a_breaker(breaker: Any, wanted: Breaker | None) -> None:
    """W-7.3.1, W-7.3.4, W-7.3.5, C-19: an object is enabled unless it says otherwise; node before policy."""
    for net in (net_of([act("x", circuit_breaker=breaker)]), net_of([act("x")], policies={"circuit_breaker": breaker})):
        effect = node(net, "x").effect
        assert effect is not None and effect.breaker == wanted


def test_an_open_breaker_skips_or_fails() -> None:
    """W-7.3.3."""
    skip = {"circuit_breaker": {"on_open": {"action": "skip"}}}
    m = Play([act("x", **skip), act("y")], "x>y")
    m.bad("x", "CIRCUIT_OPEN", "external")
    assert m.asks() == ["y"] and m.states()["x"] == "skipped"
    m = Play([act("x", **skip)])
    m.bad("x", "OTHER")
    assert m.status == "FAILED"
    m = Play([act("x", circuit_breaker={"on_open": {"action": "fail"}})])
    m.bad("x", "CIRCUIT_OPEN", "external")
    assert m.status == "FAILED" and m.failure()[0] == "CIRCUIT_OPEN"


FALLBACK = {"circuit_breaker": {"on_open": {"action": "fallback", "fallback_node": "f"}}}


def test_a_fallback_stands_in() -> None:
    """C-76, W-7.3.3: it runs instead, its output is also the node's, which has SUCCEEDED; it needs no edges."""
    nodes = [
        data("data_x", **FALLBACK),
        data("f"),
        act("after", message="${x_data.n} ${data_x.n} ${data_x.status} ${f.n}"),
    ]
    m = Play(nodes, "data_x>after")
    assert m.asks() == ["data_x.do"]
    m.bad("data_x.do", "CIRCUIT_OPEN", "external")
    assert m.asks() == ["f"]
    m.ok("f", {"n": 3})
    assert m.args("after")["message"] == "3 3 succeeded 3" and m.states()["data_x"] == "done"
    m = Play(nodes, "data_x>after")
    m.ok("data_x.do", {"n": 1})
    assert m.args("after")["message"] == "1 1 succeeded " and m.all_ok() == ["after"] and m.status == "COMPLETED"
    m = Play(nodes, "data_x>after")
    m.bad("data_x.do", "OTHER")
    assert m.status == "FAILED"


def test_one_fallback_for_several() -> None:
    """C-76, KERNEL 4: a copy per use, in the branch where it is used; the policy's fallback counts for all."""
    nodes = [parallel("p", {"x": ["a"], "y": ["b"]}), act("a"), act("b"), act("f"), act("after")]
    m = Play(nodes, "p>after", policies=FALLBACK)
    assert sorted(m.asks()) == ["a.do", "b.do"]
    m.bad("a.do", "CIRCUIT_OPEN", "external"), m.bad("b.do", "CIRCUIT_OPEN", "external")
    assert sorted(m.asks()) == ["a.fallback", "b.fallback"] and node(m.net.net, "a.fallback").origin == "f"
    m.ok("b.fallback", {"n": 2}), m.ok("a.fallback", {"n": 1})
    assert m.asks() == ["after.do"]
    record = m.output("p")
    assert record["x"]["output"] == {"n": 1} and record["y"]["output"] == {"n": 2}


def test_a_fallback_that_fails_fails_the_node() -> None:
    """C-76: and has no fallback of its own."""
    back = {"circuit_breaker": {"on_open": {"action": "fallback", "fallback_node": "x"}}}
    m = Play([act("s"), act("x", **FALLBACK), act("f", **back)], "s>x")
    m.ok("s")
    m.bad("x.do", "CIRCUIT_OPEN", "external")
    m.bad("f", "CIRCUIT_OPEN", "external")
    assert m.status == "FAILED"


def test_a_fallback_on_a_path_of_its_own() -> None:
    """C-76: it may also be an ordinary node."""
    m = Play([act("s"), act("x", **FALLBACK), act("f"), act("after")], "s>f f>x x>after")
    m.ok("s"), m.ok("f")
    m.bad("x.do", "CIRCUIT_OPEN", "external")
    assert m.asks() == ["x.fallback"]
    assert m.all_ok() == ["x.fallback", "after"]


@pytest.mark.parametrize(
    ("nodes", "at"),
    [
        ([act("x", **FALLBACK)], "/nodes/0/circuit_breaker/on_open/fallback_node"),
        ([act("f", **FALLBACK)], "/nodes/0/circuit_breaker/on_open/fallback_node"),
        ([act("x", **FALLBACK), approval("f"), act("g")], "/nodes/0/circuit_breaker/on_open/fallback_node"),
    ],
)
def test_a_fallback_that_cannot_be(nodes: Any, at: str) -> None:
    """W-9.2.2 fallback_node_exists: it exists, is another, and does something at once."""
    assert ("error", "fallback_node_exists", at) in rules(
        nodes, *(["x>f"] if len(nodes) == 3 else []), *(["f>g"] if len(nodes) == 3 else [])
    )
    assert ("error", "fallback_node_exists", "/policies/circuit_breaker/on_open/fallback_node") in rules(
        [act("x")], policies=FALLBACK
    )


# ---- idempotency, rates, caches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"enabled": False}, None),
        ({}, Dedupe(key={"input": {"channel": "slack", "config": {}, "message": "x"}}, ttl_ms=86_400_000)),
        ({"enabled": True, "key_generation": "node_id + input_hash", "ttl_hours": 0.5, "on_duplicate": "return_cached"},
         Dedupe(key={"input": {"channel": "slack", "config": {}, "message": "x"}}, ttl_ms=1_800_000, known="answer")),
        ({"key_generation": "custom_expression", "custom_expression": "input.n", "on_duplicate": "fail"},
         Dedupe(key={"custom": {"$expr": "input.n"}}, ttl_ms=86_400_000, known="fail")),
        ({"key_generation": "node_id + input_hash", "custom_expression": "input.n"},
         Dedupe(key={"input": {"channel": "slack", "config": {}, "message": "x"}}, ttl_ms=86_400_000)),
        ({"custom_expression": "input.n"}, Dedupe(key={"custom": {"$expr": "input.n"}}, ttl_ms=86_400_000)),
    ],
)  # fmt: skip
def test_idempotency(given: Any, wanted: Dedupe | None) -> None:
    """W-8.4.1, W-8.4.2, W-8.4.3, C-49: the resolved input or the expression; node before policy; off by default."""
    for net in (net_of([act("x", idempotency=given)]), net_of([act("x")], policies={"idempotency": given})):
        effect = node(net, "x").effect
        assert effect is not None and effect.dedupe == wanted
    plain = node(net_of([act("x")]), "x").effect
    assert plain is not None and plain.dedupe is None


def test_a_custom_key_must_be_written() -> None:
    """W-8.4.1: told once, where it is missing."""
    given = {"key_generation": "custom_expression"}
    assert rules([act("x", idempotency=given)]) == [("error", "missing_field", "/nodes/0/idempotency")]
    nodes = [act("x"), act("y")]
    assert rules(nodes, "x>y", policies={"idempotency": given}) == [("error", "missing_field", "/policies/idempotency")]
    broken = {"idempotency": {"custom_expression": "1 +"}}
    assert rules(nodes, "x>y", policies=broken)[0][1:] == (
        "expression_syntax",
        "/policies/idempotency/custom_expression",
    )


def test_rate_and_dedupe_of_an_action() -> None:
    """W-4.5.2: rolling hour, skipped beyond; the key is a template; beside idempotency both count."""
    limit = {"max_per_hour": 10, "dedupe_key": "line_${input.l}", "dedupe_window_sec": 60}
    effect = node(net_of([act("x", rate_limit=limit, idempotency={})]), "x").effect
    assert effect is not None and effect.rate is not None and effect.dedupe is not None and effect.once is not None
    assert (effect.rate.name, effect.rate.limit, effect.rate.per_ms) == ("wf_test/x", 10, 3_600_000)
    assert effect.rate.over == "skip" and effect.rate.rolling
    assert effect.dedupe == Dedupe(key={"dedupe": {"$template": "line_${input.l}"}}, ttl_ms=60_000)
    for reason in ("rate_limited", "duplicate"):
        m = Play([act("x", rate_limit=limit), act("y")], "x>y", input={"l": 1})
        firing = m.asked("x")
        assert firing is not None
        m.do(C.skipped(firing.no, 1, reason, 0))
        assert m.asks() == ["y"] and m.of("settled")[0].data["meta"] == {"skip_reason": reason}


def test_a_cache() -> None:
    """W-4.1.7: scope is the connection; the key is a template, or all that is asked."""
    d = data(
        "x",
        cache={"enabled": True, "ttl_sec": 5, "key": "k_${input.l}"},
        source={"type": "api", "query": "/x", "connection": "c"},
    )
    effect = node(net_of([d]), "x").effect
    assert effect is not None and effect.cache is not None and effect.cache.ttl_ms == 5000
    assert effect.cache.key == {"connection": "c", "key": {"$template": "k_${input.l}"}}
    effect = node(net_of([data("x", cache={})]), "x").effect
    assert effect is not None and effect.cache is not None and effect.cache.ttl_ms == 300_000
    assert effect.cache.key["key"] == {"method": "GET", "path": "/x", "connection": "default_api"}
    effect = node(net_of([data("x", cache={"enabled": False})]), "x").effect
    assert effect is not None and effect.cache is None


def test_a_robot_is_not_told_twice() -> None:
    """C-56: never retried, unless idempotency is on."""
    robot = {"channel": {"type": "robot", "config": {"robot_id": "r", "command": "go"}}, "retry": {"max": 3}}
    assert node(net_of([act("x", **robot)]), "x").retry == Retry()
    assert node(net_of([act("x", **robot, idempotency={})]), "x").retry.max == 3
    assert node(net_of([act("x", **robot)], policies={"retry": {"max": 3}, "idempotency": {}}), "x").retry.max == 3


# ---- times -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (data("x"), 30_000),
        (act("x"), 30_000),
        (mcp("x"), 30_000),
        (judge("x"), 60_000),
        (switch("x", "1", [(1, "end")]), None),
    ],
    ids=lambda one: one["type"] if isinstance(one, dict) else str(one),
)
def test_default_timeouts(made: Any, wanted: int | None) -> None:
    """C-44, W-4.0.4: and a node's own."""
    assert node(net_of([made]), "x").timeout_ms == wanted
    if wanted is not None:
        assert node(net_of([{**made, "timeout_ms": 5000}]), "x").timeout_ms == 5000


@pytest.mark.parametrize(
    "made", [approval("x"), parallel("x", {"b": ["y"]}), wait("x", {"type": "manual"})], ids=lambda one: one["type"]
)
def test_settings_that_change_nothing_are_told(made: Any) -> None:
    """W-4.0.3, C-44: timeout_ms does not bound suspended time."""
    more = [act("y")] if made["type"] == "PARALLEL" else []
    assert rules([{**made, "timeout_ms": 5000}, *more]) == [("info", "idle_setting", "/nodes/0/timeout_ms")]
    told = [f[1:] for f in rules([{**made, "circuit_breaker": {}, "idempotency": {}}, *more])]
    assert told == [("idle_setting", "/nodes/0/circuit_breaker"), ("idle_setting", "/nodes/0/idempotency")]


def test_the_run_s_own_time() -> None:
    """C-71, W-11.1.10: active time only."""
    m = Play([act("a"), approval("ask")], "a>ask", policies={"timeout_ms": 1000})
    m.now = 900
    m.ok("a")
    m.tick(900)
    assert m.status == "WAITING"
    m.tick(3_600_000)
    assert m.status == "WAITING"
    m = Play([act("a")], policies={"timeout_ms": 1000})
    m.tick(1000)
    assert m.status == "FAILED" and m.failure()[:2] == ("WORKFLOW_TIMEOUT", "timeout")


def test_the_run_s_own_time_is_over_and_its_work_undone() -> None:
    """C-71: what was done before is compensated; what is spent in front of a wait counts after it."""
    m = Play([act("a"), approval("ask"), act("b"), undo("u", "a")], "a>ask ask>b", policies={"timeout_ms": 1000})
    m.now = 600
    m.ok("a")
    m.now = 50_000
    m.vote("ask")
    assert m.asks() == ["b"]
    m.tick(50_399)
    assert m.status == "RUNNING"
    m.tick(50_400)
    assert m.status == "COMPENSATING" and m.asks() == ["u"]
    m.ok("u")
    assert m.status == "COMPENSATED" and m.failure()[:2] == ("WORKFLOW_TIMEOUT", "timeout")


def test_a_compensation_s_retry_is_the_same_policy() -> None:
    """W-7.2.2, C-45: both shapes at a COMPENSATION, and what is done after the last; 5 times every 2 s without one."""
    for retry, wanted in (
        ({"max": 1, "backoff_ms": 500, "on_failure": "alert_and_manual"}, [500]),
        ({"max_attempts": 3, "backoff": {"type": "linear", "initial_ms": 100, "jitter": False}}, [100, 200]),
        (None, [2000] * 5),
    ):
        m = Play([act("a"), act("b"), undo("u", "a", **({"retry": retry} if retry else {}))], "a>b")
        m.ok("a"), m.bad("b")
        waited = []
        while m.status == "COMPENSATING":
            m.bad("u", "HTTP_5XX", "external")
            before = m.now
            if m.status == "COMPENSATING":
                m.tick()
                waited.append(m.now - before)
        assert waited == wanted and m.status == "FAILED" and "COMPENSATION_STEP_FAILED" in m.incidents()
        assert m.net.net.declares.policies["nodes"]["u"]["on_failure"] == "alert_and_manual"


def test_what_routing_does_when_it_says_nothing() -> None:
    """W-4.3.3, C-51: rules win, under 0.85 a person decides, and so they do where nobody can."""
    net = net_of([judge("j", type="HYBRID", routing={})])
    told = node(net, "j.do").effect.args["policy"]["routing"]
    assert told == {"confidence_threshold": 0.85, "conflict_resolution": "rule_priority", "fallback": "ESCALATE"}
    given = Routing()
    assert (given.confidence_threshold, given.conflict_resolution, given.fallback) == tuple(told.values())


# ---- side effects, outputs -------------------------------------------------------------------------------------------


def test_side_effects() -> None:
    """W-6.3.2, W-6.2.3: after success, computed before any is written; last writer wins."""
    sets = {
        "set_variables": {
            "n": "${fn.coalesce(context.n, 0) + 1}",
            "m": "${context.n}",
            "seen": "${output.v}",
            "z": None,
            "l": [1, "${x.v}"],
        }
    }
    nodes = [data("x", side_effects=sets), act("after", message="${context.n} ${context.variables.n} ${n}")]
    m = Play(nodes, "x>after", context={"variables": {"n": 4}})
    m.ok("x", {"v": 7})
    assert {k: m.st.vars[k] for k in ("n", "m", "seen", "z", "l")} == {
        "n": 5,
        "m": 4,
        "seen": 7,
        "z": None,
        "l": [1, 7],
    }
    assert m.args("after")["message"] == "5 5 5"
    m = Play([data("x", side_effects=sets, skip_on_error=True)], context={"variables": {"n": 4}})
    m.bad("x")
    assert m.st.vars == {}


def test_set_vars_of_the_seed() -> None:
    """W-6.3.1, W-4.14.1: §6.3."""
    from tests.conformance.decision.make import seeds

    (sample,) = seeds("6.3")
    rows = [{"defect_rate": 0.1}, {"defect_rate": 0.3}]
    m = Play([sample], context={"variables": {"defect_data": rows}})
    assert m.status == "COMPLETED" and round(m.vars()["calculated_threshold"], 6) == 0.3
    assert m.vars()["check_count"] == 1 and m.vars()["last_check_time"] == "1970-01-01T00:00:00.000Z"


def test_an_output_computed_from_the_answer() -> None:
    """W-4.0.3: `output` is what the executor answered; a schema is for what comes out."""
    schema = {"type": "integer"}
    d = data("data_x", output={"variable": "n", "expression": "fn.length(output)", "schema": schema})
    m = Play([d, act("after", message="${n} ${data_x.output}")], "data_x>after")
    assert m.args("data_x.do") == {"connection": "default_api", "method": "GET", "path": "/data_x"}
    m.ok("data_x.do", [1, 2, 3])
    assert m.args("data_x") == {"value": 3, "output": {"schema": schema}}
    assert node(m.net.net, "data_x").effect.executor == "shape"  # type: ignore[union-attr]
    m.ok("data_x", 3)
    assert m.args("after")["message"] == "3 3"


def test_schema_and_transform_are_the_executor_s() -> None:
    """W-4.1.6, W-4.4.2: where one is asked; else a node of its own does it."""
    transform = {"type": "jq", "expression": ".items"}
    for made in (data("x"), mcp("x"), act("x"), judge("x")):
        m = Play([{**made, "output": {"schema": {"type": "array"}, "transform": transform}}])
        assert m.args("x")["output"] == {"schema": {"type": "array"}, "transform": transform}
    m = Play([value("x", "[1]", output={"expression": "[1]", "schema": {"type": "array"}})])
    assert m.asks() == ["x"] and m.args("x") == {"value": [1], "output": {"schema": {"type": "array"}}}
    m = Play([wait("x", {"type": "manual"}, output={"transform": transform})])
    m.news("manual:x", {"items": [1]})
    assert m.args("x") == {"value": {"items": [1]}, "output": {"transform": transform}}
    m.bad("x", "OUTPUT_SCHEMA", "validation")
    assert m.status == "FAILED"


# ---- MCP -------------------------------------------------------------------------------------------------------------


def test_mcp_fallbacks() -> None:
    """W-4.4.3: skip, fail, default_value (not transformed), each after the retries and whatever failed."""
    m = Play([mcp("x", fallback={"on_error": "skip"}), act("y")], "x>y")
    m.bad("x")
    assert m.states()["x"] == "skipped" and m.asks() == ["y"]
    m = Play([mcp("x")])
    m.bad("x")
    assert m.status == "FAILED"
    m = Play(
        [
            mcp("mcp_x", fallback={"on_error": "default_value", "default": {"n": "${input.n}"}}, retry={"max": 1}),
            act("y"),
        ],
        "mcp_x>y",
        input={"n": 4},
    )
    m.bad("mcp_x", "NODE_TIMEOUT", "timeout")
    m.tick()
    m.bad("mcp_x", "NODE_TIMEOUT", "timeout")
    assert m.vars()["x_data"] == {"n": 4} and m.states()["mcp_x"] == "done" and m.asks() == ["y"]
    assert m.of("settled")[0].data["meta"] == {"fallback": True}
    assert rules([mcp("x", fallback={"on_error": "default_value"})]) == [
        ("error", "missing_field", "/nodes/0/fallback")
    ]


def test_an_alternative_server() -> None:
    """W-4.4.3: the same call there; its failure is the node's."""
    made = mcp("mcp_x", fallback={"on_error": "alternative_server", "alternative_server": "backup"})
    m = Play([made, act("y", message="${x_data.n}")], "mcp_x>y")
    first = m.args("mcp_x.do")
    m.bad("mcp_x.do", "NODE_TIMEOUT", "timeout")
    second = m.args("mcp_x.alternative")
    assert second["server"] == {"id": "backup", "version": ""} and second["operation"] == first["operation"]
    m.ok("mcp_x.alternative", {"n": 2})
    assert m.args("y")["message"] == 2 and m.states()["mcp_x"] == "done"
    m = Play([made])
    m.bad("mcp_x.do"), m.bad("mcp_x.alternative", "WORSE")
    assert m.status == "FAILED" and m.failure()[0] == "WORSE"
    assert m.failure()[2] == "mcp_x.alternative" and node(m.net.net, "mcp_x.alternative").origin == "mcp_x"
    m = Play([{**made, "condition": "false"}, act("y")], "mcp_x>y")
    assert m.asks() == ["y"] and m.states()["mcp_x"] == "skipped"
    assert rules([mcp("x", fallback={"on_error": "alternative_server"})]) == [
        ("error", "missing_field", "/nodes/0/fallback")
    ]


# ---- JUDGMENT --------------------------------------------------------------------------------------------------------


def test_a_verdict_without_routing_is_final() -> None:
    """C-51: nobody is asked."""
    net = net_of([judge("x")])
    assert [n.id for n in net.nodes] == ["x"]


@pytest.mark.parametrize(
    "policy", [{"routing": {"confidence_threshold": 0.9}}, {"type": "ESCALATE"}, {"type": "${input.t}"}]
)
def test_a_person_judges(policy: Any) -> None:
    """W-4.3.1, C-52: waits; the reviewer's verdict is the node's, with confidence 1.0 and decided_by human."""
    nodes = [judge("x", **policy), act("after", message="${judgment_result.decision} ${x.decided_by}")]
    m = Play(nodes, "x>after", input={"t": "ESCALATE"})
    assert m.asks() == ["x.do"]
    m.ok("x.do", {"decision": "unknown", "confidence": 0.2, "escalate": {"reason": "low"}})
    m.tick(0)
    m.all_ok()
    assert m.status == "WAITING" and m.st.items[m.item("x.review")].candidates["targets"] == ["role:quality_manager"]
    m.do(C.work(m.item("x.review"), "submit", "kim", {"decision": "critical", "comment": "seen"}))
    result = m.vars()["judgment_result"]
    assert result["decision"] == "critical" and result["confidence"] == 1.0 and result["reasoning"] == "seen"
    assert result["decided_by"] == "human" and m.args("after")["message"] == "critical human"


def test_a_sure_verdict_needs_nobody() -> None:
    """W-4.3.1: confidence reached, or a guard that skips."""
    made = judge("x", routing={})
    m = Play([made, act("after")], ("x>after", {"when": "critical"}))
    m.ok("x.do", {"decision": "critical", "confidence": 0.99})
    assert m.asks() == ["after"] and m.states()["x"] == "done"
    m = Play([{**made, "condition": "false"}, act("after")], "x>after")
    assert m.asks() == ["after"] and m.states()["x"] == "skipped"


@pytest.mark.parametrize(
    ("routing", "config", "role"),
    [
        ({"reviewer_role": "expert"}, None, "role:expert"), ({"reviewer_role": "${input.r}"}, None, "role:lead"),
        ({}, {"judgment": {"reviewer_role": "boss"}}, "role:boss"), ({}, None, "role:quality_manager"),
    ],
)  # fmt: skip
def test_who_reviews(routing: Any, config: Any, role: str) -> None:
    """C-52."""
    m = Play([judge("x", routing=routing)], input={"r": "lead"}, start={"options": {"tenant_config": config}})
    m.ok("x.do", {"decision": "unknown", "escalate": {"reason": "low"}})
    assert m.st.items[m.item("x.review")].candidates["targets"] == [role]


def test_a_reviewer_s_word_that_is_none() -> None:
    """C-77: a decision outside of the four is unknown."""
    m = Play([judge("x", type="ESCALATE")])
    m.ok("x.do", {"escalate": {"reason": "x"}})
    m.do(C.work(m.item("x.review"), "submit", "kim", {"decision": "maybe", "confidence": 0.5}))
    assert m.vars()["judgment_result"]["decision"] == "unknown" and m.vars()["judgment_result"]["confidence"] == 0.5


def test_edges_by_decision() -> None:
    """C-39: for JUDGMENT the decision's text."""
    ways = [("x>a", {"when": "critical"}), ("x>b", {"when": "warning"}), ("x>c", {"when": "output.confidence > 0.5"})]
    m = Play([judge("x"), act("a"), act("b"), act("c")], *ways)
    m.ok("x", {"decision": "warning", "confidence": 0.4})
    assert m.asks() == ["b"]


# ---- notification ----------------------------------------------------------------------------------------------------


def test_a_node_may_tell_of_itself() -> None:
    """W-4.0.3: after success, to its channels; beside the flow; failures of it stop nothing."""
    made = data(
        "x", notification={"channels": ["slack", "sms"], "template": {"id": "t", "params": {"p": "${input.n}"}}}
    )
    m = Play([made, act("after")], "x>after", input={"n": 1})
    m.ok("x", {"v": 2})
    assert m.asks() == ["after"]
    ((_, said),) = m.told("x")
    params = said["template"]["params"]
    assert (said["channels"], said["template"]["id"]) == (["slack", "sms"], "t")
    assert (params["p"], params["output"], params["event"]) == (1, {"v": 2}, "completed")
    m.ok("after")
    assert m.status == "COMPLETED"
    m = Play([data("x", notification={"channels": ["slack"], "on_complete": False, "on_start": True})])
    m.tick(0)
    assert m.asks() == ["x"] and [said["template"]["params"]["event"] for _, said in m.told("x")] == ["started"]
    m = Play([data("x", notification={"template": "t"})])
    m.ok("x")
    assert [said["channels"] for _, said in m.told("x")] == [None]
    m = Play([data("x", skip_on_error=True, notification={"channels": ["slack"]})])
    m.bad("x")
    assert m.status == "COMPLETED"
    assert OnError(match="*", action="skip") in node(net_of([made]), "x.notify").on_error
