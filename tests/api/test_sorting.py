"""Lists of runs in another order, over HTTP on either store."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.api.places import ADMIN
from tests.api.serving import Server, until
from tests.api.test_matrix import _ask


@pytest.fixture(scope="module")
def runs(either: Server) -> list[dict[str, Any]]:
    """Six diagrams of three priorities; four wait for an answer, and the second and the first have got it, so."""
    admin = either.client(ADMIN)
    assert admin.post("/diagrams", json={"document": _ask()}).status_code == 201
    ids = [
        admin.post("/runs", json={"definition": "ask", "input": {}, "priority": priority}).json()["id"]
        for priority in (5, 7, 1, 5, 1, 7)
    ]
    for run in ids:
        until(lambda run=run: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    for run in (ids[1], ids[0]):
        assert admin.post(f"/diagram-runs/{run}/nodes/Ask:respond", json={"value": "x"}).status_code == 200
        until(lambda run=run: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "COMPLETED")
    return [admin.get(f"/runs/{run}").json() for run in ids]


def _pages(client: httpx2.Client, limit: int, **asked: str) -> list[dict[str, Any]]:
    found, cursor = list[dict[str, Any]](), None
    for _ in range(50):
        query = {**asked, "limit": limit, **({"cursor": cursor} if cursor else {})}
        answer = client.get("/runs", params=query)
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        cursor = answer.json()["next"]
        if cursor is None:
            return found
    raise AssertionError("it does not end")


@pytest.mark.parametrize("limit", [1, 4, 50])
def test_runs_are_sorted_page_by_page(either: Server, runs: list[dict[str, Any]], limit: int) -> None:
    """C-66: by when they began, were touched last, or by priority, rising or falling: each run once, whatever the size
    of a page, and equals in the order in which they began."""
    admin, ids = either.client(ADMIN), [one["id"] for one in runs]
    for by in ("started_at", "updated_at", "priority"):
        rising = _pages(admin, limit, sort=by, name="ask")
        assert sorted(one["id"] for one in rising) == sorted(ids)
        assert [one[by] for one in rising] == sorted(one[by] for one in runs), by
        assert [one["id"] for one in _pages(admin, limit, sort=f"-{by}", name="ask")] == [
            one["id"] for one in reversed(rising)
        ]
    by_priority = [ids[i] for i in (2, 4, 0, 3, 1, 5)]
    assert [one["id"] for one in _pages(admin, limit, sort="priority", name="ask")] == by_priority
    assert [one["id"] for one in _pages(admin, limit, sort="-updated_at", name="ask")][:2] == ids[:2]
    waiting = [ids[i] for i in (2, 4, 3, 5)]
    assert [one["id"] for one in _pages(admin, limit, sort="priority", state="WAITING", name="ask")] == waiting
    newest = _pages(admin, limit, sort="-started_at", name="ask")
    assert [one["id"] for one in newest] == [one["id"] for one in _pages(admin, limit, name="ask")]
    asks = _pages(admin, limit, sort="priority", node="Ask", name="ask")
    assert [one["id"] for one in asks] == waiting, "states are folded for it, and it goes on all the same"


def test_another_order_is_refused_and_so_is_its_cursor(either: Server, runs: list[dict[str, Any]]) -> None:
    """C-66: what runs cannot be sorted by is named, with what they can; a cursor is good for the order that gave it."""
    admin = either.client(ADMIN)
    for wrong in ("name", "-", "--priority", "priority,started_at", "no"):
        answer = admin.get("/runs", params={"sort": wrong})
        assert answer.status_code == 400 and "updated_at" in answer.json()["hint"], answer.text
    cursor = admin.get("/runs", params={"sort": "priority", "limit": 1}).json()["next"]
    for other in ({}, {"sort": "-priority"}, {"sort": "started_at"}, {"sort": "updated_at"}):
        answer = admin.get("/runs", params={**other, "cursor": cursor})
        assert answer.status_code == 400 and "cursor" in answer.json()["detail"], answer.text
    for made_up in ("priority:.1", "priority:x.1", "priority:1.x", "priority:1", "priority:1.1:2.2"):
        answer = admin.get("/runs", params={"sort": "priority", "cursor": made_up})
        assert answer.status_code == 400, f"{made_up} {answer.text}"
