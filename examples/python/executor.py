"""An executor as a class: one attempt in, one outcome out. The engine retries, not the executor."""

import asyncio

from penstock import Done, Edge, Effect, Failed, Failure, Net, Node, Penstock, Request, Services, Skipped
from penstock.net.model import Retry


class Flaky:
    """Answers at the third attempt. The category says whether another attempt may help."""

    name = "flaky"

    async def run(self, request: Request, services: Services) -> Done | Failed | Skipped:
        if request.attempt < 3:
            return Failed(Failure("NOT_YET", "transient", f"attempt {request.attempt} came too early"))
        return Done({"attempt": request.attempt, "wanted": request.args["city"]}, {"source": "made up"})


NET = Net(
    name="weather",
    nodes=(
        Node(id="start", kind="start"),
        Node(
            id="ask", kind="task", effect=Effect(executor="flaky", args={"city": {"$expr": "default.city"}}),
            retry=Retry(max=4, base_ms=20, kind="exponential"),
        ),
        Node(id="end", kind="end", result="weather"),
    ),
    edges=(Edge(id="start>ask", src="start", dst="ask"), Edge(id="ask>end", src="ask", dst="end")),
)  # fmt: skip


async def main() -> None:
    async with Penstock("runs.db") as penstock:
        penstock.add_executor(Flaky())
        run = await penstock.start(penstock.release(NET), {"city": "Seoul"})
        print((await penstock.wait(run)).output)
        print([line.data["attempt"] for line in penstock.lines(run) if line.fact == "effect.asked"])


asyncio.run(main())

# Prints:
# > {'weather': {'attempt': 3, 'wanted': 'Seoul'}}
# > [1, 2, 3]
