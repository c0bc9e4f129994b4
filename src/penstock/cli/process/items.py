"""Commands for the work items of processes: looked at, and moved on by people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from penstock.app.inbox.comments import ItemComment
from penstock.app.penstock import Penstock
from penstock.app.process.error_words import process_words
from penstock.app.process.work_items import OPEN, WorkItems, folded, run_of
from penstock.app.runs.run_view import RunView
from penstock.cli.drive import Started, attached, command_run
from penstock.cli.options import STORE, Json, Store, read_value
from penstock.cli.output import DONE, moment, print_json, print_list, say, short
from penstock.cli.run import finish
from penstock.dialects.process.instance import Passage, WorkItem
from penstock.dialects.process.words import ITEMS
from penstock.errors import BadInput, ItemAmbiguous, ProcessNotFound
from penstock.store.work_items import WorkRow

Item = Annotated[
    str,
    typer.Argument(
        metavar="ITEM",
        help="The work item: RUN~N as `penstock items ls` shows it, or RUN/ACTIVITY; a run's key will do.",
    ),
]
By = Annotated[str, typer.Option("--by", metavar="USER", envvar="PENSTOCK_USER", help="Who does it.")]
Result = Annotated[
    str | None, typer.Option("--result", metavar="JSON", help="Its result, an object: JSON, @FILE or -.")
]
Overrides = Annotated[
    str | None, typer.Option("--result", metavar="JSON", help="Members of the result that the approver changes.")
]
Reason = Annotated[str, typer.Option("--comment", "-m", metavar="TEXT", help="Why: for whoever does it again.")]
Mode = Annotated[str, typer.Argument(metavar="MODE", help="MANUAL, SUPERVISED or AUTONOMOUS.")]
To = Annotated[str, typer.Argument(metavar="USER", help="Who shall do it: user:ID, role:NAME or group:NAME.")]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What there is to say about it.")]
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
    wanted = [part for part in (status or "").split(",") if part] or list(OPEN)
    if any(part not in ITEMS for part in wanted):
        raise BadInput(what="--status", why="it is no status of a work item", hint=f"They are {', '.join(ITEMS)}.")
    with attached(store) as door:
        if run is None:
            rows = WorkItems(door).each(status=wanted, assignee=assignee, limit=200)
        else:
            of_run = door.store.work_of(run_of(door, named_run(door, run)).no)
            rows = [row for row in of_run if row.status in wanted and assignee in (None, row.assignee)]
    return print_list(rows, json, _json, _print, empty="There is nothing to do.")


def _json(row: WorkRow) -> dict[str, Any]:
    prompt = msgspec.msgpack.decode(row.prompt)
    return {
        "id": f"{row.run_id}~{row.firing}", "status": row.status, "assignee": row.assignee, "agent_mode": row.mode,
        "version": row.version, "opened_at": row.opened_at, "activity_id": prompt.get("activity_id"),
        "activity_name": prompt.get("title"), "role": prompt.get("role"),
    }  # fmt: skip


def _print(row: WorkRow) -> None:
    name = msgspec.msgpack.decode(row.prompt).get("title")
    print_line(f"{row.run_id}~{row.firing}", row.status, row.mode or "", name, row.assignee)


def print_line(id: str, status: str, mode: str, name: str, assignee: str | None) -> None:
    who = f"  {assignee}" if assignee else ""
    say((f"{id} ", "bold"), f"{status:11} {mode:10} {name}{who}")


def show(id: Item, json: Json = False, store: Store = STORE) -> int:
    """Show a work item: what is asked, what was drafted and how the agent came to it, what became of it."""
    item, comments, history = _read(id, store)
    if json:
        print_json(msgspec.to_builtins({**msgspec.to_builtins(item), "comments": comments, "history": history}))
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
    for entry in item.transcript:
        turn = entry if isinstance(entry, dict) else {"content": entry}
        content = turn.get("content") if turn.get("content") is not None else turn.get("text")
        say((f"    {turn.get('role') or '':10}", "bright_black"), short(content if content is not None else turn, 200))
    for comment in comments:
        say(f"  {moment(comment.at)} {comment.by}: {comment.text}")
    return DONE


def history(id: Item, json: Json = False, store: Store = STORE) -> int:
    """List what happened to a work item: every status, who moved it, in which mode, and why."""
    _, _, passages = _read(id, store)
    return print_list(passages, json, msgspec.to_builtins, _print_passage)


def print_history(passages: Iterable[Passage]) -> None:
    """Of several items, each with its name."""
    for passage in passages:
        _print_passage(passage, f"{passage.activity_id or 'instance':14} ")


def _print_passage(passage: Passage, whose: str = "") -> None:
    who, why = f"  {passage.by}" if passage.by else "", f": {passage.comment}" if passage.comment else ""
    moved = f"{passage.from_ or '':11} → {passage.to:11} {passage.agent_mode or '':10}"
    say(f"{moment(passage.at)}  {whose}{passage.event:10} {moved}{who}{why}".rstrip())


def _read(id: str, store: Path) -> tuple[WorkItem, list[ItemComment], list[Passage]]:
    with attached(store) as door:
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
    of_run = [*folded(door, row).items.values()]
    named = [item for item in of_run if activity == f"{item.activity_id}~{item.firing}"]
    named = named or [item for item in of_run if item.activity_id == activity]
    open_ = [item for item in named if item.open]
    if len(open_) > 1:
        raise ItemAmbiguous(item=name, known=", ".join(item.id for item in open_[:5]), hint="Write which one: RUN~N.")
    if not named:
        raise ProcessNotFound(what="work item", name=name)
    return (open_ or named)[-1].id


# ---- moving ----------------------------------------------------------------------------------------------------------


class _Target(NamedTuple):
    """The work item that a command is about, and how the command was given."""

    item: str
    store: Path
    json: bool

    def act(self, note: str, verb: Callable[..., Awaitable[Any]], *given: Any, then: bool = False, **more: Any) -> int:
        """Calls the verb of `WorkItems`, and drives the instance on, here or in the process that has the store. With
        `then` what comes next is printed."""
        with attached(self.store) as door:
            item = WorkItems(door).find(named_item(door, self.item))
        started = Started(item.row.run_id)
        started.notes.append(note)

        async def give(door: Penstock, _: str) -> None:
            await verb(WorkItems(door), item.id, *given, **more)

        async def work() -> RunView:
            look = await command_run(self.store, started.run, give, on=True, quiet=self.json)
            if then:  # another process may have done it, but it is in the journal
                with attached(self.store) as door:
                    started.more["next_nodes"] = WorkItems(door).next_nodes(item)
            return look

        return finish(work(), started, self.store, self.json)


def start(id: Item, by: By, version: Seen = None, json: Json = False, store: Store = STORE) -> int:
    """Begin with a work item: you have it."""
    return _Target(id, store, json).act(f"started by {by}", WorkItems.start, by=by, version=version)


def submit(
    id: Item, by: By, result: Result = None, version: Seen = None, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Hand in the result of a work item, and drive the instance on."""
    value = read_object(result, "--result")
    target = _Target(id, store, json)
    return target.act(f"submitted by {by}", WorkItems.submit, value, by=by, version=version, then=True)


