"""Moves: only what the lifecycle allows now and the caller may do; each is proved by doing it, or by its refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.runs.commands.moves import PERMISSIONS, Move, moves, moves_of
from penstock.app.runs.queries import Queries
from penstock.errors import PenstockError
from penstock.kernel import command as C
from penstock.lifecycle.run import RUN
from penstock.net.model import Node
from tests.app.scenes import ASK, Echo, ccp, net, opened, task
from tests.conformance.decision.world import DEFECT, Wire, World, go
from tests.kernel.harness import Sim


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    one = World(tmp_path, wire).plant()
    one.sure(0.6)
    return one


def of(door: Queries, run: str, **more: Any) -> list[Move]:
    return moves(door.reading(run), **more)


def verbs(found: list[Move]) -> set[str]:
    return {one.verb for one in found}


def test_the_moves_of_the_seeds_workflows(world: World, wire: Wire) -> None:
    """C-66, W-2.2.3: an approval can be decided, an event signalled, what failed retried; what ended only forked."""

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            waiting = of(door, run)
            assert verbs(waiting) == {"pause", "cancel", "edit_variable", "fork", "approve", "reject"}
            decide = next(one for one in waiting if one.verb == "approve")
            assert (decide.target, decide.confirm, decide.label_key) == ("request_approval", "B", "move.approve")
            assert decide.effect_key == "move.approve.effect" and decide.allowed
            lab = await ccp(door)
            assert {one.target for one in of(door, lab) if one.verb in ("signal", "skip", "resolve")} == {"wait_lab"}
            wire.trouble["slack"] = 99
            failed = await door.run(DEFECT)
            assert {"skip", "resolve"} <= verbs(of(door, failed))  # it backs off
            await door.later(10_000)
            assert verbs(of(door, failed)) == {"retry", "restart", "fork"}
            wire.trouble.clear()
            await door.retry(failed)
            await door.quiet()
            await door.cancel(run)
            await door.quiet()
            assert verbs(of(door, run)) == {"fork"}

    go(scene())


def test_pausing_and_resuming_are_never_offered_together(tmp_path: Path) -> None:
    """CONSOLE 3: what can be taken back needs no question (A), all else names its object (B)."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            run = await door.start(door.release(ASK))
            await door.wait(run, until_waiting=True, timeout=60)
            assert {one.verb: one.confirm for one in of(door, run)} == {
                "pause": "A", "cancel": "B", "edit_variable": "B", "fork": "B", "respond": "B",
            }  # fmt: skip
            await door.pause(run)
            assert {"resume"} == verbs(of(door, run)) & {"pause", "resume"}
            await door.resume(run)
            await door.respond(run, "Ask name", "Ada")
            await door.wait(run, timeout=60)
            assert verbs(of(door, run)) == {"fork"}

    go(scene())


def test_permissions_take_moves_away(tmp_path: Path) -> None:
    """C-66: who may only decide sees only decisions, who may only read sees nothing."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            run = await door.start(door.release(ASK))
            await door.wait(run, until_waiting=True, timeout=60)
            assert of(door, run, permissions={"run.read"}) == []
            assert verbs(of(door, run, permissions={"inbox.decide"})) == {"respond"}
            assert verbs(of(door, run, permissions={"run.steer", "run.start"})) == {"pause", "cancel", "fork"}
            assert len(of(door, run, permissions=set(PERMISSIONS.values()))) == len(of(door, run))

    go(scene())


def test_effects_in_flight_can_be_waited_for(tmp_path: Path) -> None:
    """KERNEL 2: a cancel at the boundary is offered while something is in flight; work that is done can be undone."""

    async def scene() -> None:
        hold = asyncio.Event()

        class Slow(Echo):
            async def run(self, request: Any, services: Any) -> Any:
                await hold.wait()
                return await super().run(request, services)

        async with opened(tmp_path, echo=Slow()) as door:
            run = await door.start(door.release(net("n", [Node(id="s", kind="start"), task("a")], "s>a")))
            while not door.view(run).in_flight:
                await asyncio.sleep(0.002)
            assert {"cancel", "cancel_boundary", "resolve"} <= verbs(of(door, run))
            hold.set()
            await door.wait(run, timeout=60)

    go(scene())


def test_undoing_is_offered_where_something_can_be_undone() -> None:
    """KERNEL 7: a finished run whose work has an undo can be compensated by hand, once."""
    nodes = [Node(id="s", kind="start"), task("a", undo=("u",)), task("u", off_path=True)]
    sim = Sim(net("n", nodes, "s>a"))
    assert "compensate" not in verbs(moves_of(sim.st, sim.net))
    sim.ok("a")
    assert verbs(moves_of(sim.st, sim.net)) == {"compensate", "fork"}
    sim.do(C.compensate())
    assert "compensate" not in verbs(moves_of(sim.st, sim.net))
    sim.ok("u")
    assert verbs(moves_of(sim.st, sim.net)) == {"fork"}


def test_what_is_offered_is_not_refused() -> None:
    """CONSOLE law 3: in every state of a small run, what is offered is done, and what is not offered is refused."""
    commands = {
        "pause": C.pause(), "resume": C.resume(), "cancel": C.cancel("now"), "retry": C.retry(),
        "restart": C.retry("restart"),
    }  # fmt: skip

    def made(steps: int) -> Sim:
        sim = Sim(net("n", [Node(id="s", kind="start"), task("a"), task("b")], "s>a", "a>b"), check=False)
        for act in [lambda: sim.do(C.pause()), lambda: sim.do(C.resume()), lambda: sim.ok("a"), lambda: sim.bad("b"),
                    lambda: sim.do(C.retry()), lambda: sim.ok("b")][:steps]:  # fmt: skip
            act()
        return sim

    for steps in range(7):
        offered = verbs(moves_of((one := made(steps)).st, one.net))
        for verb, command in commands.items():
            sim = made(steps)
            try:
                lines = sim.do(command)
                took = bool(lines) and lines[0].fact != "ignored"
            except PenstockError:
                took = False
            assert took == (verb in offered), (steps, verb, sim.status)
    assert RUN.allows("FAILED", "operator_retry") and not RUN.allows("COMPLETED", "cancel_requested")
