"""--speed: hours pass while one watches, in a terminal and in the browser; never in production."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.api.places import ADMIN, MANAGER, OPERATOR, in_force
from tests.api.serving import serving, until
from tests.cli.shell import Shell
from tests.host.test_speed import waiting


def test_run_and_work_let_five_hours_pass(penstock: Shell) -> None:
    """W-11.3.6: a wait of five hours is over in a second; without a speed it rests."""
    penstock.write("wait.json", json.dumps(waiting(5)))
    assert penstock("run", "wait.json", "--speed", "36000", "--json").json()["status"] == "completed"
    process = penstock.start("run", "wait.json", "--key", "later")
    penstock.until("later", lambda look: look.status == "waiting", process)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert penstock("work", "later", "--speed", "36000", "--json").json()["status"] == "completed"


def test_the_banner_says_that_time_is_not_real(penstock: Shell) -> None:
    penstock.write("wait.json", json.dumps(waiting(5)))
    process = penstock.start("work", "--speed", "36000")
    assert process.stdout is not None
    assert "time goes 36000 times as fast" in process.stdout.readline()
    # while another process drives, its clock is the clock
    refused = penstock("run", "wait.json", "--speed", "2", "--json", code=2).error()
    assert "another process drives" in refused["message"] and refused["hint"]
    process.send_signal(signal.SIGINT)
    process.communicate()


def test_production_has_no_faster_clock(penstock: Shell) -> None:
    penstock.write("wait.json", json.dumps(waiting(5)))
    said = penstock("run", "wait.json", "--speed", "10", "--profile", "production", "--json", code=2).error()
    assert "production" in said["message"] and "dev" in said["hint"]
    words = ("serve", "--speed", "10", "--store", "new.db", "--port", "0")
    refused = penstock(*words, "--profile", "production", code=2)
    assert "the speed" in refused.err and "penstock dev --speed" in refused.err
    assert penstock(*words, code=2).code == 2
    assert not (penstock.folder / "new.db").exists()


def test_a_speed_is_a_number_from_one_on(penstock: Shell) -> None:
    penstock.write("wait.json", json.dumps(waiting(5)))
    for wrong in ("0", "0.5", "-3", "fast", "1000000000", "nan"):
        said = penstock("run", "wait.json", "--speed", wrong, code=2)
        assert "--speed" in said.err, said.err


def test_dev_lets_a_day_pass(tmp_path: Path) -> None:
    """Issue 14, land first: `penstock dev --speed` says so, a wait of a day ends, and sessions last as ever."""
    with serving(tmp_path, "dev", "--quiet", "--speed", "36000") as server:
        assert "time goes 36000 times as fast" in server.said
        admin, manager, operator = (server.client(who) for who in (ADMIN, MANAGER, OPERATOR))
        name = in_force(admin, manager, waiting(24))
        run = operator.post("/runs", json={"definition": name, "input": {}}).json()["id"]
        ended = until(lambda: operator.get(f"/runs/{run}").json(), lambda found: found["state"] == "COMPLETED", 30)
        assert ended["failure"] is None
        assert admin.get("/me").status_code == 200
