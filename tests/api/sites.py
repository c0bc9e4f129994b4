"""A started server on either store, with a plant around it that it calls: a lab, and a place that may be down."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.places import ADMIN, MANAGER, OPERATOR, in_force, place
from tests.api.serving import Server, until
from tests.executors.bench import Seen, as_json

STORES = ("sqlite", "postgresql")
ALLOWED = '[http]\nallow = ["127.0.0.1"]\n'


class Site:
    """One server, spoken to over HTTP only. The lab answers with a new id for every sample, or when it is let to."""

    def __init__(self, folder: Path, store: str | None) -> None:
        self.server = Server(folder, "dev", "--quiet", store=store)
        self.down, self.hangs, self.going = False, False, threading.Event()
        self.samples: list[str] = []
        self.asked = threading.Event()
        self._numbers = itertools.count(1)
        self.plant = place({"/lab": self._lab, "/hook": self._hook})
        beside = folder / ("s" if store is None else ".penstock")
        beside.mkdir(exist_ok=True)
        (beside / "settings.toml").write_text(ALLOWED)

    def start(self) -> Site:
        self.server.start()
        self.admin, self.manager, self.operator = (self.server.client(who) for who in (ADMIN, MANAGER, OPERATOR))
        return self

    def close(self) -> None:
        self.going.set()
        self.server.stop()
        self.plant.close()

    def _lab(self, seen: Seen) -> Any:
        sample = f"S-{next(self._numbers)}"
        self.samples.append(sample)
        self.asked.set()
        if self.hangs:
            self.going.wait(20)
        return as_json({"id": sample}, 201)

    def _hook(self, seen: Seen) -> Any:
        return as_json({"error": "down"}, 400) if self.down else as_json({"ok": True})

    def lab_is_real(self) -> None:
        """Samples are asked for over HTTP instead of being put into the outbox."""
        body = {"line_id": "${input.line_id}", "reason": "${judgment_result.reasoning}"}
        for path, thing in (
            ("/templates/lab_sample_request", {"channel": "webhook", "body": body}),
            ("/channels/webhook", {"url": f"{self.plant.url}/lab", "method": "POST"}),
        ):
            done = self.admin.put(path, json=thing)
            assert done.status_code == 200, done.text

    # -- runs ----------------------------------------------------------------------------------------------------------

    def released(self, document: dict[str, Any]) -> str:
        return in_force(self.admin, self.manager, document)

    def begun(self, definition: str, given: Any = None, **more: Any) -> str:
        made = self.operator.post("/runs", json={"definition": definition, "input": given, **more})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    def look(self, run: str) -> dict[str, Any]:
        found: dict[str, Any] = self.operator.get(f"/runs/{run}").json()
        return found

    def stands(self, run: str, state: str) -> dict[str, Any]:
        found: dict[str, Any] = until(lambda: self.look(run), lambda one: one["state"] == state)
        return found

    def done(self, run: str, verb: str, body: Any = None, status: int = 200) -> dict[str, Any]:
        answer = self.operator.post(f"/runs/{run}/{verb}", json=body if body is not None else {})
        assert answer.status_code == status, answer.text
        found: dict[str, Any] = answer.json()
        return found

    # -- diagrams ------------------------------------------------------------------------------------------------------

    def kept(self, document: str | dict[str, Any]) -> dict[str, Any]:
        made = self.admin.post("/diagrams", json={"document": document})
        assert made.status_code == 201, made.text
        found: dict[str, Any] = made.json()
        return found

    def drawn(self, document: str | dict[str, Any], given: Any = None, **more: Any) -> str:
        """A run of a diagram that has just begun."""
        made = self.operator.post(f"/diagrams/{self.kept(document)['id']}/runs", json={"inputs": given, **more})
        assert made.status_code == 201, made.text
        return str(made.json()["run_id"])

    def diagram(self, run: str, status: str) -> dict[str, Any]:
        found: dict[str, Any] = until(
            lambda: self.operator.get(f"/diagram-runs/{run}").json(), lambda one: one["status"] == status
        )
        return found

    def steps(self, run: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.operator.get(f"/diagram-runs/{run}/trace").json()["steps"]
        return found

    def tokens(self, run: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.operator.get(f"/diagram-runs/{run}/tokens").json()["items"]
        return found


@contextlib.contextmanager
def database() -> Iterator[str]:
    """The URL of a database that is gone afterwards; the test is skipped, with the reason, where there is no server."""
    pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    from tests.conformance.decision.stores import Databases

    databases = Databases()
    try:
        yield databases.like(databases.template)
    finally:
        databases.drop_all()


@contextlib.contextmanager
def site(name: str, folder: Path) -> Iterator[Site]:
    folder.mkdir(exist_ok=True)
    with database() if name == "postgresql" else contextlib.nullcontext(None) as store:
        one = Site(folder, store)
        try:
            yield one.start()
        finally:
            one.close()


def events(text: str) -> list[str]:
    """The lines of server-sent events that say something."""
    return [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
