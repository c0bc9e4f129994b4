"""What a workflow reads from outside, what it depends on, what it gives out, and what it hands to the host."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.lang.decision import dependencies
from penstock.lang.read import read_document
from tests.conformance.decision.make import (
    Play,
    act,
    approval,
    data,
    document,
    edge,
    found,
    judge,
    mcp,
    net_of,
    node,
    rules,
    undo,
    value,
    wait,
)

LINE = {"line": {"L01": {"name": "Line 1"}}}


# ---- aas and rag -----------------------------------------------------------------------------------------------------


def test_an_asset_is_fetched_before_the_node() -> None:
    """C-64, C-70, W-5.2.1: by a task of its own; a nested reference is one segment; unknown is null."""
    m = Play([act("x", message="${aas.line.${input.l}.name} ${aas.equipment.EQ1.status}")], input={"l": "L01"})
    assert m.args("x.context") == {"aas": ["line.L01", "equipment.EQ1"]}
    m.ok("x.context", {"aas": {**LINE, "equipment": {"EQ1": None}}, "rag": {}})
    assert m.args("x")["message"] == "Line 1 "


def test_a_search_is_fetched_before_the_node() -> None:
    """C-64: `rag.name` asks what the context declares, by default the input; `rag.name(q, k)` directly."""
    context = {"rag_context": [{"name": "cases", "query": "about ${input.q}", "top_k": 2}, "others"]}
    text = "${rag.cases[0].id} ${rag.others[0].id} ${rag.near(input.q, 1 + 1)[0].id}"
    m = Play([act("x", message=text)], input={"q": "w"}, context=context)
    args = m.args("x.context")
    assert args["rag"] == [
        {"name": "cases", "query": "about w", "top_k": 2},
        {"name": "others", "query": {"q": "w"}, "top_k": 5},
    ]
    assert args["calls"] == [{"name": "near", "args": ["w", 2]}]
    m.ok(
        "x.context",
        {"aas": {}, "rag": {"cases": [{"id": 1}], "others": [{"id": 2}], "near()": [[["w", 2], [{"id": 3}]]]}},
    )
    assert m.args("x")["message"] == "1 2 3"


def test_a_guard_that_needs_nothing_is_asked_first() -> None:
    """W-4.0.2: what is not run fetches nothing."""
    m = Play([act("x", message="${aas.line.L01.name}", condition="false"), act("y")], "x>y")
    assert m.asks() == ["y"] and m.states()["x"] == "skipped"
    m = Play([act("x", condition="aas.line.L01.on")])
    m.ok("x.context", {"aas": {"line": {"L01": {"on": False}}}})
    assert m.status == "COMPLETED" and m.states()["x"] == "skipped"


def test_what_cannot_be_fetched() -> None:
    """C-39, C-43: is the node's failure: its failed edge, its skip_on_error, its retries."""
    nodes = [act("x", message="${aas.line.L01.name}"), act("h")]
    m = Play(nodes, ("x>h", {"when": "failed"}))
    m.bad("x.context")
    assert m.asks() == ["h"]
    m = Play([{**nodes[0], "skip_on_error": True}, act("y")], "x>y")
    m.bad("x.context")
    assert m.asks() == ["y"] and m.states()["x"] == "skipped"
    assert node(net_of([{**nodes[0], "retry": {"max": 4}}]), "x.context").retry.max == 4


def test_all_parts_of_a_node_see_it() -> None:
    """C-64: reviewers, approvers, side effects and switches read what was fetched for the node."""
    m = Play([approval("ask", ask={"title": "${aas.line.L01.name}"}, notification={"channels": ["slack"]})])
    m.ok("ask.context", {"aas": LINE})
    assert m.told("ask")[0][1]["template"]["params"]["title"] == "Line 1"
    made = judge("x", routing={})
    made["side_effects"] = {"set_variables": {"n": "${aas.line.L01.name}"}}
    m = Play([made])
    m.ok("x.context", {"aas": LINE})
    m.ok("x.do", {"decision": "normal"})
    assert m.st.vars["n"] == "Line 1"


