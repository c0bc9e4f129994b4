"""shape: a value that is there already is transformed and held to a schema (outputs that no executor has made)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.node_output import finish_output


class ShapeExecutor:
    """args: value, without_null (members that are null are left out), null_is_absent (they are left out of what is held
    against the schema, at any depth, and stay in the value), output {schema, transform}."""

    name = "shape"

    async def run(self, request: Request, services: Services) -> Outcome:
        args = request.args
        if not isinstance(args, Mapping) or "value" not in args:
            return failed("INPUT_INVALID", "validation", "There is no value to shape.")
        value = args["value"]
        if args.get("without_null") and isinstance(value, Mapping):
            value = {name: item for name, item in value.items() if item is not None}
        if not args.get("null_is_absent"):
            return await finish_output(request, value)
        outcome = await finish_output(request, present(value))
        return Done(value) if isinstance(outcome, Done) else outcome


def present(value: Any) -> Any:
    """The value without members that are null."""
    if isinstance(value, Mapping):
        return {name: present(item) for name, item in value.items() if item is not None}
    return [present(item) for item in value] if isinstance(value, list | tuple) else value
