"""Every rule of the checker: a document that breaks exactly it; and what must not be found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.errors import DocumentInvalid
from penstock.lang.decision.rule_categories import CATEGORY
from tests.conformance.decision.make import (
    act,
    approval,
    blocks,
    compiled,
    data,
    document,
    found,
    judge,
    mcp,
    parallel,
    switch,
    undo,
    value,
    wait,
)

A, B = act("a"), act("b")


def doc(nodes: list[Any], *ways: Any, **top: Any) -> dict[str, Any]:
    return document(nodes, ways, **top)


SQL = {"type": "sql", "query": "SELECT * FROM t WHERE x = :x", "params": {"x": 1}}
#: rule → a document, where it is told, severity, a word of the hint
#: W-9.2.1, W-9.2.2: what a rule is about; those that are not here are about syntax
SECURITY = set(
    """
    no_hardcoded_secrets secret_not_allowed secret_reference sql_interpolation sql_not_readonly path_outside
    address_outside webhook_auth
    """.split()
)
PERFORMANCE = {"max_parallel_branches", "too_many_cases"}
SEMANTIC = set(
    """
    no_orphan_nodes no_cycles goto_targets_exist branch_members_exist node_in_multiple_branches branch_escape
    branch_order_conflict compensation_target_exists fallback_node_exists empty_workflow no_start_node unreachable_node
    unresolved_reference n_of_range unique_branch_ids switch_setting filter_scale schedule_policy schedule_input
    webhook_path webhook_method webhook_rate literal_variable judgment_settings switch_edge_mismatch
    bi_required_settings ambiguous_default_output missing_dependency timeout_inconsistent wait_is_durable idle_setting
    compensation_edge
    outside_not_here output_unresolved filter_operator wait_output_from unknown_member unknown_value
    """.split()
)


def category_of(rule: str) -> str:
    about = {"security": SECURITY, "performance": PERFORMANCE, "semantic": SEMANTIC}
    return next((category for category, rules in about.items() if rule in rules), "syntax")


BROKEN: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("unique_node_ids", doc([A, A]), "/nodes/1/id", "error", "own"),
    ("no_orphan_nodes", doc([A, B, act("c")], "a>b"), "/nodes/2", "error", "edge"),
    ("no_cycles", doc([A, B, act("s")], "s>a a>b b>a"), "/nodes/0", "error", "loops"),
    (
        "no_hardcoded_secrets",
        doc([act("a", channel={"type": "slack", "config": {"webhook_url": "https://x"}})]),
        "/nodes/0/channel/config/webhook_url",
        "error",
        "secrets.",
    ),
    (
        "max_parallel_branches",
        doc([parallel("p", {f"b{i}": [f"n{i}"] for i in range(11)}), *(act(f"n{i}") for i in range(11))]),
        "/nodes/0/branches",
        "warning",
        "10",
    ),
    ("edge_targets_exist", doc([A, B], "a>b", "a>bb"), "/edges/1/to", "error", "«b»"),
    (
        "goto_targets_exist",
        doc([switch("s", "1", [(1, "a"), (2, "gone")]), A]),
        "/nodes/0/cases/1/goto",
        "error",
        "Known",
    ),
    (
        "branch_members_exist",
        doc([parallel("p", {"x": ["a", "gone"]}), A]),
        "/nodes/0/branches/0/nodes/1",
        "error",
        "Known",
    ),
    (
        "node_in_multiple_branches",
        doc([parallel("p", {"x": ["a"], "y": ["a"]}), A]),
        "/nodes/0/branches/1/nodes/0",
        "error",
        "one",
    ),
    ("branch_escape", doc([parallel("p", {"x": ["a"]}), A, B], "p>b", "a>b"), "/edges/1", "error", "PARALLEL"),
    ("compensation_target_exists", doc([A, undo("u", "gone")]), "/nodes/1/for_node", "error", "Known"),
    (
        "fallback_node_exists",
        doc([act("a", circuit_breaker={"on_open": {"action": "fallback", "fallback_node": "gone"}})]),
        "/nodes/0/circuit_breaker/on_open/fallback_node",
        "error",
        "another",
    ),
    ("empty_workflow", doc([]), "/nodes", "error", "one node"),
    (
        "no_start_node",
        doc(
            [
                undo("u", "a"),
                act("a", circuit_breaker={"on_open": {"action": "fallback", "fallback_node": "b"}}),
                act("b", circuit_breaker={"on_open": {"action": "fallback", "fallback_node": "a"}}),
            ]
        ),
        "",
        "error",
        "no edge",
    ),
    ("reserved_name", doc([A], context={"variables": {"input": 1}}), "/context/variables/input", "error", "another"),
    ("expression_syntax", doc([act("a", message="${1 +}")]), "/nodes/0/message", "error", ""),
    ("unknown_function", doc([act("a", condition="fn.nothing(1)")]), "/nodes/0/condition", "error", ""),
    (
        "unknown_member",
        doc([judge("j"), act("a", message="${judgment_result.decison}")], "j>a"),
        "/nodes/1/message",
        "error",
        "Did you mean «decision»?",
    ),
    (
        "unknown_value",
        doc([judge("j"), switch("s", "${judgment_result.decision}", [("criticl", "a")]), A], "j>s"),
        "/nodes/1/cases/0/value",
        "error",
        "Did you mean «critical»?",
    ),
    ("unresolved_reference", doc([act("a", message="${judgement_result.x}")]), "/nodes/0/message", "error", ""),
    (
        "sql_interpolation",
        doc([data("a", source={**SQL, "query": "SELECT ${input.x} FROM t"})]),
        "/nodes/0/source/query",
        "error",
        "params",
    ),
    (
        "sql_not_readonly",
        doc([data("a", source={**SQL, "query": "DELETE FROM t WHERE x = :x"})]),
        "/nodes/0/source/query",
        "error",
        "SELECT",
    ),
    ("sql_parameter", doc([data("a", source={**SQL, "params": {}})]), "/nodes/0/source/query", "error", '"x"'),
    ("n_of_range", doc([parallel("p", {"x": ["a"]}, "n_of", join={"n": 3}), A]), "/nodes/0/join/n", "error", "1 to 1"),
    ("judgment_settings", doc([judge("j", rule_pack_id="")]), "/nodes/0/policy", "error", "rule_pack_id"),
    (
        "cron_syntax",
        doc([A], trigger={"type": "schedule", "config": {"cron": "99 8 * * *"}}),
        "/trigger/config/cron",
        "error",
        "Five",
    ),
    (
        "timezone_known",
        doc([A], trigger={"type": "schedule", "config": {"cron": "0 8 * * *", "timezone": "Asia/Nowhere"}}),
        "/trigger/config/timezone",
        "error",
        "Asia/Seoul",
    ),
    (
        "switch_edge_mismatch",
        doc([switch("s", "1", [(1, "a"), (2, "b")]), A, B], ("s>a", {"when": "2"})),
        "/edges/0",
        "warning",
        "goto",
    ),
    (
        "ambiguous_default_output",
        doc([judge("j"), judge("k"), act("a", message="${judgment_result.decision}")], "j>k k>a"),
        "/nodes/2/message",
        "warning",
        "output.variable",
    ),
    (
        "timeout_inconsistent",
        doc([act("a", timeout_ms=5000)], policies={"timeout_ms": 1000}),
        "/nodes/0/timeout_ms",
        "warning",
        "longer",
    ),
    ("secret_not_allowed", doc([act("a", message="${secrets.x}")]), "/nodes/0/message", "error", "channel"),
    ("secret_reference", doc([A], context={"secrets": {"x": "plain"}}), "/context/secrets/x", "error", "env:"),
    (
        "webhook_auth",
        doc([A], trigger={"type": "webhook", "config": {"auth": "basic"}}),
        "/trigger/config/auth",
        "error",
        "bearer",
    ),
    (
        "path_outside",
        doc([data("a", source={"type": "file", "query": "../x.csv"})]),
        "/nodes/0/source/query",
        "error",
        "below",
    ),
    (
        "wait_is_durable",
        doc([wait("w", {"type": "manual"}, checkpoint={"resume_on_restart": False})]),
        "/nodes/0/checkpoint",
        "info",
        "",
    ),
    ("compensation_edge", doc([A, undo("u", "a")], "a>u"), "/edges/0", "warning", "for_node"),
    ("unknown_field", doc([act("a", mesage="x")]), "/nodes/0/mesage", "info", "message"),
    (
        "bi_required_settings",
        doc([{"id": "a", "type": "BI", "analysis": {"type": "anomaly", "metrics": ["m"]}}]),
        "/nodes/0/analysis",
        "error",
        "zscore",
    ),
    ("unknown_type", doc([{"id": "a", "type": "ACTON"}]), "/nodes/0/type", "error", "ACTION"),
    ("bad_id", doc([act("A-1")]), "/nodes/0/id", "error", "lower case"),
    (
        "filter_operator",
        doc([A], trigger={"type": "event", "config": {"source": "s", "filter": {"x": {"$like": 1}}}}),
        "/trigger/config/filter/x/$like",
        "error",
        "$gte",
    ),
    ("unique_branch_ids", doc([{**parallel("p", {"x": ["a"], "y": ["b"]}), "branches": [
        {"id": "x", "nodes": ["a"]}, {"id": "x", "nodes": ["b"]}]}, A, B]), "/nodes/0/branches/1/id", "error", "own"),
    ("switch_setting", doc([switch("s", "1", [(1, "a")], condition="true"), A]), "/nodes/0/condition", "warning",
     "mode"),
    ("literal_variable", doc([A], context={"variables": {"x": ["${input.y}"]}}), "/context/variables/x/0", "warning",
     "set_variables"),
    ("json_schema", doc([A], input_schema={"type": "nope"}), "/input_schema/type", "error", "schema"),
    ("filter_scale", doc([A], trigger={"type": "event", "config": {"source": "s", "filter": {
        "severity": {"$gte": "awful"}}}}), "/trigger/config/filter/severity/$gte", "warning", "scale"),
    ("schedule_policy", doc([A], trigger={"type": "schedule", "config": {"cron": "0 8 * * *", "overlap": "x"}}),
     "/trigger/config/overlap", "error", "config"),
    ("schedule_input", doc([A], trigger={"type": "schedule", "config": {"cron": "0 8 * * *", "inputs": [1]}}),
     "/trigger/config/inputs", "error", "config"),
    ("webhook_path", doc([A], trigger={"type": "webhook", "config": {"path": "x"}}), "/trigger/config/path", "error",
     "config"),
    ("webhook_method", doc([A], trigger={"type": "webhook", "config": {"method": "GET"}}), "/trigger/config/method",
     "error", "config"),
    ("webhook_rate", doc([A], trigger={"type": "webhook", "config": {"rate_limit": {"requests": 0}}}),
     "/trigger/config/rate_limit", "error", "config"),
    (
        "unreadable_name",
        doc([data("a", output={"variable": "my var"})]),
        "/nodes/0/output/variable",
        "warning",
        "letters",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "whole", "at", "severity", "word"), BROKEN, ids=[one[0] for one in BROKEN])
def test_exactly_this_rule(rule: str, whole: dict[str, Any], at: str, severity: str, word: str) -> None:
    """W-9.2.1, W-9.2.2, W-12.1.6: rule, category, severity, place and hint of each."""
    findings = [f for f in found(whole) if not (rule == "no_start_node" and f.rule == "unreachable_node")]
    assert [(f.rule, f.severity, f.where.pointer) for f in findings] == [(rule, severity, at)]
    assert word in findings[0].hint and findings[0].category == category_of(rule)
    assert findings[0].where.line >= 1 and findings[0].message.endswith((".", "«", "…")) or findings[0].message


#: rules that another document of the tests breaks: where more than one thing is wrong with it
ELSEWHERE = {
    "branch_order_conflict",
    "unreachable_node",
    "missing_dependency",
    "wait_output_from",
    "idle_setting",
    "outside_not_here",
    "output_unresolved",
    "address_outside",
    "too_many_cases",
}


def test_every_rule_has_its_document() -> None:
    """W-9.2.1, W-9.2.2: nothing in the table of categories is untested; the seed's own are all there."""
    told = {one[0] for one in BROKEN}
    assert set(CATEGORY) <= told | ELSEWHERE
    assert {rule: category_of(rule) for rule in CATEGORY} == CATEGORY
    assert set(CATEGORY) == SECURITY | PERFORMANCE | SEMANTIC
    seed = {"unique_node_ids", "no_orphan_nodes", "no_cycles", "no_hardcoded_secrets", "max_parallel_branches"}
    assert seed <= told and not told & ELSEWHERE


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("unique_node_ids", "Duplicate node IDs: a"),
        ("no_orphan_nodes", "Orphan nodes: c"),
        ("no_cycles", "Workflow contains cycle: a → b → a"),
        ("no_hardcoded_secrets", "Hardcoded secrets detected"),
        ("max_parallel_branches", "Too many parallel branches: 11"),
    ],
)
def test_messages_of_the_seed(rule: str, message: str) -> None:
    """W-9.2.1."""
    (whole,) = [one[1] for one in BROKEN if one[0] == rule]
    assert [f.message for f in found(whole)] == [message]


