"""Commands that drive runs: run a document, work through a store, fork a run."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.app.access.audit import AuditLog
from penstock.app.access.starters import UNNAMED
from penstock.app.language import Backgrounds
from penstock.app.penstock import Penstock
from penstock.app.releases.document_files import input_folder
from penstock.app.runs.commands.batches import Batches
from penstock.app.runs.run_view import RunView
from penstock.cli.documents import compile_named
from penstock.cli.drive import RunRequest, Started, continue_run, drive, driving, start, until_done
from penstock.cli.options import STORE, Document, Json, Profile, Root, Run, Speed, Store, read_value, speed_words
from penstock.cli.output import (
    DONE,
    INTERRUPTED,
    exit_code,
    print_error,
    print_finding,
    print_interrupted,
    print_json,
    print_run,
    run_json,
    say,
    status_text,
    store_option,
)
from penstock.errors import RunNotFound, StoreError
from penstock.host.embedded import Host
from penstock.host.loaded_run import LoadedRun
from penstock.kernel.run import Run as Folded
from penstock.kernel.state import BACKOFF, COMPLETED, EFFECT, STATUS

_QUIET_S = 0.25  # how long nothing must happen before a store counts as idle: longer than its inbox is left unread


def run(
    file: Document,
    input: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="What it starts with: JSON, @FILE, or - for stdin.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Names the run: the same key again is the same run.")
    ] = None,
    max_concurrent: Annotated[
        int | None,
        typer.Option("--max-concurrent", metavar="N", min=1, help="How many nodes may work at once (default 20)."),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="USER", help="Who starts it, for approvals that need another person.")
    ] = None,
    environment: Annotated[
        str, typer.Option("--environment", metavar="NAME", help="Use what is deployed there; else the tenant's own.")
    ] = "",
    speed: Speed = None,
    profile: Profile = None,
    root: Root = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Run a document until it ends or waits.

    With --key it survives a kill -9: the same command again goes on with the same run. While another process drives
    the store, that process runs it, and it is followed from here."""
    compiled, source = compile_named(file, store=store, root=root)
    given = read_value(input, "the input")
    if not json:
        for finding in compiled.findings:
            print_finding(finding, file, err=True)
    again = f"penstock run {file} --key {key}" if key else None
    started = Started()
    asked = RunRequest(
        compiled, source, given, key, max_concurrent, profile, by, speed, environment, input_folder(file, root)
    )
    return finish(start(store, asked, started, quiet=json), started, store, json, again)


def finish(work: Any, started: Started, store: Path, json: bool, again: str | None = None) -> int:
    """Drive, tell how the run stands, and give its exit code. Ctrl-C leaves it in the store."""
    try:
        look = until_done(work)
    except KeyboardInterrupt:
        kept = f" Run {started.run} is kept in {store}." if started.run else ""
        command = again or (f"penstock work {started.run}" if started.run else "")
        hint = f"go on with: {command}{store_option(store)}" if command else ""
        print_interrupted(f"Interrupted.{kept}", hint, json=json)
        return INTERRUPTED
    if json:
        print_json({**run_json(look), **started.more})
    else:
        for note in started.notes:
            say(note)
        print_run(look, store)
    return exit_code(look)


