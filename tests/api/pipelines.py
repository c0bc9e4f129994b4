"""A server that processes files, over HTTP only: a folder is its bucket, and a place is what its stages call."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.places import ADMIN, OPERATOR, VIEWER
from tests.api.serving import Server, until
from tests.api.sites import STORES, database
from tests.app.pipelines import EXAMPLE, a_pipeline, a_stage
from tests.executors.bench import Seen, as_json
from tests.executors.bench import Server as Place

TENANT = "tenant_001"
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")


class FileSite:
    """What a stage calls at `/NAME` answers well, or as `answers[NAME]` says; `held[NAME]` lets it wait."""

    def __init__(self, folder: Path, store: str | None, more: str = "") -> None:
        self.bucket = folder / "bucket"
        self.bucket.mkdir()
        self.answers: dict[str, Any] = {}
        self.held: dict[str, threading.Event] = {}
        self.place = Place(self._answer)
        self._numbers = itertools.count(1)
        beside = folder / ("s" if store is None else ".penstock")
        beside.mkdir(exist_ok=True)
        (beside / "settings.toml").write_text(
            f'[http]\nallow = ["127.0.0.1"]\n[pipelines.buckets]\nbkt = "file://{self.bucket}"\n'
            f'ff-artifacts = "file://{folder / "artifacts"}"\n{more}'
        )
        self.folder = folder
        self.server = Server(folder, "dev", "--quiet", store=store)

    def start(self) -> FileSite:
        self.server.start()
        self.admin, self.operator, self.viewer = (self.server.client(who) for who in (ADMIN, OPERATOR, VIEWER))
        return self

    def close(self) -> None:
        for event in self.held.values():
            event.set()
        self.server.stop()
        self.place.close()

    def _answer(self, seen: Seen) -> Any:
        name = seen.path.strip("/").partition("?")[0]
        if name in self.held:
            self.held[name].wait(60)
        return as_json({"at": name}, self.answers.get(name, 200))

    # -- definitions and files -----------------------------------------------------------------------------------------

    def defined(self, document: dict[str, Any]) -> str:
        done = self.admin.post("/definitions", json={"document": json.dumps(document)})
        assert done.status_code in (200, 201), done.text
        return str(document["pipeline_code"])

    def calls(self, code: str, order: int, name: str, **more: Any) -> dict[str, Any]:
        """A stage that asks the place."""
        config = {"url": f"{self.place.url}/{name}", **more.pop("processor_config", {})}
        return a_stage(code, order, processor_type="HttpCall", processor_config=config, **more)

    def pipeline(self, *stages: dict[str, Any], **more: Any) -> str:
        """One of its own, that takes files below its own folder alone."""
        code = f"P{next(self._numbers)}"
        only = {"field": "key", "op": "glob", "value": f"{code}/*"}
        return self.defined(
            a_pipeline(code, file_type="ANY", trigger_conditions=only, stages=list(stages), **more)
        )  # fmt: skip

    def message(self, key: str, data: bytes = b"hello", **more: Any) -> dict[str, Any]:
        """Of a file that lies in the bucket."""
        path = self.bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return {**EXAMPLE, "key": key, "size": len(data), "mime": "text/plain", "tenantId": TENANT, **more}

    # -- executions ----------------------------------------------------------------------------------------------------

    def begun(self, code: str, name: str = "a.txt", data: bytes = b"hello", **more: Any) -> str:
        done = self.operator.post("/pipelines/ingest", json=self.message(f"{code}/{name}", data, **more))
        assert done.status_code == 202, done.text
        ((execution,),) = [each["executionIds"] for each in done.json()["files"]]
        return str(execution)

    def look(self, execution: str) -> dict[str, Any]:
        answer = self.viewer.get(f"/pipelines/executions/{execution}")
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def ended(self, execution: str) -> dict[str, Any]:
        body: dict[str, Any] = until(lambda: self.look(execution), lambda body: body["status"] in ENDED)
        return body

    def running(self, execution: str, stage: str) -> dict[str, Any]:
        def at(body: dict[str, Any]) -> bool:
            return body["status"] == "RUNNING" and body["currentStage"] == stage

        body: dict[str, Any] = until(lambda: self.look(execution), at)
        return body

    def stranger(self, name: str) -> httpx2.Client:
        """The administrator of another tenant."""
        made = self.admin.post("/tenants", json={"id": name, "name": name, "admin": f"boss@{name}"})
        assert made.status_code == 201, made.text
        return self.server.client(key=made.json()["token"])


@contextlib.contextmanager
def file_site(folder: Path, kind: str, more: str = "") -> Iterator[FileSite]:
    with database() if kind == "postgresql" else contextlib.nullcontext(None) as store:
        site = FileSite(folder, store, more)
        try:
            yield site.start()
        finally:
            site.close()


@pytest.fixture(scope="module", params=STORES)
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileSite]:
    with file_site(tmp_path_factory.mktemp("files"), request.param) as site:
        yield site
