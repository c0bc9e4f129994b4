"""Commands for the work items of processes: looked at, and moved on by people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.inbox.comments import ItemComment
from penstock.app.penstock import Penstock
from penstock.app.process.error_words import process_words
from penstock.app.process.work_items import OPEN, WorkItems, folded, run_of
from penstock.app.runs.run_view import RunView
from penstock.cli.drive import Started, leaving, steer
from penstock.cli.options import STORE, Json, Store, read_value
from penstock.cli.output import DONE, moment, say, short, tell_json
from penstock.cli.run import finish
from penstock.dialects.process.instance import Passage, WorkItem
from penstock.dialects.process.words import ITEMS
from penstock.errors import BadInput, ItemAmbiguous, ProcessNotFound

Item = Annotated[
    str,
    typer.Argument(
        metavar="ITEM",
        help="The work item: RUN~N as `penstock items ls` shows it, or RUN/ACTIVITY; a run's key will do.",
    ),
]
By = Annotated[str, typer.Option("--by", metavar="USER", envvar="PENSTOCK_USER", help="Who does it.")]
Comment = Annotated[str | None, typer.Option("--comment", "-m", metavar="TEXT", help="Why.")]
Seen = Annotated[
    int | None,
    typer.Option("--version", metavar="N", help="The version that was looked at: refused where it has changed since."),
]


# ---- looking ---------------------------------------------------------------------------------------------------------


def ls(
    status: Annotated[str | None, typer.Option("--status", metavar="LIST", help="Else those that are open.")] = None,
    assignee: Annotated[str | None, typer.Option("--assignee", metavar="USER", help="Only this one's.")] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only those of this instance.")] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List the work items of processes, in the order in which their instances began."""
    wanted = [one for one in (status or "").split(",") if one] or list(OPEN)
    if any(one not in ITEMS for one in wanted):
        raise BadInput(what="--status", why="it is no status of a work item", hint=f"They are {', '.join(ITEMS)}.")
    with leaving(store) as door:
        if run is None:
            rows = WorkItems(door).each(status=wanted, assignee=assignee, limit=200)
        else:
            each = door.store.work_of(run_of(door, named_run(door, run)).no)
            rows = [one for one in each if one.status in wanted and assignee in (None, one.assignee)]
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
        tell_line(one["id"], one["status"], one["agent_mode"] or "", one["activity_name"], one["assignee"])
    return DONE


def _asked(prompt: bytes) -> dict[str, Any]:
    said = msgspec.msgpack.decode(prompt)
    return {"activity_id": said.get("activity_id"), "activity_name": said.get("title"), "role": said.get("role")}


def tell_line(id: str, status: str, mode: str, name: str, assignee: str | None) -> None:
    who = f"  {assignee}" if assignee else ""
    say((f"{id} ", "bold"), f"{status:11} {mode:10} {name}{who}")


def show(id: Item, json: Json = False, store: Store = STORE) -> int:
    """Show a work item: what is asked, what was drafted and how the agent came to it, what became of it."""
    item, comments, history = _got(id, store)
    if json:
        tell_json(msgspec.to_builtins({**msgspec.to_builtins(item), "comments": comments, "history": history}))
        return DONE
    say((f"{item.id} ", "bold"), f"{item.status} {item.agent_mode}  {item.activity_name}")
    for name, value in (
        ("version", str(item.version)), ("asked", item.instruction), ("assignee", item.assignee), ("data", item.data),
        ("form", item.form), ("draft", item.draft), ("result", item.result), ("error", item.error),
        ("because", item.cancel_reason),
    ):  # fmt: skip
        if value not in (None, "", {}):
            say((f"  {name:9}", "bright_black"), value if isinstance(value, str) else short(value, 200))
    if item.transcript:
        say(("  transcript", "bright_black"))
    for one in item.transcript:
        said = one if isinstance(one, dict) else {"content": one}
        content = said.get("content") if said.get("content") is not None else said.get("text")
        say((f"    {said.get('role') or '':10}", "bright_black"), short(content if content is not None else said, 200))
    for remark in comments:
        say(f"  {moment(remark.at)} {remark.by}: {remark.text}")
    return DONE


