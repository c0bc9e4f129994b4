"""Commands for processes: definitions and their versions, models that somebody has to approve, and instances."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.access.candidates import Who
from penstock.app.penstock import Penstock
from penstock.app.process.definitions import Processes, approval_of
from penstock.app.process.error_words import process_words
from penstock.app.process.extraction import text_of_pdf
from penstock.app.process.models import Proposed, extracted
from penstock.app.process.models import import_discovered as discovered
from penstock.app.process.reevaluation import ThresholdReading, reevaluation
from penstock.app.process.version_writer import Defined
from penstock.app.releases.documents import read_source
from penstock.cli.drive import attached, driving_or_attached, until_done
from penstock.cli.identity import By, Claimed, identify
from penstock.cli.options import STORE, Document, Json, Store
from penstock.cli.output import DONE, TONES, finding_json, print_finding, print_json, print_list, say, short
from penstock.cli.process.conformance import conformance
from penstock.cli.process.drafts import COMMANDS as DRAFT_COMMANDS
from penstock.cli.process.event_log import log
from penstock.cli.process.instances import Id, compensate, events, instance, start, terminate
from penstock.cli.releases import CHANGES, SAME, New, Old
from penstock.errors import BadInput, DocumentInvalid
from penstock.lang.process.diff import difference
from penstock.store.releases import ReleaseRow

Reason = Annotated[str, typer.Option("--comment", "-m", metavar="TEXT", help="Why: it is kept with it.")]
Into = Annotated[
    str | None, typer.Option("--into", metavar="ID", help="It becomes the next version of this process besides.")
]
Version = Annotated[int | None, typer.Option("--version", metavar="N", help="Else the one in force.")]
_STYLES = {"approved": TONES["done"], "pending": TONES["held"], "rejected": TONES["failed"]}


# ---- definitions -----------------------------------------------------------------------------------------------------


def _json(row: ReleaseRow) -> dict[str, Any]:
    return {
        "id": row.name, "version": row.version, "type": row.kind, "approval_status": approval_of(row),
        "status": row.status, "created_at": row.created_at, "created_by": row.created_by,
    }  # fmt: skip


def _print(row: ReleaseRow) -> None:
    definition = msgspec.json.decode(row.document)
    status = approval_of(row)
    say(
        (f"{row.name} v{row.version} ", "bold"), f"{row.kind} ", (status, _STYLES[status]),
        f"  {definition.get('process_definition_name') or ''}",
    )  # fmt: skip


def define(
    file: Document,
    by: By = None,
    unsound: Annotated[bool, typer.Option("--unsound", help="Although not every instance can end.")] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Save a process from JSON, YAML or BPMN: a new one, or the next version. The same again changes nothing."""

    async def work() -> Defined:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store, create=True)
            return await Processes(door).define(
                read_source(file), by=identify(door, by, "definition.write"), unsound=unsound
            )

    try:
        done = until_done(work())
    except DocumentInvalid as wrong:
        wrong.facts["file"] = str(file)
        raise
    if json:
        print_json({**_json(done.release), "new": done.new, "diff": done.diff})
        return DONE
    for finding in done.findings:
        print_finding(finding, file, err=True)
    _print(done.release)
    _print_diff(done.diff)
    return DONE


def ls(
    type: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="mega, major, base, sub, discovered.")]
    = None,
    json: Json = False,
    store: Store = STORE,
) -> int:  # fmt: skip
    """List the processes, as they are in force."""
    with attached(store) as door:
        rows = Processes(door).each(type)
    return print_list(rows, json, _json, _print, empty="There is no process: penstock process define FILE.")


def show(id: Id, version: Version = None, json: Json = False, store: Store = STORE) -> int:
    """Print the definition of a process."""
    with attached(store) as door:
        row = Processes(door).get(id, version)
    definition = msgspec.json.decode(row.document)
    if json:
        print_json({**_json(row), "definition": definition})
    else:
        say(msgspec.json.format(msgspec.json.encode(definition), indent=2).decode())
    return DONE