def test_assets_of_the_context_are_fetched_first() -> None:
    """C-64, W-3.1.1: aas_context, as a text or {type, id}; what a node reads of them is there."""
    context = {"aas_context": ["line.L01", {"type": "line", "id": "${input.l}"}]}
    m = Play([act("x", message="${aas.line.L01.name} ${aas.line.${input.l}.name} ${aas.line.L03.name}")],
             input={"l": "L02"}, context=context)  # fmt: skip
    assert m.asks() == ["context.prefetch"] and m.args("context.prefetch") == {"aas": ["line.L01", "line.L02"]}
    m.ok("context.prefetch", {"aas": {"line": {"L01": {"name": 1}, "L02": {"name": 2}}}})
    assert m.args("x.context") == {"aas": ["line.L03"]}
    m.ok("x.context", {"aas": {"line": {"L03": {"name": 3}}}})
    assert m.args("x")["message"] == "1 2 3"
    assert edge(m.net.net, "context.prefetch>x.context").src == "context.prefetch"


@pytest.mark.parametrize("entry", [5, "line", {"type": "line"}, None, {"id": "x"}])
def test_what_names_no_asset(entry: Any) -> None:
    """C-64."""
    assert rules([act("x")], context={"aas_context": [entry]}) == [("error", "aas_context", "/context/aas_context/0")]


def test_what_names_no_collection() -> None:
    """C-64."""
    assert rules([act("x")], context={"rag_context": [{}]}) == [("error", "rag_context", "/context/rag_context/0")]


def test_the_author_s_node_is_the_current_one() -> None:
    """W-6.4.1: also where a node became several."""
    m = Play([data("x", source={"type": "api", "query": "/${sys.current_node}"}, output={"expression": "output"})])
    assert m.args("x.do")["path"] == "/x"


# ---- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/api/${input.a}/x", "/api/..%2Fb/x"), ("/api/x?q=${input.a}&r=${input.n}", "/api/x?q=..%2Fb&r="),
        ("/api/${input.o.k}-${input.i}", "/api/v-5"), ("${input.a}", "..%2Fb"), ("/plain", "/plain"),
        ("/it's/${input.i}", "/it's/5"), ("https://host/${(input.i + 1) * 2}", "https://host/12"),
    ],
)  # fmt: skip
def test_values_stay_in_their_segment(text: str, path: str) -> None:
    """C-28: in sources, polls and compensations."""
    given = {"a": "../b", "n": None, "o": {"k": "v"}, "i": 5}
    m = Play([data("x", source={"type": "api", "endpoint": text})], input=given)
    assert m.args("x")["path"] == path
    m = Play([wait("x", {"type": "polling", "polling": {"endpoint": text, "success_condition": "true"}})], input=given)
    assert m.args("x")["path"] == path
    m = Play([act("a"), act("b"), undo("u", "a", actions=[{"type": "api", "endpoint": text}])], "a>b", input=given)
    m.ok("a"), m.bad("b")
    assert m.args("u")["path"] == path


@pytest.mark.parametrize("given", [None, "", "..", "."])
def test_a_value_that_would_lead_elsewhere_fails(given: Any) -> None:
    """C-28."""
    m = Play([data("x", source={"type": "api", "endpoint": "/api/${input.v}/x"})], input={"v": given})
    assert m.status == "FAILED" and m.failure()[:2] == ("EXPR_TYPE", "validation")


@pytest.mark.parametrize("text", ["https://${input.h}/x", "http://a.${input.h}", "//${input.h}/x"])
def test_a_value_cannot_choose_the_host(text: str) -> None:
    """C-28."""
    d = data("x", source={"type": "api", "endpoint": text})
    assert rules([d]) == [("error", "address_outside", "/nodes/0/source/endpoint")]


# ---- the output of a run ---------------------------------------------------------------------------------------------


def test_without_a_schema_all_outputs_are_the_result() -> None:
    """C-67: under their names, aliases too."""
    m = Play([data("data_x"), act("y", output={"variable": "z"})], "data_x>y")
    m.all_ok()
    assert m.st.results == {"x_data": {"by": "data_x"}, "z": {"by": "y"}}


SCHEMA = {"type": "object", "properties": {"x_data": {"type": "object"}, "n": {"type": "integer"}}, "required": ["n"]}


def ended(**more: Any) -> Play:
    nodes = [data("data_x", side_effects={"set_variables": {"n": 5}}, **more), act("y", condition="input.y"), act("z")]
    return Play(nodes, "data_x>y data_x>z", output_schema=SCHEMA, input={"y": False})


def test_the_result_has_the_properties_of_the_schema() -> None:
    """C-67: resolved as variables, checked when everything else has ended."""
    m = ended()
    m.ok("data_x", {"a": 1})
    assert m.asks() == ["z"]
    m.ok("z")
    assert m.asks() == ["context.output"] and m.args("context.output") == {
        "value": {"x_data": {"a": 1}, "n": 5}, "without_null": True, "output": {"schema": SCHEMA},
    }  # fmt: skip
    m.ok("context.output", {})
    assert m.status == "COMPLETED" and m.st.results == {"x_data": {"a": 1}, "n": 5}


