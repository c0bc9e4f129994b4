"""What a check must tell, and what only a run shows: found by a review of decisions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.errors import StatusConflict
from penstock.executors.channels import database, webhook
from penstock.executors.dataset import _FORMATS
from penstock.executors.parts.network.http_arguments import METHODS
from penstock.lang.decision import literal_checks
from tests.conformance.decision.make import (
    Play,
    act,
    approval,
    data,
    document,
    found,
    judge,
    net_of,
    node,
    parallel,
    rules,
    switch,
    undo,
    value,
    wait,
)  # fmt: skip

A, B = act("a"), act("b")


# ---- switches --------------------------------------------------------------------------------------------------------


def test_a_switch_without_a_list_of_cases_is_told() -> None:
    """W-9.1.1, W-12.1.2: whatever stands for the cases, the check ends with findings."""
    for cases in (True, 5, "x", {"a": 1}, None):
        node = {"id": "s", "type": "SWITCH", "expression": "1", "cases": cases, "default": {"goto": "nope"}}
        told = rules([node, A])
        assert ("error", "goto_targets_exist", "/nodes/0/default") in told


def test_a_case_that_can_never_match() -> None:
    """C-11: where values are compared, every case has one; null is one."""
    only = {"condition": "input.x > 1", "goto": "a"}
    assert ("error", "missing_field", "/nodes/0/cases/0") in rules([switch("s", "1", [only, (2, "b")]), A, B])
    assert ("error", "missing_field", "/nodes/0/cases/0") in rules([switch("s", "1", [{"goto": "a"}]), A])
    assert rules([switch("s", "input.x", [(None, "a")]), A]) == []


def test_what_a_switch_does_not_read_is_told() -> None:
    """C-11: a selector beside conditions, a condition beside a selector, and both in one case."""
    both = {"value": 1, "condition": "true", "goto": "a"}
    assert rules([switch("s", "1", [both]), A]) == [("warning", "switch_setting", "/nodes/0/cases/0/condition")]
    told = rules([switch("s", "1", [both], mode="condition"), A])
    assert told == [("warning", "switch_setting", "/nodes/0/expression"),
                    ("warning", "switch_setting", "/nodes/0/cases/0/value")]  # fmt: skip
    told = rules([switch("s", "1", [(1, "a")], condition="true"), A])
    assert told == [("warning", "switch_setting", "/nodes/0/condition")]


# ---- people ----------------------------------------------------------------------------------------------------------


def candidates(play: Play, id: str) -> Any:
    return next(line.data["candidates"] for line in play.of("work.opened") if line.node == id)["targets"]


@pytest.mark.parametrize(
    ("type", "who", "target"),
    [
        ("role", "quality_manager", "role:quality_manager"),
        ("user", "kim", "user:kim"),
        ("group", "line1", "group:line1"),
        ("any_of", "kim@x.kr", "user:kim@x.kr"),
        ("any_of", "chief", "role:chief"),
        ("role", "user:kim", "user:kim"),
    ],
)
def test_a_target_that_only_the_run_knows_gets_its_prefix(type: str, who: str, target: str) -> None:
    """C-32: the type tells, or an @ does, exactly as where it is written out."""
    play = Play([approval("p", "${input.who}", type=type)], input={"who": who})
    assert candidates(play, "p") == [target]
    assert candidates(Play([approval("p", who, type=type)], input={}), "p") == [target]


def test_a_part_of_a_target_may_be_a_value() -> None:
    """C-32: a prefix that is written out stays."""
    play = Play([approval("p", "role:${input.who}_lead", "${input.who}_deputy")], input={"who": "qa"})
    assert candidates(play, "p") == ["role:qa_lead", "role:qa_deputy"]


@pytest.mark.parametrize(("given", "target"), [("${input.who}", "role:chief"), ("user:kim", "user:kim"),
                                               ("chief", "role:chief")])  # fmt: skip
def test_a_reviewer_has_a_prefix(given: str, target: str) -> None:
    """C-32, C-52: whoever reviews a verdict, too."""
    play = Play([judge("j", routing={"reviewer_role": given})], input={"who": "chief"})
    play.ok("j.do", {"decision": "warning", "confidence": 0.1, "escalate": {"reason": "unsure"}})
    assert candidates(play, "j.review") == [target]


@pytest.mark.parametrize(
    ("told", "targets"), [(["boss", "user:kim", "lee@x.kr"], ["role:boss", "user:kim", "user:lee@x.kr"]),
                          ("boss", ["role:boss"]), ([], ["role:admin"])],
)  # fmt: skip
def test_the_tenants_escalation_targets_get_theirs(told: Any, targets: list[str]) -> None:
    """C-32, C-34: settings of a tenant are written as documents are."""
    node = approval("p", timeout={"duration_hours": 1, "on_timeout": "escalate"})
    options = {"tenant_config": {"approval": {"escalation_targets": told}}}
    play = Play([node], input={}, start={"options": options})
    play.tick(3_600_001)
    opened = [line.data["candidates"]["targets"] for line in play.of("work.opened")]
    assert opened[-1] == targets


# ---- branches, schemas, triggers -------------------------------------------------------------------------------------


def test_branches_are_told_apart_and_do_something() -> None:
    """C-23: two branches of one id, and one without nodes."""
    made = parallel("p", {"x": ["a"], "y": []})
    assert ("error", "missing_field", "/nodes/0/branches/1/nodes") in rules([made, A])
    twice = {**made, "branches": [{"id": "x", "nodes": ["a"]}, {"id": "x", "nodes": ["b"]}]}
    assert rules([twice, A, B]) == [("error", "unique_branch_ids", "/nodes/0/branches/1/id")]


BAD = [
    {"type": "nope"}, {"properties": {"x": {"type": "string", "pattern": "("}}}, {"$ref": "https://x.test/s.json"},
    {"$ref": "#/definitions/gone"}, {"type": "object", "required": "x"}, {"$schema": "https://x.test/other"},
]  # fmt: skip


@pytest.mark.parametrize("schema", BAD)
def test_a_broken_schema_is_told(schema: Any) -> None:
    """W-9.1.1, W-12.1.5: of the input, of the output, and of what a node gives; nothing is fetched."""
    for name in ("input_schema", "output_schema"):
        told = found(document([A], **{name: schema}))
        errors = [f for f in told if f.rule == "json_schema"]
        assert [f.severity for f in errors] == ["error"] and errors[0].where.pointer.startswith(f"/{name}")
    told = found(document([data("a", output={"schema": schema})]))
    assert [f.rule for f in told] == ["json_schema"] and told[0].where.pointer.startswith("/nodes/0/output/schema")


def test_the_settings_of_a_trigger_are_told() -> None:
    """W-3.2.1, W-3.2.4, C-31: by the check, not only when it is submitted."""
    for config, at in (
        ({"cron": "0 8 * * *", "overlap": "pile"}, "overlap"), ({"cron": "0 8 * * *", "catch_up": 1}, "catch_up"),
        ({"cron": "0 8 * * *", "input": []}, "input"), ({"cron": "0 8 * * *", "inputs": {}}, "inputs"),
    ):  # fmt: skip
        told = rules([A], trigger={"type": "schedule", "config": config})
        assert [(s, at_) for s, _, at_ in told] == [("error", f"/trigger/config/{at}")]
    for config, at in (
        ({"path": "no slash"}, "path"), ({"method": "EXPLODE"}, "method"), ({"rate_limit": 5}, "rate_limit"),
        ({"rate_limit": {"requests": 10**18}}, "rate_limit"), ({"rate_limit": {"window_sec": 0}}, "rate_limit"),
    ):  # fmt: skip
        told = rules([A], trigger={"type": "webhook", "config": config})
        assert [(s, at_) for s, _, at_ in told] == [("error", f"/trigger/config/{at}")]
    (told,) = found(document([A], trigger={"type": "schedule", "config": {"cron": None}}))
    assert (told.rule, told.message) == ("missing_field", "«cron» is missing.")


def test_a_filter_that_can_never_match_is_told() -> None:
    """C-30: a broken pattern, and a word without a rank; in triggers and in waits, however deep."""
    broken = {"$or": [{"code": {"$regex": "("}}]}
    ranked = {"$and": [{"a.severity": {"$gte": "awful"}}, {"severity": {"$lt": "critical", "$ne": "odd"}}]}
    for wanted, rule, at in (
        (broken, "filter_operator", "/$or/0/code/$regex"), (ranked, "filter_scale", "/$and/0/a.severity/$gte"),
        ({"code": {"$regex": 5}}, "filter_operator", "/code/$regex"),
    ):  # fmt: skip
        told = rules([A], trigger={"type": "event", "config": {"source": "s", "filter": wanted}})
        assert [(r, p) for _, r, p in told] == [(rule, f"/trigger/config/filter{at}")]
        told = rules([wait("w", {"type": "event", "event": {"source": "s", "filter": wanted}})])
        assert [(r, p) for _, r, p in told] == [(rule, f"/nodes/0/condition/event/filter{at}")]


# ---- what leaves the house -------------------------------------------------------------------------------------------


def hook(url: str, **config: Any) -> dict[str, Any]:
    return act("a", channel={"type": "webhook", "config": {"url": url, **config}})


def test_data_does_not_choose_who_gets_a_secret() -> None:
    """C-28, C-63: the host of a request that carries a secret is the author's word, or the tenant's."""
    key = {"headers": {"Authorization": "Bearer ${secrets.key}"}}
    for url in ("https://${input.h}/x", "${input.url}", "https://${input.h}.x.test/", "//${input.h}/x",
                "${secrets.base}${input.rest}", "https://x.test${input.h}",
                "https://x.test:${input.port}/"):  # fmt: skip
        assert rules([hook(url, **key)]) == [("error", "address_outside", "/nodes/0/channel/config/url")]
    nested = act("a", channel={"type": "webhook", "config": {"webhook": {"url": "https://${input.h}/x", **key}}})
    assert rules([nested]) == [("error", "address_outside", "/nodes/0/channel/config/webhook/url")]
    for url in ("https://x.test/${input.h}", "${secrets.place}", "https://${secrets.host}/x",
                "${secrets.base}/${input.rest}", "${fn.get_tenant_config('hook.url')}"):  # fmt: skip
        assert rules([hook(url, **key)]) == []
    assert rules([hook("https://${input.h}/x")]) == []


# ---- what is written out ---------------------------------------------------------------------------------------------


def test_the_words_are_those_of_the_executors() -> None:
    """C-24, C-27, C-56: the checker knows what they know."""
    assert set(literal_checks.API_METHODS) == METHODS and literal_checks.WEBHOOK_METHODS == webhook.METHODS
    assert literal_checks.OPERATIONS == database.OPERATIONS and set(literal_checks.FILE_EXTENSIONS) == set(_FORMATS)


LITERAL: list[tuple[dict[str, Any], str]] = [
    (data("a", source={"type": "api", "query": "/x", "method": "EXPLODE"}), "source/method"),
    (wait("a", {"type": "polling", "polling": {"endpoint": "/", "success_condition": "true", "method": "X"}}),
     "condition/polling/method"),
    (hook("https://x.test/", method="EXPLODE"), "channel/config/method"),
    (act("a", channel={"type": "database", "config": {"table": "t", "operation": "truncate"}}),
     "channel/config/operation"),
    (act("a", channel={"type": "database", "config": {"database": {"table": "t", "operation": "truncate"}}}),
     "channel/config/database/operation"),
    (data("a", source={"type": "file", "query": "rows.xlsx"}), "source/query"),
    (wait("a", {"type": "time", "until": "tomorrow"}), "condition/until"),
    (data("a", output={"transform": {"expression": ".items[ | .id"}}), "output/transform/expression"),
    (act("a", notification="slack"), "notification"),
    (act("a", notification=["email"]), "notification"),
    (approval("a", notification="slack"), "notification"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "at"), LITERAL)
def test_a_word_that_is_certainly_wrong(node: dict[str, Any], at: str) -> None:
    """C-24, C-27, C-35, C-56, W-4.0.3, W-4.6.6: told where it stands; a template is for the run."""
    assert [(s, p) for s, _, p in rules([node])] == [("error", f"/nodes/0/{at}")]


def test_the_same_in_a_compensation() -> None:
    """W-4.10.3: its requests have methods, too; and a wrong word in `on` is told with those that there are."""
    made = undo("u", "a", actions=[{"type": "api", "endpoint": "/x", "method": "EXPLODE"}])
    assert rules([A, made]) == [("error", "wrong_type", "/nodes/1/actions/0/method")]
    (told,) = found(document([A, undo("u", "a", trigger={"on": ["node_failure", "node_failur"]})]))
    assert told.where.pointer == "/nodes/1/trigger/on/1"
    assert "node_failure, workflow_cancel, manual" in told.message and "node_failure" in told.hint


@pytest.mark.parametrize(
    "program", [".", "..", ".a.b", ".items[] | {id, x: (.y + 1)}", '"a\\(.b | "c(")d)"', "# x\n.a", "-1", ".[1:]",
                "[.[] | select(.x > 1)]", "reduce .[] as $x (0; . + $x)", '.a // "("', ".a as [$x, $y] | $x",
                '@base64 "x\\(.y)"'],
)  # fmt: skip
def test_a_jq_program_that_is_right(program: str) -> None:
    """C-25: nothing is said about what jq would take."""
    assert literal_checks.jq_syntax_problem(program) is None


@pytest.mark.parametrize("program", ["(", ".a)", ".a |", "| .a", '"x', ".a[", "{a: 1", "", "  ", '"\\(.a"', ".a ,"])
def test_a_jq_program_that_is_broken(program: str) -> None:
    """C-25: what jq would refuse for certain."""
    assert literal_checks.jq_syntax_problem(program)


def test_the_context_is_read_too() -> None:
    """C-64, W-6.1.1: a search's query is a template, and a variable's first value is not."""
    asks = {"name": "cases", "query": "${inpt.x}", "top_k": 5}
    told = rules([A], context={"rag_context": [asks]})
    assert ("error", "unresolved_reference", "/context/rag_context/0/query") in told
    for top_k in (0, 10**18, "5"):
        told = rules([A], context={"rag_context": [{"name": "cases", "top_k": top_k}]})
        assert told == [("error", "rag_context", "/context/rag_context/0/top_k")]
    assert rules([value("a", "1")], context={"variables": {"x": {"y": "${input.z}"}}}) == [
        ("warning", "literal_variable", "/context/variables/x/y")
    ]


def test_a_case_beyond_64_bits_is_told() -> None:
    """C-11, C-08: no expression can make it, so nothing could match."""
    assert rules([switch("s", "input.x", [(2**64 - 1, "a")]), A]) == [("error", "case_value", "/nodes/0/cases/0/value")]


def test_a_review_takes_along_what_it_asks() -> None:
    """W-4.3.4, C-48: what the run knows, and the tenant's calendar; a verdict alone needs neither."""
    asks = {**judge("j"), "audit": {"human_review_if": "confidence < 0.5 || fn.is_weekend()"}}
    net = net_of([asks])
    effect = node(net, "j").effect
    assert effect is not None and effect.sees_run and "calendar" in net.declares.carries
    effect = node(net_of([{**judge("j"), "audit": {"human_review_if": "confidence < 0.5"}}]), "j").effect
    assert effect is not None and not effect.sees_run


