"""The form of workflows: every field missing, every choice and type wrong; what is kept and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from penstock.errors import DocumentInvalid
from penstock.lang.compile import check_document, compile_document
from penstock.lang.decision import editor_schema
from tests.conformance.decision import broken, form_of_seed
from tests.conformance.decision.harness import alternatives
from tests.conformance.decision.make import Play, act, blocks, compiled, document, found, seeds

FILE = Path(editor_schema.__file__).with_name("workflow-dsl-v2.json")
STRICT = FILE.with_name("workflow-dsl-v2.strict.json")


def refuse(uri: str) -> Any:
    raise AssertionError(f"{uri} was fetched")


def validator(schema: Any) -> Any:
    uuid = {"uuid": lambda text: re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text) is not None}
    return jsonschema_rs.Draft7Validator(schema, validate_formats=True, formats=uuid, retriever=refuse)


LOADING, PRINTED = validator(json.loads(FILE.read_text("utf-8"))), validator(json.loads(STRICT.read_text("utf-8")))


def right(who: str) -> dict[str, Any]:
    """A document of its own that is right, with a node of this type, or with everything that a document may have."""
    return broken.top() if who == "TOP" else broken.whole(who)


def refused(whole: Any, at: str) -> list[str]:
    """The rules told there; the schema must refuse it, too."""
    assert not LOADING.is_valid(whole), "the schema takes what the reader refuses"
    return [f.rule for f in found(whole) if f.where.pointer == at and f.severity == "error"]


@pytest.mark.parametrize("type", form_of_seed.TYPES)
def test_the_documents_themselves_are_right(type: str) -> None:
    """C-69: the least each type needs, and every part that it may have."""
    whole = broken.whole(type)
    assert [str(f) for f in found(whole) if f.severity == "error"] == [] and LOADING.is_valid(whole)
    assert [str(f) for f in found(broken.top()) if f.severity == "error"] == [] and LOADING.is_valid(broken.top())


@pytest.mark.parametrize(("who", "pointer"), form_of_seed.required(), ids=lambda part: part)
def test_a_required_field_is_missing(who: str, pointer: str) -> None:
    """W-3.1.1, W-4.0.1, C-69, W-12.1.2, W-12.1.3, W-4.3.2, W-4.9.1: told at the map that lacks it; the schema refuses
    the same."""
    at, _, name = pointer.rpartition("/")
    for how in ("gone", "null", "empty"):
        made = right(who)
        held = broken.at(made, at)
        if how == "gone":
            del held[name]
        elif how == "null":
            held[name] = None
        elif isinstance(held[name], str) and pointer != "/nodes/0/type":
            held[name] = ""
        else:
            continue
        assert refused(made, at) == ["missing_field"] or refused(made, pointer) == ["wrong_type"], how


@pytest.mark.parametrize(
    ("who", "at", "options"), form_of_seed.choices(), ids=lambda part: part if isinstance(part, str) else ""
)
def test_a_choice(who: str, at: str, options: list[str]) -> None:
    """W-4.0.5, C-05, C-69: all alternatives are taken; a wrong word and «a | b» are refused with what may be written;
    a template only where a run can still choose."""
    parent, _, name = at.rpartition("/")

    def told(word: Any) -> list[Any]:
        made = right(who)
        broken.at(made, parent)[name] = word
        findings = [f for f in found(made) if f.where.pointer == at and f.rule == "wrong_type"]
        assert LOADING.is_valid(made) is not bool(findings)
        return findings

    for option in options:
        assert told(option) == []
    for wrong in ("nothing", options[0] + "s", " | ".join([*options, "x"]), 5):
        (finding,) = told(wrong)
        told_words = finding.message.removesuffix(".").partition("it can be ")[2].split(", ")
        assert isinstance(wrong, int) or sorted(told_words) == sorted(options)
    assert bool(told("${input.x}")) is not form_of_seed.may_be_template(who, at)


@pytest.mark.parametrize(
    ("who", "at", "kind"), form_of_seed.kinds(), ids=lambda part: part if isinstance(part, str) else ""
)
def test_a_wrong_type(who: str, at: str, kind: type) -> None:
    """W-3.1.1, W-12.1.2, W-12.1.3, W-12.1.4: of every field; told at its place."""
    parent, _, name = at.rpartition("/")
    for wrong in broken.WRONG[kind]:
        made = right(who)
        broken.at(made, parent)[name] = wrong
        told = refused(made, at)
        assert "wrong_type" in told or "bad_id" in told or (kind is dict and "missing_field" in told), wrong


def test_the_form_is_written_out_in_full() -> None:
    """W-12.1.2, W-4.0.5: what is declared is what is written down from the seed: not more, and not less."""
    declared = broken.declared()
    for what, written in (
        ("required", set(form_of_seed.required())),
        ("choices", {(who, at) for who, at, _ in form_of_seed.choices()}),
        ("kinds", {(who, at) for who, at, _ in form_of_seed.kinds()}),
    ):
        plain = {(who, at) for who, at in declared[what] if what != "kinds" or at != "/nodes/0/type"}
        assert plain - written == set(), f"{what}: write it down, with the words that ask for it"
        assert written - plain == set(), f"{what}: asked for, and not declared"


def test_the_alternatives_of_the_seed_are_written_out() -> None:
    """C-05, W-4.0.5: each «a | b» of its samples stands in the table, word for word."""
    written = {(who, at): options for who, at, options in form_of_seed.choices()}
    parts = {"7.2": "retry", "7.3": "circuit_breaker", "8.1": "checkpoint", "8.4": "idempotency"}
    seen = 0
    for section, block in blocks():
        if section != "3.1" and section not in parts and block.get("type") not in form_of_seed.TYPES:
            continue
        for path, options in alternatives(block):
            who, at = ("TOP", f"/{path}") if section == "3.1" else (block.get("type"), f"/nodes/0/{path}")
            if section in parts:
                who, at = "DATA", f"/nodes/0/{path}"
            if path in ("output/from",):
                continue  # where the value comes from, not a word that is chosen
            more = {"/nodes/0/source/type": {"expression"}, "/metadata/approval_status": {"pending_approval", "active"}}
            assert set(written[who, at]) - more.get(at, set()) == set(options), (section, path)
            seen += 1
    assert seen == 36


BOUNDS = [
    ("/nodes/0/retry/max", 11),
    ("/nodes/0/retry/max", -1),
    ("/nodes/0/retry/backoff_ms", 99),
    ("/nodes/0/timeout_ms", 999),
    ("/version", 0),
    ("/name", "x" * 201),
    ("/description", "x" * 2001),
    ("/nodes/0/circuit_breaker/failure_rate_threshold", 1.5),
    ("/nodes/0/circuit_breaker/window", 0),
    ("/policies/timeout_ms", 0),
    ("/policies/retry/max", -1),
]


@pytest.mark.parametrize(("at", "value"), BOUNDS)
def test_bounds(at: str, value: Any) -> None:
    """W-4.0.1, W-3.1.1, W-12.1.2."""
    made = broken.top() if not at.startswith("/nodes") else broken.whole("ACTION")
    parent, _, name = at.rpartition("/")
    broken.at(made, parent)[name] = value
    assert refused(made, at) == ["wrong_type"]


@pytest.mark.parametrize(
    ("id", "good"),
    [
        ("a", True),
        ("a_1", True),
        ("A", False),
        ("1a", False),
        ("a-b", False),
        ("a.b", False),
        ("", False),
        ("a" * 100, True),
        ("a" * 101, False),
        (5, False),
        ("한", False),
        ("a\n", False),
    ],
)
def test_ids_of_nodes(id: Any, good: bool) -> None:
    """W-4.0.1, C-03: pattern only."""
    made = document([act(id)])
    assert (not [f for f in found(made) if f.severity == "error"]) is good and LOADING.is_valid(made) is good


@pytest.mark.parametrize(
    ("id", "good"), [("wf_x", True), ("123e4567-e89b-12d3-a456-426614174000", True), ("Wf", False), ("wf-1", False)]
)
def test_the_id_of_a_workflow(id: str, good: bool) -> None:
    """C-03: the pattern, or a UUID."""
    made = document([act("x")], id=id)
    assert (found(made) == []) is good and LOADING.is_valid(made) is good


@pytest.mark.parametrize(
    ("tenant", "good"),
    [("tenant_001", True), ("123e4567-e89b-12d3-a456-426614174000", True), ("a b", False), ("x" * 51, False)],
)
def test_tenants(tenant: str, good: bool) -> None:
    """C-04: a UUID or a slug."""
    made = document([act("x")], tenant_id=tenant)
    assert (found(made) == []) is good and LOADING.is_valid(made) is good


def test_unknown_keys_are_kept_and_told() -> None:
    """W-3.1.2: anywhere; severity info; they change nothing that runs."""
    made = broken.top() | {"extra": 1}
    made["nodes"][0] |= {"extra": 2, "channel": {"type": "slack", "extra": 3}}
    made["edges"] = [{"from": "x", "to": "z", "extra": 4}]
    made["policies"]["extra"] = 5
    made["trigger"]["extra"] = 6
    told = [(f.severity, f.rule, f.where.pointer) for f in found(made) if f.rule == "unknown_field"]
    assert {at for _, _, at in told} == {
        "/extra", "/nodes/0/extra", "/nodes/0/channel/extra", "/edges/0/extra", "/policies/extra", "/trigger/extra",
    }  # fmt: skip
    assert {severity for severity, *_ in told} == {"info"} and LOADING.is_valid(made)
    assert compiled(made).net == compiled({k: v for k, v in made.items() if k != "extra"}).net


def test_the_rest_of_the_form() -> None:
    """W-12.1.1, W-12.1.6: the document, its lists and their members."""
    for made, at in (
        ({"id": "a", "version": 1, "nodes": {}, "edges": []}, "/nodes"),
        ({"id": "a", "version": 1, "nodes": [5], "edges": []}, "/nodes/0"),
        ({"id": "a", "version": 1, "nodes": [act("x")], "edges": "no"}, "/edges"),
        ({"id": "a", "version": 1, "nodes": [act("x")], "edges": [5]}, "/edges/0"),
    ):
        assert refused(made, at) == ["wrong_type"]
    for name in ("id", "version", "nodes", "edges"):
        made = document([act("x")])
        del made[name]
        assert "missing_field" in refused(made, "")


def test_schemas_inside() -> None:
    """W-12.1.5: a schema is a map or true/false; draft-07 is known without a network."""
    for name, value, good in (
        ("input_schema", {"type": "object"}, True),
        ("input_schema", 5, False),
        ("output_schema", "x", False),
        ("input_schema", {"type": 5}, None),
        ("input_schema", {"$ref": "#/definitions/x", "definitions": {"x": {"type": "object"}}}, True),
    ):
        made = {**document([act("x")]), name: value}
        if good is not None:
            assert (not [f for f in found(made) if f.severity == "error"]) is good
        assert LOADING.is_valid(made) is bool(good)
    made = document([{**act("x"), "output": {"schema": 5}}])
    assert refused(made, "/nodes/0/output/schema") == ["wrong_type"]


YAML = """
id: wf_yaml
version: 1
nodes:
  - id: s
    type: SWITCH
    expression: ${input.v}
    cases:
      - {value: true, goto: a}
  - id: a
    type: ACTION
    channel: {type: slack}
