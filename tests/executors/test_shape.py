"""shape: values that no executor has made are transformed and held to a schema."""

from __future__ import annotations

from typing import Any

from penstock.executors.shape import ShapeExecutor
from tests.executors.bench import Bench

SHAPE = ShapeExecutor()


def test_a_value_is_held_to_its_schema(bench: Bench) -> None:
    """W-4.1.6, C-67: what fits is handed on, what does not is OUTPUT_SCHEMA with its place."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert bench.done(SHAPE, {"value": {"n": 1}, "output": {"schema": schema}}).body == {"n": 1}
    failure = bench.failed(SHAPE, {"value": {"n": "one"}, "output": {"schema": schema}})
    assert (failure.code, failure.category) == ("OUTPUT_SCHEMA", "validation")


def test_c_67_members_that_nothing_has_made_are_left_out(bench: Bench) -> None:
    """C-67: a property whose variable was never set is not there, so `required` is what finds it."""
    args: dict[str, Any] = {"value": {"a": 1, "b": None}, "without_null": True}
    assert bench.done(SHAPE, args).body == {"a": 1}
    assert bench.failed(SHAPE, {}).code == "INPUT_INVALID"


def test_what_is_null_may_count_as_absent(bench: Bench) -> None:
    """W-4.6.7: at any depth, and the value stays whole; what is required is missed."""
    schema: dict[str, Any] = {"properties": {"a": {"type": "string"}, "b": {"items": {"properties": {"c": False}}}}}
    args: dict[str, Any] = {"value": {"a": None, "b": [{"c": None}]}, "null_is_absent": True}
    assert bench.done(SHAPE, {**args, "output": {"schema": schema}}).body == args["value"]
    assert bench.failed(SHAPE, {**args, "output": {"schema": {**schema, "required": ["a"]}}}).code == "OUTPUT_SCHEMA"
