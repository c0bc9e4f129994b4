"""The net of a rollout: sound, and looked at when something is due or somebody has moved it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.lang.rollout_net import CHANGED, ROLLOUT
from penstock.lang.soundness import soundness
from penstock.net.checks import check
from tests.kernel.harness import Sim

GIVEN = {"deployment_id": "dep_1"}


def state(next_at: int, *, ended: bool = False, **more: Any) -> dict[str, Any]:
    return {"status": "in_progress", "percent": 10, "ended": ended, "next_at": next_at, "notice": None, **more}


def begun(**more: Any) -> Sim:
    sim = Sim(ROLLOUT, GIVEN)
    sim.ok("attach", state(60_000, attached=True, **more))
    return sim


def test_w_4_11_1_every_rollout_can_end() -> None:
    """W-4.11.1: nothing to say about the net, and no run of it can get stuck."""
    assert check(ROLLOUT) == [] and soundness(ROLLOUT, "error") == []


def test_w_4_11_1_it_looks_when_something_is_due_until_it_is_over() -> None:
    """W-4.11.1: a timer for each look; its result is the deployment's output."""
    sim = begun()
    assert sim.status == "WAITING" and sim.run.wake_at() == 60_000
    sim.tick()
    sim.ok("advance", state(120_000))
    assert sim.run.wake_at() == 120_000
    sim.tick()
    sim.ok("advance", state(0, ended=True))
    sim.ok("finish", {"status": "succeeded", "notice": None})
    assert sim.status == "COMPLETED" and sim.st.results["deployment"]["status"] == "succeeded"


@pytest.mark.parametrize("payload", [None, {}, GIVEN])
def test_a_move_by_hand_wakes_it(payload: Any) -> None:
    sim = begun()
    sim.do(C.signal("s1", CHANGED, payload))
    assert sim.asked("advance") is not None


def test_the_move_of_another_deployment_does_not() -> None:
    sim = begun()
    sim.do(C.signal("s1", CHANGED, {"deployment_id": "dep_2"}, broadcast=True))
    assert sim.asked("advance") is None and sim.status == "WAITING"


def test_c_57_what_another_rollout_moves_is_left_to_it() -> None:
    """C-57: it ends, and tells nobody."""
    sim = Sim(ROLLOUT, GIVEN)
    sim.ok("attach", {"ended": True, "attached": False, "notice": None})
    assert sim.status == "COMPLETED" and sim.asked("finish") is None


def test_w_4_11_3_a_channel_that_fails_keeps_nothing_from_going_on() -> None:
    """W-4.11.3: the notice of the start is sent beside the rollout, and skipped when nobody can be told."""
    sim = begun(notice={"channels": ["slack"], "template": {"id": "x", "params": {}}})
    assert sim.asked("notify_start") is not None
    sim.bad("notify_start")
    assert ("notify_start", "skipped") in sim.settled() and sim.status == "WAITING"


def test_a_look_that_fails_for_good_fails_the_deployment() -> None:
    sim = begun()
    sim.tick()
    sim.bad("advance")
    sim.ok("give_up", state(0, ended=True))
    sim.ok("finish", {"status": "failed", "notice": None})
    assert sim.status == "COMPLETED"
