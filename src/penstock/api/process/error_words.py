"""Routes of the process language: its own error codes (P-X.1), and the tenant that a header names (P-X.28)."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Request
from starlette.responses import Response

from penstock.api.audited import AuditedRoute
from penstock.api.server_state import caller_of, server_of
from penstock.api.strict_routes import Handler
from penstock.app.access.roles import config_of
from penstock.app.process.error_words import in_process_words
from penstock.errors import BadInput, PenstockError, ProcessScope

IfMatch = Annotated[str | None, Header(alias="If-Match", max_length=50, description="The version that was seen.")]


class InProcessWords(AuditedRoute):
    def get_route_handler(self) -> Handler:
        plain = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await plain(request)
            except PenstockError as error:
                raise in_process_words(error) from error

        return handle


async def same_tenant(
    request: Request, x_tenant_id: Annotated[str | None, Header(alias="X-Tenant-Id", max_length=50)] = None
) -> None:
    """P-X.28: whoever names a tenant names their own, by slug or by id."""
    caller = await caller_of(request)
    if x_tenant_id is not None and x_tenant_id != caller.tenant:
        if x_tenant_id != config_of(server_of(request).door.of(caller.tenant)).get("id"):
            raise ProcessScope(why="X-Tenant-Id names another tenant than your key")


def seen_version(if_match: str | None, given: int | None) -> int | None:
    """The version that a caller has looked at, from the header or the body."""
    if if_match is None or if_match.strip() == "*":
        return given
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isdecimal() or len(text) > 15:
        raise BadInput(what="If-Match", why="it is no version", hint="Send the ETag of the work item.")
    return int(text)
