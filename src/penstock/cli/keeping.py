"""Commands that look after a store: verify it, rebuild its projections, measure the engine, say the version."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

import penstock
from penstock.app import bench as benches
from penstock.app.penstock import Penstock
from penstock.app.verify import verify as verified
from penstock.cli.drive import reading
from penstock.cli.options import STORE, Json, Store
from penstock.cli.speak import DONE, FAILED, TONES, say, tell_json
from penstock.errors import BadInput

Workload = Literal["chain", "latency", "fan", "loop", "waiting"]


def verify(json: Json = False, store: Store = STORE) -> int:
    """Check every invariant that a store can show: no hole, no lost token, checkpoints equal to their fold."""
    with reading(store) as door:
        report = verified(door.store)
    if json:
        violations = [msgspec.to_builtins(one) for one in report.violations]
        tell_json({"violations": violations, "runs": report.runs, "facts": report.facts})
    else:
        for one in report.violations:
            say((f"{one.check} ", TONES["failed"]), f"{one.run}  {one.detail}")
        style = TONES["failed"] if report.violations else TONES["done"]
        count = (f"{len(report.violations)} violations", style)
        say(count, (f"  {report.runs} runs, {report.facts} facts", "bright_black"))
    return FAILED if report.violations else DONE


def rebuild(json: Json = False, store: Store = STORE) -> int:
    """Drop every projection and fold it again from the journal; nothing that drives a run is touched."""
    with reading(store):
        door = Penstock(store, create=False).open()
    try:
        runs = door.rebuild()
    finally:
        door.close()
    if json:
        tell_json({"runs": runs})
    else:
        say(f"rebuilt the projections of {runs} runs")
    return DONE


def bench(
    workload: Annotated[Workload, typer.Argument(help="What is measured.")],
    runs: Annotated[int | None, typer.Option("--runs", min=1, help="chain, latency, waiting: how many runs.")] = None,
    concurrent: Annotated[int | None, typer.Option("--concurrent", min=1, help="chain: runs at once.")] = None,
    length: Annotated[int | None, typer.Option("--length", min=1, help="chain, latency: steps of a run.")] = None,
    rich: Annotated[bool | None, typer.Option("--rich", help="chain: with choices and variables.")] = None,
    width: Annotated[int | None, typer.Option("--width", min=1, help="fan: branches.")] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", min=1, help="loop: rounds.")] = None,
    json: Json = False,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="FILE", help="Keep the store there; else it is thrown away.")
    ] = None,
) -> int:
    """Measure the engine on this machine, and print beside it what the disk takes for one sync."""
    given: dict[str, Any] = {
        "runs": runs, "concurrent": concurrent, "length": length, "rich": rich, "width": width, "rounds": rounds,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value is not None}
    known = inspect.signature(benches.WORKLOADS[workload]).parameters
    for name in options:
        if name not in known:
            raise BadInput(what=f"--{name}", why=f"the workload {workload} does not have it")
    if not json:
        say((f"measuring {workload} …", "bright_black"), err=True)
    found = benches.run(workload, store=store, **options)
    if json:
        tell_json(found)
    else:
        _table("", found)
    return DONE


def _table(indent: str, found: dict[str, Any]) -> None:
    for name, value in found.items():
        if isinstance(value, dict):
            say(f"{indent}{name}")
            _table(f"{indent}  ", value)
        else:
            shown = f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
            say((f"{indent}{name:<20} ", "bright_black"), shown)


def version(json: Json = False, store: Store = STORE) -> int:
    """Say which Penstock this is."""
    python = ".".join(map(str, sys.version_info[:3]))
    if json:
        tell_json({"penstock": penstock.__version__, "python": python})
    else:
        say(f"penstock {penstock.__version__}", (f"  Python {python}", "bright_black"))
    return DONE
