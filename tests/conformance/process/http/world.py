"""A started server that runs processes: agents and tools are a place of the test's, and everything goes over HTTP."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from tests.api.places import ADMIN, MANAGER, OPERATOR
from tests.api.serving import Server, until
from tests.api.sites import ALLOWED, database
from tests.executors.bench import Seen, as_json
from tests.executors.bench import Server as Place

_numbers = itertools.count(1)


class World:
    """`agents` and `tools` say by name how they answer: a value, a callable, or an exception's text to fail with; what
    they were asked is in `asked`, in order. An agent that `waits` answers when it is let to."""

    def __init__(self, folder: Path, store: str | None, settings: str = "") -> None:
        self.server = Server(folder, "dev", "--quiet", store=store)
        beside = folder / ("s" if store is None else ".penstock")
        beside.mkdir(exist_ok=True)
        (beside / "settings.toml").write_text(ALLOWED + settings)
        self.going, self.closing = threading.Event(), threading.Event()
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, Any]] = []
        self.place = Place(self._answer)

    def start(self) -> World:
        self.server.start()
        self.admin, self.manager, self.operator = (self.server.client(who) for who in (ADMIN, MANAGER, OPERATOR))
        return self

    def close(self) -> None:
        self.going.set()
        self.closing.set()
        self.server.stop()
        self.place.close()

    def _answer(self, seen: Seen) -> Any:
        name = seen.path.strip("/")
        self.asked.append((name, seen.json))
        said = self.answers.get(name, {})
        if said == "waits":
            self.going.wait(60)
            said = {}
        if callable(said):
            said = said(seen)
        if isinstance(said, Exception):
            return as_json({"error": str(said)}, 422)
        return as_json(said)

    # -- agents and tools ----------------------------------------------------------------------------------------------

    def agent(self, name: str, says: Any = None) -> str:
        """Behind an address; `says` is how it answers."""
        self.answers[name] = {} if says is None else says
        if says == "waits":
            self.going.clear()  # another test on this server has let them go
        done = self.admin.put(f"/agents/{name}", json={"kind": "http", "url": f"{self.place.url}/{name}"})
        assert done.status_code == 200, done.text
        return name

    def echo(self, name: str, **settings: Any) -> str:
        done = self.admin.put(f"/agents/{name}", json={"kind": "echo", **settings})
        assert done.status_code == 200, done.text
        return name

    def tool(self, name: str, says: Any = None) -> str:
        self.answers[name] = {"ok": True} if says is None else says
        body = {"type": "http", "url": f"{self.place.url}/{name}", "method": "POST"}
        done = self.admin.put(f"/tools/{name}", json=body)
        assert done.status_code == 200, done.text
        return name

    def calls(self, *names: str) -> list[tuple[str, Any]]:
        return [(name, body) for name, body in self.asked if name in names]

    # -- processes -----------------------------------------------------------------------------------------------------

    def defined(self, document: dict[str, Any]) -> str:
        """Under an id of its own; the same test on the same server does not meet what another one has left."""
        document = {**document, "process_definition_id": f"p{next(_numbers)}"}
        made = self.admin.post("/processes/definitions", json=document)
        assert made.status_code == 201, made.text
        assert made.json()["version"] == 1
        return str(made.json()["id"])

    def begun(self, document: dict[str, Any] | str, given: Any = None, **more: Any) -> Case:
        id = document if isinstance(document, str) else self.defined(document)
        made = self.operator.post(
            f"/processes/definitions/{id}/instances", json={"initiator_id": "lee", "input_data": given or {}, **more}
        )
        assert made.status_code == 201, made.text
        return Case(self, str(made.json()["proc_inst_id"]), id)

    def events(self, event: str | None = None, **asked: Any) -> list[dict[str, Any]]:
        given = {**asked, **({"event": event} if event else {})}
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = self.operator.get("/processes/events", params={**given, "limit": 200, **_at(cursor)}).json()
            found += page["items"]
            cursor = page["next"]
            if cursor is None:
                return found


def _at(cursor: str | None) -> dict[str, str]:
    return {} if cursor is None else {"cursor": cursor}


class Case:
    """One instance."""

    def __init__(self, world: World, id: str, definition: str) -> None:
        self.world, self.id, self.definition = world, id, definition

    def look(self) -> dict[str, Any]:
        answer = self.world.operator.get(f"/processes/instances/{self.id}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def items(self, activity: str | None = None) -> list[dict[str, Any]]:
        return [one for one in self.look()["workitems"] if activity in (None, one["activity_id"])]

    def item(self, activity: str) -> dict[str, Any]:
        return self.items(activity)[-1]

    def states(self) -> dict[str, str]:
        return {one["activity_id"]: one["status"] for one in self.items()}

    def until(self, **states: str) -> dict[str, Any]:
        """Until the activities stand so; with `status`, until the instance does."""
        wanted = dict(states)
        status = wanted.pop("status", None)

        def holds(look: dict[str, Any]) -> bool:
            found = {one["activity_id"]: one["status"] for one in look["workitems"]}
            return status in (None, look["status"]) and all(found.get(one) == to for one, to in wanted.items())

        found: dict[str, Any] = until(self.look, holds)
        return found

    def does(
        self, activity: str, verb: str, body: Any = None, *, who: httpx2.Client | None = None, status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        answer = (who or self.world.manager).post(
            f"/processes/workitems/{self.item(activity)['id']}:{verb}", json=body or {}, headers=headers or {}
        )
        assert answer.status_code == status, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def submits(self, activity: str, result: Any = None, **more: Any) -> dict[str, Any]:
        return self.does(activity, "submit", {"result_data": result or {}}, **more)

    def events(self) -> list[dict[str, Any]]:
        return self.world.events(proc_inst_id=self.id)

    def history(self, activity: str) -> list[str]:
        return [one["to"] for one in self.look()["history"] if one["activity_id"] == activity]


@contextlib.contextmanager
def world(name: str, folder: Path, settings: str = "") -> Iterator[World]:
    with database() if name == "postgresql" else contextlib.nullcontext(None) as store:
        one = World(folder, store, settings)
        try:
            yield one.start()
        finally:
            one.close()
