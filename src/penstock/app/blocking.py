"""The one sync wrapper: Penstock for programs without an event loop. The engine runs on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from penstock.app.access.candidates import Who
from penstock.app.penstock import DEFAULT_STORE, Penstock, Release
from penstock.app.releases.triggers import EventReceipt
from penstock.app.runs.run_view import RunView
from penstock.app.runs.runs import Fn
from penstock.net.model import Net

T = TypeVar("T")


class Blocking:
    """`with Blocking("runs.db") as penstock: …`; the same words as Penstock, without await."""

    def __init__(self, store: str | Path = DEFAULT_STORE, **options: Any) -> None:
        self.inner = Penstock(store, **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="penstock", daemon=True)

    def __enter__(self) -> Blocking:
        """Opens the store. The engine begins with the first call, so that executors registered before it are there."""
        self.inner.open()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self.inner.aclose(), self._loop).result()
        self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        async def begun() -> T:
            self.inner.begin()
            return await work

        return asyncio.run_coroutine_threadsafe(begun(), self._loop).result()

    def _call(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        async def on_loop() -> T:
            return fn(*args, **kwargs)

        return self._do(on_loop())

    def executor(self, name: str | None = None, *, inline: bool = False) -> Callable[[Fn], Fn]:
        return self.inner.executor(name, inline=inline)

    def agent(self, id: str, graph: Any = None, *, read: Callable[[Any], Any] | None = None) -> Callable[[Fn], Fn]:
        return self.inner.agent(id, graph, read=read)

    def tool(self, name: str) -> Callable[[Fn], Fn]:
        return self.inner.tool(name)

    def release(self, document: str | Path | bytes | Net, *, name: str | None = None) -> Release:
        return self._call(self.inner.release, document, name=name)

    def start(self, release: Release | str, input: Any = None, **options: Any) -> str:
        return self._do(self.inner.start(release, input, **options))

    def start_many(self, release: Release | str, inputs: Iterable[Any], **options: Any) -> list[str]:
        return self._do(self.inner.start_many(release, inputs, **options))

    def signal(self, run: str, name: str, payload: Any = None, *, id: str = "") -> None:
        self._do(self.inner.signal(run, name, payload, id=id))

    def send_event(self, source: str, payload: Any = None, *, id: str | None = None) -> EventReceipt:
        return self._do(self.inner.send_event(source, payload, id=id))

    def respond(self, run: str, node: str, value: Any, *, by: Who | None = None) -> None:
        self._do(self.inner.respond(run, node, value, by=by))

    def wait(self, run: str, *, timeout: float | None = None, until_waiting: bool = False) -> RunView:
        return self._do(self.inner.wait(run, timeout=timeout, until_waiting=until_waiting))

    def view(self, run: str) -> RunView:
        return self._call(self.inner.view, run)

    def look(self, run: str) -> RunView:
        """Deprecated: use `view`."""
        warnings.warn("Blocking.look is called view now", DeprecationWarning, stacklevel=2)
        return self.view(run)

    def cancel(self, run: str, *, mode: str = "now") -> None:
        self._do(self.inner.cancel(run, mode=mode))

    def pause(self, run: str) -> None:
        self._do(self.inner.pause(run))

    def resume(self, run: str) -> None:
        self._do(self.inner.resume(run))

    def retry(self, run: str, *, how: str = "here") -> None:
        self._do(self.inner.retry(run, how=how))

    def compensate(self, run: str, *, only: Iterable[str] = ()) -> None:
        self._do(self.inner.compensate(run, only=only))