def test_the_seeds_five_rules_have_the_seeds_categories() -> None:
    """W-9.2.1: category and severity as printed, not as our own table says them; errors block a release, warnings do
    not."""
    printed = {
        "unique_node_ids": ("syntax", "error"),
        "no_orphan_nodes": ("semantic", "error"),
        "no_cycles": ("semantic", "error"),
        "no_hardcoded_secrets": ("security", "error"),
        "max_parallel_branches": ("performance", "warning"),
    }
    documents = {one[0]: one[1] for one in BROKEN if one[0] in printed}
    assert {rule: (f.category, f.severity) for rule, whole in documents.items() for f in found(whole)} == printed
    for rule, whole in documents.items():
        if printed[rule][1] == "warning":
            assert [f.rule for f in compiled(whole).findings] == [rule]
        else:
            with pytest.raises(DocumentInvalid) as refused:
                compiled(whole)
            assert [f.rule for f in refused.value.findings] == [rule]


def test_against_the_order_of_a_branch() -> None:
    """C-23 branch_order_conflict: an edge over the list's head; C-21: it is a cycle, too."""
    whole = doc([parallel("p", {"x": ["a", "b"]}), A, B], "b>a")
    assert {f.rule for f in found(whole)} == {"branch_order_conflict", "no_cycles"}


