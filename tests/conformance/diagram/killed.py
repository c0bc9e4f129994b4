"""A process that is made to be killed: it runs a loop on a store in the folder it is given.

    python -m tests.conformance.diagram.killed FOLDER

Every execution of the loop's node is written to FOLDER/executed before it begins its work.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from penstock.diagram import NodeHandler, context, register_handler
from tests.conformance.diagram.make import END, START, cond, job
from tests.conformance.diagram.running import door, drawn

MOST = 12


@register_handler("run_12_step")
class Step(NodeHandler):
    """Says that it was executed, takes a while, and gives out its iteration."""

    async def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        with Path(context.service("executed")).open("a", encoding="utf-8") as file:
            file.write(f"{request.key}\n")
        await asyncio.sleep(0.02)
        return context.iteration


def source() -> bytes:
    nodes = [START, {"label": "PersonJob", "type": "run_12_step", "max_iteration": MOST}, job("Ask"), END]
    nodes.append(cond("Condition", expression=f"counters.PersonJob >= {MOST}"))
    ways = [
        "Start>PersonJob", "PersonJob>Condition", "Condition[condfalse]>PersonJob", "Condition[condtrue]>Ask",
        "Ask>End",
    ]  # fmt: skip
    return drawn(nodes, ways)


async def drive(folder: Path, patience_s: float | None = None) -> str:
    """Begin the run, or go on with it: the same key is the same run."""
    async with door(folder, settings={"services": {"executed": str(folder / "executed")}}) as p:
        run = await p.start(p.release(source(), name="killed.json"), key="the one")
        await p.wait(run, timeout=patience_s)
        return run


if __name__ == "__main__":
    asyncio.run(drive(Path(sys.argv[1])))
