"""Filters of events, and values written into addresses."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import ExprTypeError
from penstock.expr import FUNCTIONS, compile_expression
from penstock.expr.filters import OPERATORS, SCALES, matches, off_scale, problems


@pytest.mark.parametrize(
    ("severity", "wanted", "fits"),
    [
        ("critical", "high", True),
        ("high", "high", True),
        ("major", "high", True),
        ("warning", "high", False),
        ("normal", "high", False),
        ("emergency", "critical", True),
        ("info", "warning", False),
        ("warning", "warning", True),
        ("medium", "warning", True),
        ("low", "warning", False),
        ("CRITICAL", "High", True),
        (" high ", "high", True),
        ("fatal", "high", False),
        ("high", "fatal", False),
        (None, "high", False),
        (7, "high", False),
    ],
)
def test_severities_go_by_rank(severity: Any, wanted: str, fits: bool) -> None:
    """W-3.2.3, C-30, W-11.2.1: never as text; a word that is not on the scale does not match."""
    assert matches({"severity": severity}, {"severity": {"$gte": wanted}}) is fits


def test_every_word_of_a_scale_has_its_rank() -> None:
    """C-30: all of severity, in order, each at least the ones before it; priority low < normal < high."""
    written = {
        "severity": {
            "normal": 0, "info": 10, "low": 20, "minor": 20, "warning": 30, "medium": 30, "major": 40, "high": 40,
            "critical": 50, "emergency": 60,
        },
        "priority": {"low": 1, "normal": 2, "high": 3},
    }  # fmt: skip
    assert written == SCALES
    for name, scale in written.items():
        for one, rank in scale.items():
            for other, than in scale.items():
                assert matches({name: one}, {name: {"$gt": other}}) is (rank > than)
                assert matches({name: one}, {name: {"$lte": other}}) is (rank <= than)


PAYLOAD = {
    "line_id": "L01", "rate": 0.12, "count": 3, "ok": True, "tags": ["a"], "machine": {"id": "EQ1", "a.b": 1},
    "a.b": 2, "text": "timeout at 12", "severity": "high",
}  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (None, True),
        ({}, True),
        ({"line_id": "L01"}, True),
        ({"line_id": "L02"}, False),
        ({"line_id": {"$in": ["L01", "L02"]}}, True),
        ({"line_id": {"$in": ["L02"]}}, False),
        ({"line_id": {"$in": "L01"}}, False),
        ({"line_id": {"$nin": ["L02"]}}, True),
        ({"line_id": {"$nin": ["L01"]}}, False),
        ({"rate": {"$gt": 0.1, "$lt": 0.2}}, True),
        ({"rate": {"$gte": 0.12, "$lte": 0.12}}, True),
        ({"rate": {"$gt": 0.12}}, False),
        ({"rate": {"$lt": 0.12}}, False),
        ({"rate": {"$gt": "0.1"}}, False),
        ({"text": {"$gt": "a"}}, True),
        ({"ok": {"$gt": 0}}, False),
        ({"count": 3.0}, True),
        ({"count": True}, False),
        ({"ok": True}, True),
        ({"ok": 1}, False),
        ({"count": {"$eq": 3}}, True),
        ({"count": {"$ne": 3}}, False),
        ({"gone": {"$ne": 3}}, True),
        ({"gone": {"$exists": False}}, True),
        ({"gone": {"$exists": True}}, False),
        ({"count": {"$exists": True}}, True),
        ({"machine.id": "EQ1"}, True),
        ({"machine.id": "EQ2"}, False),
        ({"a.b": 2}, True),
        ({"gone.x": 1}, False),
        ({"machine": {"id": "EQ1", "a.b": 1}}, True),
        ({"machine": {"id": "EQ1"}}, False),
        ({"tags": ["a"]}, True),
        ({"text": {"$regex": "^timeout"}}, True),
        ({"text": {"$regex": "[0-9]+$"}}, True),
        ({"text": {"$regex": "nothing"}}, False),
        ({"count": {"$regex": "3"}}, False),
        ({"text": {"$regex": "("}}, False),
        ({"$or": [{"line_id": "L02"}, {"count": 3}]}, True),
        ({"$or": [{"line_id": "L02"}, {"count": 4}]}, False),
        ({"$and": [{"line_id": "L01"}, {"count": 3}]}, True),
        ({"$and": [{"line_id": "L01"}, {"count": 4}]}, False),
        ({"$not": {"line_id": "L01"}}, False),
        ({"count": {"$not": {"$gt": 5}}}, True),
        ({"count": {"$not": {"$gt": 2}}}, False),
        ({"line_id": "L01", "count": 4}, False),
        ({"severity": "HIGH"}, True),
        ({"machine.severity": {"$gte": "low"}}, False),
        ({"count": {"$foo": 1}}, False),
    ],
)
def test_what_a_filter_wants(wanted: Any, fits: bool) -> None:
    """W-3.2.2, C-30: all fields must match; fields are dotted paths; every operator."""
    assert matches(PAYLOAD, wanted) is fits
    view = {"event": PAYLOAD, "filter": wanted}
    assert compile_expression("fn.matches_filter(event, filter)")(view) is fits


def test_a_tenant_has_scales_of_its_own() -> None:
    """C-30: per field, configurable; the others stay as they are."""
    match = compile_expression("fn.matches_filter(event, filter)")
    view = {
        "event": {"grade": "b", "severity": "high"},
        "filter": {"grade": {"$gte": "a"}, "severity": {"$gte": "low"}},
    }
    assert match(view) is True  # as texts
    ranked = {**view, "$tenant_config": {"event_scales": {"grade": {"a": 3, "b": 2, "c": 1}}}}
    assert match(ranked) is False
    assert match({**view, "$tenant_config": {"event_scales": "none"}}) is True
    assert FUNCTIONS["matches_filter"].reads == ("$tenant_config",)


def test_a_word_without_a_rank_is_worth_a_warning() -> None:
    """C-30."""
    wanted = {"severity": {"$gte": "high"}, "line_id": "L01"}
    assert off_scale({"severity": "fatal", "line_id": "L01"}, wanted) == ["severity"]
    assert off_scale({"severity": "high"}, wanted) == [] and off_scale({"severity": 5}, wanted) == []
    assert off_scale({"severity": "fatal"}, {"severity": "high"}) == [] and off_scale("x", wanted) == []


@pytest.mark.parametrize(
    ("wanted", "at"),
    [
        ([], ""), ({"a": {"$foo": 1}}, "/a/$foo"), ({"a": {"$gte": 1, "b": 2}}, "/a/b"), ({"$gte": 1}, "/$gte"),
        ({"$or": {"a": 1}}, "/$or"), ({"$or": [{"a": 1}, {"b": {"$x": 1}}]}, "/$or/1/b/$x"), ({"$not": 5}, "/$not"),
        ({"a": {"$in": 5}}, "/a/$in"), ({"a": {"$not": 5}}, "/a/$not"), ({"a": {"$not": {"$x": 1}}}, "/a/$not/$x"),
        ({"a/b": {"$foo": 1}}, "/a~1b/$foo"),
    ],
)  # fmt: skip
def test_what_can_never_be_meant_is_told(wanted: Any, at: str) -> None:
    """C-30: an operator that does not exist would silently never match."""
    assert [where for where, _ in problems(wanted)] == [at]


def test_a_good_filter_has_no_problems() -> None:
    """C-30."""
    operators = "$eq $ne $gt $gte $lt $lte $in $nin $exists $regex $and $or $not".split()
    assert sorted(OPERATORS) == sorted(operators)
    for op in operators:
        value: Any = [{"a": 1}] if op in ("$and", "$or") else {"$eq": 1} if op == "$not" else ["x"]
        value = "x" if op == "$regex" else value  # a pattern is a text
        assert problems({op: value} if op in ("$and", "$or") else {"field": {op: value}}) == []
    assert problems({"a": {"b": 1}, "c": "${input.x}", "$not": {"d": 1}, "e": {"$in": "${input.list}"}}) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("L01", "L01"),
        ("a/b", "a%2Fb"),
        ("../x", "..%2Fx"),
        ("a?b#c", "a%3Fb%23c"),
        ("a b", "a%20b"),
        ("한", "%ED%95%9C"),
        (5, "5"),
        (1.5, "1.5"),
        (True, "true"),
        ("%2e%2e", "%252e%252e"),
        ("a..b", "a..b"),
        ("@:", "%40%3A"),
    ],
)
def test_a_value_stays_in_its_segment(value: Any, text: str) -> None:
    """C-28: what is written into a path is encoded."""
    assert compile_expression("fn.path_segment(value)")({"value": value}) == text
    assert compile_expression("fn.url_encode(value)")({"value": value}) == text


@pytest.mark.parametrize("value", [None, "", ".", "..", "...", [], {}, ["x"]])
def test_what_would_lead_out_of_a_segment_is_refused(value: Any) -> None:
    """C-28: dots alone mean another folder even when they are encoded; nothing lets the next segment take its place."""
    with pytest.raises(ExprTypeError, match="path_segment"):
        compile_expression("fn.path_segment(value)")({"value": value})


def test_an_empty_value_may_stand_in_a_query() -> None:
    """C-28."""
    assert compile_expression("fn.concat('/x?a=', fn.url_encode(value))")({"value": None}) == "/x?a="
