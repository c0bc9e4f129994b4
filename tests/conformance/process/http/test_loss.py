"""The server is killed (-9) while people submit; what it has said is there afterwards, and once (P-A.19)."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import httpx2
import pytest

from tests.api.sites import STORES
from tests.conformance.process.http.world import Case, World, world
from tests.conformance.process.make import process, task

CHAIN = process([task("A"), task("B")], ["A>B"])


@pytest.mark.parametrize("store", STORES)
def test_killed_between_submit_and_what_comes_next(store: str, tmp_path: Path) -> None:
    """P-A.19, P-X.11, P-X.12: after kill -9 an item is still open or the next one exists once; an answer is kept."""
    with world(store, tmp_path) as office:
        definition = office.defined(CHAIN)
        for pause in (0.0, 0.01, 0.03, 0.06):
            cases = [office.begun(definition) for _ in range(8)]
            told = _killed(office, cases, pause)
            office.server.start()
            for case in cases:
                look = case.look()
                states = [(one["activity_id"], one["status"]) for one in look["workitems"]]
                assert states in ([("A", "TODO")], [("A", "DONE"), ("B", "TODO")]), states
                if case.id in told:
                    assert len(states) == 2, "what was acknowledged is there"
                if len(states) == 1:
                    assert case.submits("A")["next_nodes"] == ["B"]
                assert case.submits("B")["instance_status"] == "COMPLETED"


def _killed(office: World, cases: list[Case], pause: float) -> set[str]:
    """The instances whose submit was answered before the server died."""
    items, told = [(case.id, case.item("A")["id"]) for case in cases], set[str]()
    client = office.server.client("manager@example.com")

    def submit() -> None:
        with contextlib.suppress(httpx2.HTTPError):
            for run, item in items:
                if client.post(f"/processes/workitems/{item}:submit", json={}).status_code == 200:
                    told.add(run)

    thread = threading.Thread(target=submit)
    thread.start()
    time.sleep(pause)
    office.server.kill()
    thread.join(30)
    return told
