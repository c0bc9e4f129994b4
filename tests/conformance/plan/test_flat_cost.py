"""Large plans, counted and not timed: checking grows evenly, and a finished task costs the same in a larger plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench.plan import DONE, task_files
from penstock.kernel import command as C
from penstock.kernel.run import Run
from penstock.kernel.step import step
from penstock.lang.compile import compile_document
from penstock.lang.plan.project_files import plan_document
from penstock.net.compiled import Compiled
from tests.conformance.plan.make import INPUT, lowered, plan, task
from tests.counted import grows_evenly, lines_of


def checked(count: int) -> Callable[[], Any]:
    files = task_files(count)
    return lambda: compile_document(plan_document(files).bytes(), name="plan.json", language="plan")


def test_checking_grows_with_the_plan_and_not_faster() -> None:
    """T-7.1.2, T-8.3.1: files, checks, cycles and lowering of a plan three times as large."""
    assert grows_evenly(checked, 60)


def _work(count: int, *, chained: bool) -> int:
    """Lines that are executed while twenty tasks in the middle of a plan are finished."""
    tasks = [task(f"t{n:05}", *([f"t{n - 3:05}"] if chained and n >= 3 else [])) for n in range(count)]
    run = Run.fresh(Compiled(lowered(plan(*tasks))))
    waiting: list[int] = []

    def turn(command: C.Command) -> None:
        step(run, [command], 0)
        waiting.extend(run.asks)

    def finish(some: int) -> None:
        for _ in range(some):
            firing = run.st.firings[waiting.pop(0)]
            turn(C.done(firing.no, firing.attempt, 0, DONE))

    turn(C.start("r", INPUT))
    finish(count // 2)
    return lines_of(lambda: finish(20))


@pytest.mark.parametrize("chained", [True, False])
def test_a_finished_task_costs_the_same_in_a_larger_plan(chained: bool) -> None:
    """T-7.2.3: the next one is found without looking at all that wait."""
    small, large = _work(100, chained=chained), _work(1000, chained=chained)
    assert large < small * 1.25, (small, large)