def test_what_nothing_can_reach() -> None:
    """W-9.2.2 unreachable_node: on an edge, but behind nothing that starts."""
    whole = doc(
        [A, act("f"), act("g"), act("b", circuit_breaker={"on_open": {"action": "fallback", "fallback_node": "f"}})],
        "a>b",
        "f>g",
    )
    assert found(whole) == []
    one, other = (
        act(a, circuit_breaker={"on_open": {"action": "fallback", "fallback_node": b}}) for a, b in ("xy", "yx")
    )
    told = [(f.rule, f.severity, f.where.pointer) for f in found(doc([A, B, one, other], "a>b"))]
    assert told == [("unreachable_node", "error", "/nodes/2"), ("unreachable_node", "error", "/nodes/3")]


def test_cycles_through_gotos_and_alternatives() -> None:
    """C-21: also via goto and alternative_path."""
    assert [f.rule for f in found(doc([act("s"), switch("w", "1", [(1, "b")]), B], "s>w b>w"))] == ["no_cycles"]
    w = wait("w", {"type": "manual"}, timeout={"on_timeout": "alternative_path", "goto": "b"})
    assert [f.rule for f in found(doc([act("s"), w, B], "s>w b>w"))] == ["no_cycles"]


@pytest.mark.parametrize(
    "whole",
    [
        doc([A]), doc([A, undo("u", "a")]), doc([switch("s", "1", [(1, "a")]), A]),
        doc([wait("w", {"type": "manual"}, timeout={"on_timeout": "alternative_path", "goto": "a"}), A]),
        doc([act("a", circuit_breaker={"on_open": {"action": "fallback", "fallback_node": "b"}}), B]),
        doc([parallel("p", {"x": ["a"], "y": ["b"]}), A, B]),
    ],
)  # fmt: skip
def test_what_is_connected(whole: Any) -> None:
    """C-20: one node alone, gotos, branch members, compensations, alternatives, fallbacks."""
    assert found(whole) == []


