"""penstock batch: one verb for many runs, here or in the process that drives the store."""

from __future__ import annotations

import json
import subprocess
import time

from tests.cli.shell import EXAMPLES, PROGRAM, Shell, environment

FAILS = """version: light
name: order
nodes:
  - {label: Start, type: start}
  - {label: Load, type: db, operation: read, file: order.json}
  - {label: End, type: endpoint}
connections:
  - {from: Start, to: Load}
  - {from: Load, to: End}
"""


def _failed(penstock: Shell, count: int) -> list[str]:
    penstock.write("order.yaml", FAILS)
    return [
        penstock("run", "order.yaml", "--key", f"o-{number}", "--json", code=3).json()["run_id"]
        for number in range(count)
    ]


def _repair(penstock: Shell) -> None:
    (penstock.folder / "order.json").write_text(json.dumps({"id": 7}))


def _statuses(penstock: Shell) -> dict[str, str]:
    return {run["run_id"]: run["status"] for run in penstock("ps", "--all", "--json").json()}


def test_c_66_many_are_retried_where_nobody_drives_the_store(penstock: Shell) -> None:
    """C-66: a dry run first; then until they have ended; it is listed, shown and audited."""
    runs = _failed(penstock, 3)
    waits = penstock("run", EXAMPLES / "ask.yaml", "--key", "waits", "--json", code=4).json()["run_id"]
    dry = penstock("batch", "start", "retry", *runs, waits, "--dry-run", "--json").json()
    assert (dry["count"], [refusal["run"] for refusal in dry["refused"]]) == (3, [waits])
    assert "retry would be done to 3" in penstock("batch", "start", "retry", "--name", "order", "--dry-run").out
    assert set(_statuses(penstock).values()) == {"FAILED", "WAITING"}
    _repair(penstock)
    words = ("batch", "start", "retry", *runs, waits, "--reason", "the file is back", "--by", "kim")
    batch = penstock(*words, "--json").json()
    assert (batch["state"], batch["done"], batch["refused"], batch["total"]) == ("done", 3, 1, 4)
    assert (batch["by"], batch["reason"]) == ("kim", "the file is back")
    assert [refusal["run"] for refusal in batch["refusals"]] == [waits]
    assert {run: status for run, status in _statuses(penstock).items() if run != waits} == dict.fromkeys(
        runs, "COMPLETED"
    )
    shown = penstock("batch", "show", batch["id"]).out
    assert "3 done, 1 refused, 4 of 4 looked at" in shown and waits in shown and "the file is back" in shown
    assert batch["id"] in penstock("batch", "ls").out
    assert penstock("batch", "show", batch["id"], "--json").json() == batch
    entries = penstock("audit", "ls", "--json").json()
    actions = {entry["action"] for entry in entries if entry["actor"] == "kim"}
    assert actions >= {"batch.begin", "batch.slice", "batch.end"}


def test_a_batch_that_is_left_is_done_by_whoever_drives_the_store(penstock: Shell) -> None:
    """Written down, and nobody has to wait for it; cancelled before anybody drives, it is never done."""
    runs = _failed(penstock, 2)
    _repair(penstock)
    left = penstock("batch", "start", "retry", "--state", "FAILED", "--detach", "--json").json()
    gone = penstock("batch", "start", "retry", "--name", "order", "--detach", "--json").json()
    assert penstock("batch", "cancel", gone["id"], "--json").json()["state"] == "cancelled"
    assert set(_statuses(penstock).values()) == {"FAILED"}
    penstock("work", "--until-idle")
    assert _statuses(penstock) == dict.fromkeys(runs, "COMPLETED")
    batches = {batch["id"]: batch for batch in penstock("batch", "ls", "--json").json()}
    assert (batches[left["id"]]["state"], batches[left["id"]]["done"]) == ("done", 2)
    assert (batches[gone["id"]]["state"], batches[gone["id"]]["looked"]) == ("cancelled", 0)


def test_a_batch_goes_through_the_process_that_drives_the_store(penstock: Shell) -> None:
    runs = _failed(penstock, 2)
    _repair(penstock)
    worker = penstock.start("work")
    try:
        batch = penstock("batch", "start", "retry", "--name", "order", "--json").json()
        assert (batch["state"], batch["done"]) == ("done", 2)
        end = time.monotonic() + 60
        while _statuses(penstock) != dict.fromkeys(runs, "COMPLETED"):
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        worker.kill()
        worker.communicate()


def test_what_is_asked_wrongly_is_refused(penstock: Shell) -> None:
    """No filter would mean every run; a verb that is none, a time that is none, a batch that is none."""
    _failed(penstock, 1)
    for words, why in (
        (("retry",), "either they are named"),
        (("retry", "o-0", "--name", "order"), "either they are named"),
        (("signal", "o-0"), "«name»"),
        (("retry", "--since", "yesterday"), "no time"),
        (("retry", "--state", "BLUE"), "none of"),
    ):  # fmt: skip
        error = penstock("batch", "start", *words, "--json", code=2).error()
        assert why in error["message"], error
    penstock("batch", "start", "delete", "o-0", code=2)
    for verb in ("show", "cancel"):
        assert penstock("batch", verb, "nothing", "--json", code=2).error()["code"] == "PS-404-BATCH"


def test_a_key_does_what_it_may(penstock: Shell) -> None:
    """C-66: with PENSTOCK_KEY its permissions hold, and its user is who has asked."""
    _failed(penstock, 1)
    token = penstock("keys", "make", "looks", "--user", "lee", "--role", "viewer", "--json").json()["token"]
    left = penstock("batch", "start", "retry", "o-0", "--detach", "--json").json()["id"]
    with_key = {**environment(), "PENSTOCK_KEY": token}
    for words in (("start", "retry", "o-0"), ("start", "retry", "o-0", "--dry-run"), ("cancel", left)):
        line = [*PROGRAM, "batch", *words, "--json"]
        done = subprocess.run(line, cwd=penstock.folder, env=with_key, capture_output=True, text=True)
        assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "PS-403-PERMISSION"), done.stderr
    (only,) = penstock("batch", "ls", "--json").json()
    assert (only["id"], only["state"]) == (left, "running")
