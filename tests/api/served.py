"""`penstock serve` with nothing in it, on either store: people and things come over HTTP, as a customer's come."""

from __future__ import annotations

import collections
import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest

from tests.api.serving import Server
from tests.api.sites import STORES, Site, database
from tests.conformance.decision.make import document
from tests.executors.bench import Seen, as_json
from tests.executors.bench import Server as Place

S = TypeVar("S", bound=Site)
PEOPLE: dict[str, dict[str, Any]] = {
    "author": {"roles": ["admin"]}, "releaser": {"roles": ["admin"]}, "op": {"roles": ["operator"]},
    "qa1": {"roles": ["approver", "qa"]}, "qa2": {"roles": ["approver", "qa"], "groups": ["night"]},
    "it": {"roles": ["approver", "it"]}, "boss": {"roles": ["approver", "chief"]},
}  # fmt: skip


class Served(Site):
    """A server for production. What it calls answers well, or so often with a status that is not."""

    def __init__(self, folder: Path, store: str | None) -> None:
        super().__init__(folder, store)
        self.server = Server(folder, "serve", "--profile", "production", store=store)
        self.statuses: dict[str, list[int]] = collections.defaultdict(list)
        self.people: dict[str, httpx2.Client] = {}
        self.answers: dict[str, Callable[[Seen], Any]] = {}
        self._known: set[str] = set()
        self.plant.close()
        self.plant = Place(self._answer)

    def _answer(self, seen: Seen) -> Any:
        place = seen.path.strip("/").partition("?")[0]
        if place in self.answers:
            return self.answers[place](seen)
        statuses = self.statuses[place]
        number = next(n for n, call in enumerate(self.to(place), 1) if call is seen)  # others may call at this moment
        return as_json({"at": place, "id": f"S-{number}"}, statuses.pop(0) if statuses else 200)

    def start(self) -> Served:
        self.server.start()
        if not self.people:
            self._first()
        for one in self.people.values():
            one.base_url = httpx2.URL(f"{self.server.url}/api/v1/")
        self.admin, self.manager, self.operator = (self.people[one] for one in ("author", "releaser", "op"))
        return self

    def _first(self) -> None:
        """The first key makes people and their keys, and says what `default_api` is."""
        (path,) = self.server.folder.rglob("*.admin-key")
        first = self.server.client(key=path.read_text().strip())
        for role in ("qa", "it", "chief"):
            done = first.put(f"/roles/{role}", json={"permissions": ["run.read"]})
            assert done.status_code == 200, done.text
        for name, body in PEOPLE.items():
            done = first.put(f"/users/{name}", json={"name": name, **body})
            assert done.status_code == 200, done.text
            made = first.post("/keys", json={"name": name, "user": name})
            assert made.status_code == 201, made.text
            self.people[name] = self.server.client(key=made.json()["token"])
        self.admin = self.people["author"]
        self.puts("connections/default_api", type="http", base_url=self.plant.url)

    def puts(self, what: str, **body: Any) -> None:
        done = self.admin.put(f"/{what}", json=body)
        assert done.status_code in (200, 204), done.text

    def to(self, place: str) -> list[Seen]:
        """The calls of a place that were heard."""
        return [seen for seen in self.plant.seen if seen.path.strip("/").partition("?")[0] == place]

    def plays(self, nodes: list[dict[str, Any]], *ways: Any, given: Any = None, **top: Any) -> str:
        """A run of such a workflow."""
        return self.begun(self.known(nodes, *ways, **top), given)

    def known(self, nodes: list[dict[str, Any]], *ways: Any, **top: Any) -> str:
        """The name of a workflow in force; the same one is released once."""
        whole = document(nodes, ways, **top)
        name = f"wf_{hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:12]}"
        if name not in self._known:
            self._known.add(self.released({**whole, "id": name}))
        return name

    def ends(self, run: str, state: str, code: str | None = None) -> dict[str, Any]:
        look = self.stands(run, state)
        assert (look["failure"] or {}).get("code") == code, look["failure"]
        return look


@contextlib.contextmanager
def on_both(folder: Path, make: Callable[[str, Path], AbstractContextManager[S]]) -> Iterator[dict[str, S]]:
    """The same on every store that there is here."""
    with contextlib.ExitStack() as stack:
        found: dict[str, S] = {}
        for name in STORES:
            with contextlib.suppress(pytest.skip.Exception):
                found[name] = stack.enter_context(make(name, folder / name))
        yield found


@contextlib.contextmanager
def served(name: str, folder: Path) -> Iterator[Served]:
    folder.mkdir(exist_ok=True)
    with database() if name == "postgresql" else contextlib.nullcontext(None) as store:
        one = Served(folder, store)
        try:
            yield one.start()
        finally:
            one.close()
