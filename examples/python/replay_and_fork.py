"""Time travel: look at a run as it was after any fact, and start a new run from there."""

import asyncio
from pathlib import Path

from penstock import Penstock
from penstock.app.runs.timeline.replay import replay

LOOP = Path(__file__).parents[1] / "diagram/loop.yaml"


async def main() -> None:
    async with Penstock("runs.db") as penstock:
        run = await penstock.start(penstock.release(LOOP))
        await penstock.wait(run)
        second = next(x.seq for x in penstock.lines(run) if x.node == "PersonJob" and x.data.get("visit") == 2)
        then = replay(penstock, run, second)
        print("then", then.look.status, then.look.counters)
        fork = penstock.fork(run, second)
        now = await penstock.wait(fork)
        print("fork", now.status, now.counters, now.parent == run)
        print("same end", now.output == penstock.view(run).output)


asyncio.run(main())

# Prints:
# > then RUNNING {'Start': 1, 'PersonJob': 2, 'Condition': 1}
# > fork COMPLETED {'Start': 1, 'PersonJob': 3, 'Condition': 3, 'Ask': 1, 'Endpoint': 1} True
# > same end True
