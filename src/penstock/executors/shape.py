"""shape: a value that is there already is transformed and held to a schema (outputs that no executor has made)."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.executors.contract import Outcome, Request, Services, failed
from penstock.executors.parts.finish import finish


class ShapeExecutor:
    """args: value, without_null (members that are null are left out), output {schema, transform}."""

    name = "shape"

    async def run(self, request: Request, services: Services) -> Outcome:
        args = request.args
        if not isinstance(args, Mapping) or "value" not in args:
            return failed("INPUT_INVALID", "validation", "There is no value to shape.")
        value = args["value"]
        if args.get("without_null") and isinstance(value, Mapping):
            value = {name: one for name, one in value.items() if one is not None}
        return await finish(request, value)
