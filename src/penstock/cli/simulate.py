"""The command that simulates: a dry run of a document, and a forecast out of many virtual runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from penstock.app.durations import read_duration
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Store, read_value
from penstock.cli.output import DONE, TONES, WRONG, print_json, say, short, status_text
from penstock.cli.settings import read_settings
from penstock.errors import BadInput, PenstockError, ReleaseNotFound, RunNotFound

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries
    from penstock.app.simulation.dry_run import DryRun
    from penstock.app.simulation.monte_carlo import MonteCarlo
    from penstock.app.simulation.report import SimulationReport
    from penstock.app.simulation.subject import Subject

_WARNINGS = {
    "NO_HISTORY": "no run of it has ended in this store: durations and decisions are assumed, as said above",
    "LITTLE_HISTORY": "fewer than 30 runs of it have ended: take the forecast as a first guess",
    "UNRESOLVED": "some references could not be resolved",
    "MISSING": "something that it refers to is not there, see above: a run would fail or wait there",
    "UNREACHED": "some nodes were never reached",
    "NO_INPUT": "no input was given: give one with --input",
}


def simulate(
    what: Annotated[
        str,
        typer.Argument(metavar="FILE|RUN|NAME", help="A document or a plan's folder, a run, or a released workflow."),
    ],
    input: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="What it starts with: JSON, @FILE, or - for stdin.")
    ] = None,
    answers: Annotated[
        str | None, typer.Option("--answers", metavar="JSON", help="What nodes answer, by their ids: JSON or @FILE.")
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", metavar="N", min=0, help="Virtual runs of the forecast; 0: the dry run alone.")
    ] = 1_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same forecast.")] = 0,
    due: Annotated[
        str | None, typer.Option("--due", metavar="TIME", help="The odds of ending in time: 30m, 2h, 1d.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a page with charts, or JSON, to this file.")
    ] = None,
    locale: Annotated[Literal["en", "ko"], typer.Option("--locale", help="The language of the page.")] = "en",
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Try a document before it runs: nothing is sent, written or started.

    First a dry run: which nodes are reached, which references cannot be resolved, what would be sent or written. Then a
    forecast of many virtual runs, with durations and decisions of its earlier runs in the store: how long it takes,
    the odds of a due time, the load of each role, the most likely way. Of an open run: the rest of it."""
    from penstock.app.simulation.report import simulate as simulate_subject

    due_ms = None if due is None else read_duration(due)
    given, told = read_value(input, "the input"), read_value(answers, "the answers")
    if told is not None and not isinstance(told, dict):
        raise BadInput(what="the answers", why="they are an object: node id to answer")
    with _perhaps_reading(store) as door:
        subject = _subject(what, door, given, store)
        result = simulate_subject(subject, runs=runs, seed=seed, due_ms=due_ms, answers=told)
    if report is not None:
        _write(report, result, locale)
    if json:
        print_json(result.as_json())
    else:
        print_report(result)
        if report is not None:
            say("wrote ", (str(report), "bold"))
    return DONE if result.ok else WRONG


@contextlib.contextmanager
def _perhaps_reading(store: Path) -> Iterator[Queries | None]:
    """Without a store there is no history, and that is said."""
    if not store.exists():
        yield None
        return
    with reading(store) as door:
        yield door


def _subject(what: str, door: Queries | None, input: Any, store: Path) -> Subject:
    from penstock.app.simulation.subject import of_document, of_release, of_run

    path = Path(what)
    if path.exists() or path.suffix or "/" in what:
        try:
            return of_document(path, door, input=input, settings=read_settings(store))
        except PenstockError as error:
            error.facts.setdefault("file", path)
            raise
    if door is None:
        raise RunNotFound(run=what)
    try:
        return of_run(door, what)
    except RunNotFound as no_run:
        try:
            return of_release(door, what, None, input=input)
        except ReleaseNotFound:
            raise no_run from None


def _write(file: Path, result: SimulationReport, locale: str) -> None:
    import msgspec

    text = result.as_html(locale)
    if file.suffix == ".json":
        text = msgspec.json.format(msgspec.json.encode(result.as_json()), indent=2).decode()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        why = f"it cannot be written ({(error.strerror or str(error)).lower()})"
        raise BadInput(what=f"«{file}»", why=why) from error


