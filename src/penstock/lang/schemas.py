"""Checks the JSON Schemas that a document holds, so that no run meets a broken one (W-9.1.1, W-12)."""

from __future__ import annotations

import functools
from typing import Any, NoReturn

import msgspec

from penstock.lang.schema_steps import SchemaSteps, SchemaUnfolds

_LONGEST_REASON = 300


def schema_problem(schema: Any) -> tuple[str, str] | None:
    """The pointer and the reason why this is no JSON Schema; None when it is one. Without `$schema` it is draft 7."""
    try:
        return _problem(msgspec.json.encode(schema))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return "", _first_line(error)


@functools.lru_cache(maxsize=256)
def _problem(text: bytes) -> tuple[str, str] | None:
    import jsonschema_rs  # imported late: most documents have no schema to compile

    schema = msgspec.json.decode(text)
    named = isinstance(schema, dict) and isinstance(schema.get("$schema"), str)
    make: Any = jsonschema_rs.validator_for if named else jsonschema_rs.Draft7Validator
    try:
        make(schema, retriever=_refuse_reference)
        SchemaSteps(schema)
    except SchemaUnfolds as error:
        return error.pointer, str(error)
    except jsonschema_rs.ValidationError as error:
        return "".join(
            "/" + str(part).replace("~", "~0").replace("/", "~1") for part in error.instance_path
        ), _first_line(error.message)
    except Exception as error:  # whatever it raises for a reference that leads nowhere
        return "", _first_line(error)
    return None


def _refuse_reference(uri: str) -> NoReturn:
    raise ValueError(f"{uri[:100]} is not fetched: put the schema into the document")


def _first_line(error: Any) -> str:
    return (str(error).strip().splitlines() or [""])[0][:_LONGEST_REASON].rstrip(".")
