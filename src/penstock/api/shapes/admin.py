"""Administration at the edge: keys, tenants, audit, drafts, kept messages, many runs at once."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.paging import LARGEST
from penstock.api.time_fields import Moment
from penstock.app.access.audit import AuditEntry, ChainHead
from penstock.app.access.keys import ApiKey
from penstock.app.inbox.drafts import Draft
from penstock.app.runs.commands.batch_care import Care
from penstock.app.runs.commands.batches import Batch
from penstock.app.runs.commands.bulk import BulkOutcome, Refusal


class KeyOut(ResponseBody, of=ApiKey, omit=("tenant",)):
    pass


class KeyPage(ResponseBody):
    items: list[KeyOut]
    next: str | None


class KeyMade(KeyOut):
    """The token is shown now and never again; the answer to the same request again has none."""

    token: str | None


class KeyAsked(RequestBody):
    name: str = Field(min_length=1, max_length=200, examples=["ci"])
    user: str | None = Field(None, min_length=1, max_length=200, description="Whose it is; else the caller's own.")
    roles: list[str] = Field([], max_length=50, examples=[["operator"]])
    scopes: list[str] | None = Field(None, max_length=50, description="The only permissions that it may use.")
    expires_at: str | None = Field(None, max_length=40, examples=["2099-01-01T00:00:00Z"])
    rate: int | None = Field(None, ge=1, le=1_000_000, description="Requests per minute.")


class TenantOut(ResponseBody):
    id: str
    name: str
    users: int
    keys: int


class TenantPage(ResponseBody):
    items: list[TenantOut]
    next: str | None


class TenantAsked(RequestBody):
    id: str = Field(pattern="^[a-z][a-z0-9_-]{0,62}$", examples=["tenant_002"])
    name: str = Field("", max_length=200)
    admin: str = Field(min_length=1, max_length=200, examples=["admin@example.com"])


class TenantMade(TenantOut):
    token: str | None


class EntryOut(ResponseBody, of=AuditEntry):
    pass


class EntryPage(ResponseBody):
    items: list[EntryOut]
    next: str | None


class BreakOut(ResponseBody):
    no: int
    why: str


class HeadOut(ResponseBody, of=ChainHead):
    """Kept elsewhere, it shows later whether the end of the chain was cut off or made anew."""


class VerifiedOut(ResponseBody):
    ok: bool
    entries: int
    breaks: list[BreakOut]


class DraftOut(ResponseBody, of=Draft):
    pass


class DraftPage(ResponseBody):
    items: list[DraftOut]
    next: str | None


class DraftAsked(RequestBody):
    body: Any


class MessageOut(ResponseBody):
    run: str
    channel: str
    target: str
    at: Moment
    message: Any


class MessagePage(ResponseBody):
    items: list[MessageOut]


VERB = "^(cancel|pause|resume|retry|signal|compensate|migrate|undo_migration)$"


class BatchFilter(RequestBody):
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
    failed_node: str | None = Field(None, max_length=200)
    ended: str | None = Field(None, max_length=40)
    node_failed: str | None = Field(None, max_length=40)
    letter: bool = False


class BatchAsked(RequestBody):
    """Either `ids` or a `filter`."""

    verb: str = Field(pattern=VERB, examples=["cancel"])
    ids: list[str] | None = Field(None, max_length=1000, examples=[["r1m7fz8sa3vrn35v"]])
    filter: BatchFilter | None = None
    dry_run: bool = True
    mode: str = Field("now", pattern="^(now|boundary)$")
    how: str = Field("here", pattern="^(here|restart)$")
    name: str = Field("", max_length=200, description="Of the signal; of the document that runs are migrated to.")
    version: int | None = Field(None, ge=1, le=LARGEST, description="The version that runs are migrated to.")
    payload: Any = None
    reason: str | None = Field(None, max_length=2000)


class RefusalOut(ResponseBody, of=Refusal):
    pass


class BatchOut(ResponseBody, of=BulkOutcome):
    pass


class CareAsked(RequestBody):
    """How carefully it goes; without any of it, as fast as the engine takes them."""

    per_second: int | None = Field(None, ge=1, le=1000, description="So many runs a second at most.")
    first: int | None = Field(
        None, ge=1, le=100, description="The results of so many are waited for before the rest is begun."
    )
    most_failed: int | None = Field(
        None, ge=0, le=99, description="It is paused when more of the last 100 results are failures again."
    )


class BatchBegun(RequestBody):
    """For these runs, or for all that fit the filter, however many."""

    verb: str = Field(pattern=VERB, examples=["retry"])
    ids: list[str] | None = Field(None, min_length=1, max_length=1000, examples=[["r1m7fz8sa3vrn35v"]])
    filter: BatchFilter | None = None
    mode: str = Field("now", pattern="^(now|boundary)$")
    how: str = Field("here", pattern="^(here|restart)$")
    name: str = Field("", max_length=200, description="Of the signal; of the document that runs are migrated to.")
    version: int | None = Field(None, ge=1, le=LARGEST, description="The version that runs are migrated to.")
    payload: Any = None
    reason: str | None = Field(None, max_length=2000)
    care: CareAsked | None = None


class CareOut(ResponseBody, of=Care):
    pass


class BatchState(ResponseBody, of=Batch):
    pass


class BatchPage(ResponseBody):
    items: list[BatchState]
    next: str | None