# ---- for people ------------------------------------------------------------------------------------------------------


def print_report(result: SimulationReport) -> None:
    version = f" version {result.version}" if result.version else ""
    what = f"run {result.run} of " if result.run else ""
    say((f"{what}{result.name}", "bold"), f" ({result.language}{version})")
    if result.dry_run is not None:
        _print_dry_run(result.dry_run)
    if result.monte_carlo is not None:
        _print_forecast(result.monte_carlo, result)
    for reference in result.missing:
        say(("  missing ", TONES["held"]), f"{reference.node} {reference.pointer}: {reference.message}")
    for warning in result.warnings:
        say(("  note ", TONES["held"]), _WARNINGS.get(warning, warning))


def _print_dry_run(dry: DryRun) -> None:
    nodes = f"{len(dry.reached)} of {len(dry.nodes)} nodes reached"
    say(
        ("dry run ", "bright_black"),
        status_text(dry.status),
        f"  {nodes}, {len(dry.expressions)} expressions evaluated",
    )
    if dry.failure is not None:
        say(("  failure ", "bright_black"), (str(dry.failure["code"]), TONES["failed"]), f"  {dry.failure['message']}")
    if dry.unreached:
        say(("  not reached ", "bright_black"), ", ".join(dry.unreached))
    for problem in dry.unresolved:
        say(("  unresolved ", TONES["failed"]), f"{problem.node} {problem.field}: {problem.message}")
    refused = ", ".join(f"{count} to {kind}" for kind, count in dry.refused.items() if count)
    say(("  refused ", "bright_black"), refused or "nothing: it would only have read and computed")
    for record in dry.effects:
        if record.count and record.kind not in ("compute", "read", "call"):
            say(f"    {record.kind} ", (record.node, "bold"), f" {record.executor} {short(record.args, 120)}")


def _print_forecast(forecast: MonteCarlo, result: SimulationReport) -> None:
    shares = ", ".join(f"{each.status} {each.share:.1%}" for each in forecast.outcomes)
    begins = "the rest of it" if result.status is not None else "from the start"
    say(("forecast ", "bright_black"), f"{forecast.runs} virtual runs, {begins}: {shares}")
    took = forecast.duration_ms
    if took is not None:
        say(
            ("  takes ", "bright_black"), (duration_text(took.p50), "bold"), " in the middle, ",
            f"9 of 10 under {duration_text(took.p90)}, 99 of 100 under {duration_text(took.p99)}",
        )  # fmt: skip
    if forecast.due is not None:
        odds = forecast.due
        say(
            ("  in time ", "bright_black"), (f"{odds.odds:.1%}", "bold"),
            f" within {duration_text(odds.limit_ms)} (between {odds.low:.1%} and {odds.high:.1%})",
        )  # fmt: skip
    for load in forecast.roles:
        per_day = f", {load.items_per_day:.1f} a day" if load.items_per_day is not None else ""
        who = load.role or "anybody"
        say(
            ("  load ", "bright_black"), (who, "bold"),
            f" {load.items_per_run:.2f} a run{per_day}, open for {duration_text(load.open_ms_p50)} in the middle",
        )  # fmt: skip
    if forecast.paths:
        way = forecast.paths[0]
        say(("  most likely ", "bright_black"), f"{way.share:.1%}  ", " → ".join(way.nodes[:30]))
    if forecast.history.runs:
        say(("  learnt from ", "bright_black"), f"{forecast.history.runs} runs in the store")
    for row in forecast.assumptions:
        say(("  assumed ", "bright_black"), f"{row['node']}: ", _assumption_text(row))


def _assumption_text(row: dict[str, Any]) -> str:
    if row["what"] == "rollout":
        return "every stage takes the time that the document gives it, and succeeds"
    middle = duration_text(row["middle_ms"])
    if row["what"] == "person":
        share = f", approved in {row['approved_share']:.0%} of all cases" if "approved_share" in row else ""
        return f"a person decides after about {middle}{share}"
    if row["what"] == "news":
        return f"what it waits for comes after about {middle}"
    return f"{row['executor']} takes about {middle} and succeeds"


def duration_text(ms: float) -> str:
    """As people say it: 250 ms, 3.2 s, 5 min, 2.5 h, 3 d."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if ms >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms:.0f} ms"
