"""A run that has done a lot: its page stays small, and nothing of it is lost."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.api.places import ADMIN, looping
from tests.api.serving import Server, until

ROUNDS = 320


@pytest.fixture(scope="module")
def long(either: Server) -> str:
    """It waits for an answer beside a loop of many rounds."""
    admin = either.client(ADMIN)
    made = admin.post("/diagrams", json={"document": looping(ROUNDS)})
    assert made.status_code == 201, made.text
    run = str(admin.post("/diagrams/long/runs", json={}).json()["run_id"])
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    return run


def _all(client: httpx2.Client, run: str, cursor: str | None, limit: int) -> list[dict[str, Any]]:
    found = list[dict[str, Any]]()
    for _ in range(100):
        page = client.get(
            f"/runs/{run}/firings", params={"limit": limit, **({"cursor": cursor} if cursor else {})}
        ).json()
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            return found
    raise AssertionError("it does not end")


def test_the_page_of_a_long_run_has_its_newest_firings_and_a_way_to_the_others(either: Server, long: str) -> None:
    """C-66, D-X.29: the newest, those that have not ended however old they are, and the counts of all; the pages before
    lead to the first, each firing once."""
    admin = either.client(ADMIN)
    one = admin.get(f"/runs/{long}").json()
    assert one["firing_count"] > 2 * ROUNDS and len(one["firings"]) == 201 and one["attempt_count"] >= ROUNDS
    assert one["firings"][0]["node"] == "Ask" and one["firings"][0]["ended_at"] is None, "it waits since the beginning"
    numbers = [firing["number"] for firing in one["firings"]]
    assert numbers == sorted(numbers)
    older = _all(admin, long, one["older"], 100)
    whole = {firing["id"]: firing for firing in (*older, *one["firings"])}
    assert len(whole) == one["firing_count"] == len(_all(admin, long, None, 200))
    assert [f["number"] for f in older] == sorted((f["number"] for f in older), reverse=True)
    assert max(f["number"] for f in older) < numbers[1], "they go on where the newest begin"
    assert len(admin.get(f"/instances/{long}").text) and admin.get(f"/runs/{long}/firings?cursor=x").status_code == 400
    short = admin.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}).json()["id"]
    until(lambda: admin.get(f"/runs/{short}").json()["state"], lambda state: state == "WAITING")
    told = admin.get(f"/runs/{short}").json()
    assert told["older"] is None and told["firing_count"] == len(told["firings"])


def test_pages_of_facts_are_the_same_wherever_they_begin(either: Server, long: str) -> None:
    """C-66: a page after the checkpoint is read from there, and tells what the whole journal tells; every fact once."""
    admin = either.client(ADMIN)
    deviates = admin.post("/runs", json={"definition": "wf_ccp_deviation_v2", "input": {"line_id": "L01"}}).json()["id"]
    until(lambda: admin.get(f"/runs/{deviates}").json()["state"], lambda state: state == "WAITING")
    for run in (long, deviates):
        pages, after = list[dict[str, Any]](), 0
        while after is not None:
            page = admin.get(f"/runs/{run}/facts", params={"after": after, "limit": 500}).json()
            pages += page["items"]
            after = page["next"]
        assert [one["seq"] for one in pages] == sorted(one["seq"] for one in pages)
        assert pages[-1]["seq"] == page["of"] == admin.get(f"/runs/{run}").json()["facts"]
        for begin in (0, 1, page["of"] // 2, page["of"] - 30, page["of"] - 5, page["of"] - 1):
            found = admin.get(f"/runs/{run}/facts", params={"after": max(begin, 0), "limit": 40}).json()
            expected = [one for one in pages if one["seq"] > begin]
            assert json.dumps(found["items"][:40]) == json.dumps(expected[:40]), begin
            last = found["items"][-1]["seq"]
            assert found["next"] == (last if last < page["of"] else None) and found["of"] == page["of"]
        assert admin.get(f"/runs/{run}/facts", params={"after": page["of"]}).json()["items"] == []


def test_events_go_on_after_the_last_that_was_seen(either: Server, long: str) -> None:
    """D-X.29: whoever comes back with the last number gets the next one first, each once, and nothing of before."""
    admin = either.client(ADMIN)

    def first(last: int) -> list[int]:
        found: list[int] = []
        with admin.stream("GET", f"/runs/{long}/events", headers={"Last-Event-ID": str(last)}) as answer:
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    found.append(int(line.removeprefix("id: ")))
                if len(found) == 5:
                    break
        return found

    assert first(0) == [1, 2, 3, 4, 5] and first(1500) == [1501, 1502, 1503, 1504, 1505]