def history(id: Item, json: Json = False, store: Store = STORE) -> int:
    """List what happened to a work item: every status, who moved it, in which mode, and why."""
    _, _, passed = _got(id, store)
    if json:
        tell_json(msgspec.to_builtins(passed))
        return DONE
    tell_history(passed)
    return DONE


def tell_history(passed: Iterable[Passage], *, of_all: bool = False) -> None:
    """`of_all`: of several items, which are named."""
    for one in passed:
        who, why = f"  {one.by}" if one.by else "", f": {one.comment}" if one.comment else ""
        whose = f"{one.activity_id or 'instance':14} " if of_all else ""
        moved = f"{one.from_ or '':11} → {one.to:11} {one.agent_mode or '':10}"
        say(f"{moment(one.at)}  {whose}{one.event:10} {moved}{who}{why}".rstrip())


def _got(id: str, store: Path) -> tuple[WorkItem, list[ItemComment], list[Passage]]:
    with leaving(store) as door:
        return WorkItems(door).get(named_item(door, id))


def named_run(door: Penstock, name: str) -> str:
    """An instance by its id, a beginning of it, or its key. Raises ProcessNotFound, RunAmbiguous."""
    return run_of(door, door.row(name).id).id


def named_item(door: Penstock, name: str) -> str:
    """RUN~N, RUN/ACTIVITY~N, or RUN/ACTIVITY: the one that is open, else the last that was."""
    run, slash, activity = name.partition("/")
    if not slash:
        run, tilde, firing = name.rpartition("~")
        if not tilde:
            why = "it is RUN~N, or RUN/ACTIVITY"
            raise BadInput(what="the work item", why=why, hint="`penstock items ls` lists them.")
        return f"{named_run(door, run)}~{firing}"
    row = run_of(door, named_run(door, run))
    each = [*folded(door, row).items.values()]
    found = [one for one in each if activity == f"{one.activity_id}~{one.firing}"]
    found = found or [one for one in each if one.activity_id == activity]
    open_ = [one for one in found if one.open]
    if len(open_) > 1:
        raise ItemAmbiguous(item=name, known=", ".join(one.id for one in open_[:5]), hint="Write which one: RUN~N.")
    if not found:
        raise ProcessNotFound(what="work item", name=name)
    return (open_ or found)[-1].id


# ---- moving ----------------------------------------------------------------------------------------------------------


Act = Callable[[WorkItems, str], Awaitable[Any]]


def _done(id: str, store: Path, json: bool, note: str, act: Act, *, then: bool = False) -> int:
    """Do it, and drive the instance on, here or in the process that has the store. `then`: with what comes next."""
    with leaving(store) as door:
        found = WorkItems(door).find(named_item(door, id))
    started = Started(found.row.run_id)
    started.notes.append(note)

    async def work() -> RunView:
        look = await steer(store, started.run, lambda door, _: act(WorkItems(door), found.id), on=True, quiet=json)
        if then:  # whoever has done it may have been another process: it is in the journal
            with leaving(store) as door:
                started.more["next_nodes"] = WorkItems(door).next_nodes(found)
        return look

    return finish(work(), started, store, json)


def start(id: Item, by: By, version: Seen = None, json: Json = False, store: Store = STORE) -> int:
    """Begin with a work item: you have it."""
    return _done(id, store, json, f"started by {by}", lambda held, item: held.start(item, by=by, version=version))


