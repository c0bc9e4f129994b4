"""`penstock process conformance`: how ended instances fit the versions that they ran by."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any

import typer

from penstock.app.process.autonomy.collection import every_turn
from penstock.app.process.definitions import Processes
from penstock.app.process.mining.change_words import deviation_words
from penstock.app.process.mining.live.conformance import LiveConformance, fits_body, live_fits
from penstock.cli.drive import driving_or_attached, until_done
from penstock.cli.open_store import require_store
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, print_json, say

Process = Annotated[str, typer.Argument(metavar="ID", help="The process, by its id.")]


def conformance(id: Process, json: Json = False, store: Store = STORE) -> int:
    """Show how many ended instances of each version fit it, and what the others have done otherwise."""
    require_store(store)

    async def work() -> dict[str, Any]:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store)
            name = Processes(door).get(id).name
            if door.drives:  # else whoever drives the store follows by itself
                await LiveConformance().collect(door, every_turn())
            return {**fits_body(door, id), "listed": live_fits(door, name)}

    found = until_done(work())
    versions = found.pop("listed")
    if json:
        print_json(found)
        return DONE
    if not versions:
        say("No instance has ended yet, or none was looked at.")
    for version in versions:
        share = version.fitting / version.runs
        say((f"v{version.version} ", "bold"), f"{version.fitting:,} of {version.runs:,} fit, {share:.1%}")
        for count in version.deviations:
            say(f"  {count.runs:,}  {deviation_words(count)}")
    return DONE