edges: []
"""


def test_yaml_is_read_too() -> None:
    """W-1.1.1: the same document, with its own lines."""
    made = compile_document(YAML.encode(), name="x.yaml")
    assert made.language == "decision" and [n.id for n in made.net.nodes][:2] == ["s", "a"]
    language, findings = check_document(YAML.replace("slack", "slak").encode(), name="x.yaml")
    assert language == "decision" and [(f.where.line, f.where.pointer) for f in findings] == [
        (12, "/nodes/1/channel/type")
    ]


@pytest.mark.parametrize("output", [None, {}, {"variable": "verdict"}])
def test_w_4_3_2_policy_and_input_reach_the_judgment_and_output_is_optional(output: Any) -> None:
    """W-4.3.2, W-12.1.2, C-01, C-10: nothing of them is lost; without `output`, or its variable, there are names."""
    node: dict[str, Any] = {
        "id": "judge_x", "type": "JUDGMENT",
        "policy": {"type": "HYBRID", "rule_pack_id": "pack", "llm_config": {"model": "m", "temperature": 0.3}},
        "input": {"data": "${input.rows}", "context": {"line": "${input.line}", "fixed": [1]}},
    }  # fmt: skip
    node |= {} if output is None else {"output": output}
    m = Play([node, act("after", message="${judge_x.decision}")], "judge_x>after", input={"rows": [1, 2], "line": "L1"})
    asked = m.args("judge_x")
    assert asked["data"] == [1, 2] and asked["context"] == {"line": "L1", "fixed": [1]}
    assert asked["policy"]["type"] == "HYBRID" and asked["policy"]["rule_pack_id"] == "pack"
    assert asked["policy"]["llm_config"] == {"model": "m", "temperature": 0.3, "max_tokens": 1000}
    m.ok("judge_x", {"decision": "normal"})
    assert m.vars()["verdict" if output else "judgment_result"] == {"decision": "normal"}
    assert m.args("after")["message"] == "normal"


@pytest.mark.parametrize("type", ["DATA", "JUDGMENT"])
def test_w_12_1_2_output_is_not_required_though_the_printed_schema_asks_for_it(type: str) -> None:
    """W-12.1.2, W-4.3.2, C-01: the printed schema refuses a node without `output` or `variable`; this one takes it."""
    for output in (None, {}, {"variable": "x"}):
        made = broken.whole(type)
        del made["nodes"][0]["output"]
        made["nodes"][0] |= {} if output is None else {"output": output}
        assert [str(f) for f in found(made) if f.severity == "error"] == [] and LOADING.is_valid(made)
        printed = [error.message for error in PRINTED.iter_errors(made) if "required" in error.message]
        assert bool(printed) is (output is None or output == {} and type == "DATA"), (output, printed)


def test_what_is_no_workflow() -> None:
    """W-2.1.1: the reader ends on anything."""
    for body in (b"[]", b"5", b'{"nodes": [{"type": "DATA"}]}', b'{"nodes": [null], "edges": [null]}'):
        with pytest.raises(DocumentInvalid):
            compile_document(body, name="x.json", language="decision")


# ---- the schema ------------------------------------------------------------------------------------------------------


def test_the_schema_beside_the_code_is_the_one_the_code_makes() -> None:
    """W-12.1.1: python -m penstock.lang.decision.editor_schema > …/workflow-dsl-v2.json"""
    assert FILE.read_text("utf-8") == editor_schema.editor_schema_text()
    made = json.loads(FILE.read_text("utf-8"))
    assert made["$id"] == "https://factory.ai/schemas/workflow-dsl-v2.json" and made["required"] == [
        "id",
        "version",
        "nodes",
        "edges",
    ]
    assert made["$schema"] == "http://json-schema.org/draft-07/schema#" and jsonschema_rs.meta.is_valid(made)


def test_the_strict_schema_is_the_seed_s() -> None:
    """W-12.1.1."""
    (printed,) = seeds("12")
    assert json.loads(STRICT.read_text("utf-8")) == printed


@pytest.mark.parametrize(("section", "errors"), [("11.1", 0), ("11.2", 3), ("11.3", 3)])
def test_what_the_printed_schema_says_of_the_seed_s_own_workflows(section: str, errors: int) -> None:
    """C-01, C-02, W-12.1.2: it refuses two of three; the loading schema takes all."""
    (whole,) = seeds(section)
    told = list(PRINTED.iter_errors(whole))
    assert len(told) == errors and LOADING.is_valid(whole)
    outputs = [e for e in told if "output" in e.message]
    conditions = [e for e in told if list(e.instance_path)[-1:] == ["condition"]]
    assert (len(outputs), len(conditions)) == {"11.1": (0, 0), "11.2": (2, 1), "11.3": (1, 2)}[section]


def test_a_condition_is_a_map_in_a_wait_and_a_text_elsewhere() -> None:
    """C-02: WAIT has a map with a type, every other node a text; the schema says the same."""
    nothing = [{"type": "event", "event": {"source": "e"}}, {"type": "manual"}, True, 1]
    for type in form_of_seed.TYPES:
        at = "/nodes/0/condition"
        if type == "COMPENSATION":
            continue  # it has no condition of its own: trigger.conditions says when
        wrong = ["true", "", [], {"event": {"source": "e"}}, {"type": None}] if type == "WAIT" else nothing
        for condition in wrong:
            made = broken.whole(type)
            made["nodes"][0]["condition"] = condition
            told = refused(made, at) or refused(made, "/nodes/0")
            assert told and set(told) <= {"wrong_type", "missing_field"}, (type, condition)
        made = broken.whole(type)
        made["nodes"][0]["condition"] = {"type": "manual"} if type == "WAIT" else "true"
        assert [str(f) for f in found(made) if f.severity == "error"] == [] and LOADING.is_valid(made), type


def test_other_differences() -> None:
    """C-03, C-04, C-69: UUIDs as ids, slugs as tenants; what the printed schema does not check at all."""
    uuid = document([act("x")], id="123e4567-e89b-12d3-a456-426614174000")
    assert not PRINTED.is_valid(uuid) and LOADING.is_valid(uuid)
    slug = document([act("x")], tenant_id="tenant_001")
    assert not PRINTED.is_valid(slug) and LOADING.is_valid(slug)
    for type in ("BI", "MCP", "ACTION", "APPROVAL", "COMPENSATION", "DEPLOY", "ROLLBACK", "SIMULATE"):
        bare = document([{"id": "x", "type": type}])
        assert PRINTED.is_valid(bare) and not LOADING.is_valid(bare)


def test_three_samples_fail_the_printed_enums() -> None:
    """C-05, W-4.0.5: data_defect, judge_quality and parallel_notify, because of «a | b»."""
    failed = []
    for section in ("4.1", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8", "4.9", "4.10", "4.11", "4.12", "4.13"):
        for node in seeds(section):
            told = list(PRINTED.iter_errors(document([node])))
            if any(" | " in str(error.instance) for error in told if not isinstance(error.instance, dict)):
                failed.append(node["id"])
    assert failed == ["data_defect", "judge_quality", "parallel_notify"]