def fork(
    run: Run,
    at: Annotated[int, typer.Option("--at", metavar="N", help="The fork has the past up to fact N of the trace.")],
    by: Annotated[
        str | None, typer.Option("--by", metavar="USER", help="Who does it, where the document says who may start it.")
    ] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Start a new run with the past of another one up to a fact, and drive it. The other run stays as it is.

    Facts that were committed in one turn belong together: within one, the fork begins at its end."""
    started = Started()

    async def work() -> RunView:
        async with driving(store) as door:
            turn, first, last = door.end_of_turn(run, at)
            started.more = {"fork": {"of": door.row(run).id, "asked": at, "at": last}}
            if last != at and not json:
                say(f"fact {at} lies within turn {turn} (facts {first} to {last}): the fork begins after fact {last}")
            started.run = door.fork(run, at, by=by or UNNAMED)
            return await drive(door, started.run, quiet=json)

    return finish(work(), started, store, json)


def work(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Drive this one only, until it ends or waits.")
    ] = None,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="Stop when every run has ended or waits for somebody or some moment.")
    ] = False,
    speed: Speed = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Drive every run in the store that can go on, after a crash too, until you stop it with Ctrl-C.

    Meanwhile it takes what other commands leave for it: new runs, answers, signals, batches."""
    if run is not None:
        started = Started()
        return finish(continue_run(store, run, started, quiet=json, speed=speed), started, store, json)
    worker = _Worker(store, json, until_idle, speed)
    try:
        until_done(worker.work())
    except KeyboardInterrupt:
        if until_idle:
            print_interrupted("Interrupted.", json=json)
            return INTERRUPTED
    worker.tell()
    if worker.trouble is not None:  # stopped while it waited: whoever reads only the end must hear of it
        print_error(worker.trouble, json=json)
        return worker.trouble.exit_code
    return DONE


class _Worker:
    """Drives everything and tells of every run that ends."""

    def __init__(self, store: Path, json: bool, until_idle: bool, speed: float | None = None) -> None:
        self.store, self.json, self.until_idle, self.speed = store, json, until_idle, speed
        self.ended: list[dict[str, Any]] = []
        self.left: list[dict[str, Any]] = []
        self.trouble: StoreError | None = None

    async def work(self) -> None:
        async with driving(self.store, create=not self.until_idle, everything=True, speed=self.speed) as door:
            if not self.json:
                going = len(door.store.unfinished())
                about = f"  {going} runs can go on{speed_words(self.speed)}"
                say(("working ", "bright_black"), str(self.store), (about, "bright_black"))
            door.host.turns.on_end.append(lambda live: self._print_end(door, live))
            door.host.on_trouble.append(self._print_trouble)
            batches = Batches(door, AuditLog(door.store))
            batches.open()
            backgrounds = Backgrounds(door)
            backgrounds.open()
            try:
                await self._until_idle(door, batches, backgrounds)
            finally:
                await backgrounds.close()
                await batches.close()
                open_rows = door.store.runs(status=range(COMPLETED), limit=1000)  # it works for every tenant
                self.left = [{"run_id": row.id, "status": STATUS[row.status]} for row in open_rows]

    async def _until_idle(self, door: Penstock, batches: Batches, backgrounds: Backgrounds) -> None:
        quiet_since = time.monotonic()
        while True:
            await asyncio.sleep(0.05)
            door.raise_if_stopped()
            if not self.until_idle or not idle(door.host) or not batches.idle or not backgrounds.idle:
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since >= _QUIET_S:
                return

    def _print_trouble(self, error: StoreError | None) -> None:
        """On stderr, whatever is asked for: nothing goes on meanwhile, and somebody should know."""
        self.trouble = error
        if error is not None:
            print_error(error, json=False)
            say(("waiting until the store takes turns again", "bright_black"), err=True)
        else:
            say(("the store takes turns again", "bright_black"), err=True)

    def _print_end(self, door: Penstock, live: LoadedRun) -> None:
        try:
            look = door.of(live.tenant).view(live.id)
        except RunNotFound:
            return
        self.ended.append({"run_id": look.run_id, "name": look.name, "status": look.status, "failure": look.failure})
        if not self.json:
            why = f"  {look.failure.get('code', '')}" if look.failure else ""
            say(look.run_id, "  ", status_text(look.status), f"  {look.name}", why)

    def tell(self) -> None:
        if self.json:
            print_json({"ended": self.ended, "open": self.left})
        else:
            say((f"{len(self.ended)} runs ended, {len(self.left)} are open", "bright_black"))


def idle(host: Host) -> bool:
    """Nothing to do now, no effect in flight, and no firing between two tries."""
    runs = (live.run for live in host.turns.runs.values() if live.run is not None)
    return not host.turns.ready and not host.intake.busy and not any(_busy(run) for run in runs)


def _busy(run: Folded) -> bool:
    """A call is as busy as what it calls, which is a run of its own."""
    return any(
        firing.phase == EFFECT and run.net.nodes[firing.node].spec.kind != "call" and not run.net.nodes[firing.node].job
        or firing.phase == BACKOFF and not run.st.paused
        for firing in run.st.firings.values()
    )  # fmt: skip
