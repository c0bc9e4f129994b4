"""Commands for jobs that workers outside do: look at them, take one, answer it."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.jobs.jobs import ActivatedJob, Asked, JobState, JobType
from penstock.app.jobs.jobs import Jobs as DoorJobs
from penstock.cli.drive import attached
from penstock.cli.options import STORE, Json, Limit, Store, read_value
from penstock.cli.output import TONES, moment, print_list, print_one, say, short
from penstock.errors import BadInput

Id = Annotated[str, typer.Argument(metavar="JOB", help="The job: `penstock jobs ls` lists them.")]
Token = Annotated[str, typer.Option("--token", metavar="TOKEN", help="The lock token that the job was taken with.")]
Type = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Only those of a type.")]
Variables = Annotated[str | None, typer.Option("--variables", metavar="JSON", help="Its result: JSON or @FILE.")]
_STYLES = {
    "WAITING": TONES["held"], "DELAYED": TONES["held"], "HELD": TONES["held"], "LOCKED": TONES["moving"],
    "DONE": TONES["done"], "ERROR": TONES["done"], "FAILED": TONES["failed"], "WITHDRAWN": TONES["undone"],
}  # fmt: skip


def ls(
    type: Type = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE", help="Only those: WAITING, LOCKED, FAILED …")
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only those of a run.")] = None,
    limit: Limit = 20,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List jobs, the oldest first."""
    with attached(store) as door:
        rows = door.jobs.find(type=type, state=state, run=run, limit=limit)
    empty = "There are no jobs: an activity with a «job» makes one when it is reached."
    return print_list(rows, json, msgspec.to_builtins, _print, empty=empty)


def types(json: Json = False, store: Store = STORE) -> int:
    """List types of jobs: how many wait, and which workers have asked for them."""
    with attached(store) as door:
        rows = door.jobs.types()
    return print_list(rows, json, msgspec.to_builtins, _print_type, empty="Nobody has asked for jobs, and none wait.")


def show(id: Id, json: Json = False, store: Store = STORE) -> int:
    """Show a job."""
    with attached(store) as door:
        return print_one(door.jobs.get(id), json, msgspec.to_builtins, _print)


def activate(
    type: Annotated[list[str], typer.Argument(metavar="TYPE…", help="Jobs of the first ones are taken first.")],
    worker: Annotated[str | None, typer.Option("--worker", metavar="NAME", help="Else this machine's name.")] = None,
    most: Annotated[int, typer.Option("--max", metavar="N", help="So many at once.")] = 1,
    lock: Annotated[float, typer.Option("--lock", metavar="S", help="Seconds for which nobody else gets them.")] = 300,
    wait: Annotated[float, typer.Option("--wait", metavar="S", help="Seconds to wait for one; up to 60.")] = 0,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Take jobs that wait: with their variables, and the token that answers them."""
    asked = Asked(
        types=type, worker=worker or socket.gethostname(), max_jobs=most, lock_ms=_ms(lock), wait_ms=_ms(wait)
    )
    with attached(store) as door:
        taken = asyncio.run(door.jobs.activate(asked))
    return print_list(taken, json, msgspec.to_builtins, _print_taken, empty="There is no such job now.")


def extend(
    id: Id, token: Token,
    lock: Annotated[float, typer.Option("--lock", metavar="S", help="Seconds from now on.")] = 300,
    json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Hold a job for longer."""
    with attached(store) as door:
        door.jobs.extend(id, token, _ms(lock))
        return print_one(door.jobs.get(id), json, msgspec.to_builtins, _print)


def complete(id: Id, token: Token, variables: Variables = None, json: Json = False, store: Store = STORE) -> int:
    """A job is done: its result goes to the run."""
    result = _object(variables)
    return _answer(store, json, lambda jobs: jobs.complete(id, token, result))


def fail(
    id: Id, token: Token,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Why.")],
    retries: Annotated[
        int | None, typer.Option("--retries", metavar="N", help="Those that are left now; 0: an operator must look.")
    ] = None,
    delay: Annotated[float, typer.Option("--delay", metavar="S", help="Seconds before it is tried again.")] = 0,
    json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """A job did not work. Without retries its run is stuck until `penstock retry RUN`."""
    return _answer(store, json, lambda jobs: jobs.fail(id, token, message, retries=retries, backoff_ms=_ms(delay)))


def error(
    id: Id, token: Token,
    code: Annotated[str, typer.Option("--code", metavar="CODE", help="As the error event has it.")],
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="In words.")] = "",
    variables: Variables = None, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """A job ends with a business error: the error event that catches its code goes on."""
    brought = _object(variables)
    return _answer(store, json, lambda jobs: jobs.error(id, token, code, message, brought))


def unlock(id: Id, token: Token, json: Json = False, store: Store = STORE) -> int:
    """Give a job back: somebody else may take it."""
    return _answer(store, json, lambda jobs: jobs.unlock(id, token))


def _answer(store: Path, json: bool, answer: Callable[[DoorJobs], Awaitable[JobState]]) -> int:
    """Where nobody drives the store the answer waits in it for whoever drives it next."""

    async def say_it() -> JobState:
        return await answer(door.jobs)

    with attached(store) as door:
        done = asyncio.run(say_it())
    return print_one(done, json, msgspec.to_builtins, _print)


def _object(text: str | None) -> dict[str, Any]:
    value = {} if text is None else read_value(text, "--variables")
    if not isinstance(value, dict):
        raise BadInput(what="--variables", why="it is no object", hint="Write '{\"paid\": true}', or @FILE.")
    return value


def _ms(seconds: float) -> int:
    if not math.isfinite(seconds):
        raise BadInput(what="the time", why=f"{seconds} is no number of seconds")
    return round(seconds * 1000)


def _print(job: JobState) -> None:
    style = _STYLES.get(job.state, "")
    about = f"  {job.type}  {job.name}  since {moment(job.created_at)}"
    say((job.id, "bold"), "  ", (job.state, style), about)
    told = [f"{job.retries} retries left"]
    if job.worker is not None:
        told.append(f"{job.worker} has it" if job.state == "LOCKED" else f"last with {job.worker}")
    if job.due_at is not None:
        told.append(f"until {moment(job.due_at)}")
    say(("  " + ", ".join(told), "bright_black"))
    if job.message:
        say(("  said ", "bright_black"), short(job.message, 200))


def _print_type(kind: JobType) -> None:
    by_state = {name: getattr(kind, name) for name in ("waiting", "locked", "delayed", "held")}
    counts = [f"{count} {name}" for name, count in by_state.items() if count]
    oldest = f", the oldest since {moment(kind.oldest_at)}" if kind.oldest_at is not None else ""
    say((kind.type, "bold"), f"  {', '.join(counts) or 'none'}{oldest}")
    if kind.last_asked_at is None:
        say(("  no worker has ever asked for it", "bright_black"))
    for seen in kind.workers:
        say((f"  {seen.worker}, last {moment(seen.at)}", "bright_black"))


def _print_taken(job: ActivatedJob) -> None:
    say((job.id, "bold"), f"  {job.type}  {job.name}  until {moment(job.locked_until)}")
    say(("  token ", "bright_black"), job.lock_token)
    for name, value in job.variables.items():
        say(("  given ", "bright_black"), (f"{name} ", "bold"), short(value, 200))


jobs = {
    "ls": ls, "types": types, "show": show, "activate": activate, "extend": extend, "complete": complete, "fail": fail,
    "error": error, "unlock": unlock,
}  # fmt: skip