def bpmn(id: Id, version: Version = None, store: Store = STORE) -> int:
    """Print a process as BPMN 2.0 XML."""
    with attached(store) as door:
        row = Processes(door).get(id, version)
    print((row.bpmn or b"").decode())
    return DONE


def versions(id: Id, json: Json = False, store: Store = STORE) -> int:
    """List the versions of a process, the oldest first."""
    with attached(store) as door:
        rows = Processes(door).versions(id)
    return print_list(rows, json, _version_json, _print_version)


def _version_json(row: ReleaseRow) -> dict[str, Any]:
    return {**_json(row), "diff": msgspec.json.decode(row.diff or b"null")}


def _print_version(row: ReleaseRow) -> None:
    _print(row)
    say(f"  {row.change_summary}")


def diff(id: Id, old: Old, new: New, json: Json = False, store: Store = STORE) -> int:
    """Show what differs between two versions: elements that were added, removed, or changed, and in what."""
    with attached(store) as door:
        processes = Processes(door)
        was, now = (msgspec.json.decode(processes.get(id, version).document) for version in (old, new))
    changes = difference(was, now)
    if json:
        print_json(changes)
        return DONE
    if not changes:
        say(SAME)
    _print_diff(changes, whole=True)
    return DONE


def _print_diff(changes: dict[str, Any], *, whole: bool = False) -> None:
    """`whole`: with names, and with what of a changed element is another."""
    for name, part in changes.items():
        for how in ("added", "removed", "changed"):
            for id, element in part[how].items():
                title = element.get("name") if whole and how != "changed" else None
                say((f"  {how:8} ", CHANGES[how]), f"{name}/{id}", f"  {title}" if title not in (None, id) else "")
                fields = {id: element} if name == "definition" else element  # its own fields have no id
                for field, (was, now) in fields.items() if whole and how == "changed" else ():
                    say(f"    {field}: {short(was)} → {short(now)}")


def approve(
    id: Id, by: By = None, into: Into = None, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Let a process be begun that was mined or extracted, and waits for somebody's approval."""

    async def work() -> Defined:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store)
            return await Processes(door).approve(id, by=_approver(door, by), into=into)

    return _saved(until_done(work()), json)


def _approver(door: Penstock, by: str | None) -> Who:
    who = identify(door, by, "process.model.approve")
    if who is None:
        raise BadInput(what="--by", why="nobody is named", hint="Write --by USER, or set PENSTOCK_KEY.")
    return who


def reject(
    id: Id, comment: Reason, by: By = None, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Keep a process from being begun that waits for somebody's approval. It stays readable, with the reason."""
    with attached(store) as door:
        row = Processes(door).reject(id, by=_approver(door, by), comment=comment)
    return _saved(Defined(row, False), json)


def _saved(done: Defined, json: bool) -> int:
    if json:
        print_json({**_json(done.release), "new": done.new, "diff": done.diff})
        return DONE
    _print(done.release)
    _print_diff(done.diff)
    if done.release.feedback:
        say(("  feedback ", "bright_black"), done.release.feedback)
    return DONE


def import_discovered(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The model that was mined, as BPMN 2.0 XML.")],
    log: Annotated[str, typer.Option("--log", metavar="ID", help="The event log that it was mined from.")],
    by: By = None,
    algorithm: Annotated[str, typer.Option("--algorithm", metavar="NAME", help="How it was mined.")] = "unknown",
    fitness: Annotated[float, typer.Option("--fitness", metavar="0..1", min=0, max=1, help="How well it fits.")] = 0.0,
    precision: Annotated[
        float | None, typer.Option("--precision", metavar="0..1", min=0, max=1, help="How little else it allows.")
    ] = None,
    cases: Annotated[int, typer.Option("--cases", metavar="N", min=0, help="How many cases the log has.")] = 0,
    base: Annotated[str | None, typer.Option("--base", metavar="ID", help="The process that it is a variant of.")]
    = None,
    json: Json = False,
    store: Store = STORE,
) -> int:  # fmt: skip
    """Save a model that was mined from an event log. It cannot be begun until somebody approves it."""
    source = read_text(file)
    mined = {"algorithm": algorithm, "fitness": fitness, "precision": precision, "case_count": cases}

    async def work() -> Defined:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store, create=True)
            return await discovered(
                door, log, source, mined, by=identify(door, by, "definition.write") or Claimed("cli"), base=base
            )

    try:
        return _saved(until_done(work()), json)
    except DocumentInvalid as wrong:
        wrong.facts["file"] = str(file)
        raise


