"""tool: one call of a tool by its name (what undoes an activity, P-5.3.10)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.tools import TIMEOUT_MS, Toolbox, ToolFailed, reported_failure


class ToolExecutor:
    """args: tool, params (else `data`, what the undone activity had answered), timeout_s or timeout_ms (30 s).

    A failure is an exception, too long a time, or a reply that says `isError: true` or `ok: false` (P-X.36).
    """

    name = "tool"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        name, seconds = args.get("tool"), args.get("timeout_s")
        if not isinstance(name, str) or not name:
            return failed("INPUT_INVALID", "validation", "«tool» must be the name of a tool.")
        given = args.get("params")
        if given is None:
            given = args.get("data", request.result)
        arguments = dict(given) if isinstance(given, Mapping) else {} if given is None else {"result": given}
        if isinstance(args.get("timeout_ms"), int):
            seconds = args["timeout_ms"] / 1000
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds <= 0:
            seconds = TIMEOUT_MS / 1000
        try:
            async with asyncio.timeout(seconds), Toolbox(request, services) as box:
                result = await (await box.find(name)).call(arguments, request.key)
        except ToolFailed as error:
            return error.outcome
        except TimeoutError:
            return failed("NODE_TIMEOUT", "timeout", f"The tool «{name[:80]}» did not answer within {seconds:g} s.")
        return reported_failure(name, result) or Done(result, {"tool": name})