def test_what_its_table_does_not_name_is_refused_in_its_words(tmp_path: Path) -> None:
    """W-2.2.2, C-80: a decision that has ended takes no command, and says so with the code of its own language."""
    (tmp_path / "w.json").write_text(json.dumps(document([value("a", "1")])))

    async def go() -> None:
        async with Penstock(tmp_path / "runs.db") as p:
            run = await p.start(p.release(tmp_path / "w.json"))
            assert (await p.wait(run, timeout=60)).status == "completed"
            with pytest.raises(StatusConflict) as refused:
                await p.cancel(run)
            assert (refused.value.code, refused.value.http) == ("ILLEGAL_TRANSITION", 409)

    asyncio.run(go())


BIG = "9223372036854775807 * 4"


def test_the_node_that_makes_too_large_a_number_fails(tmp_path: Path) -> None:
    """C-07, C-08, W-2.2.2: after an action, news and an approval alike; whoever was answered has succeeded."""
    for first, answer in (
        (act("a"), lambda play: play.ok("a", {})),
        (wait("a", {"type": "manual"}), lambda play: play.news("manual:a", {})),
        (approval("a"), lambda play: play.vote("a")),
    ):
        for text in (BIG, "fn.pow(2, 64)", "fn.sum([9223372036854775807, 1])"):
            play = Play([first, value("v", text)], "a>v")
            answer(play)
            assert play.states()["a"] in ("done", "succeeded") and play.failure() == ("EXPR_LIMIT", "validation", "v")


def test_only_a_compensation_is_left_to_people() -> None:
    """W-4.10.3, W-7.2.2: `on_failure` elsewhere is told."""
    manual = {"max": 1, "on_failure": "alert_and_manual"}
    assert rules([act("a", retry=manual)]) == [("info", "idle_setting", "/nodes/0/retry/on_failure")]
    assert rules([A], policies={"retry": manual}) == [("info", "idle_setting", "/policies/retry/on_failure")]
    assert rules([A, undo("u", "a", retry=manual)]) == []