def approve(
    id: Item, by: By, comment: Comment = None, result: Overrides = None, version: Seen = None,
    json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Take a draft as the result, and drive the instance on."""
    changed = {"comment": comment, "overrides": read_object(result, "--result")}
    return _Target(id, store, json).act(
        f"approved by {by}", WorkItems.approve, by=by, version=version, then=True, **changed
    )


def reject(
    id: Item, by: By, comment: Reason, version: Seen = None, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Send a draft back: it is done again."""
    target = _Target(id, store, json)
    return target.act(f"rejected by {by}", WorkItems.reject, by=by, comment=comment, version=version)


def _with_comment(verb: Callable[..., Awaitable[Any]], done: str, about: str) -> Callable[..., int]:
    """A command that takes nothing but who does it and why."""

    def command(
        id: Item, by: By, comment: Comment = None, version: Seen = None, json: Json = False, store: Store = STORE
    ) -> int:
        return _Target(id, store, json).act(f"{done} by {by}", verb, by=by, comment=comment, version=version)

    command.__doc__ = about
    return command


rework = _with_comment(
    WorkItems.rework, "rework ordered", "Have finished work done again, while nobody has begun with what came of it."
)
take_over = _with_comment(
    WorkItems.take_over, "taken over", "Do it instead of the agent, who is stopped, or of whoever has it."
)


def set_mode(
    id: Item, mode: Mode, by: By, version: Seen = None, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Say whether a person or an agent does it, while nobody has begun."""
    return _Target(id, store, json).act(f"{mode} by {by}", WorkItems.set_mode, mode, by=by, version=version)


def delegate(
    id: Item, to: To, by: By, comment: Comment = None, version: Seen = None,
    json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Let somebody else do it: one person has it then, of a role or a group anybody may."""
    target = _Target(id, store, json)
    return target.act(f"passed on to {to} by {by}", WorkItems.delegate, to, by=by, comment=comment, version=version)


def comment(
    id: Item, text: Text, by: By, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Say something about a work item: it stays with it."""
    with attached(store) as door:
        work_items = WorkItems(door)
        item = named_item(door, id)
        work_items.comment(item, text, by=by)
        _, comments, _ = work_items.get(item)
    return print_list(comments, json, msgspec.to_builtins, _print_comment)


def _print_comment(comment: ItemComment) -> None:
    say(f"{moment(comment.at)} {comment.by}: {comment.text}")


def read_object(text: str | None, what: str) -> dict[str, Any] | None:
    value = read_value(text, what)
    if value is not None and not isinstance(value, dict):
        raise BadInput(what=what, why="it is no object", hint='Write \'{"name": "value"}\'.')
    return value


_COMMANDS: dict[str, Callable[..., int]] = {
    "ls": ls, "show": show, "history": history, "start": start, "submit": submit, "approve": approve,
    "reject": reject, "rework": rework, "take-over": take_over, "set-mode": set_mode, "delegate": delegate,
    "comment": comment,
}  # fmt: skip
#: several commands under one name; errors have the codes that they have over HTTP
items = {name: process_words()(command) for name, command in _COMMANDS.items()}
