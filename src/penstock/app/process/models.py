"""Models that nobody has drawn: mined from a log (P-7.4, P-E.4), or read out of a text (P-X.2, P-X.22)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from penstock.app.access.candidates import Who
from penstock.app.access.roles import config_of
from penstock.app.process.definitions import Processes, approval_of
from penstock.app.process.error_words import process_words
from penstock.app.process.extraction import propose
from penstock.app.process.version_writer import DISCOVERED, Defined
from penstock.dialects.process.words import PROCESS_DISCOVERED
from penstock.errors import Finding, ProcessScope, ProcessUnreadable
from penstock.lang.process.diff import difference
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs


class Proposed(msgspec.Struct, frozen=True):
    """What a text comes to, with how sure it is; `version` is None where it was only shown. `source` is rules, or the
    model that has read it."""

    id: str
    version: int | None
    approval_status: str
    new: bool
    confidence: float
    parts: dict[str, float]
    evidence: dict[str, str]
    source: str
    note: str
    definition: dict[str, Any]
    diff: dict[str, Any]
    findings: list[Finding] = []


async def extracted(door: Runs, text: str, *, id: str = "", by: Who, store: bool = True) -> Proposed:
    """P-6.1.6: as sure as 0.80 it is saved and may be begun; less, and somebody has to approve it first. Raises
    ProcessInvalid where it shall be stored and cannot be used."""
    proposal = await propose(door, text, id=id)
    held, definition = Processes(door), dict(proposal.definition)
    name, known = _name(held, definition, given=bool(id))
    definition["process_definition_id"] = name
    was = msgspec.json.decode(known[-1].document) if known else {}
    was["tenant_id"] = definition.get("tenant_id")  # one without a tenant is of the same
    diff = difference(was, definition)
    more: dict[str, Any] = {"confidence": proposal.confidence, "parts": dict(proposal.parts), "source": proposal.source}
    more |= {"evidence": dict(proposal.evidence), "note": proposal.note}
    if not store:
        waits = not proposal.certain or held.by_two(definition)
        status = "pending" if waits else "approved"
        return Proposed(name, None, status, False, **more, definition=definition, diff=diff, findings=proposal.findings)
    origin = {**more, "source": "extracted", "by": proposal.source}
    done = await held.define(definition, by=by, origin=origin, pending=not proposal.certain)
    row = done.release
    return Proposed(
        row.name, row.version, approval_of(row), done.new, **more, definition=msgspec.json.decode(row.document),
        diff=diff, findings=proposal.findings,
    )  # fmt: skip


def _name(held: Processes, definition: Mapping[str, Any], *, given: bool) -> tuple[str, list[ReleaseRow]]:
    """Another process keeps its id, although the rules would give it to this one, too."""
    name, title = str(definition["process_definition_id"]), definition.get("process_definition_name")
    known = held.named(name)
    if given or not known or msgspec.json.decode(known[-1].document).get("process_definition_name") == title:
        return name, known
    name = f"{name}_{hashlib.sha256(str(title).encode()).hexdigest()[:8]}"
    return name, held.named(name)


async def import_discovered(
    door: Runs, event_log_id: str, model: str | Mapping[str, Any], metadata: Mapping[str, Any], *, by: Who,
    base: str | None = None, more: Mapping[str, Any] | None = None,
) -> Defined:  # fmt: skip
    """P-7.4: always of type discovered and pending; the model, its link to the log and its event are one commit.
    `model` is BPMN XML, or a definition."""
    held = Processes(door)
    data, source = await held.read(model)
    about = {
        "type": DISCOVERED, "source_event_log_id": event_log_id,
        "description": "\n".join((
            "프로세스 마이닝으로 자동 발견된 모델",
            f"알고리즘: {metadata.get('algorithm') or 'unknown'}",
            f"Fitness: {float(metadata.get('fitness') or 0):.2f}",
            f"케이스 수: {metadata.get('case_count') or 0}",
        )),
    }  # fmt: skip
    name = str(data.get("process_definition_id") or f"discovered_{event_log_id}")
    if any(row.kind != DISCOVERED for row in held.named(name)):
        name = f"{name}_discovered"  # what was designed keeps its name, and its versions
    origin: dict[str, Any] = {"source": "process_mining", "event_log_id": event_log_id, **metadata}
    origin |= {name: value for name, value in (more or {}).items() if value is not None}
    if base is not None:
        origin["base_proc_def_id"] = held.get(base).name
        origin["base_diff"] = difference(msgspec.json.decode(held.get(base).document), {**data, **about})
    return await held.define({**data, **about}, by=by, origin=origin, into=name, told=True, source=source)


# ---- the event PROCESS_DISCOVERED ------------------------------------------------------------------------------------

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
