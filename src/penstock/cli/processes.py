"""Commands for processes: definitions and their versions, and the work items of their instances."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.documents import read_source
from penstock.app.penstock import Penstock
from penstock.app.process_models import Proposed, extracted
from penstock.app.processes import Defined, Processes, approval_of
from penstock.app.workitems import OPEN, WorkItems
from penstock.cli.drive import Started, leaving, reaching, steer, until_done
from penstock.cli.options import STORE, Document, Json, Store, read_value
from penstock.cli.reading import there
from penstock.cli.running import finish
from penstock.cli.speak import DONE, TONES, finding_json, moment, say, short, tell_finding, tell_json
from penstock.errors import BadInput, DocumentInvalid
from penstock.store.contract import ReleaseRow

Id = Annotated[str, typer.Argument(metavar="ID", help="The process, by its id.")]
Item = Annotated[str, typer.Argument(metavar="ID", help="The work item: RUN~N, as `penstock items ls` shows it.")]
By = Annotated[str, typer.Option("--by", metavar="USER", envvar="PENSTOCK_USER", help="Who does it.")]
Comment = Annotated[str | None, typer.Option("--comment", "-m", metavar="TEXT", help="Why.")]
Version = Annotated[int | None, typer.Option("--version", metavar="N", help="Else the one in force.")]
_STYLES = {"approved": TONES["done"], "pending": TONES["held"], "rejected": TONES["failed"]}


# ---- definitions -----------------------------------------------------------------------------------------------------


def _json(row: ReleaseRow) -> dict[str, Any]:
    return {
        "id": row.name, "version": row.version, "type": row.kind, "approval_status": approval_of(row),
        "status": row.status, "created_at": row.created_at, "created_by": row.created_by,
    }  # fmt: skip


def _tell(row: ReleaseRow) -> None:
    said = msgspec.json.decode(row.document)
    status = approval_of(row)
    say(
        (f"{row.name} v{row.version} ", "bold"), f"{row.kind} ", (status, _STYLES[status]),
        f"  {said.get('process_definition_name') or ''}",
    )  # fmt: skip


def define(
    file: Document,
    by: By = "",
    unsound: Annotated[bool, typer.Option("--unsound", help="Although not every instance can end.")] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Save a process from JSON, YAML or BPMN: a new one, or the next version. The same again changes nothing."""

    async def work() -> Defined:
        async with contextlib.AsyncExitStack() as stack:
            door = await reaching(stack, store, create=True)
            return await Processes(door).define(read_source(file), by=by or None, unsound=unsound)

    try:
        done = until_done(work())
    except DocumentInvalid as wrong:
        wrong.facts["file"] = str(file)
        raise
    if json:
        tell_json({**_json(done.release), "new": done.new, "diff": done.diff})
        return DONE
    for finding in done.findings:
        tell_finding(finding, file, err=True)
    _tell(done.release)
    for name, part in done.diff.items():
        for how in ("added", "removed", "changed"):
            for one in part[how]:
                say(f"  {how:8} {name}/{one}")
    return DONE


def ls(
    type: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="mega, major, base, sub, discovered.")]
    = None,
    json: Json = False,
    store: Store = STORE,
) -> int:  # fmt: skip
    """List the processes, as they are in force."""
    with leaving(store) as door:
        rows = Processes(door).each(type)
    if json:
        tell_json([_json(row) for row in rows])
        return DONE
    if not rows:
        say("There is no process: penstock process define FILE.")
    for row in rows:
        _tell(row)
    return DONE


def show(id: Id, version: Version = None, json: Json = False, store: Store = STORE) -> int:
    """Print the definition of a process."""
    with leaving(store) as door:
        row = Processes(door).get(id, version)
    said = msgspec.json.decode(row.document)
    if json:
        tell_json({**_json(row), "definition": said})
    else:
        say(msgspec.json.format(msgspec.json.encode(said), indent=2).decode())
    return DONE


def bpmn(id: Id, version: Version = None, store: Store = STORE) -> int:
    """Print a process as BPMN 2.0 XML."""
    with leaving(store) as door:
        row = Processes(door).get(id, version)
    print((row.bpmn or b"").decode())
    return DONE