def test_an_output_that_does_not_fit_fails_the_run() -> None:
    """C-67: OUTPUT_SCHEMA, validation."""
    m = ended()
    m.ok("data_x", {"a": 1}), m.ok("z")
    m.bad("context.output", "OUTPUT_SCHEMA", "validation")
    assert m.status == "FAILED" and m.failure()[:2] == ("OUTPUT_SCHEMA", "validation")


def test_every_end_is_checked_once() -> None:
    """C-67, C-14, C-12: a switch without a match, an end, a handled failure, a skipped path."""
    s = {
        "id": "s",
        "type": "SWITCH",
        "expression": "input.v",
        "cases": [{"value": 1, "goto": "end"}, {"value": 2, "goto": "y"}],
    }
    schema = {"type": "object", "properties": {"n": {}}}
    for v in (1, 2, 3):
        m = Play(
            [value("n_", "1", output={"variable": "n", "expression": "1"}), s, act("y")],
            "n_>s",
            output_schema=schema,
            input={"v": v},
        )
        told = m.all_ok()
        assert told == (["y", "context.output"] if v == 2 else ["context.output"]) and m.status == "COMPLETED"
    m = Play([data("x"), act("h")], ("x>h", {"when": "failed"}), output_schema=schema)
    m.bad("x")
    assert m.all_ok() == ["h", "context.output"]


def test_a_property_that_nothing_gives() -> None:
    """C-67: a warning; `properties` may be absent."""
    told = rules([act("x")], output_schema={"type": "object", "properties": {"gone": {}}})
    assert told == [("warning", "output_unresolved", "/output_schema/properties/gone")]
    m = Play([data("data_x")], output_schema={"type": "object"})
    m.ok("data_x", 1)
    assert m.args("context.output")["value"] == {"x_data": 1}


@pytest.mark.parametrize("schema", [{}, True])
def test_a_schema_that_anything_fits(schema: Any) -> None:
    """C-67, W-12.1.5, W-3.1.1: it loads clean, holds nothing against anything, and all outputs are the result; the
    output of a node likewise."""
    assert rules([data("data_x")], output_schema=schema) == []
    m = Play([data("data_x", output={"schema": schema}), value("data_y", "2")], "data_x>data_y", output_schema=schema)
    assert "output" not in m.args("data_x")
    m.ok("data_x", 1)
    assert m.status == "COMPLETED" and m.st.results == {"x_data": 1, "y_data": 2}


def test_a_schema_that_nothing_fits() -> None:
    """C-67, W-12.1.5: `false` is asked, too."""
    m = Play([data("data_x")], output_schema=False)
    m.ok("data_x", 1)
    assert m.args("context.output") == {"value": {"x_data": 1}, "without_null": True, "output": {"schema": False}}


# ---- files and streams -----------------------------------------------------------------------------------------------


def test_what_parameters_do_for_a_file_and_a_stream() -> None:
    """C-24, C-26: they stand in the path, or are the two that a stream knows; of the others it is said that they
    change nothing, and they reach nobody."""
    source = {"type": "file", "query": "${input.day}/{line}.csv", "params": {"line": "${input.line}", "day": 1}}
    d = {"id": "d", "type": "DATA", "source": source, "params": {"old": 2}}
    assert rules([d]) == [("info", "idle_setting", f"/nodes/0/{at}") for at in ("source/params/day", "params/old")]
    m = Play([d], input={"day": "monday", "line": "L01"})
    assert m.args("d") == {"path": "monday/{line}.csv", "params": {"line": "L01"}, "connection": "default_file"}
    source = {"type": "stream", "query": "s", "params": {"max_messages": 5, "name": "other"}}
    d = {"id": "d", "type": "DATA", "source": source}
    assert rules([d]) == [("info", "idle_setting", "/nodes/0/source/params/name")]
    given = Play([d]).args("d")
    assert given == {"name": "s", "max_messages": 5, "max_wait_ms": 1000, "connection": "default_stream"}


# ---- for the host ----------------------------------------------------------------------------------------------------


