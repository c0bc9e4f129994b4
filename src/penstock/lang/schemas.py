"""JSON Schemas that a document holds (W-9.1.1, W-12): compiled when it is checked: no run finds a broken one."""

from __future__ import annotations

import functools
from typing import Any, NoReturn

import msgspec

_SHOWN = 300


def schema_problem(schema: Any) -> tuple[str, str] | None:
    """Where below it, and why it is no schema; None when it is one. A schema without `$schema` is draft 7."""
    try:
        return _problem(msgspec.json.encode(schema))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as wrong:
        return "", _line(wrong)


@functools.lru_cache(maxsize=256)
def _problem(text: bytes) -> tuple[str, str] | None:
    import jsonschema_rs  # most documents that are only drawn or run have none to compile

    schema = msgspec.json.decode(text)
    named = isinstance(schema, dict) and isinstance(schema.get("$schema"), str)
    make: Any = jsonschema_rs.validator_for if named else jsonschema_rs.Draft7Validator
    try:
        make(schema, retriever=_refuse)
    except jsonschema_rs.ValidationError as wrong:
        return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in wrong.instance_path), _line(
            wrong.message
        )
    except Exception as wrong:  # whatever it raises for a reference that leads nowhere
        return "", _line(wrong)
    return None


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri[:100]} is not fetched: put the schema into the document")


def _line(error: Any) -> str:
    return (str(error).strip().splitlines() or [""])[0][:_SHOWN].rstrip(".")
