"""Administration at the edge: keys, tenants, audit, drafts, kept messages, many runs at once."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.paging import LARGEST
from penstock.api.replies import Asked, Shape
from penstock.api.time_fields import Moment


class KeyOut(Shape):
    id: str
    name: str
    user: str
    roles: list[str]
    scopes: list[str] | None
    rate: int | None
    created_at: Moment
    created_by: str
    expires_at: Moment | None
    revoked_at: Moment | None
    last_used_at: Moment | None


class KeyPage(Shape):
    items: list[KeyOut]
    next: str | None


class KeyMade(KeyOut):
    """The token is shown now and never again; the answer to the same request again has none."""

    token: str | None


class KeyAsked(Asked):
    name: str = Field(min_length=1, max_length=200, examples=["ci"])
    user: str | None = Field(None, min_length=1, max_length=200, description="Whose it is; else the caller's own.")
    roles: list[str] = Field([], max_length=50, examples=[["operator"]])
    scopes: list[str] | None = Field(None, max_length=50, description="The only permissions that it may use.")
    expires_at: str | None = Field(None, max_length=40, examples=["2099-01-01T00:00:00Z"])
    rate: int | None = Field(None, ge=1, le=1_000_000, description="Requests per minute.")


class TenantOut(Shape):
    id: str
    name: str
    users: int
    keys: int


class TenantPage(Shape):
    items: list[TenantOut]
    next: str | None


class TenantAsked(Asked):
    id: str = Field(pattern="^[a-z][a-z0-9_-]{0,62}$", examples=["tenant_002"])
    name: str = Field("", max_length=200)
    admin: str = Field(min_length=1, max_length=200, examples=["admin@example.com"])


class TenantMade(TenantOut):
    token: str | None


class EntryOut(Shape):
    no: int
    at: Moment
    actor: str
    action: str
    target: str
    body: Any
    hash: str


class EntryPage(Shape):
    items: list[EntryOut]
    next: str | None


class BreakOut(Shape):
    no: int
    why: str


class VerifiedOut(Shape):
    ok: bool
    entries: int
    breaks: list[BreakOut]


class DraftOut(Shape):
    key: str
    number: int
    body: Any
    at: Moment


class DraftPage(Shape):
    items: list[DraftOut]
    next: str | None


class DraftAsked(Asked):
    body: Any


class MessageOut(Shape):
    run: str
    channel: str
    target: str
    at: Moment
    message: Any


class MessagePage(Shape):
    items: list[MessageOut]


class BatchFilter(Asked):
    q: str = Field("", max_length=200)
    state: list[str] = Field([], max_length=20)
    name: str | None = Field(None, max_length=200)
    version: int | None = Field(None, ge=1, le=LARGEST)
    language: str | None = Field(None, max_length=40)
    node: str | None = Field(None, max_length=200)
    code: str | None = Field(None, max_length=200)
    var: str | None = Field(None, max_length=200, description="NAME:VALUE, as of a list.")
    parent: str | None = Field(None, max_length=200)
    since: str | None = Field(None, max_length=40)
    until: str | None = Field(None, max_length=40)


class BatchAsked(Asked):
    """Either `ids` or a `filter`."""

    verb: str = Field(pattern="^(cancel|pause|resume|retry|signal)$", examples=["cancel"])
    ids: list[str] | None = Field(None, max_length=1000, examples=[["r1m7fz8sa3vrn35v"]])
    filter: BatchFilter | None = None
    dry_run: bool = True
    mode: str = Field("now", pattern="^(now|boundary)$")
    how: str = Field("here", pattern="^(here|restart)$")
    name: str = Field("", max_length=200, description="Of the signal.")
    payload: Any = None
    reason: str | None = Field(None, max_length=2000)


class RefusalOut(Shape):
    run: str
    code: str
    reason: str


class BatchOut(Shape):
    verb: str
    dry_run: bool
    count: int
    sample: list[str]
    refused: list[RefusalOut]
    more: bool