def test_policies_are_data_for_the_host() -> None:
    """C-16, C-84, W-7.5.1, W-8.1.1: only what is stated, with its defaults."""
    assert net_of([act("x")]).declares.policies == {}
    policies = {
        "checkpoint": {"strategy": "explicit"},
        "dlq": {"retention_days": 3},
        "compensation": {"on_cancel": False},
    }
    nodes = [
        act("x", checkpoint=True, audit={"log_input": True}),
        wait("w", {"type": "manual"}, checkpoint={"save_context": True}),
    ]
    found_ = net_of(nodes, "x>w", policies=policies).declares.policies
    assert found_["checkpoint"]["strategy"] == "explicit" and found_["checkpoint"]["time_interval_ms"] == 60_000
    assert found_["dlq"]["retention_days"] == 3 and found_["dlq"]["queue_name"] == "workflow_dlq"
    assert found_["compensation"] == {
        "enabled": True,
        "order": "reverse",
        "on_cancel": False,
        "continue_on_error": False,
    }
    assert found_["nodes"]["x"] == {"checkpoint": True, "audit": {"log_input": True}}
    assert found_["nodes"]["w"]["checkpoint"]["save_context"] is True


def test_calendar_and_configuration_are_carried() -> None:
    """C-48, C-82: a run takes along from its start what its expressions read of the tenant's settings."""
    text = "${fn.is_holiday()} ${fn.get_config('a')} ${fn.get_tenant_config('b')}"
    assert net_of([act("x", message=text)]).declares.carries == ("calendar", "config", "tenant_config")
    assert net_of([act("x")]).declares.carries == ()


# ---- dependencies ----------------------------------------------------------------------------------------------------

NEEDY = [
    data("d", source={"type": "sql", "connection": "pg", "query": "SELECT 1"}),
    data("e", source={"type": "api", "endpoint": "/x"}),
    data("t", source={"type": "api", "endpoint": "/x", "connection": "${input.c}"}),
    judge("j", rule_pack_id="pack", prompt_id="prompt"),
    mcp("m", fallback={"on_error": "alternative_server", "alternative_server": "backup"}),
    act(
        "a",
        template={"id": "tpl"},
        channel={"type": "webhook", "config": {"url": "${secrets.hook}", "x": "${fn.get_secret('k')}"}},
    ),
    approval("p", notification={"channels": ["sms"], "template": "ask"}),
    undo(
        "u",
        "a",
        actions=[{"type": "notification", "channel": "email", "message": "m"}, {"type": "api", "endpoint": "/x"}],
    ),
]
WANTED = [
    ("connection", "pg", "/nodes/0/source/connection"),
    ("connection", "default_api", "/nodes/1/source"),
    ("rule_pack", "pack", "/nodes/3/policy/rule_pack_id"),
    ("prompt", "prompt", "/nodes/3/policy/prompt_id"),
    ("mcp_server", "erp", "/nodes/4/server/id"),
    ("mcp_server", "backup", "/nodes/4/fallback/alternative_server"),
    ("channel", "webhook", "/nodes/5/channel/type"),
    ("template", "tpl", "/nodes/5/template/id"),
    ("secret", "hook", "/nodes/5/channel/config/url"),
    ("secret", "k", "/nodes/5/channel/config/x"),
    ("channel", "sms", "/nodes/6/notification/channels/0"),
    ("template", "ask", "/nodes/6/notification/template"),
    ("channel", "email", "/nodes/7/actions/0/channel"),
    ("connection", "default_api", "/nodes/7/actions/1"),
]


def test_what_a_workflow_depends_on() -> None:
    """W-9.2.2 missing_dependency, C-24, C-55, C-63: type, id and place of everything that the tenant must have."""
    whole = document(NEEDY, ("d>e e>t t>j j>m m>a a>p",))
    depends = dependencies(read_document(json.dumps(whole).encode(), name="t.json"))
    assert sorted(depends) == sorted(WANTED)
    held = {**whole, "context": {"secrets": {"hook": "env:HOOK", "k": "file:k"}}}
    assert not [d for d in dependencies(read_document(json.dumps(held).encode(), name="t.json")) if d[0] == "secret"]


def test_a_dependency_that_is_missing_is_a_warning() -> None:
    """W-9.2.2, W-9.1.1: told when somebody can say what is registered."""
    whole = document(NEEDY, ("d>e e>t t>j j>m m>a a>p",))
    assert found(whole) == []
    told = found(whole, registered=lambda what, _: what != "secret")
    assert [(f.rule, f.severity, f.where.pointer, f.category) for f in told] == [
        ("missing_dependency", "warning", "/nodes/5/channel/config/url", "semantic"),
        ("missing_dependency", "warning", "/nodes/5/channel/config/x", "semantic"),
    ]
