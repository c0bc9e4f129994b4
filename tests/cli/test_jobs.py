"""Jobs on the command line (P-X.28): look, take, answer; alone, and beside the process that drives the store."""

from __future__ import annotations

from tests.app.jobs import CHARGE, a_process, at
from tests.cli.shell import Shell


def begun(penstock: Shell, **more: object) -> str:
    events = (at("broke", "charge", "error", code="NO_MONEY"), {"id": "e1", "position": "end"})
    penstock.write("order.json", a_process({**CHARGE, **more}, events=events, flows=(("broke", "e1"),)).decode())
    begun = penstock("run", "order.json", "--input", '{"amount": 3}', "--json", code=4).json()
    return str(begun["run_id"])


def test_a_job_is_taken_and_completed_and_the_run_goes_on(penstock: Shell) -> None:
    """P-X.28: `run` stops where only a worker can go on, and says so; the answer waits for whoever drives next."""
    run = begun(penstock)
    assert "a worker of «charge-card»" in penstock("show", run).out
    assert "no worker has ever asked" in penstock("jobs", "types").out
    (job,) = penstock("jobs", "ls", "--run", run, "--state", "WAITING", "--json").json()
    assert (job["run"], job["type"], job["why"]) == (run, "charge-card", "worker")
    (taken,) = penstock("jobs", "activate", "charge-card", "--worker", "me", "--json").json()
    assert taken["variables"] == {"amount": 3}
    assert "There is no such job" in penstock("jobs", "activate", "charge-card").out
    assert "me has it" in penstock("jobs", "show", job["id"]).out
    token = ("--token", taken["lock_token"])
    assert penstock("jobs", "extend", job["id"], *token, "--json").json()["due_at"] > taken["locked_until"]
    done = penstock("jobs", "complete", job["id"], *token, "--variables", '{"paid": true}', "--json").json()
    assert done["state"] == "DONE"
    penstock("work", "--until-idle")
    shown = penstock("show", run, "--json").json()
    assert (shown["status"], shown["variables"]) == ("COMPLETED", {"amount": 3, "paid": True})


def test_failures_errors_and_giving_back(penstock: Shell) -> None:
    """P-X.28: each is one command."""
    run = begun(penstock)

    def take() -> tuple[str, ...]:
        (job,) = penstock("jobs", "activate", "charge-card", "--json").json()
        return job["id"], "--token", job["lock_token"]

    assert penstock("jobs", "unlock", *take(), "--json").json()["state"] == "WAITING"
    failed = penstock("jobs", "fail", *take(), "-m", "no network", "--retries", "2")
    assert "WAITING" in failed.out and "2 retries left" in failed.out and "no network" in failed.out
    assert penstock("jobs", "error", *take(), "--code", "NO_MONEY", "--json").json()["state"] == "ERROR"
    penstock("work", "--until-idle")
    assert penstock("show", run, "--json").json()["status"] == "COMPLETED"


def test_bad_input_is_told(penstock: Shell) -> None:
    """P-X.28: with the codes that HTTP has, too."""
    begun(penstock)
    (job,) = penstock("jobs", "ls", "--json").json()
    wrong = penstock("jobs", "complete", job["id"], "--token", "1.x", "--json", code=2).error()
    assert wrong["code"] == "PS-409-JOB-LOCK"
    assert penstock("jobs", "show", "nothing", "--json", code=2).error()["code"] == "PS-404-JOB"
    assert penstock("jobs", "ls", "--state", "OPEN", "--json", code=2).error()["code"] == "PS-400-INPUT"
    bad = penstock("jobs", "complete", job["id"], "--token", "x", "--variables", "[1]", "--json", code=2).error()
    assert bad["code"] == "PS-400-INPUT"
    late = penstock("jobs", "activate", "charge-card", "--wait", "61", "--json", code=2).error()
    assert late["code"] == "PS-400-INPUT"
    for endless in ("inf", "nan"):
        refused = penstock("jobs", "activate", "charge-card", "--lock", endless, "--json", code=2).error()
        assert refused["code"] == "PS-400-INPUT"
