"""A store whose process dies before or after its n-th write, and a loop over all the moments at which it can."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from penstock.store.sqlite import Sqlite

WRITES = ("commit", "put_events", "events_delivered", "schedule_fired", "move_releases", "put_release", "add_net")


class Killed(BaseException):
    """kill -9: nobody catches it, and nothing is tidied up."""


class Mortal:
    """What makes a store die at a step; each write has two, before it and after it."""

    left: int

    def doomed(self, at: int, writes: Iterable[str] = WRITES) -> Self:
        self.left = at
        for name in writes:
            setattr(self, name, self._watched(getattr(self, name)))
        return self

    def _watched(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **more: Any) -> Any:
            self._step()
            done = write(*args, **more)
            self._step()
            return done

        return watched

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed


class Dying(Mortal, Sqlite):
    """A store in a file that dies at a step."""


def each_death(folder: Path, scene: Callable[[Sqlite], None]) -> Iterator[Path]:
    """The file as every death leaves it, from the first write on; and at last as it is when nobody dies."""
    for at in range(1000):
        path = folder / f"dies_at_{at}.db"
        store = Dying(path).doomed(at)
        try:
            scene(store)
        except Killed:
            store.close()
            yield path
            continue
        store.close()
        assert at > 2, "nothing was written"
        yield path
        return
