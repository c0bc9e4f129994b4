"""Commands for a run: news, answers, and the operator's cancel, pause, resume and retry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.app.access.candidates import for_anybody
from penstock.app.inbox import inbox, open_items
from penstock.app.language import WorkRules, app_language
from penstock.app.penstock import Penstock
from penstock.cli.drive import Started, command_run, until_done
from penstock.cli.options import STORE, Json, Run, Store, read_text_or_value
from penstock.cli.output import DONE, exit_code, print_json, print_run, run_json
from penstock.cli.run import finish
from penstock.errors import BadInput, ItemDecided, ItemNotFound

Restart = Annotated[bool, typer.Option("--restart", help="From the start nodes, not where it failed.")]
Boundary = Annotated[bool, typer.Option("--boundary", help="Let what is in flight finish first.")]
Value = Annotated[
    str, typer.Argument(metavar="ANSWER", help="JSON, @FILE, or - for stdin; a plain word is taken as text.")
]


def signal(
    run: Run,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the signal.")],
    payload: Annotated[str | None, typer.Argument(metavar="JSON", help="What it carries: JSON, @FILE or -.")] = None,
    id: Annotated[str, typer.Option("--id", metavar="ID", help="Taken once: the same id again changes nothing.")] = "",
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Send a run a signal, and drive it on until it ends or waits. One that nobody waits for yet is kept."""
    value = None if payload is None else read_text_or_value(payload, "the payload")
    started = Started(run)

    async def give(door: Penstock, target: str) -> None:
        if id and id in door.fold(door.row(target)).reader.st.seen:
            started.notes.append(f"a signal with the id «{id}» has come before: this one changes nothing")
            started.more["duplicate"] = True
        await door.signal(target, name, value, id=id)

    return finish(command_run(store, run, give, on=True, quiet=json), started, store, json)


def respond(
    run: Run,
    node: Annotated[
        str,
        typer.Argument(
            metavar="NODE", help="The node that waits, as the document names it; NODE~N where several wait."
        ),
    ],
    value: Value,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who answers.")] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Answer a node that waits for a person or an operator, and drive the run on until it ends or waits. Work of a
    process is handed in by those whom it is for, and has the shape that its form asks for."""
    answer = read_text_or_value(value, "the answer")

    async def give(door: Penstock, target: str) -> None:
        called = next(
            (w.run for w in door.view(target).waiting if w.node in (node, node.rpartition("~")[0]) and w.run), target
        )
        rules = app_language(door.net_of(door.hash_of(door.row(called).net)).net.language).work_rules
        if rules is None or not await _handed_in(door, rules, called, node, answer, by):
            await door.respond(called, node, answer, by=by)

    return _drive_on(run, store, json, give)


async def _handed_in(door: Penstock, rules: WorkRules, run: str, node: str, answer: Any, by: str | None) -> bool:
    """False where no work waits, but perhaps a step that is stuck."""
    try:
        item = open_items.find(door, f"{run}/{node}")
    except (ItemNotFound, ItemDecided):
        return False
    who = by or inbox.anybody(door, item) or ("cli" if for_anybody(item.candidates) else None)
    if who is None:
        hint = "Say who does it: --by USER. `penstock inbox` shows who may."
        raise BadInput(what="--by", why="nobody who is registered may do this", hint=hint)
    with rules.error_words():
        await rules.submit(door, item.run, item.firing, answer, by=who)
    return True


def resume(run: Run, json: Json = False, store: Store = STORE) -> int:
    """Let a paused run go on, and drive it until it ends or waits."""
    return _drive_on(run, store, json, lambda door, target: door.resume(target))


def retry(
    run: Run, restart: Restart = False, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Try a failed run again where it failed, and drive it until it ends or waits. What was done before is not done
    again, and the effect that failed has the same idempotency key."""
    how = "restart" if restart else "here"
    return _drive_on(run, store, json, lambda door, target: door.retry(target, how=how), begin="trying again")


def compensate(
    run: Run,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NODE", help="Undo only what this node did; may be repeated.")
    ] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Undo by hand what a run has done, the last first: by each COMPENSATION whose trigger has «manual». A run that is
    still open is stopped for it; exit code 0 when all of it was undone."""

    async def give(door: Penstock, target: str) -> None:
        await door.compensate(target, only=only or ())

    look = until_done(command_run(store, run, give, on=True, quiet=json, begin="undoing what it has done"))
    if json:
        print_json(run_json(look))
    else:
        print_run(look, store)
    return DONE if look.internal_status == "COMPENSATED" else exit_code(look)


def cancel(
    run: Run, boundary: Boundary = False, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """End a run now, and what it has called with it."""
    if not boundary:
        return _only(run, store, json, lambda door, target: door.cancel(target))
    _drive_on(run, store, json, lambda door, target: door.cancel(target, mode="boundary"))
    return DONE


def pause(run: Run, json: Json = False, store: Store = STORE) -> int:
    """Let a run start nothing new until it is resumed."""
    return _only(run, store, json, lambda door, target: door.pause(target))


def _drive_on(
    run: str, store: Path, json: bool, command: Callable[[Penstock, str], Awaitable[None]], begin: str = ""
) -> int:
    work = command_run(store, run, command, on=True, quiet=json, begin=begin)
    return finish(work, Started(run), store, json)


def _only(run: str, store: Path, json: bool, command: Callable[[Penstock, str], Awaitable[None]]) -> int:
    """The command was done: that is what the exit code says, whatever became of the run."""
    look = until_done(command_run(store, run, command, on=False, quiet=json))
    if json:
        print_json(run_json(look))
    else:
        print_run(look, store)
    return DONE
