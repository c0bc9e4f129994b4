"""penstock pipeline cancel and retry."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from penstock.app.pipeline import steering
from penstock.app.pipeline.executions import execution_row
from penstock.cli.drive import driving_or_attached, until_done
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, print_json, say
from penstock.cli.pipeline.executions import Id


def cancel(id: Id, json: Json = False, store: Store = STORE) -> int:
    """Cancel a running execution: the stage that works may end, and no other begins."""

    async def work() -> str:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store)
            await steering.cancel(door, id)
            return execution_row(door, id).id

    run = until_done(work())
    if json:
        print_json({"accepted": True, "executionId": run})
    else:
        say(f"{run} is being cancelled")
    return DONE


def retry(
    id: Id,
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="MODE", help="resume: go on where it failed. rerun: a new one.")
    ] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Try a failed execution again. Whoever drives the store goes on with it: serve, work or watch."""

    async def work() -> str | None:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store)
            return await steering.retry(door, id, mode)

    made = until_done(work())
    if json:
        print_json({"accepted": True, **({"newExecutionId": made} if made else {})})
    else:
        say("a new execution: " + made if made else "it goes on where it failed")
    return DONE