def extract(
    file: Annotated[Path, typer.Argument(metavar="TEXT", help="A text or a PDF that describes the work by steps.")],
    id: Annotated[str, typer.Option("--id", metavar="ID", help="The id it gets; else one from its title.")] = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the definition here.")] = None,
    save: Annotated[bool, typer.Option("--save", help="Keep it; unsure ones wait for an approval.")] = False,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Make a process out of a text in plain language, for you to accept. Nothing is kept without --save."""
    source = read_source(file)
    text = read_text(file) if source[:5] != b"%PDF-" else None

    async def work() -> Proposed:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store, create=True)
            words = await text_of_pdf(source) if text is None else text
            return await extracted(
                door, words, id=id, by=identify(door, by, "definition.write") or Claimed("cli"), store=save
            )

    done = until_done(work())
    if out is not None:
        out.write_bytes(msgspec.json.format(msgspec.json.encode(done.definition), indent=2) + b"\n")
    if json:
        print_json({**msgspec.to_builtins(done), "findings": [finding_json(finding) for finding in done.findings]})
        return DONE
    _print_proposed(done)
    if out is not None:
        say("wrote ", (str(out), "bold"))
    return DONE


def _print_proposed(done: Proposed) -> None:
    kept = f" v{done.version}" if done.version is not None else ""
    say(
        (f"{done.id}{kept} ", "bold"), (done.approval_status, _STYLES[done.approval_status]),
        f"  {done.confidence:.0%} sure, read by {done.source}",
    )  # fmt: skip
    if done.note:
        say(f"  {done.note}")
    for element in done.definition.get("activities") or []:
        who = element.get("role") or element.get("agent_mode") or ""
        say(f"  {element.get('id', ''):6} {who:12} {element.get('name', '')}")
    defaults = {element.get("default") or None for element in done.definition.get("gateways") or []}
    for element in done.definition.get("transitions") or []:
        if element.get("condition"):
            say(f"  {element['source']} → {element['target']}  if {element['condition']}")
        elif element.get("id") in defaults:
            say(f"  {element['source']} → {element['target']}  otherwise")
    for finding in done.findings:
        say((f"  {finding.severity} ", TONES["failed"] if finding.severity == "error" else ""), finding.message)


def read_text(file: Path) -> str:
    try:
        return read_source(file).decode()
    except UnicodeDecodeError:
        raise BadInput(what=str(file), why="it is no text in UTF-8") from None


def reevaluate(json: Json = False, store: Store = STORE) -> int:
    """Show the thresholds at which to think again, what is measured now, and which of them are exceeded."""
    with attached(store) as door:
        rows = reevaluation(door)
    return print_list(rows, json, msgspec.to_builtins, _print_threshold)


def _print_threshold(row: ThresholdReading) -> None:
    word, style = ("exceeded", TONES["held"]) if row.exceeded else ("", "")
    value = "nothing yet" if row.value is None else f"{row.value:g}"
    say((f"{row.id} ", "bold"), f"{row.condition}: {value} ", (word, style), f"  {row.what}")


_COMMANDS: dict[str, Callable[..., int]] = {
    "define": define, "ls": ls, "show": show, "bpmn": bpmn, "versions": versions, "diff": diff,
    "approve": approve, "reject": reject, "import-discovered": import_discovered, "extract": extract,
    "start": start, "instance": instance, "terminate": terminate, "compensate": compensate, "events": events,
    "reevaluation": reevaluate, "log": log, "conformance": conformance, **DRAFT_COMMANDS,
}  # fmt: skip
#: several commands under one name; errors have the codes that they have over HTTP
process = {name: process_words()(command) for name, command in _COMMANDS.items()}
