"""Commands about simulations: listed, shown, and their reports written to files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from penstock.app.decision import simulations as desk
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Limit, Store
from penstock.cli.output import DONE, TONES, moment, print_json, print_list, say, store_option
from penstock.executors.parts.reports import FORMATS

Which = Annotated[str, typer.Argument(metavar="ID", help="The simulation: its id.")]
Artifact = Annotated[str | None, typer.Option("--artifact", metavar="ID", help="Only of this rule pack or artifact.")]
Language = Annotated[Literal["ko", "en"] | None, typer.Option("--lang", help="Of the report.")]
Into = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Where it is written: .html, .pdf or .json.")
]  # fmt: skip
_TONE = {"deploy": "done", "review": "held", "reject": "failed", "insufficient_data": "idle"}


def ls(artifact: Artifact = None, limit: Limit = 20, json: Json = False, store: Store = STORE) -> int:
    """List simulations, newest first."""
    with reading(store) as door:
        listed = desk.simulations(door, artifact=artifact, limit=limit)
    return print_list(listed, json, lambda item: item, _print, empty="There are no simulations.")


def _print(item: desk.SimulationSummary) -> None:
    tone = TONES[_TONE[item.recommendation]]  # type: ignore[index]
    say((item.simulation_id, "bold"), f"  {item.artifact.id} {_versions(item)}  ", (item.recommendation, tone))
    when = f"{item.mode}, {item.total_samples} samples, {moment(item.created_at, seconds=False)}, run {item.run_id}"
    say((f"  {when}", "bright_black"))


def _versions(item: desk.SimulationSummary) -> str:
    return f"{item.baseline_version or '–'} → {item.candidate_version or '–'}"


def show(id: Which, json: Json = False, store: Store = STORE) -> int:
    """Show what a change would have meant: its numbers, its risk, and what is recommended."""
    with reading(store) as door:
        item = desk.simulation(door, id)
    if json:
        print_json(item)
        return DONE
    _print(item)
    result = item.result
    say(f"  {result['sentence']['en']}")
    say(f"  {result['recommendation_text']['en']}")
    for entry in result["detailed_comparison"]:
        if not isinstance(entry["simulated"], dict):
            change = f"  ({entry['difference']:+.4f})" if entry["difference"] is not None else ""
            values = f"{_number(entry['baseline'])} → {_number(entry['simulated'])}{change}"
            say((f"  {entry['metric']:<22}", "bright_black"), values)
    risk = result["risk_assessment"]
    say(
        ("  risk ", "bright_black"), risk["level"],
        f", {risk['changed_decisions']} decisions change, {risk['new_false_negatives']} newly missed",
    )  # fmt: skip
    for note in result["warnings"]:
        say(("  warning ", "bright_black"), (note["code"], TONES["held"]), f"  {note['text']['en']}")
    say(("  its report: ", "bright_black"), f"penstock simulations report {id} --out report.html{store_option(store)}")
    return DONE


def _number(value: Any) -> str:
    return "–" if value is None else f"{value:.4f}"


def report(id: Which, out: Into = None, lang: Language = None, store: Store = STORE) -> int:
    """Write the report of a simulation to a file; what it ends in is its format."""
    path = out or Path(f"{id}.html")
    format = path.suffix.lstrip(".").lower()
    if format not in FORMATS:
        raise typer.BadParameter("the file must end in .html, .pdf or .json")
    with reading(store) as door:
        path.write_bytes(desk.report(door, id, format, lang))
    say("wrote ", (str(path), "bold"))
    return DONE


simulations = {"ls": ls, "show": show, "report": report}
