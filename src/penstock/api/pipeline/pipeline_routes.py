"""Routes of the pipeline language: its own error codes (F-10), and the scope of whoever calls (F-6.6, F-X.22)."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from penstock.api.audited import AuditedRoute
from penstock.api.server_state import Caller
from penstock.api.strict_routes import Handler
from penstock.errors import (
    BodyUnreadable,
    IdempotencyConflict,
    MessageInvalid,
    PenstockError,
    RunAmbiguous,
    RunNotFound,
    StatusConflict,
)
from penstock.errors.pipeline import ExecutionNotFound, ExecutionState, PipelineKeyConflict, PipelineScope

#: the route whose body is a message: what cannot be read is told as such (F-10.1)
INGEST = "ingest"


class InPipelineWords(AuditedRoute):
    def get_route_handler(self) -> Handler:
        plain = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await plain(request)
            except BodyUnreadable as error:
                if self.name != INGEST:
                    raise
                raise MessageInvalid([("", str(error.facts.get("why", "it is not JSON")))]) from error
            except PenstockError as error:
                raise _in_pipeline_words(error) from error

        return handle


def _in_pipeline_words(error: PenstockError) -> PenstockError:
    """The same under the code that the seed has for it (F-10); what it has none for stays as it is."""
    if isinstance(error, RunNotFound | RunAmbiguous):
        return ExecutionNotFound(execution=error.facts.get("run", ""))
    if isinstance(error, IdempotencyConflict):
        return PipelineKeyConflict(key=error.facts.get("key", ""))
    if type(error) is StatusConflict:
        return ExecutionState(**error.facts)
    return error


def same_organization(who: Caller, organization: int | None) -> None:
    """F-6.6: whoever belongs to one organisation sees and does nothing of another."""
    if who.organization is not None and organization != who.organization:
        raise PipelineScope(why="It is another organisation's than yours")


def whole_tenant(who: Caller) -> None:
    if who.organization is not None:
        raise PipelineScope(why="It is of the whole tenant, and you belong to one organisation")


def same_tenant(who: Caller, tenant_id: str | None) -> None:
    """F-X.22: whoever names a tenant names their own."""
    if tenant_id is not None and tenant_id != who.tenant:
        raise PipelineScope(why="«tenantId» names another tenant than yours")
