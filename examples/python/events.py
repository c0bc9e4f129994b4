"""Follow a run as it goes: the events that subscribers are told, in order, from the first one on."""

import asyncio
from pathlib import Path

from penstock import Penstock

BRANCHES = Path(__file__).parents[1] / "diagram/branches.yaml"


async def main() -> None:
    async with Penstock("runs.db") as penstock:
        run = await penstock.start(penstock.release(BRANCHES), {"score": 10})
        async for event in penstock.subscribe(run):
            if event.name in ("branch.decided", "node.skipped", "run.completed"):
                print(event.name, event.node or event.run_id[:1], event.data.get("branch", "-"))


asyncio.run(main())

# Prints:
# > branch.decided Enough condfalse
# > node.skipped Accept -
# > node.skipped Accepted -
# > run.completed r -
