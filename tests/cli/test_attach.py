"""Commands while another process drives the store: it does the work, and it is followed from here."""

from __future__ import annotations

import signal
import subprocess
import time

from tests.cli.shell import EXAMPLES, SLOW_LOOP, Shell, working
from tests.cli.test_steering import waiting_run


def driven(shell: Shell, document: str = "long.yaml", key: str = "k") -> subprocess.Popen[str]:
    """A process that drives the store and is at work."""
    process = shell.start("run", document, "--key", key)
    shell.until(key, working(1), process)
    return process


def test_the_same_key_attaches_to_the_run_that_another_process_drives(penstock: Shell) -> None:
    """D-X.23, D-X.27, D-A.17: shown as it goes on, and it exits by the status of the run."""
    penstock.write("slower.yaml", SLOW_LOOP.replace("400", "2000"))
    process = driven(penstock, "slower.yaml")
    said = penstock("run", "slower.yaml", "--key", "k", code=0)
    assert f"in process {process.pid}" in said.out
    assert "Work (3/3) done" in said.out
    assert said.out.splitlines()[-2].endswith("COMPLETED")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert out.splitlines()[-2] == said.out.splitlines()[-2]
    (only,) = penstock("ps", "--all", "--json").json()
    assert only["key"] == "k"


def test_a_new_run_is_started_by_the_process_that_drives_the_store(penstock: Shell) -> None:
    """D-X.27: through its inbox; it ends, waits or is refused as if it had been started here."""
    process = driven(penstock)
    try:
        ended = penstock("run", EXAMPLES / "loop.yaml", "--input", '{"topic": "water"}', "--json").json()
        assert (ended["status"], ended["counters"]["PersonJob"]) == ("COMPLETED", 3)
        first = penstock("trace", ended["run_id"], "--json").json()[0]
        assert first["data"]["input"] == {"topic": "water"}
        waits = penstock("run", EXAMPLES / "ask.yaml", "--key", "q", "--json", code=4).json()
        again = penstock("run", EXAMPLES / "ask.yaml", "--key", "q", "--json", code=4).json()
        assert again["run_id"] == waits["run_id"]
        said = penstock("run", EXAMPLES / "loop.yaml", "--key", "q", "--json", code=2)
        assert said.error()["code"] == "PS-409-KEY"
        assert penstock("respond", "q", "Ask name", "Kim", "--json").json()["output"] == {"Endpoint": "Hello Kim!"}
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
    assert penstock("verify", "--json").json()["violations"] == []


def test_whoever_follows_takes_over_when_the_driver_is_killed(penstock: Shell) -> None:
    """D-A.17: the run goes on here as soon as nobody drives it there; nothing is done twice."""
    process = driven(penstock, "slow.yaml")
    follower = penstock.start("run", "slow.yaml", "--key", "k", "--json")
    penstock.until("k", working(2), process)
    process.kill()
    process.communicate()
    out, err = follower.communicate(timeout=30)
    assert follower.returncode == 0, err
    assert '"COMPLETED"' in out
    ended = penstock("show", "k", "--json").json()
    assert [f["iteration"] for f in ended["firings"] if f["node"] == "Work"] == [1, 2, 3]
    assert penstock("verify", "--json").json()["violations"] == []


def test_a_run_that_a_crash_left_goes_on_in_the_process_that_drives_another(penstock: Shell) -> None:
    penstock.killed("run", "slow.yaml", "--key", "left", key="left", when=working(1))
    process = driven(penstock)
    try:
        assert penstock("run", "slow.yaml", "--key", "left", "--json").json()["counters"]["Work"] == 3
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_a_driver_that_takes_nothing_is_named(penstock: Shell) -> None:
    """D-X.27: who holds the store, and how to go on; what was left is done by the next one."""
    process = driven(penstock)
    process.send_signal(signal.SIGSTOP)
    try:
        error = penstock("run", EXAMPLES / "loop.yaml", "--key", "late", "--json", code=2).error()
        assert error["code"] == "PS-409-STORE-BUSY"
        assert f"(pid {process.pid})" in error["message"]
        assert "penstock work" in error["hint"]
    finally:
        process.kill()
        process.communicate()
    assert penstock("run", EXAMPLES / "loop.yaml", "--key", "late", "--json").json()["status"] == "COMPLETED"
    assert len([one for one in penstock("ps", "--all", "--json").json() if one["key"] == "late"]) == 1


def test_a_command_left_for_a_driver_that_dies_is_done_here_at_once(penstock: Shell) -> None:
    """Nobody drives the store any more: the command does not wait until its patience is at its end."""
    run = waiting_run(penstock)
    process = driven(penstock)
    process.send_signal(signal.SIGSTOP)
    sender = penstock.start("signal", run, "go", "--json")
    time.sleep(1.5)
    assert sender.poll() is None, sender.communicate()
    process.kill()
    process.communicate()
    began = time.monotonic()
    out, err = sender.communicate(timeout=30)
    assert (sender.returncode, '"COMPLETED"' in out) == (0, True), out + err
    assert time.monotonic() - began < 5
