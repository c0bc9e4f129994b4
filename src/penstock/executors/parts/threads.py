"""Blocking calls, each in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[..., T], *args: Any) -> T:
    """Await a blocking call.

    Not the loop's default pool: that one has a handful of threads, while the host lets 20 nodes work at once. And a
    daemon thread, because a call that never returns must not keep the process from ending: its effect is asked again.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    def work() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = context.run(call, *args)
        except StopIteration:
            error = RuntimeError("the call raised StopIteration")  # a future cannot carry it
        except (SystemExit, KeyboardInterrupt) as stop:
            error = RuntimeError(f"the call raised {type(stop).__name__}")  # would end the engine's loop
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop has ended; nobody waits for this answer
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="penstock-call", daemon=True).start()
    return await future
