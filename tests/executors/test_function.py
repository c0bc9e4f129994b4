"""A Python function is an executor."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import threading
from typing import Any

import pytest

from penstock.executors.contract import Done, Failed, Request, Services, Skipped, failed
from penstock.executors.function import FunctionExecutor


def test_inputs_and_arguments_arrive_by_name(bench):
    def add(a: int, b: int, scale: int = 1) -> int:
        return (a + b) * scale

    assert bench.done(FunctionExecutor("add", add), {"scale": 10}, {"a": 1, "b": 2}).body == 30


def test_a_function_may_ask_for_the_request_and_the_services(bench):
    def look(request: Request, services: Services) -> Any:
        return [request.key, str(services.output_dir)]

    assert bench.done(FunctionExecutor("look", look)).body == ["t/r/n/0/1", str(bench.output_dir)]


def test_a_single_parameter_gets_the_first_input_whatever_its_name(bench):
    assert bench.done(FunctionExecutor("up", lambda text: text.upper()), None, {"answer": "hi"}).body == "HI"


def test_the_rest_goes_to_double_star(bench):
    def collect(**names: Any) -> Any:
        return sorted(names)

    assert bench.done(FunctionExecutor("c", collect), {"x": 1}, {"a": 1}).body == ["a", "default", "x"]


def test_positional_only_parameters_are_filled(bench):
    def joined(a: str, b: str, /) -> str:
        return a + b

    assert bench.done(FunctionExecutor("j", joined), None, {"a": "x", "b": "y"}).body == "xy"


def test_a_missing_input_is_named(bench):
    def add(a: int, b: int) -> int:
        return a + b

    failure = bench.failed(FunctionExecutor("add", add), None, {"a": 1})
    assert (failure.code, failure.category) == ("INPUT_INVALID", "validation")
    assert "«b»" in failure.message


def test_coroutines_are_awaited_and_plain_functions_leave_the_loop(bench):
    threads: list[str] = []

    async def waits(text: str) -> str:
        await asyncio.sleep(0)
        threads.append(threading.current_thread().name)
        return text

    def blocks(text: str) -> str:
        threads.append(threading.current_thread().name)
        return text

    for executor in (
        FunctionExecutor("w", waits),
        FunctionExecutor("b", blocks),
        FunctionExecutor("i", blocks, inline=True),
    ):
        assert bench.done(executor, None, {"text": "x"}).body == "x"
    main = threading.current_thread().name
    assert threads[0] == main
    assert threads[1] != main
    assert threads[2] == main


def test_twenty_blocking_functions_run_at_once(bench):
    """D-7.2.1, D-7.2.3: blocking nodes do not wait for each other; 20 at once is what the engine lets through."""

    all_here = threading.Barrier(20)

    def slow() -> int:
        all_here.wait(60)
        return 1

    async def all_of_them() -> list[Any]:
        executor = FunctionExecutor("slow", slow)
        return await asyncio.gather(*(executor.run(bench.request(), bench.services) for _ in range(20)))

    outcomes = asyncio.run(all_of_them())
    assert [o.body for o in outcomes] == [1] * 20, "one after the other they would wait for each other for ever"


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ({"a": (1, 2)}, {"a": [1, 2]}),
        (b"\x00\xff", b"\x00\xff"),
        ("text", "text"),
        (None, None),
        (float("nan"), None),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (dataclasses.make_dataclass("P", ["x"])(3), {"x": 3}),
    ],
)
def test_values_come_out_as_json_holds_them(bench, value, body):
    """D-A.14."""
    assert bench.done(FunctionExecutor("v", lambda: value)).body == body


@pytest.mark.parametrize(
    "value", [object(), {"x": "\ud800"}, 2**70, {(1, 2): 3}], ids=["object", "surrogate", "big", "key"]
)
def test_what_json_cannot_hold_is_refused(bench, value):
    assert bench.failed(FunctionExecutor("v", lambda: value)).code == "OUTPUT_INVALID"


def test_a_value_that_contains_itself_is_refused(bench):
    knot: list[Any] = []
    knot.append(knot)
    assert bench.failed(FunctionExecutor("v", lambda: knot)).code == "OUTPUT_INVALID"


def test_outcomes_pass_through(bench):
    assert bench.run(FunctionExecutor("d", lambda: Done("x", {"cost": 1}, "raw_text"))) == Done(
        "x", {"cost": 1}, "raw_text"
    )
    assert bench.run(FunctionExecutor("s", lambda: Skipped("policy"))) == Skipped("policy")
    assert isinstance(bench.run(FunctionExecutor("f", lambda: failed("X", "business", "no"))), Failed)


class CardDeclined(Exception):
    category = "business"
    code = "BUSINESS_DECLINED"


class Odd(Exception):
    category = "whatever"
    code = "not a code!"


@pytest.mark.parametrize(
    ("error", "code", "category"),
    [
        (ValueError("bad"), "NODE_ERROR", "permanent"),
        (TimeoutError("late"), "NODE_TIMEOUT", "timeout"),
        (ConnectionResetError("gone"), "CONNECTION_LOST", "transient"),
        (MemoryError(), "NODE_MEMORY", "resource"),
        (CardDeclined("no money"), "BUSINESS_DECLINED", "business"),
        (Odd("odd"), "NODE_ERROR", "permanent"),
        (SystemExit(3), "NODE_ERROR", "permanent"),
        (StopIteration("x"), "NODE_ERROR", "permanent"),
    ],
)
def test_what_a_function_raises_becomes_a_failure(bench, error, code, category):
    """D-A.15: a node that raises fails with its message; there is no traceback in it."""

    def raises() -> None:
        raise error

    failure = bench.failed(FunctionExecutor("r", raises))
    assert (failure.code, failure.category) == (code, category)
    assert failure.message
    assert "Traceback" not in failure.message
    assert __file__ not in failure.message


def test_secrets_do_not_leave_in_an_error_message(bench):
    bench.settings["secrets"] = {"DB": "hunter2hunter2"}

    def leaks() -> None:
        raise RuntimeError("cannot log in to postgres://app:hunter2hunter2@db with Bearer abcdefghijkl")

    message = bench.failed(FunctionExecutor("l", leaks)).message
    assert "hunter2" not in message
    assert "abcdefghijkl" not in message
    assert "cannot log in" in message


def test_a_cancelled_attempt_does_not_wait_for_its_thread(bench):
    begun, release, waited = threading.Event(), threading.Event(), list[bool]()

    def blocks() -> None:
        begun.set()
        waited.append(release.wait(120))

    async def cancelled() -> None:
        task = asyncio.create_task(FunctionExecutor("b", blocks).run(bench.request(), bench.services))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert waited == []
    release.set()
