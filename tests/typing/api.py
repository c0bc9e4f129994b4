"""Not run: the public API as a user writes it, type-checked by tests/house/test_typing_api.py."""

from __future__ import annotations

from typing import assert_type

from penstock import (
    Blocking,
    Done,
    Edge,
    Effect,
    Event,
    Failed,
    Failure,
    Look,
    Net,
    Node,
    Penstock,
    Release,
    Request,
    RunView,
    Services,
    Skipped,
)
from penstock.diagram import Envelope, EnvelopeFactory, NodeHandler, register_handler


async def with_await() -> None:
    async with Penstock("runs.db", tenant="mill") as penstock:

        @penstock.executor()
        async def shout(default: str) -> str:
            return default.upper()

        @penstock.executor("count", inline=True)
        def count(request: Request) -> int:
            assert_type(request.key, str)
            return request.visit

        assert_type(await shout("a"), str)
        release = penstock.release("loop.yaml")
        assert_type(release, Release)
        run = await penstock.start(release, {"topic": "water"}, key="order-7", max_concurrent=5)
        assert_type(run, str)
        await penstock.signal(run, "go", {"n": 1}, id="1")
        await penstock.respond(run, "Ask", "yes")
        look = await penstock.wait(run, timeout=5.0, until_waiting=True)
        assert_type(look, RunView)
        assert_type(look.status, str)
        assert_type(penstock.view(run), RunView)
        await penstock.cancel(run)
        await penstock.pause(run)
        await penstock.resume(run)
        await penstock.retry(run)
        async for event in penstock.subscribe(run):
            assert_type(event, Event)


def without_await() -> None:
    with Blocking("runs.db") as penstock:
        release = penstock.release(chain())
        run = penstock.start(release)
        assert_type(penstock.wait(run, timeout=1.0), RunView)


def with_old_names() -> None:
    """Names that were replaced still type-check; at run time they warn."""
    with Blocking("runs.db") as penstock:
        view: Look = penstock.view("r1")
        assert_type(view, RunView)
        assert_type(penstock.inner.look("r1"), RunView)
        penstock.inner.furnish()


def chain() -> Net:
    return Net(
        name="chain",
        nodes=(Node(id="s", kind="start"), Node(id="a", kind="task", effect=Effect(executor="shout"))),
        edges=(Edge(id="s>a", src="s", dst="a"),),
    )


class Mine:
    """An executor of one's own."""

    name = "mine"

    async def run(self, request: Request, services: Services) -> Done | Failed | Skipped:
        if request.attempt > 3:
            return Failed(Failure("TOO_MANY", "permanent", "enough"))
        return Done({"in": request.named()}, {"note": str(services.output_dir)})


@register_handler("shout")
class Shout(NodeHandler):
    def execute_with_envelopes(self, request: object, inputs: dict[str, Envelope]) -> Envelope:
        return EnvelopeFactory.create("hello")
