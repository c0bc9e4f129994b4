"""Which definitions a file is for: type, size, conditions (F-X.9), and conditions in both forms."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.lang.pipeline.matching import mismatch, run_input
from penstock.lang.pipeline.messages import FileMessage
from penstock.lang.pipeline.mime import file_type_of, mime_of
from tests.conformance.pipeline.make import lowered, node, pipeline, rules, stage

FILE = FileMessage("bkt", "in/a.png", 1000, "image/png", "t1", 7, "tr", "2025-10-22T10:20:30.000Z")


def about(**more: Any) -> Any:
    return lowered(pipeline(**more)).declares.policies["pipeline"]


def matches(condition: Any, file: FileMessage = FILE, **more: Any) -> bool:
    return mismatch(about(trigger_conditions=condition, **more), file) == ""


@pytest.mark.parametrize(
    ("mime", "type"),
    [
        ("image/png", "IMAGE"), ("image/svg+xml", "IMAGE"), ("text/html", "HTML"), ("text/html; charset=utf-8", "HTML"),
        ("application/pdf", "PDF"), ("application/vnd.ms-excel", "EXCEL"), ("text/csv", "EXCEL"),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "EXCEL"), ("text/plain", None),
        ("", None),
    ],
)  # fmt: skip
def test_f_x_9_the_file_type_of_a_mime(mime: str, type: str | None) -> None:
    assert file_type_of(mime) == type
    for wanted in ("IMAGE", "HTML", "PDF", "EXCEL", "ANY"):
        file = msgspec.structs.replace(FILE, mime=mime)
        assert (mismatch(about(file_type=wanted), file) == "") is (wanted in ("ANY", type))


@pytest.mark.parametrize(
    ("key", "mime"),
    [("a/b.PNG", "image/png"), ("x.jpeg", "image/jpeg"), ("r.xlsx", None), ("png", "application/octet-stream"),
     ("a.b/c", "application/octet-stream")],
)  # fmt: skip
def test_f_x_17_the_mime_of_a_key(key: str, mime: str | None) -> None:
    assert mime_of(key) == mime or mime is None and file_type_of(mime_of(key)) == "EXCEL"


def test_f_1_1_10_no_larger_file_matches() -> None:
    assert mismatch(about(max_file_size=999), FILE) == "max_file_size"
    assert mismatch(about(max_file_size=1000), FILE) == ""


def test_f_x_15_what_an_upload_never_begins() -> None:
    assert mismatch(about(pipeline_type="SCHEDULED"), FILE) == "scheduled"
    assert mismatch(about(is_active=0), FILE) == "inactive"
    assert mismatch(about(dependencies={"after": ["A"]}), FILE) == "dependent"


def leaf(field: str, op: str, value: Any = None) -> dict[str, Any]:
    return {"field": field, "op": op, "value": value}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (None, True),
        (leaf("mime", "eq", "image/png"), True),
        (leaf("mime", "ne", "image/png"), False),
        (leaf("size", "gt", 999), True),
        (leaf("size", "gt", 1000), False),
        (leaf("size", "gte", 1000), True),
        (leaf("size", "lt", 1000), False),
        (leaf("size", "lte", 1000.0), True),
        (leaf("size", "gt", "a"), False),
        (leaf("key", "gt", "in/"), True),
        (leaf("key", "lt", 5), False),
        (leaf("tenantId", "in", ["t1", "t2"]), True),
        (leaf("tenantId", "in", []), False),
        (leaf("key", "glob", "in/*.png"), True),
        (leaf("key", "glob", "in/?.png"), True),
        (leaf("key", "glob", "*.jpg"), False),
        (leaf("key", "glob", "in/[ab].png"), True),
        (leaf("key", "glob", "in/[!ab].png"), False),
        (leaf("key", "glob", "in/a.pn"), False),
        (leaf("key", "regex", r"^in/.*\.png$"), True),
        (leaf("key", "regex", "png"), True),
        (leaf("bucket", "regex", "^x"), False),
        (leaf("params.kind", "eq", "photo"), True),
        (leaf("params.a-b.c", "eq", 'it\'s "quoted"'), True),
        (leaf("params.none", "exists"), False),
        ({"field": "params.none", "op": "exists", "value": False}, True),
        ({"field": "params.kind", "op": "exists", "value": True}, True),
        (leaf("params.none", "gt", 3), False),
        (leaf("params.none", "regex", "x"), False),
        ({"all": [leaf("size", "gt", 1), leaf("size", "lt", 5)]}, False),
        ({"any": [leaf("size", "gt", 1), leaf("size", "lt", 5)]}, True),
        ({"not": leaf("size", "gt", 1)}, False),
        ({"not": {"any": [{"all": [leaf("size", "gt", 1)]}]}}, False),
        ({"expr": "input.size > 10 && input.params.kind == 'photo'"}, True),
        ({"expr": "input.size"}, False),
        ({"expr": "input.mime > 5"}, False),
    ],
)
def test_f_x_9_conditions_over_a_file(condition: Any, holds: bool) -> None:
    params = {"kind": "photo", "a-b": {"c": 'it\'s "quoted"'}}
    assert matches(condition, default_params=params) is holds


@pytest.mark.parametrize(
    ("condition", "rule", "at"),
    [
        ([], "wrong_type", ""),
        ({}, "condition_form", ""),
        ({"all": []}, "condition_form", "/all"),
        ({"all": [3]}, "condition_form", "/all/0"),
        ({"field": "sizes", "op": "eq", "value": 1}, "condition_field", "/field"),
        ({"field": 3, "op": "eq", "value": 1}, "condition_field", "/field"),
        ({"field": "params.", "op": "eq", "value": 1}, "condition_field", "/field"),
        ({"field": "size", "value": 1}, "missing_field", ""),
        ({"field": "size", "op": "eq"}, "missing_field", ""),
        ({"field": "size", "op": "equals", "value": 1}, "condition_operator", "/op"),
        ({"field": "size", "op": "gt", "value": [1]}, "condition_value", "/value"),
        ({"field": "size", "op": "in", "value": 1}, "condition_value", "/value"),
        ({"field": "key", "op": "regex", "value": "("}, "condition_value", "/value"),
        ({"field": "key", "op": "glob", "value": 3}, "condition_value", "/value"),
        ({"field": "key", "op": "exists", "value": 3}, "condition_value", "/value"),
        ({"field": "key", "op": "eq", "value": 3, "vlaue": 4}, "unknown_field", "/vlaue"),
        ({"field": "stages.a.output.x", "op": "eq", "value": 3}, "condition_stage", "/field"),
        ({"expr": "input.size >"}, "expression_syntax", "/expr"),
        ({"expr": 3}, "condition_form", "/expr"),
        ({"expr": "secrets.key == 'x'"}, "unknown_name", "/expr"),
        ({"expr": "sizes > 3"}, "unknown_name", "/expr"),
    ],
)
def test_f_x_9_every_wrong_condition_is_told_at_its_place(condition: Any, rule: str, at: str) -> None:
    assert rules(pipeline(trigger_conditions=condition)) == [(rule, f"/trigger_conditions{at}")]


def test_f_x_9_no_condition_is_endless() -> None:
    deep: Any = leaf("size", "gt", 1)
    for _ in range(50):
        deep = {"not": deep}
    assert rules(pipeline(trigger_conditions=deep))[0][0] == "condition_too_large"
    wide = {"any": [leaf("size", "eq", n) for n in range(500)]}
    assert rules(pipeline(trigger_conditions=wide))[0][0] == "condition_too_large"


def test_f_x_9_stages_ask_what_earlier_stages_made() -> None:
    asks = {"field": "stages.scan-1.output.infected", "op": "eq", "value": False}
    net = lowered(pipeline(stage("scan-1", 1), stage("thumb", 2, condition=asks)))
    assert node(net, "thumb.if").port == "fn.if(nodes['scan-1'].output.output.infected == false, 'run', 'skip')"
    at = "/stages/1/condition/field"
    assert rules(pipeline(stage("scan-1", 1), stage("thumb", 1, condition=asks))) == [("condition_stage", at)]
    assert rules(pipeline(stage("scan", 1), stage("thumb", 2, condition=asks))) == [("condition_stage", at)]


def test_the_input_of_an_execution() -> None:
    assert run_input(FILE, file_id=4, params={"x": 1}) == {
        "file": {
            "id": 4, "bucket": "bkt", "key": "in/a.png", "size": 1000, "mime": "image/png", "etag": "",
            "version_id": "",
        },
        "params": {"x": 1}, "tenantId": "t1", "organizationId": 7,
        "bucket": "bkt", "key": "in/a.png", "size": 1000, "mime": "image/png",
    }  # fmt: skip
