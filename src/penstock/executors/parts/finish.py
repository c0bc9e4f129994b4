"""The end of every node of a decision: its answer is transformed, and then held against the author's schema."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import msgspec

from penstock.executors.contract import Done, Failed, Outcome, Request, failed
from penstock.executors.parts import jq
from penstock.executors.parts.values import NotPlain, plain

_SHOWN = 300
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DURATION = re.compile(r"P(?!\Z)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?)")
#: formats that draft 7 does not know and authors write nevertheless
_FORMATS: dict[str, Callable[[str], bool]] = {
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "duration": lambda text: _DURATION.fullmatch(text) is not None,
}


async def finish(
    request: Request, body: Any, meta: dict[str, Any] | None = None, content_type: str | None = None
) -> Outcome:
    """`output.transform` (jq) first, then `output.schema`; the executor's answer as it is where neither is given."""
    output = request.args.get("output") if isinstance(request.args, Mapping) else None
    try:
        body = plain(body)
        if isinstance(output, Mapping):
            if output.get("transform") is not None:
                body, content_type = plain(await _transformed(output["transform"], body, request)), None
            if output.get("schema") is not None:
                wrong = mismatch(body, output["schema"])
                if wrong is not None:
                    return wrong
    except NotPlain as error:
        return failed("OUTPUT_INVALID", "validation", f"The answer is no value that JSON can hold: {error}.")
    except jq.JqWrong as error:
        return _wrong(error)
    except jq.JqMissing:
        message = "A transform needs the extra «decision»: pip install 'penstock[decision]'."
        return failed("EXTRA_MISSING", "permanent", message, {"extra": "decision"})
    return Done(body, meta, content_type)


async def _transformed(transform: Any, body: Any, request: Request) -> Any:
    kind = transform.get("type", "jq") if isinstance(transform, Mapping) else None
    expression = transform.get("expression") if isinstance(transform, Mapping) else None
    if kind != "jq" or not isinstance(expression, str):
        raise jq.JqWrong("syntax", "a transform has the type «jq» and an expression")
    if isinstance(body, bytes):
        raise jq.JqWrong("run", "the answer is binary")
    seconds = min(jq.SECONDS, (request.timeout_ms or 60_000) / 1000)
    return await jq.apply(expression, body, seconds)


def _wrong(error: jq.JqWrong) -> Failed:
    if error.kind == "syntax":
        return failed("TRANSFORM_INVALID", "validation", f"The transform cannot be read: {error}.")
    if error.kind == "limit":
        return failed("TRANSFORM_LIMIT", "validation", f"The transform went over a limit: {error}.")
    hint = "; put it into [ ] to have a list" if error.kind == "several" else ""
    return failed("TRANSFORM_FAILED", "validation", f"The transform does not fit the answer: {error}{hint}.")


def mismatch(value: Any, schema: Any, code: str = "OUTPUT_SCHEMA") -> Failed | None:
    """The first place where the value is not what the schema asks for. A schema without `$schema` is draft 7."""
    try:
        validator = _validator(msgspec.json.encode(schema))
    except ImportError:
        message = "A schema needs the extra «decision»: pip install 'penstock[decision]'."
        return failed("EXTRA_MISSING", "permanent", message, {"extra": "decision"})
    except (ValueError, TypeError, msgspec.MsgspecError) as error:
        return failed(code, "validation", f"The schema itself cannot be used: {_first_line(error)}")
    if isinstance(value, bytes):
        return failed(code, "validation", "The value is binary; a schema is for values of JSON.", {"pointer": ""})
    errors = validator.iter_errors(value)
    first = next(iter(errors), None)
    if first is None:
        return None
    at = _pointer(first.instance_path)
    why = _first_line(first.message)
    detail = {"pointer": at, "schema_pointer": _pointer(first.schema_path)}
    return failed(code, "validation", f"The value at «{at or '/'}» does not fit the schema: {why}", detail)


@functools.lru_cache(maxsize=256)
def _validator(text: bytes) -> Any:
    import jsonschema_rs

    schema = msgspec.json.decode(text)
    named = isinstance(schema, dict) and isinstance(schema.get("$schema"), str)
    make: Any = jsonschema_rs.validator_for if named else jsonschema_rs.Draft7Validator
    patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)  # ends where a pattern would run for ever
    return make(schema, validate_formats=True, formats=_FORMATS, retriever=_refuse, pattern_options=patterns)


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri[:100]} is not fetched: put the schema into the document")


def _pointer(path: Any) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _first_line(error: Any) -> str:
    lines = str(error).strip().splitlines() or [""]
    return lines[0][:_SHOWN]