def test_a_compensation_as_target() -> None:
    """W-4.10.6: neither goto nor branch leads to one."""
    assert [f.rule for f in found(doc([switch("s", "1", [(1, "u")]), A, undo("u", "a")], "s>a"))] == [
        "goto_targets_exist"
    ]
    assert [f.rule for f in found(doc([parallel("p", {"x": ["a", "u"]}), A, undo("u", "a")]))] == [
        "branch_members_exist"
    ]


# ---- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "db_password",
        "passwd",
        "secret",
        "client_secret",
        "token",
        "api_key",
        "apikey",
        "API-KEY",
        "private_key",
        "webhook_url",
        "ACCESS_TOKEN",
    ],
)
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("x", True),
        ("${secrets.x}", False),
        ("${fn.get_secret('x')}", False),
        ("", False),
        (5, False),
        (True, False),
        ("a${secrets.x}", True),
        ("${input.x}", True),
        (None, False),
    ],
)
def test_secrets_under_telling_names(name: str, given: Any, told: bool) -> None:
    """C-29: a literal text under a telling name, wherever it stands."""
    whole = doc([act("a", channel={"type": "webhook", "config": {"deep": [{name: given}]}})])
    rules = [f.rule for f in found(whole)]
    assert ("no_hardcoded_secrets" in rules) is told


