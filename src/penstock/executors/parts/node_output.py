"""Finishes a decision node's output: the author's transform is applied, then the author's schema is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Done, Failed, Outcome, Request, failed
from penstock.executors.parts.extras import extra_missing
from penstock.executors.parts.json_schema import schema_failure
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.processes import jq


async def finish_output(
    request: Request, body: Any, meta: dict[str, Any] | None = None, content_type: str | None = None
) -> Outcome:
    """`output.transform` (jq) first, then `output.schema`; the executor's answer as it is where neither is given."""
    output = request.args.get("output") if isinstance(request.args, Mapping) else None
    try:
        body = json_value(body)
        if isinstance(output, Mapping):
            if output.get("transform") is not None:
                body, content_type = json_value(await _transform(output["transform"], body, request)), None
            if output.get("schema") is not None:
                wrong = schema_failure(body, output["schema"])
                if wrong is not None:
                    return wrong
    except NotJson as error:
        return failed("OUTPUT_INVALID", "validation", f"The answer is no value that JSON can hold: {error}.")
    except jq.JqError as error:
        return _transform_failure(error)
    except jq.JqMissing:
        return extra_missing("A transform needs", "decision")
    return Done(body, meta, content_type)


async def _transform(transform: Any, body: Any, request: Request) -> Any:
    kind = transform.get("type", "jq") if isinstance(transform, Mapping) else None
    expression = transform.get("expression") if isinstance(transform, Mapping) else None
    if kind != "jq" or not isinstance(expression, str):
        raise jq.JqError("syntax", "a transform has the type «jq» and an expression")
    if isinstance(body, bytes):
        raise jq.JqError("run", "the answer is binary")
    seconds = min(jq.SECONDS, (request.timeout_ms or 60_000) / 1000)
    return await jq.apply(expression, body, seconds)


def _transform_failure(error: jq.JqError) -> Failed:
    if error.kind == "syntax":
        return failed("TRANSFORM_INVALID", "validation", f"The transform cannot be read: {error}.")
    if error.kind == "limit":
        return failed("TRANSFORM_LIMIT", "validation", f"The transform went over a limit: {error}.")
    hint = "; put it into [ ] to have a list" if error.kind == "several" else ""
    return failed("TRANSFORM_FAILED", "validation", f"The transform does not fit the answer: {error}{hint}.")