def submit(
    id: Item,
    by: By,
    result: Annotated[
        str | None, typer.Option("--result", metavar="JSON", help="Its result, an object: JSON, @FILE or -.")
    ] = None,
    version: Seen = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Hand in the result of a work item, and drive the instance on."""
    given = read_object(result, "--result")
    note = f"submitted by {by}"
    return _done(id, store, json, note, lambda held, item: held.submit(item, given, by=by, version=version), then=True)


def approve(
    id: Item,
    by: By,
    comment: Comment = None,
    result: Annotated[
        str | None, typer.Option("--result", metavar="JSON", help="Members of the result that the approver changes.")
    ] = None,
    version: Seen = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Take a draft as the result, and drive the instance on."""
    given, note = read_object(result, "--result"), f"approved by {by}"
    return _done(
        id, store, json, note,
        lambda held, item: held.approve(item, by=by, comment=comment, overrides=given, version=version), then=True,
    )  # fmt: skip


def reject(
    id: Item,
    by: By,
    comment: Annotated[str, typer.Option("--comment", "-m", metavar="TEXT", help="Why: for whoever does it again.")],
    version: Seen = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Send a draft back: it is done again."""
    note = f"rejected by {by}"
    return _done(
        id, store, json, note, lambda held, item: held.reject(item, by=by, comment=comment, version=version)
    )  # fmt: skip


def rework(
    id: Item, by: By, comment: Comment = None, version: Seen = None, json: Json = False, store: Store = STORE
) -> int:
    """Have finished work done again, while nobody has begun with what came of it."""
    note = f"rework ordered by {by}"
    return _done(
        id, store, json, note, lambda held, item: held.rework(item, by=by, comment=comment, version=version)
    )  # fmt: skip


def take_over(
    id: Item, by: By, comment: Comment = None, version: Seen = None, json: Json = False, store: Store = STORE
) -> int:
    """Do it instead of the agent, who is stopped, or of whoever has it."""
    note = f"taken over by {by}"
    return _done(
        id, store, json, note, lambda held, item: held.take_over(item, by=by, comment=comment, version=version)
    )  # fmt: skip


def set_mode(
    id: Item,
    mode: Annotated[str, typer.Argument(metavar="MODE", help="MANUAL, SUPERVISED or AUTONOMOUS.")],
    by: By,
    version: Seen = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Say whether a person or an agent does it, while nobody has begun."""
    return _done(
        id, store, json, f"{mode} by {by}", lambda held, item: held.set_mode(item, mode, by=by, version=version)
    )


def delegate(
    id: Item,
    to: Annotated[str, typer.Argument(metavar="USER", help="Who shall do it: user:ID, role:NAME or group:NAME.")],
    by: By,
    comment: Comment = None,
    version: Seen = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Let somebody else do it: one person has it then, of a role or a group anybody may."""
    note = f"passed on to {to} by {by}"
    return _done(
        id, store, json, note, lambda held, item: held.delegate(item, to, by=by, comment=comment, version=version)
    )  # fmt: skip


def comment(
    id: Item,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What there is to say about it.")],
    by: By,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Say something about a work item: it stays with it."""
    with leaving(store) as door:
        held = WorkItems(door)
        item = named_item(door, id)
        held.comment(item, text, by=by)
        _, said, _ = held.get(item)
    if json:
        tell_json(msgspec.to_builtins(said))
        return DONE
    for one in said:
        say(f"{moment(one.at)} {one.by}: {one.text}")
    return DONE


def read_object(text: str | None, what: str) -> dict[str, Any] | None:
    given = read_value(text, what)
    if given is not None and not isinstance(given, dict):
        raise BadInput(what=what, why="it is no object", hint='Write \'{"name": "value"}\'.')
    return given


_COMMANDS: dict[str, Callable[..., int]] = {
    "ls": ls, "show": show, "history": history, "start": start, "submit": submit, "approve": approve,
    "reject": reject, "rework": rework, "take-over": take_over, "set-mode": set_mode, "delegate": delegate,
    "comment": comment,
}  # fmt: skip
#: several commands under one name; errors have the codes that they have over HTTP
items = {name: process_words()(one) for name, one in _COMMANDS.items()}