@pytest.mark.parametrize(
    "name", ["max_tokens", "tokens", "tokenizer", "secretary", "password_hint", "passwords", "keys", "webhook"]
)
def test_names_that_only_sound_so(name: str) -> None:
    """C-29: max_tokens must not match."""
    assert found(doc([act("a", channel={"type": "webhook", "config": {name: "x"}})])) == []


@pytest.mark.parametrize(
    "text", ["password = 'x'", 'api_key: "x"', "APIKEY='x'", 'api-key="abc"', "set Password:'hunter2'"]
)
def test_secrets_written_into_texts(text: str) -> None:
    """C-29, W-9.2.1: the seed's two patterns, wherever a text stands."""
    assert [f.rule for f in found(doc([act("a", message=text)]))] == ["no_hardcoded_secrets"]


def test_a_schema_s_properties_are_no_secrets() -> None:
    """C-29: JSON Schema `properties` keys are excluded; where a secret lies is no secret (C-63)."""
    schema = {"type": "object", "properties": {"password": {"type": "string"}, "token": {"const": "x"}}}
    held = {"secrets": {"token": "env:TOKEN", "api_key": "file:keys/a", "password": "vault:kv/x#y"}}
    assert found(doc([A], input_schema=schema, context=held)) == []


def test_no_false_alarm_on_any_sample() -> None:
    """C-29: the scan finds nothing in any block of the seed."""
    for _, block in blocks():
        if isinstance(block, dict):
            whole = (
                block
                if "nodes" in block and isinstance(block.get("version"), int)
                else doc([A], context={"variables": {"v": block}})
            )
            assert [
                f.where.pointer for f in found(json.loads(json.dumps(whole))) if f.rule == "no_hardcoded_secrets"
            ] == []


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["input", "context", "secrets", "aas", "rag", "sys", "fn"])
def test_reserved_names(name: str) -> None:
    """W-6.2.2: neither nodes, outputs nor variables."""
    assert [f.rule for f in found(doc([act(name)]))] == ["reserved_name"]
    assert [f.where.pointer for f in found(doc([data("a", output={"variable": name})]))] == ["/nodes/0/output/variable"]
    made = value("a", "1", side_effects={"set_variables": {name: 1}})
    assert [f.where.pointer for f in found(doc([made]))] == [f"/nodes/0/side_effects/set_variables/{name}"]


