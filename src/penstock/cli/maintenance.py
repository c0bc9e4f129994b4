"""Commands that look after a store: verify it, rebuild its projections, measure the engine."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from penstock.app.maintenance.verify import verify as verified
from penstock.app.penstock import Penstock
from penstock.bench import workloads as benches
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, FAILED, TONES, print_json, say
from penstock.errors import BadInput
from penstock.store.address import place

Workload = Literal["chain", "latency", "fan", "loop", "waiting"]


def verify(json: Json = False, store: Store = STORE) -> int:
    """Check that a store is whole: nothing missing in any journal, no token lost or doubled, every saved state equal
    to what its facts lead to. It only reads, and exits with 3 if something is wrong."""
    with reading(store) as door:
        report = verified(door.store)
    if json:
        violations = [msgspec.to_builtins(violation) for violation in report.violations]
        print_json({"violations": violations, "runs": report.runs, "facts": report.facts})
    else:
        for violation in report.violations:
            say((f"{violation.check} ", TONES["failed"]), f"{violation.run}  {violation.detail}")
        style = TONES["failed"] if report.violations else TONES["done"]
        count = (f"{len(report.violations)} violations", style)
        say(count, (f"  {report.runs} runs, {report.facts} facts", "bright_black"))
    return FAILED if report.violations else DONE


def rebuild(json: Json = False, store: Store = STORE) -> int:
    """Make the tables that people query anew from the journal. Nothing that drives a run is touched."""
    with reading(store):
        door = Penstock(store, create=False).open()
    try:
        runs = door.rebuild()
    finally:
        door.close()
    if json:
        print_json({"runs": runs})
    else:
        say(f"rebuilt the projections of {runs} runs")
    return DONE


def bench(
    workload: Annotated[Workload, typer.Argument(metavar="WORKLOAD", help="chain, latency, fan, loop or waiting.")],
    runs: Annotated[
        int | None, typer.Option("--runs", metavar="N", min=1, help="chain, latency, waiting: how many runs.")
    ] = None,
    concurrent: Annotated[
        int | None, typer.Option("--concurrent", metavar="N", min=1, help="chain: runs at once.")
    ] = None,
    length: Annotated[
        int | None, typer.Option("--length", metavar="N", min=1, help="chain, latency: steps of a run.")
    ] = None,
    rich: Annotated[bool | None, typer.Option("--rich", help="chain: with choices and variables.")] = None,
    width: Annotated[int | None, typer.Option("--width", metavar="N", min=1, help="fan: branches.")] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", metavar="N", min=1, help="loop: rounds.")] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Do it again and name the functions that take most of the time.")
    ] = False,
    json: Json = False,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE|URL", parser=place, help="Keep the store there; else it is thrown away."),
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
    results = benches.run(workload, store=store, profile=profile, **options)
    if json:
        print_json(results)
    else:
        calls = results.pop("profile", [])
        before, after = results["fdatasync_ms"]
        _table("", results, f"  fdatasync {before} … {after} ms")
        for call in calls:
            say(
                (f"{call['total_ms']:>10,} {call['own_ms']:>10,} ", "bright_black"),
                f"{call['calls']:>9,}  {call['function']}",
            )
    return DONE


def _table(indent: str, numbers: dict[str, Any], beside: str) -> None:
    """Every figure beside what the disk took meanwhile: without it a figure says nothing."""
    for name, value in numbers.items():
        if isinstance(value, dict):
            say(f"{indent}{name}")
            _table(f"{indent}  ", value, "")
        elif isinstance(value, int | float):
            speaks = beside if name.endswith(("_per_s", "_ms")) else ""
            say((f"{indent}{name:<20} ", "bright_black"), f"{value:,}", (speaks, "bright_black"))
        else:
            say((f"{indent}{name:<20} ", "bright_black"), str(value))
