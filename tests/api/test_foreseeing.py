"""What a move would do, and the log of a run: told from the journal, and nothing is changed by asking."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.presence import GONE_S, MOST, Presence
from tests.api.serving import Server, serving, until

ADMIN = "admin@example.com"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with serving(tmp_path_factory.mktemp("site"), "dev", "--quiet") as one:
        yield one


def _run(dev: Server, name: str, given: dict[str, Any], state: str) -> tuple[Any, str]:
    admin = dev.client(ADMIN)
    run = str(admin.post("/runs", json={"definition": name, "input": given}).json()["id"])
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda one: one == state)
    return admin, run


def test_what_a_fork_does_again_depends_on_where_it_begins(dev: Server) -> None:
    """What was answered by then stays done; what was on its way or came later is done again."""
    admin, run = _run(dev, "wf_defect_alert_v2", {"line_id": "L01"}, "WAITING")
    facts = admin.get(f"/runs/{run}/facts?limit=500").json()["items"]
    judged = next(one["seq"] for one in facts if one["fact"] == "settled" and one["node"] == "judge_quality")

    def fates(verb: str, **more: Any) -> dict[str, set[str]]:
        told = admin.get(f"/runs/{run}/preview", params={"verb": verb, **more})
        assert told.status_code == 200, told.text
        found: dict[str, set[str]] = {}
        for one in told.json()["effects"]:
            found.setdefault(one["fate"], set()).add(one["node"])
        return found

    sent = {"action_slack_emergency", "action_sms_manager", "action_create_ticket"}
    everything = {"data_defect", "judge_quality", *sent}
    assert fates("fork", fact=judged - 1) == {"done": {"data_defect"}, "again": {"judge_quality", *sent}}
    assert fates("fork") == {"done": everything} and fates("restart") == {"again": everything}
    assert fates("cancel") == {"done": everything}
    assert admin.get(f"/runs/{run}/preview?verb=approve").status_code == 422
    assert admin.get(f"/runs/{run}/preview?verb=fork&fact=9999").status_code in (400, 422)
    assert admin.get("/runs/nothing/preview?verb=fork").status_code == 404
    assert len(admin.get(f"/runs/{run}/facts?limit=500").json()["items"]) == len(facts)


def test_the_log_of_a_run_has_levels_pages_and_no_values(dev: Server) -> None:
    """A failure is an error with its code; what a node was given is not in it; pages go on after a fact."""
    admin, run = _run(dev, "wf_order_import", {}, "FAILED")
    whole = admin.get(f"/runs/{run}/logs").json()["items"]
    assert whole[0]["event"] == "run.started" and whole[-1]["event"] == "run.failed"
    bad = admin.get(f"/runs/{run}/logs?level=error").json()["items"]
    assert bad and all(one["level"] == "error" for one in bad)
    assert any(one["code"] == "FILE_NOT_FOUND" and one["node"] == "read_orders" for one in bad)
    first = admin.get(f"/runs/{run}/logs?limit=1").json()
    rest = admin.get(f"/runs/{run}/logs?after={first['next']}").json()["items"]
    assert [*first["items"], *rest] == whole
    assert admin.get("/runs/nothing/logs").status_code == 404
    assert admin.get(f"/runs/{run}/logs?level=loud").status_code == 422


def test_who_looks_is_forgotten_when_nothing_more_is_heard() -> None:
    """W-4.6.4: arriving and leaving are news once; who is silent is gone; tenants do not see each other."""
    now = [0.0]
    seen = Presence(lambda: now[0])
    assert seen.here("a", "r/n", "kim") and not seen.here("a", "r/n", "kim")
    assert seen.here("a", "r/n", "lee") and seen.others("a", "r/n", "kim") == ["lee"]
    assert seen.others("b", "r/n", "kim") == [] and not seen.left("b", "r/n", "lee")
    assert seen.left("a", "r/n", "lee") and not seen.left("a", "r/n", "lee")
    seen.here("a", "r/n", "lee")
    now[0] = GONE_S + 1
    assert seen.others("a", "r/n", "kim") == []
    for number in range(MOST + 5):
        seen.here("a", "r/n", str(number))
    assert len(seen.others("a", "r/n", "kim")) == MOST