ALIASES = [
    (data("data_x"), "x_data"),
    (mcp("mcp_x"), "x_data"),
    (judge("anything"), "judgment_result"),
    (act("action_x"), "x"),
    (wait("wait_x", {"type": "manual"}), "x_result"),
    (wait("wait_x_result", {"type": "manual"}), "x_result"),
    (approval("anything"), "approval_result"),
    (parallel("anything", {"b": ["m"]}), "parallel_results"),
]


@pytest.mark.parametrize(("made", "alias"), ALIASES, ids=lambda one: one if isinstance(one, str) else one["type"])
def test_aliases(made: Any, alias: str) -> None:
    """C-10: the derived name is known; with an explicit one it is not; another id gives none."""
    more = [act("m")] if made["type"] == "PARALLEL" else []
    reader = act("r", message=f"${{{alias}}}")
    assert found(doc([made, reader, *more], f"{made['id']}>r")) == []
    named = {**made, "output": {"variable": "mine"}}
    assert [f.rule for f in found(doc([named, reader, *more], f"{made['id']}>r"))] == ["unresolved_reference"]
    if made["type"] in ("DATA", "MCP", "ACTION", "WAIT"):
        other = {**made, "id": "other"}
        assert [f.rule for f in found(doc([other, reader], "other>r"))] == ["unresolved_reference"]


def test_an_alias_has_the_lowest_priority() -> None:
    """C-10, W-6.2.2: a node, a variable or an output of that name comes first."""
    from tests.conformance.decision.make import net_of, node

    net = net_of([act("action_x"), data("x")], "action_x>x")
    assert node(net, "action_x").out == ()
    net = net_of([act("action_x")], context={"variables": {"x": 1}})
    assert node(net, "action_x").out == ()


# ---- where expressions and templates stand ---------------------------------------------------------------------------

PLACES: list[tuple[str, Any]] = [
    ("condition", act("a", condition="1 +")),
    ("expression", switch("a", "1 +", [(1, "end")])),
    ("cases/0/condition", {"id": "a", "type": "SWITCH", "cases": [{"condition": "1 +", "goto": "end"}]}),
    ("conditions/execute_if", act("a", conditions={"execute_if": "1 +"})),
    ("conditions/skip_if", act("a", conditions={"skip_if": "1 +"})),
    ("audit/human_review_if", {**judge("a"), "audit": {"human_review_if": "1 +"}}),
    (
        "condition/polling/success_condition",
        wait("a", {"type": "polling", "polling": {"endpoint": "/", "success_condition": "1 +"}}),
    ),
    (
        "condition/polling/failure_condition",
        wait(
            "a",
            {"type": "polling", "polling": {"endpoint": "/", "success_condition": "true", "failure_condition": "1 +"}},
        ),
    ),
    ("output/expression", value("a", "1 +")),
    ("output/expression", data("a", output={"expression": "1 +"})),
    ("idempotency/custom_expression", act("a", idempotency={"custom_expression": "1 +"})),
    ("message", act("a", message="${1 +}")),
    ("template/params/x/0", act("a", template={"id": "t", "params": {"x": ["${1 +}"]}})),
    ("channel/config/url", act("a", channel={"type": "webhook", "config": {"url": "${1 +}"}})),
    ("source/params/x", data("a", source={"type": "sql", "query": "SELECT 1", "params": {"x": "${1 +}"}})),
    ("params/x", data("a", source={"type": "sql", "query": "SELECT 1"}, params={"x": "${1 +}"})),
    ("source/query", data("a", source={"type": "api", "query": "/${1 +}"})),
    ("source/connection", data("a", source={"type": "api", "query": "/", "connection": "${1 +}"})),
    ("cache/key", data("a", cache={"key": "${1 +}"})),
    ("input/data", {**judge("a"), "input": {"data": "${1 +}"}}),
    ("input/context/k", {**judge("a"), "input": {"context": {"k": "${1 +}"}}}),
    ("operation/arguments/k", mcp("a", operation={"type": "tool", "name": "n", "arguments": {"k": "${1 +}"}})),
    ("request/title", approval("a", ask={"title": "${1 +}"})),
    ("request/data/k", approval("a", ask={"data": {"k": "${1 +}"}})),
    ("condition/event/filter/k", wait("a", {"type": "event", "event": {"source": "s", "filter": {"k": "${1 +}"}}})),
    ("condition/event/source", wait("a", {"type": "event", "event": {"source": "${1 +}"}})),
    ("timeout/default", wait("a", {"type": "manual"}, timeout={"on_timeout": "default_value", "default": "${1 +}"})),
    ("side_effects/set_variables/k", value("a", "1", side_effects={"set_variables": {"k": "${1 +}"}})),
    ("rate_limit/dedupe_key", act("a", rate_limit={"dedupe_key": "${1 +}"})),
]


