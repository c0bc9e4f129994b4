"""Pipeline definitions: kept by their code, versioned, and in force at once (F-X.4, F-X.31)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.access import four_eyes
from penstock.app.access.candidates import Who
from penstock.app.releases.documents import compile_source, read_source
from penstock.app.releases.releases import STATUS, Releases, Submission, canonical, dsl_hash
from penstock.dialects.pipeline import definition_snapshot
from penstock.errors import BadInput, DocumentInvalid, Finding, Place, ReleaseNotFound, VersionConflict
from penstock.lang.pipeline.checks import dependency_cycle
from penstock.lang.read import read_document
from penstock.net.compiled import Compiled
from penstock.store.address import DEFAULT_TENANT
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries
    from penstock.app.runs.runs import Runs

LANGUAGE = "pipeline"


class Definition(msgspec.Struct, frozen=True):
    """One that is in force: its release, the number of its net, and what lowering has kept of it."""

    code: str
    net: int
    about: Mapping[str, Any]
    release: ReleaseRow

    @property
    def priority(self) -> int:
        return int(self.about.get("priority", 100))

    @property
    def after(self) -> list[str]:
        """F-X.12: the codes of the pipelines that it waits for."""
        return list((self.about.get("dependencies") or {}).get("after", ()))

    @property
    def stages(self) -> list[Mapping[str, Any]]:
        return list(self.about.get("stages", ()))


#: given by the store: they are no change of a definition
_OURS = ("version", "created_at", "updated_at", "created_by")
#: how a version comes in force
_WAY = {"draft": "submit", "pending_approval": "approve", "approved": "activate", "deprecated": "activate"}


def define(door: Runs, document: str | Path | bytes | Mapping[str, Any], *, by: Who | None = None) -> Submission:
    """Check a definition, keep it as the next version of its code, and put it in force (F-X.4). The same again changes
    nothing; executions that go on keep the version that they began with. Raises DocumentInvalid."""
    source, data = _read(document)
    code = data["pipeline_code"]
    known = door.store.releases(door.tenant, code)
    if any(door.store.net(row.net).language != LANGUAGE for row in known[:1]):
        raise VersionConflict(name=code, version=1, why="a document of another language has this name")
    same = next((row for row in reversed(known) if same_definition(row, data)), None)
    if same is not None:
        return Submission(_put_in_force(door, same, by), False)
    version = max((row.version for row in known), default=0) + 1
    numbered = canonical({**data, "version": version}, ordered=True)
    compile_source(source, name=code, settings=door.settings)  # what is wrong has the places of the author's own text
    compiled, _ = compile_source(numbered, name=code, settings=door.settings)
    _refuse_cycle(door, code, data)
    row = ReleaseRow(
        door.tenant, code, version, str(uuid.uuid5(uuid.NAMESPACE_URL, f"penstock:{door.tenant}/{code}/{version}")),
        STATUS.initial, dsl_hash({**data, "version": version}), door.keep_net(compiled, source), numbered, None,
        four_eyes.author_of(door, by, data), door.now(),
    )  # fmt: skip
    if not door.store.put_release(row):
        raise VersionConflict(name=code, version=version, why="somebody else has just kept one")
    return Submission(_put_in_force(door, row, by), True, list(compiled.findings))


def _read(document: str | Path | bytes | Mapping[str, Any]) -> tuple[bytes, dict[str, Any]]:
    if isinstance(document, Mapping):
        source = canonical(document, ordered=True)
    else:
        source = document if isinstance(document, bytes) else read_source(Path(document))
    data = read_document(source, name="pipeline").data
    code = data.get("pipeline_code") if isinstance(data, dict) else None
    if not isinstance(code, str) or not code:
        why = "it is no pipeline: it has no «pipeline_code»"
        raise BadInput(what="the document", why=why, hint='Begin with {"pipeline_code": …, "stages": […]}.')
    return source, dict(data)


def same_definition(row: ReleaseRow, data: Mapping[str, Any]) -> bool:
    """Whether a version says the same, but for what the store gives."""
    return _written(msgspec.json.decode(row.document)) == _written(data)


def _written(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in _OURS}


def _refuse_cycle(door: Runs, code: str, data: Mapping[str, Any]) -> None:
    """F-X.12: pipelines that wait for each other would wait for ever."""
    known = {each.code: each.about for each in _all(door)} | {code: data}
    after = {each: list((text.get("dependencies") or {}).get("after", ())) for each, text in known.items()}
    for each, document in known.items():
        for action in (*(document.get("success_actions") or ()), *(document.get("failure_actions") or ())):
            if action.get("type") == "pipeline":
                after.setdefault(action["code"], []).append(each)
    cycle = dependency_cycle(after)
    if code in cycle:
        message = f"Pipelines would wait for each other: {' after '.join(cycle)}."
        own = next((name for name in ("success_actions", "failure_actions") if _begins(data, name, cycle)), None)
        hint = "Take one of them out of `after`." if own is None else "Take the pipeline out of the actions."
        place = Place("/dependencies/after" if own is None else f"/{own}")
        raise DocumentInvalid([Finding("pipeline_cycle", "error", message, place, hint)])


def _begins(data: Mapping[str, Any], actions: str, codes: Collection[str]) -> bool:
    return any(action.get("type") == "pipeline" and action["code"] in codes for action in data.get(actions) or ())


def _put_in_force(door: Runs, row: ReleaseRow, by: Who | None) -> ReleaseRow:
    """On its way as far as it goes by itself; what waits for a second person is left to that one."""
    releases = Releases(door)
    waits = four_eyes.asked(door, *releases.change(row).documents)
    while row.status != "active" and not (waits and row.status != "draft"):
        verb = _WAY[row.status]
        if verb == "submit":
            row = releases.submitted(row)
        elif verb == "approve":
            row = releases.approve(row.name, row.version, by=by)
        else:
            row = releases.activate(row.name, row.version, by=by)
    return row


def _all(door: Queries) -> list[Definition]:
    return in_force(door, door.tenant)


def definition_of(door: Queries, code: str) -> Definition:
    """The one of this code that is in force for the door's tenant. Raises ReleaseNotFound."""
    definition = next((each for each in in_force(door, door.tenant) if each.code == code), None)
    if definition is None:
        raise ReleaseNotFound(name=code)
    return definition


