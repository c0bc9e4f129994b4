"""publish: a message or a signal of a process goes to whoever waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Done, News, Outcome, Request, Services, failed

#: The id of what a run tells begins with this, and goes on with the key of the effect.
PREFIX = "publish:"


def origin_of(event: str) -> str:
    """The id of the run that has sent an event with this id; empty when it came from outside."""
    parts = event.removeprefix(PREFIX).split("/") if event.startswith(PREFIX) else []
    return parts[1] if len(parts) > 2 else ""


class PublishExecutor:
    """args: kind (message or signal), name, payload. The host keeps what is told before it takes the answer, and once:
    its id is the key of the effect."""

    name = "publish"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        name = args.get("name")
        if not isinstance(name, str) or not name:
            return failed("INPUT_INVALID", "validation", "What is sent has no name.")
        if services.tenant is None:
            return failed("TENANT_MISSING", "permanent", "Nobody is here who could hear it.")
        return Done({"sent": name}, told=News(f"{PREFIX}{request.key}", name, args.get("payload")))