@pytest.mark.parametrize(("at", "made"), PLACES, ids=[one[0] for one in PLACES])
def test_expressions_are_read_where_they_stand(at: str, made: Any) -> None:
    """W-5.1.6, W-4.0.6, W-5.3.7, W-9.1.1: a mistake is told at its place, before a run."""
    told = [(f.rule, f.where.pointer) for f in found(doc([made]))]
    assert told == [("expression_syntax", f"/nodes/0/{at}")]
    text = json.dumps(made).replace("1 +", "gone.x")
    assert [(f.rule, f.where.pointer) for f in found(doc([json.loads(text)]))] == [
        ("unresolved_reference", f"/nodes/0/{at}")
    ]


@pytest.mark.parametrize(
    ("whole", "at"),
    [
        (doc([A, B], ("a>b", {"when": "1 +"})), "/edges/0/when"),
        (doc([parallel("p", {"x": {"nodes": ["a"], "condition": "1 +"}}), A]), "/nodes/0/branches/0/condition"),
        (doc([A, undo("u", "a", trigger={"conditions": "1 +"})]), "/nodes/1/trigger/conditions"),
        (doc([A, undo("u", "a", actions=[{"type": "api", "endpoint": "/${1 +}"}])]), "/nodes/1/actions/0/endpoint"),
        (doc([A], context={"aas_context": ["line.${1 +}"]}), "/context/aas_context/0"),
    ],
)  # fmt: skip
def test_expressions_elsewhere(whole: Any, at: str) -> None:
    """W-5.1.6, C-39."""
    assert [(f.rule, f.where.pointer) for f in found(whole)] == [("expression_syntax", at)]


def test_locals() -> None:
    """W-6.2.2: names that only a place knows."""
    poll = {"type": "polling", "polling": {"endpoint": "/", "success_condition": "response.x == 1"}}
    assert found(doc([wait("a", poll)])) == [] and found(doc([data("a", output={"expression": "output.x"})])) == []
    review = {**judge("a"), "audit": {"human_review_if": "confidence < 0.7 || decision == 'critical'"}}
    assert found(doc([review])) == []
    assert [f.rule for f in found(doc([act("a", message="${response.x}")]))] == ["unresolved_reference"]
    assert [f.rule for f in found(doc([act("a", message="${now}")]))] == ["unresolved_reference"]


def test_a_map_that_would_be_evaluated() -> None:
    """W-4.0.6: text of a user is never evaluated by accident."""
    for key in ("$expr", "$template"):
        told = found(doc([act("a", template={"id": "t", "params": {"x": {key: "1"}}})]))
        assert [(f.rule, f.where.pointer) for f in told] == [("reserved_key", "/nodes/0/template/params/x")]
