"""shape: a value that is there already is transformed and held to a schema (outputs that no executor has made)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.finish import finish


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
            value = {name: one for name, one in value.items() if one is not None}
        if not args.get("null_is_absent"):
            return await finish(request, value)
        outcome = await finish(request, present(value))
        return Done(value) if isinstance(outcome, Done) else outcome


def present(value: Any) -> Any:
    """The value without members that are null."""
    if isinstance(value, Mapping):
        return {name: present(one) for name, one in value.items() if one is not None}
    return [present(one) for one in value] if isinstance(value, list | tuple) else value