def versions(id: Id, json: Json = False, store: Store = STORE) -> int:
    """List the versions of a process, the oldest first."""
    with leaving(store) as door:
        rows = Processes(door).versions(id)
    if json:
        tell_json([{**_json(row), "diff": msgspec.json.decode(row.diff or b"null")} for row in rows])
        return DONE
    for row in rows:
        _tell(row)
        say(f"  {row.change_summary}")
    return DONE


def start(
    id: Id,
    input: Annotated[str | None, typer.Option("--input", metavar="JSON", help="What it begins with.")] = None,
    by: By = "",
    version: Version = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Begin an instance of a process, and drive it until it ends or waits."""
    given = read_value(input, "--input")
    if given is not None and not isinstance(given, dict):
        raise BadInput(what="--input", why="it is no object")

    async def begin() -> str:
        async with contextlib.AsyncExitStack() as stack:
            door = await reaching(stack, store)
            return await WorkItems(door).initiate(id, by=by or "cli", input=given, version=version)

    run = until_done(begin())

    async def nothing(door: Penstock, target: str) -> None:
        await door.wake_up(target)

    return finish(steer(store, run, nothing, on=True, quiet=json), Started(run), store, json)


def extract(
    file: Annotated[Path, typer.Argument(metavar="TEXT", help="A text that describes the work, step by step.")],
    id: Annotated[str, typer.Option("--id", metavar="ID", help="The id it gets; else one from its title.")] = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the definition here.")] = None,
    save: Annotated[bool, typer.Option("--save", help="Keep it; unsure ones wait for an approval.")] = False,
    by: By = "",
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Make a process out of a text in plain language, for you to accept. Nothing is kept without --save."""
    try:
        text = read_source(file).decode()
    except UnicodeDecodeError:
        raise BadInput(what=str(file), why="it is no text in UTF-8") from None

    async def work() -> Proposed:
        async with contextlib.AsyncExitStack() as stack:
            door = await reaching(stack, store, create=True)
            return await extracted(door, text, id=id, by=by or "cli", store=save)

    done = until_done(work())
    if out is not None:
        out.write_bytes(msgspec.json.format(msgspec.json.encode(done.definition), indent=2) + b"\n")
    if json:
        tell_json({**msgspec.to_builtins(done), "findings": [finding_json(one) for one in done.findings]})
        return DONE
    _tell_proposed(done)
    if out is not None:
        say("wrote ", (str(out), "bold"))
    return DONE


def _tell_proposed(done: Proposed) -> None:
    kept = f" v{done.version}" if done.version is not None else ""
    say(
        (f"{done.id}{kept} ", "bold"), (done.approval_status, _STYLES[done.approval_status]),
        f"  {done.confidence:.0%} sure, read by {done.source}",
    )  # fmt: skip
    if done.note:
        say(f"  {done.note}")
    for one in done.definition.get("activities") or []:
        who = one.get("role") or one.get("agent_mode") or ""
        say(f"  {one.get('id', ''):6} {who:12} {one.get('name', '')}")
    for one in done.definition.get("transitions") or []:
        if one.get("condition"):
            say(f"  {one['source']} → {one['target']}  if {one['condition']}")
    for finding in done.findings:
        say((f"  {finding.severity} ", TONES["failed"] if finding.severity == "error" else ""), finding.message)


process = {
    "define": define, "ls": ls, "show": show, "bpmn": bpmn, "versions": versions, "start": start,
    "extract": extract,
}  # fmt: skip


# ---- work items ------------------------------------------------------------------------------------------------------


def items_ls(
    status: Annotated[str | None, typer.Option("--status", metavar="LIST", help="Else those that are open.")] = None,
    assignee: Annotated[str | None, typer.Option("--assignee", metavar="USER", help="Only this one's.")] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List the work items of processes, in the order in which their instances began."""
    with leaving(store) as door:
        wanted = [one for one in (status or "").split(",") if one] or OPEN
        rows = WorkItems(door).each(status=wanted, assignee=assignee, limit=200)
    told = [
        {"id": f"{one.run_id}~{one.firing}", "status": one.status, "assignee": one.assignee, "agent_mode": one.mode,
         "version": one.version, "opened_at": one.opened_at, **_asked(one.prompt)}
        for one in rows
    ]  # fmt: skip
    if json:
        tell_json(told)
        return DONE
    if not told:
        say("There is nothing to do.")
    for one in told:
        who = f"  {one['assignee']}" if one["assignee"] else ""
        say((f"{one['id']} ", "bold"), f"{one['status']:11} {one['agent_mode']:10} {one['activity_name']}{who}")
    return DONE


def _asked(prompt: bytes) -> dict[str, Any]:
    said = msgspec.msgpack.decode(prompt)
    return {"activity_id": said.get("activity_id"), "activity_name": said.get("title"), "role": said.get("role")}


def item_show(id: Item, json: Json = False, store: Store = STORE) -> int:
    """Show a work item: what is asked, what was drafted, what became of it."""
    with leaving(store) as door:
        item, comments, _ = WorkItems(door).get(id)
    if json:
        tell_json({**msgspec.to_builtins(item), "comments": msgspec.to_builtins(comments)})
        return DONE
    say((f"{item.id} ", "bold"), f"{item.status} {item.agent_mode}  {item.activity_name}")
    for name, value in (("asked", item.instruction), ("assignee", item.assignee), ("draft", item.draft),
                        ("result", item.result), ("error", item.error), ("because", item.cancel_reason)):  # fmt: skip
        if value not in (None, "", {}):
            say((f"  {name:9}", "bright_black"), short(value) if not isinstance(value, str) else value)
    for one in comments:
        say(f"  {moment(one.at)} {one.by}: {one.text}")
    return DONE


def _done(
    id: str, store: Path, json: bool, note: str, act: Callable[[WorkItems], Awaitable[Any]]
) -> int:  # fmt: skip
    there(store)
    run = id.rpartition("~")[0]
    if not run:
        raise BadInput(what="the work item", why="its id is RUN~N", hint="`penstock items ls` lists them.")
    started = Started(run)
    started.notes.append(note)

    async def give(door: Penstock, target: str) -> None:
        reached = await act(WorkItems(door))
        if isinstance(reached, list):
            started.more["next_nodes"] = reached

    return finish(steer(store, run, give, on=True, quiet=json), started, store, json)


def item_start(id: Item, by: By, json: Json = False, store: Store = STORE) -> int:
    """Begin with a work item: you have it."""
    return _done(id, store, json, f"started by {by}", lambda items: items.start(id, by=by))


def item_submit(
    id: Item,
    by: By,
    result: Annotated[str | None, typer.Option("--result", metavar="JSON", help="Its result, an object.")] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Hand in the result of a work item, and drive the instance on."""
    given = read_value(result, "--result")
    if given is not None and not isinstance(given, dict):
        raise BadInput(what="--result", why="it is no object")
    return _done(id, store, json, f"submitted by {by}", lambda items: items.submit(id, given, by=by))


def item_approve(id: Item, by: By, comment: Comment = None, json: Json = False, store: Store = STORE) -> int:
    """Take a draft as the result, and drive the instance on."""
    return _done(id, store, json, f"approved by {by}", lambda items: items.approve(id, by=by, comment=comment))


def item_reject(
    id: Item,
    by: By,
    comment: Annotated[str, typer.Option("--comment", "-m", metavar="TEXT", help="Why: for whoever does it again.")],
    json: Json = False,
    store: Store = STORE,
) -> int:  # fmt: skip
    """Send a draft back: it is done again."""
    return _done(id, store, json, f"rejected by {by}", lambda items: items.reject(id, by=by, comment=comment))


def item_rework(id: Item, by: By, comment: Comment = None, json: Json = False, store: Store = STORE) -> int:
    """Have finished work done again, while nobody has begun with what came of it."""
    return _done(id, store, json, f"rework ordered by {by}", lambda items: items.rework(id, by=by, comment=comment))


def item_take_over(id: Item, by: By, comment: Comment = None, json: Json = False, store: Store = STORE) -> int:
    """Do it instead of the agent, or of whoever has it."""
    return _done(id, store, json, f"taken over by {by}", lambda items: items.take_over(id, by=by, comment=comment))


def item_set_mode(
    id: Item,
    mode: Annotated[str, typer.Argument(metavar="MODE", help="MANUAL, SUPERVISED or AUTONOMOUS.")],
    by: By,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Say whether a person or an agent does it, while nobody has begun."""
    return _done(id, store, json, f"{mode} by {by}", lambda items: items.set_mode(id, mode, by=by))


items = {
    "ls": items_ls, "show": item_show, "start": item_start, "submit": item_submit, "approve": item_approve,
    "reject": item_reject, "rework": item_rework, "take-over": item_take_over, "set-mode": item_set_mode,
}  # fmt: skip
