"""Schemas of JSON that unfold: refused where nobody could check with them, bounded where it depends on the value."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.executors.parts.json_schema import schema_failure
from penstock.lang import schema_steps
from penstock.lang.schema_steps import SchemaSteps, SchemaUnfolds
from penstock.lang.schemas import schema_problem


def chain(length: int) -> dict[str, Any]:
    """Each definition names the next one twice."""
    definitions = {
        f"d{number}": {"allOf": [{"$ref": f"#/definitions/d{number + 1}"}] * 2} for number in range(length)
    }  # fmt: skip
    return {"definitions": {**definitions, f"d{length}": {"type": "object"}}, "$ref": "#/definitions/d0"}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


TWICE = {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
TREE = {
    "type": "object", "required": ["name"],
    "properties": {
        "name": {"type": "string"}, "left": {"$ref": "#"}, "right": {"$ref": "#"},
        "children": {"type": "array", "items": {"$ref": "#"}},
    },
    "additionalProperties": {"$ref": "#"},
}  # fmt: skip
EXPRESSION = {
    "definitions": {
        "all": {
            "oneOf": [
                {"type": "number"},
                *(
                    {
                        "type": "object", "required": ["op", "of"],
                        "properties": {
                            "op": {"const": op}, "of": {"type": "array", "items": {"$ref": "#/definitions/all"}},
                        },
                    }
                    for op in ("and", "or", "xor")
                ),
            ]
        }
    },
    "$ref": "#/definitions/all",
}  # fmt: skip


def test_f_x_10_schemas_whose_references_explode_are_refused_where_they_do() -> None:
    pointer, why = schema_problem(chain(24)) or ("", "")
    assert pointer == "/definitions/d12" and "more than 10000" in why  # 2 ** 13 schemas and what names them
    assert schema_problem(chain(8)) is None
    below = {"definitions": {f"d{n}": {"properties": {"a": {"allOf": [{"$ref": f"#/definitions/d{n + 1}"}] * 2}}}
                             for n in range(24)}}  # fmt: skip
    below["definitions"]["d24"] = {}
    assert "more than 10000" in (schema_problem({**below, "$ref": "#/definitions/d0"}) or ("", ""))[1]


def test_f_x_10_stages_refuse_them_too_since_schemas_come_from_elsewhere_as_well() -> None:
    wrong = schema_failure({}, chain(24))
    assert wrong is not None and wrong.failure.code == "OUTPUT_SCHEMA" and wrong.failure.category == "validation"
    assert "cannot be used: its references unfold" in wrong.failure.message
    assert schema_failure({}, chain(8)) is None


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"anyOf": [{"type": "null"}, {"not": {"$ref": "#"}}]}])
def test_f_x_10_schemas_that_come_to_no_end_are_refused(schema: dict[str, Any]) -> None:
    assert "refers to itself" in (schema_problem(schema) or ("", ""))[1]


def test_f_x_10_schemas_that_refer_to_themselves_are_bounded_by_the_value() -> None:
    assert schema_problem(TWICE) is None
    assert schema_failure(nested(8), TWICE) is None
    wrong = schema_failure(nested(24), TWICE)  # 2 ** 25 looks
    assert wrong is not None and "too often" in wrong.failure.message and wrong.failure.category == "validation"


def test_f_x_10_trees_and_expressions_are_checked_as_ever() -> None:
    tree: dict[str, Any] = {"name": "leaf"}
    for number in range(60):
        tree = {"name": f"n{number}", "left": tree, "children": [{"name": "x"}] * 50, "other": {"name": "y"}}
    assert schema_failure(tree, TREE) is None
    assert schema_failure({**tree, "right": {"name": 1}}, TREE) is not None
    told = {"op": "and", "of": [1, {"op": "or", "of": [2, {"op": "xor", "of": [3, 4]}]}]}
    assert schema_failure(told, EXPRESSION) is None
    assert schema_failure({"op": "nand", "of": []}, EXPRESSION) is not None
    assert schema_failure({"type": "object"}, {"$ref": "http://json-schema.org/draft-07/schema#"}) is None


def test_f_x_10_large_values_of_plain_schemas_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting would take longer than checking: what a plain schema does is known without the value."""
    rows = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "number"}}}}
    steps = [SchemaSteps(rows), SchemaSteps(TREE)]
    monkeypatch.setattr(SchemaSteps, "_property", None)
    monkeypatch.setattr(SchemaSteps, "_item", None)
    assert not any(each.too_many([{"a": 1}] * 1000) for each in steps)


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": "https://example.com/a", "$schema": "https://json-schema.org/draft/2020-12/schema",
         "$defs": {"b": {"$id": "b", "$anchor": "here", "properties": {"a": {"$ref": "a"}}}},
         "allOf": [{"$ref": "b"}, {"$ref": "b#here"}, {"$ref": "https://example.com/b"}]},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$dynamicAnchor": "node",
         "properties": {"a": {"allOf": [{"$dynamicRef": "#node"}, {"$ref": "#"}]}}},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": True,
         "properties": {"a": {"anyOf": [{"$recursiveRef": "#"}, {"$recursiveRef": "#"}]}}},
        {"definitions": {"x/y~z %": {"properties": {"a": {"$ref": "#"}}}},
         "allOf": [{"$ref": "#/definitions/x~1y~0z%20%25"}] * 2},
    ],
    ids=["ids and anchors", "dynamic", "recursive", "escaped"],
)  # fmt: skip
def test_f_x_10_references_of_every_kind_are_followed(schema: dict[str, Any]) -> None:
    assert schema_problem(schema) is None
    assert schema_failure(nested(4), schema) is None
    assert schema_failure(nested(24), schema) is not None