def versions_of(door: Queries, code: str) -> list[ReleaseRow]:
    """The tenant's own, the oldest first. Raises ReleaseNotFound."""
    rows = door.store.releases(door.tenant, code)
    if not rows or door.store.net(rows[-1].net).language != LANGUAGE:
        raise ReleaseNotFound(name=code)
    return rows


def switch_off(door: Runs, code: str) -> ReleaseRow:
    """F-X.2: it is kept, and begins nothing any more; executions that have begun go on. Raises ReleaseNotFound."""
    active = next((row for row in versions_of(door, code) if row.status == "active"), None)
    if active is None:
        raise ReleaseNotFound(name=code)
    return Releases(door).deprecate(code, active.version)


def in_force(door: Queries, tenant: str) -> list[Definition]:
    """F-X.31: definitions are the product's, which are kept for the first tenant; one that a tenant has of its own
    goes before the product's of the same code."""
    kept: dict[str, Definition] = {}
    for owner in dict.fromkeys((DEFAULT_TENANT, tenant)):
        for row in door.store.releases(owner, status="active"):
            net = _net(door, row.net)
            if net is not None:
                kept[row.name] = Definition(row.name, row.net, definition_snapshot(net.net), row)
    return list(kept.values())


def _net(door: Queries, number: int) -> Compiled | None:
    """The net, where it is a pipeline; others are not even compiled."""
    known = door.nets.by_number.get(number)
    if known is None and door.store.net(number).language != LANGUAGE:
        return None
    known = known or door.nets.get(number)
    return known if known.net.language == LANGUAGE else None
