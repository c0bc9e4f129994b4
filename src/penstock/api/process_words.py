"""Routes of the process language: its own error codes (P-X.1), and the tenant that a header names (P-X.28)."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Request
from starlette.responses import Response

from penstock.api.changing import Changing
from penstock.api.checked import Handler
from penstock.api.site import caller_of, site_of
from penstock.app.roles import config_of
from penstock.errors import (
    ApproverDenied,
    BadInput,
    ChangedMeanwhile,
    DocumentInvalid,
    DocumentUnreadable,
    FourEyes,
    ItemClaimed,
    ItemNotFound,
    LanguageUnknown,
    NoBranch,
    NodeNotFound,
    PenstockError,
    ProcessBranch,
    ProcessChanged,
    ProcessInvalid,
    ProcessNotFound,
    ProcessScope,
    ProcessState,
    ProcessUnreadable,
    Refused,
    ReleaseNotFound,
    RunNotFound,
    TenantConflict,
    VersionConflict,
)

#: ours → theirs; the first that fits
_CODES: tuple[tuple[tuple[type[PenstockError], ...], type[PenstockError]], ...] = (
    ((ProcessBranch, ProcessState), PenstockError),
    ((DocumentUnreadable, LanguageUnknown), ProcessUnreadable),
    ((TenantConflict, ApproverDenied, FourEyes), ProcessScope),
    ((RunNotFound, ReleaseNotFound, ItemNotFound, NodeNotFound), ProcessNotFound),
    ((NoBranch,), ProcessBranch),
    ((VersionConflict, ChangedMeanwhile), ProcessChanged),
    ((Refused, ItemClaimed), ProcessState),
)
IfMatch = Annotated[str | None, Header(alias="If-Match", max_length=50, description="The version that was seen.")]


class InProcessWords(Changing):
    def get_route_handler(self) -> Handler:
        plain = super().get_route_handler()

        async def told(request: Request) -> Response:
            try:
                return await plain(request)
            except PenstockError as error:
                raise in_process_words(error) from error

        return told


def in_process_words(error: PenstockError) -> PenstockError:
    """The same under the code that the process language has for it; what it has none for stays as it is."""
    if isinstance(error, DocumentInvalid):
        return error if isinstance(error, ProcessInvalid) else ProcessInvalid(error.findings)
    for kinds, kind in _CODES:
        if isinstance(error, kinds):
            return error if kind is PenstockError else _as(kind, error)
    return error


def _as(kind: type[PenstockError], error: PenstockError) -> PenstockError:
    """The words stay: they are about what was asked."""
    made = kind.__new__(kind)
    Exception.__init__(made, str(error))
    made.facts = {**error.facts, "hint": error.facts.get("hint") or error.hint}
    return made


async def same_tenant(
    request: Request, x_tenant_id: Annotated[str | None, Header(alias="X-Tenant-Id", max_length=50)] = None
) -> None:
    """P-X.28: whoever names a tenant names their own, by slug or by id."""
    caller = await caller_of(request)
    if x_tenant_id is not None and x_tenant_id != caller.tenant:
        if x_tenant_id != config_of(site_of(request).door.of(caller.tenant)).get("id"):
            raise ProcessScope(why="X-Tenant-Id names another tenant than your key")


def seen_version(if_match: str | None, given: int | None) -> int | None:
    """The version that a caller has looked at, from the header or the body."""
    if if_match is None or if_match.strip() == "*":
        return given
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isdecimal() or len(text) > 15:
        raise BadInput(what="If-Match", why="it is no version", hint="Send the ETag of the work item.")
    return int(text)