def looks(schema: Any, value: Any, root: Any, most: int) -> int:
    """How often schemas look at values, by doing just that."""
    if not isinstance(schema, dict) or most <= 0:
        return 1
    count = 1
    below: list[tuple[Any, Any]] = []
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        below.append((root if name == "#" else root["definitions"][name], value))
    below += [(each, value) for name in ("allOf", "anyOf", "oneOf") for each in schema.get(name, ())]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        below += [(properties[name], value[name]) for name in properties if name in value]
        others = [value[name] for name in value if name not in properties]
        below += [(schema["additionalProperties"], each) for each in others if "additionalProperties" in schema]
    if isinstance(value, list) and "items" in schema:
        below += [(schema["items"], each) for each in value]
    for each, of in below:
        count += looks(each, of, root, most - count)
    return count


def any_schema(chance: random.Random, depth: int) -> dict[str, Any]:
    names = ["d0", "d1", "d2"]
    made: dict[str, Any] = {}
    if chance.random() < 0.5 or not depth:
        return {"type": "object"} if chance.random() < 0.3 else {"$ref": f"#/definitions/{chance.choice(names)}"}
    if chance.random() < 0.4:
        made[chance.choice(["allOf", "anyOf"])] = [any_schema(chance, depth - 1) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.6:
        made["properties"] = {name: any_schema(chance, depth - 1) for name in chance.sample("abc", 2)}
    if chance.random() < 0.3:
        made["additionalProperties"] = any_schema(chance, depth - 1)
    if chance.random() < 0.4:
        made["items"] = any_schema(chance, depth - 1)
    return made


def any_value(chance: random.Random, depth: int) -> Any:
    if not depth or chance.random() < 0.2:
        return chance.randint(0, 9)
    if chance.random() < 0.3:
        return [any_value(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    return {name: any_value(chance, depth - 1) for name in chance.sample("abcd", chance.randint(1, 3))}


def test_f_x_10_the_count_is_that_of_doing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a second count that simply goes through it all."""
    monkeypatch.setattr(schema_steps, "STEPS", 30)
    monkeypatch.setattr(schema_steps, "STEPS_EACH", 0)
    chance, counted, many = random.Random(12), 0, 0
    while counted < 300 or many < 20:
        schema = {"definitions": {f"d{n}": any_schema(chance, 3) for n in range(3)}, **any_schema(chance, 3)}
        value = any_value(chance, 6)
        try:
            steps = SchemaSteps(schema)
        except SchemaUnfolds:
            continue
        counted += 1
        expected = looks(schema, value, schema, 100) > 30
        many += expected
        assert steps.too_many(value) is expected, (schema, value)
