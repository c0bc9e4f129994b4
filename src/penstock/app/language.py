"""What the people of a language ask of the door beside what everybody asks. Every default is a language without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import msgspec

from penstock.kernel.state import Item
from penstock.languages import APPS, names, part_of
from penstock.net.compiled import CNode, Compiled
from penstock.store.contract import Store
from penstock.store.releases import ReleaseRow
from penstock.store.run_store import RunRow

#: the door (`app/penstock.py`), which imports this file
Door = Any
#: takes news for those who listen: whose they are, their name, and what is known
Tell = Callable[[str, str, dict[str, Any]], None]


class ItemWork(msgspec.Struct, frozen=True):
    """Of an item whose language has rules of its own: `id` is its name there, `agent`: it may be given to one."""

    id: str
    mode: str
    assignee: str | None
    activity_type: str
    agent: bool
    error: str | None


class WorkRules(Protocol):
    """Who may do a work item of the language, what may be done with it now, and how it is done."""

    def permission(self, status: str) -> str:
        """The permission that whoever acts has to have."""
        ...

    def busy_elsewhere(self, item: Item, user: str) -> bool:
        """An agent does it, or somebody else has begun: it does not wait for this one."""
        ...

    def work_of(self, waiting: Any, net: Compiled, item: Item) -> ItemWork: ...

    def moves(self, waiting: Any, node: CNode, item: Item, user: str, permissions: Any) -> list[Any]:
        """Only what its life allows now, and the caller may do."""
        ...

    def error_words(self) -> AbstractContextManager[None]:
        """Errors that are raised inside have the codes of the language."""
        ...

    async def submit(self, door: Door, run: str, firing: int, value: Any, *, by: Any) -> None: ...

    async def claim(self, door: Door, run: str, firing: int, *, by: Any) -> None:
        """Take it, so that nobody else does."""
        ...

    async def approve(self, door: Door, run: str, firing: int, *, by: Any, comment: str | None) -> None: ...

    async def reject(self, door: Door, run: str, firing: int, *, by: Any, comment: str) -> None: ...


class MetricThreshold(msgspec.Struct, frozen=True):
    """A line that a figure should not cross: `below`: by being smaller, else by being greater."""

    metric: str
    below: bool
    threshold: float
    unit: str

    def beyond(self, value: float) -> bool:
        """W-10.1.2: exactly at it, it is not crossed."""
        return value < self.threshold if self.below else value > self.threshold


class Numbers(Protocol):
    def values(self) -> Mapping[str, float | None]:
        """Gauges by the names of their metrics."""
        ...

    def counters(self) -> Mapping[str, float]: ...

    def families(self) -> Mapping[str, Sequence[tuple[dict[str, str], float]]]:
        """Gauges with labels, by the names of their metrics."""
        ...


class LanguageFigures(Protocol):
    """What is counted of a language's runs and documents. `help` has a line for every metric."""

    @property
    def thresholds(self) -> Sequence[MetricThreshold]: ...
    @property
    def help(self) -> Mapping[str, str]: ...

    def read(self, versions: Mapping[str, Any], now: int) -> Numbers:
        """Of these tenants together; the value of each changes when a version of a document comes or moves."""
        ...

    def channels(self, tenant: str) -> Sequence[Mapping[str, Any]]:
        """Who is told of an alarm of one of its metrics beside those whom the tenant has named: type, url, to."""
        ...


class Background(Protocol):
    """What a language does beside the engine, for as long as a process serves or works through a store."""

    @property
    def idle(self) -> bool: ...

    def open(self) -> None:
        """Inside a running loop."""
        ...

    async def close(self) -> None: ...


class AppLanguage:
    #: rules for work items; None: an item is answered, approved or reviewed
    work_rules: WorkRules | None = None

    def admit_author(self, by: Any) -> None:
        """Refuses who may write documents, and not those of the language. Raises NotAllowed."""

    def submit(self, door: Door, data: dict[str, Any], source: bytes, *, by: str | None, about: str | None) -> Any:
        """Submit a version of a document; None: as every other document."""
        return None

    def release_file(self, door: Door, path: Path, *, by: str) -> Any:
        """Submit a file and put it in force; None: as every other document."""
        return None

    def read_folder(self, folder: Path, settings: Mapping[str, Any]) -> bytes | None:
        """The one document that a folder of files makes; None: it is no folder of the language. Raises BadInput,
        DocumentInvalid."""
        return None

    def start_trigger(self, row: ReleaseRow, trigger: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The trigger of a run that is started by name. Raises where the release cannot be started."""
        return trigger

    async def start_test(self, door: Door, document: Path, input: Any, folder: Path) -> str | None:
        """Start a run of a document for a test, as the language starts runs; its id. `folder` is thrown away with the
        test. None: as every other document."""
        return None

    def activated(self, door: Door, row: ReleaseRow) -> list[str]:
        """A version was put in force; the runs that begin by it."""
        return []

    def moved(self, door: Door, row: ReleaseRow) -> None:
        """A version has come, or stands otherwise than before."""

    async def received(self, door: Door, source: str, payload: Any, by: Any = None) -> list[str]:
        """An event has come that may bring a document, sent by somebody; the names of those that it has brought."""
        return []

    def brings(self, source: str) -> bool:
        """Do events of this source bring documents?"""
        return False

    def withheld(self, status: int, settings: Mapping[str, Any]) -> frozenset[str]:
        """Moves that a run of the language is not offered as it stands, though the kernel would make them."""
        return frozenset()

    async def cancel(self, door: Door, run: RunRow) -> bool:
        """End a run by the language's own rule, in whatever mode it was asked; False: as every other run. Raises where
        it may not be ended now."""
        return False

    async def retry(self, door: Door, run: RunRow, how: str) -> bool:
        """Try a run again by the language's own rule; False: as every other run."""
        return False

    async def sample(self, door: Door) -> None:
        """Put something to look at into a new store of a demo, besides the sample tenant's documents."""

    def tell_news(self, door: Door, tell: Tell) -> None:
        """From now on, tell those who listen to a server what happens here beside the facts of runs."""

    def background(self, door: Door) -> Background | None:
        """Of a door that drives its store."""
        return None

    def figures(
        self, store: Store, net_of: Callable[[str], Compiled], settings: Mapping[str, Any]
    ) -> LanguageFigures | None:
        return None


@cache
def app_language(name: str) -> AppLanguage:
    return part_of(name, APPS) or AppLanguage()


class Backgrounds:
    """Those of every language."""

    def __init__(self, door: Door) -> None:
        made = [language.background(door) for language in app_languages()]
        self.each = [background for background in made if background is not None]

    @property
    def idle(self) -> bool:
        return all(background.idle for background in self.each)

    def open(self) -> None:
        for background in self.each:
            background.open()

    async def close(self) -> None:
        for background in self.each:
            await background.close()


def app_languages() -> list[AppLanguage]:
    return [app_language(name) for name in names()]
