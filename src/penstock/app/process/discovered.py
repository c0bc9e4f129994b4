"""The event PROCESS_DISCOVERED (P-E.4, P-7.2.2): whoever mines logs sends a model; it waits for an approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from penstock.app.access.candidates import Who
from penstock.app.access.roles import config_of
from penstock.app.process.error_words import process_words
from penstock.app.process.models import import_discovered
from penstock.dialects.process.words import PROCESS_DISCOVERED
from penstock.errors import ProcessScope, ProcessUnreadable

if TYPE_CHECKING:
    from penstock.app.process.version_writer import Defined
    from penstock.app.runs.runs import Runs

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Mining(msgspec.Struct, frozen=True):
    algorithm: Annotated[str, msgspec.Meta(max_length=200)] = "unknown"
    fitness: _Share = 0.0
    precision: _Share | None = None
    case_count: Annotated[int, msgspec.Meta(ge=0, le=2_000_000_000)] = 0


class Discovered(msgspec.Struct, frozen=True):
    """P-X.25."""

    event_log_id: _Name
    bpmn_xml: Annotated[str, msgspec.Meta(min_length=1)]
    mining_metadata: Mining = Mining()
    conformance: dict[str, Any] | None = None
    bottlenecks: list[Any] | None = None
    tenant_id: str | None = None
    base_proc_def_id: _Name | None = None


async def discovered(door: Runs, payload: Any, by: Who | None = None) -> Defined:
    """As `:import-discovered` does it: of type discovered, pending, with its log. The same again changes nothing.
    Whoever has sent it is its author, and cannot be the second person."""
    try:
        model = msgspec.convert(payload, Discovered)
    except msgspec.ValidationError as error:
        raise ProcessUnreadable(why=f"The payload of {PROCESS_DISCOVERED} cannot be used: {error}") from error
    if model.tenant_id not in (None, "", door.tenant, config_of(door).get("id")):
        raise ProcessScope(why="The model is of another tenant than yours")
    more = {"conformance": model.conformance, "bottlenecks": model.bottlenecks}
    with process_words():
        return await import_discovered(
            door, model.event_log_id, model.bpmn_xml, msgspec.structs.asdict(model.mining_metadata),
            by="process_mining" if by is None else by, base=model.base_proc_def_id, more=more,
        )  # fmt: skip
