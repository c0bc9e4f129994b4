"""The demo: a loop diagram is run, killed half-way for real, and goes on to its end; then the proof."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from penstock.app.maintenance.verify import verify
from penstock.app.runs.run_view import RunView
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json
from penstock.cli.output import DONE, FAILED, TONES, console, print_json, say, store_option
from penstock.errors import BadInput, PenstockError
from penstock.kernel.fact_lines import FactLine
from penstock.store.address import place

HOME = STORE.parent / "demo"
LOOPED = "PersonJob"
_PATIENCE_S = 30.0


def demo(
    store: Annotated[
        Path,
        typer.Option(
            "--store", metavar="FILE|URL", parser=place, help="Where the demo keeps its runs; every demo is a new one."
        ),
    ] = HOME / "penstock.db",
    json: Json = False,
) -> int:
    """See it work: a loop runs, is killed with kill -9 in the middle, and goes on from there to its end."""
    show = _Demo(store, json)
    show.introduce()
    killed_at = show.run_and_kill()
    show.look_at_what_is_left()
    show.run_to_the_end()
    return show.prove(killed_at)


class _Demo:
    def __init__(self, store: Path, json: bool) -> None:
        self.store, self.json = store, json
        self.key = f"demo-{secrets.token_hex(2)}"
        self.document = store.parent / "loop.yaml"
        self.command = ["run", str(self.document), "--key", self.key]
        self.run = ""
        try:
            store.parent.mkdir(parents=True, exist_ok=True)
            self.document.write_bytes(resources.files("penstock.cli").joinpath("demo.yaml").read_bytes())
        except OSError as error:
            raise BadInput(what=f"«{store.parent}»", why=f"it cannot be written ({error.strerror})") from error

    # -- the four acts -------------------------------------------------------------------------------------------------

    def introduce(self) -> None:
        self._say()
        self._say(("Penstock", "bold"), ": what happened is written down before it goes on, in one SQLite file.")
        self._say("A writer works on a line three times, then a critic gives it a title. Half-way the process")
        self._say("is killed with ", ("kill -9", TONES["failed"]), ", and the same command lets the run go on.")

    def run_and_kill(self) -> int:
        """The number of facts that were committed when the process was killed."""
        self._act("1", "Run the diagram", *self.command)
        process = self._start(*self.command)
        try:
            look = self._half_way(process)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        self._restore_cursor()
        self._say()
        gone = f"{process.pid}: the process is gone, while {LOOPED} worked for the second time."
        self._say(("  ✗ kill -9 ", TONES["failed"]), gone)
        self.run = look.run_id
        with reading(self.store) as door:
            return door.view(self.run).facts

    def look_at_what_is_left(self) -> None:
        self._act("2", "The run is still there, nobody drives it", "ps")
        self._finish("ps")

    def run_to_the_end(self) -> None:
        self._act("3", "The same command again goes on with the same run", *self.command)
        code = self._finish(*self.command)
        if code != DONE:
            raise BadInput(what="the demo", why=f"the second run ended with code {code}")

    def prove(self, killed_at: int) -> int:
        with reading(self.store) as door:
            look, lines = door.view(self.run), door.lines(self.run)
            report = verify(door.store)
        steps = list(_steps(lines, killed_at))
        done = sum(1 for f in look.firings if f.node == LOOPED and f.status == "COMPLETED")
        if self.json:
            print_json({
                "run_id": look.run_id, "status": look.status, "output": look.output, "executions": done,
                "killed_at_fact": killed_at, "facts": look.facts, "violations": len(report.violations),
                "steps": [text for text, _ in steps], "store": str(self.store),
            })  # fmt: skip
        else:
            self._print_proof(look, steps, done, len(report.violations))
        right = look.status == "COMPLETED" and done == 3 and not report.violations
        return DONE if right else FAILED

    def _print_proof(self, look: RunView, steps: list[tuple[str, bool]], done: int, violations: int) -> None:
        self._act("4", "What happened, step by step")
        for number, (text, after) in enumerate(steps, 1):
            if after:
                self._say(("     ── kill -9, and on ──", TONES["failed"]))
            self._say((f"  {number}  ", "bright_black"), text)
        self._say()
        tick = ("  ✓ ", TONES["done"])
        self._say(tick, "one run, before and after: ", (look.run_id, "bold"), f" {look.status}, {look.facts} facts")
        again = " executions: the one that was cut off was asked again, under the same key"
        self._say(tick, f"{LOOPED} counts ", (f"{done}", "bold"), again)
        self._say(tick, "penstock verify: ", (f"{violations} violations", "bold"))
        where = store_option(self.store)
        self._say()
        self._say("Try next:")
        for text in ("trace {}", "replay {} --to 9", "fork {} --at 9", "draw {} --svg -o run.svg"):
            self._say(f"  penstock {text.format(self.run)}{where}")
        self._say((f"The store is {self.store}; remove {self.store.parent} when you have seen enough.", "bright_black"))

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _say(self, *parts: str | tuple[str, str]) -> None:
        if not self.json:
            say(*parts)

    def _act(self, number: str, title: str, *command: str) -> None:
        self._say()
        self._say((f"{number}  {title}", "bold"))
        if command:
            self._say(("   $ penstock ", "bright_black"), (" ".join(command) + store_option(self.store), "cyan"))
        self._say()

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        whole = [sys.executable, "-m", "penstock", *command, "--store", str(self.store)]
        out = subprocess.DEVNULL if self.json else None
        sys.stdout.flush()
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen(whole, stdin=subprocess.DEVNULL, stdout=out, env=env)

    def _finish(self, *command: str) -> int:
        process = self._start(*command)
        try:
            return process.wait(_PATIENCE_S)
        except BaseException:
            process.kill()
            process.wait()
            raise

    def _half_way(self, process: subprocess.Popen[bytes]) -> RunView:
        """Waits until the node in the loop works for the second time, as any other process can see it in the store."""
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            time.sleep(0.03)
            look = self._seen()
            if look is not None and look.counters.get(LOOPED) == 2 and look.nodes[LOOPED] == "RUNNING":
                time.sleep(0.3)
                return look
            if process.poll() is not None:
                raise BadInput(what="the demo", why=f"the run ended by itself with code {process.returncode}")
        raise BadInput(what="the demo", why=f"the run did not come half-way in {_PATIENCE_S:.0f} s")

    def _seen(self) -> RunView | None:
        try:
            with reading(self.store) as door:
                row = door.store.run_by_key(door.tenant, self.key)
                return door.view(row.id) if row is not None else None
        except PenstockError:
            return None  # it is being made

    def _restore_cursor(self) -> None:
        """Who is killed cannot tidy up: the live view had hidden it."""
        screen = console()
        if screen.is_terminal and not self.json:
            screen.show_cursor(True)
            screen.print()


def _steps(lines: list[FactLine], killed_at: int) -> Iterator[tuple[str, bool]]:
    """Each node that settled and where its token went, and whether it is the first one after the kill."""
    before = True
    for number, line in enumerate(lines):
        if line.fact != "settled":
            continue
        put = next((line for line in lines[number:] if line.fact == "put"), None)
        what = f"{line.node} (iteration {line.data['visit']})" if line.node == LOOPED else line.node
        if "port" in line.data:
            what += f" decides {line.data['port']}"
        first_after = before and line.seq > killed_at
        before = before and not first_after
        yield f"{what} → {'token to ' + put.edge.rpartition('>')[2] if put else 'the result is kept'}", first_after
