"""Checks a value against an author's JSON Schema."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from penstock.executors.contract import Failed, failed
from penstock.executors.parts.extras import extra_missing
from penstock.lang.schema_steps import SchemaSteps

_SHOWN = 300
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DURATION = re.compile(r"P(?!\Z)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?)")
#: formats that draft 7 does not know and authors write nevertheless
_FORMATS: dict[str, Callable[[str], bool]] = {
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "duration": lambda text: _DURATION.fullmatch(text) is not None,
}


def schema_failure(value: Any, schema: Any, code: str = "OUTPUT_SCHEMA") -> Failed | None:
    """The first place where the value is not what the schema asks for. A schema without `$schema` is draft 7."""
    try:
        validator, steps = _validator(msgspec.json.encode(schema))
    except ImportError:
        return extra_missing("A schema needs", "decision")
    except (ValueError, TypeError, msgspec.MsgspecError) as error:
        return failed(code, "validation", f"The schema itself cannot be used: {_first_line(error)}")
    if isinstance(value, bytes):
        return failed(code, "validation", "The value is binary; a schema is for values of JSON.", {"pointer": ""})
    if steps.too_many(value):
        why = "The schema looks at this value too often: it names itself more than once at each depth of it."
        return failed(code, "validation", why, {"pointer": ""})
    errors = validator.iter_errors(value)
    first = next(iter(errors), None)
    if first is None:
        return None
    at = _pointer(first.instance_path)
    why = _first_line(first.message)
    detail = {"pointer": at, "schema_pointer": _pointer(first.schema_path)}
    return failed(code, "validation", f"The value at «{at or '/'}» does not fit the schema: {why}", detail)


@functools.lru_cache(maxsize=256)
def _validator(text: bytes) -> tuple[Any, SchemaSteps]:
    """With what counts its work: nothing interrupts a validator, and the whole engine waits for it."""
    import jsonschema_rs

    schema = msgspec.json.decode(text)
    named = isinstance(schema, dict) and isinstance(schema.get("$schema"), str)
    make: Any = jsonschema_rs.validator_for if named else jsonschema_rs.Draft7Validator
    patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)  # ends where a pattern would run for ever
    validator = make(schema, validate_formats=True, formats=_FORMATS, retriever=_refuse, pattern_options=patterns)
    return validator, SchemaSteps(schema)


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri[:100]} is not fetched: put the schema into the document")


def _pointer(path: Any) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _first_line(error: Any) -> str:
    lines = str(error).strip().splitlines() or [""]
    return lines[0][:_SHOWN]
