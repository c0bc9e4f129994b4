"""What waits for people is decided by its whole name: a beginning that is enough today is another's tomorrow."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.api.places import ADMIN, MANAGER
from tests.api.serving import Server, until

NODE = "request_approval"
VERBS: dict[str, Any] = {
    "approve": {}, "reject": {}, "judge": {"decision": "normal"}, "respond": {"value": 1}, "claim": None,
    "release": None, "delegate": {"to": f"user:{ADMIN}"}, "comment": {"text": "x"}, "escalate": {"to": f"user:{ADMIN}"},
}  # fmt: skip


@pytest.fixture(scope="module")
def waiting(dev: Server) -> tuple[httpx2.Client, str]:
    """A run that waits for an approval, and whoever may give it."""
    admin = dev.client(ADMIN)
    made = admin.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}, "key": "k-whole"})
    run = str(made.json()["id"])
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    return dev.client(MANAGER), run


@pytest.mark.parametrize("verb", VERBS)
def test_an_item_is_changed_by_its_whole_name_alone(waiting: tuple[httpx2.Client, str], verb: str) -> None:
    """C-66: a beginning of the run finds it for looking, and for nothing else."""
    manager, run = waiting
    short = run[:-1]
    assert manager.get(f"/inbox/{short}/{NODE}").status_code == 200
    refused = manager.post(f"/inbox/{short}/{NODE}/{verb}", json=VERBS[verb])
    assert (refused.status_code, refused.json()["code"]) == (404, "PS-404-ITEM")
    item = manager.get(f"/inbox/{run}/{NODE}").json()
    assert (item["claimed_by"], item["comments"], item["approvals"]) == (None, [], [])


@pytest.mark.parametrize("verb", ["approve", "reject", "escalate"])
def test_an_approval_is_decided_by_its_whole_name_alone(waiting: tuple[httpx2.Client, str], verb: str) -> None:
    """C-66: the same in the words of the decision language, and where only one thing waits."""
    manager, run = waiting
    for id in (f"{run[:-1]}:{NODE}", run[:-1], run[:3]):
        assert manager.post(f"/approvals/{id}/{verb}", json={}).status_code == 404
    review = {"instance_id": run[:-1], "node_id": NODE, "decision": "normal"}
    assert manager.post("/judgment-reviews", json=review).status_code == 404


def test_a_whole_name_is_an_id_or_a_key(waiting: tuple[httpx2.Client, str]) -> None:
    """C-66: both are nobody else's."""
    manager, run = waiting
    assert manager.post(f"/inbox/{run}/{NODE}/comment", json={"text": "by id"}).status_code == 200
    assert manager.post(f"/inbox/k-whole/{NODE}/comment", json={"text": "by key"}).status_code == 200
    texts = [one["text"] for one in manager.get(f"/inbox/{run}/{NODE}").json()["comments"]]
    assert texts == ["by id", "by key"]
