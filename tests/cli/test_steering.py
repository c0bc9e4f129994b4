"""Commands for runs: signal, pause, resume, cancel, retry, fork, work; directly and through another process's inbox."""

from __future__ import annotations

import asyncio

from penstock import Edge, Net, Node, Penstock
from penstock.net.model import Trigger
from tests.cli.shell import EXAMPLES, Shell, working


def waiting_run(shell: Shell) -> str:
    """A run of a net that waits for the signal «go»."""
    ways = (("start", "wait"), ("wait", "end"))
    nodes = (
        Node(id="start", kind="start"),
        Node(id="wait", kind="wait", triggers=(Trigger(kind="signal", name="go"),)),
        Node(id="end", kind="end", result="end"),
    )
    net = Net(name="waits", nodes=nodes, edges=tuple(Edge(id=f"{a}>{b}", src=a, dst=b) for a, b in ways))

    async def start() -> str:
        async with Penstock(shell.store) as door:
            run = await door.start(door.release(net))
            await door.wait(run, until_waiting=True)
            return run

    return asyncio.run(start())


def test_a_signal_moves_a_run_on(penstock: Shell) -> None:
    run = waiting_run(penstock)
    said = penstock("show", run)
    assert "penstock signal" in said.out
    other = penstock("signal", run, "other", "--json", code=4).json()
    assert (other["status"], other["kept_signals"]) == ("WAITING", ["other"])
    assert "keeps the signal «other» until a node waits for it" in penstock("signal", run, "other", code=4).out
    ended = penstock("signal", run, "go", '{"a": 1}', "--id", "s1", "--json").json()
    assert ended["status"] == "COMPLETED"
    assert '"a":1' in str(ended["output"]).replace(" ", "").replace("'", '"')
    lines = penstock("trace", run, "--json").json()
    assert [x for x in lines if x["fact"] == "run.moved"][-1]["data"]["to"] == "COMPLETED"
    said = penstock("signal", run, "go", "--json", code=2)
    assert said.error()["code"] == "PS-409-STATUS"
    assert "has ended" in said.error()["message"]
    assert penstock("trace", run, "--json").json() == lines


def test_a_signal_with_a_known_id_changes_nothing_and_says_so(penstock: Shell) -> None:
    run = waiting_run(penstock)
    assert "duplicate" not in penstock("signal", run, "early", "--id", "1", "--json", code=4).json()
    again = penstock("signal", run, "early", "--id", "1", "--json", code=4).json()
    assert (again["duplicate"], again["kept_signals"]) == (True, ["early"])
    assert "has come before" in penstock("signal", run, "early", "--id", "1", code=4).out


def test_pause_resume_and_cancel(penstock: Shell) -> None:
    """D-X.8, D-X.29: what was killed is paused, resumed to its end; a waiting run is cancelled, once."""
    penstock.killed("run", "slow.yaml", "--key", "k", key="k", when=working(1))
    paused = penstock("pause", "k", "--json").json()
    assert paused["paused"] is True
    assert penstock("work", "k", "--json", code=4).json()["paused"] is True
    shown = penstock("show", "k").out
    assert "penstock resume" in shown
    found = penstock("show", "k", "--json").json()
    assert f"{found['status']}, paused" in shown and "PAUSED" not in shown
    assert f"{found['status']}, paused" in penstock("ps").out
    assert penstock("resume", "k", "--json").json()["status"] == "COMPLETED"
    assert penstock("resume", "k", "--json", code=2).error()["code"].startswith("PS-409")
    run = penstock("run", EXAMPLES / "ask.yaml", "--key", "a", "--json", code=4).json()["run_id"]
    assert penstock("cancel", run, "--json").json()["status"] == "CANCELLED"
    assert penstock("cancel", run, "--json", code=2).error()["code"] == "PS-409-STATUS"
    assert penstock("run", EXAMPLES / "ask.yaml", "--key", "a", "--json", code=3).json()["status"] == "CANCELLED"
    assert penstock("verify", "--json").json()["violations"] == []


def test_retry_tries_again_where_it_failed(penstock: Shell) -> None:
    """D-A.15, D-X.10: a node that failed fails the run, exit 3; with the cause gone, retry revives that node."""
    penstock.write(
        "read.yaml",
        "version: light\nnodes:\n  - {label: Start, type: start}\n"
        "  - {label: Read, type: db, operation: read, file: notes.txt}\n  - {label: End, type: endpoint}\n"
        "connections:\n  - {from: Start, to: Read}\n  - {from: Read, to: End}\n",
    )
    failed = penstock("run", "read.yaml", "--json", code=3).json()
    assert failed["status"] == "FAILED"
    assert failed["failure"]["node"] == "Read"
    assert failed["nodes"]["End"] == "SKIPPED"
    again = penstock("retry", failed["run_id"], "--json", code=3).json()
    assert again["run_id"] == failed["run_id"]
    said = penstock("retry", failed["run_id"], code=3).out
    assert said.startswith(f"trying again after fact {again['facts']}\n")
    penstock.write("notes.txt", "hello")
    ended = penstock("retry", failed["run_id"], "--json").json()
    assert (ended["status"], ended["output"]) == ("COMPLETED", {"End": "hello"})
    assert max(f["attempt"] for f in ended["firings"] if f["node"] == "Read") == 4
    assert penstock("retry", failed["run_id"], "--json", code=2).error()["code"] == "PS-409-STATUS"


def test_a_fork_has_the_past_and_its_own_future(penstock: Shell) -> None:
    """D-X.23, D-12.7: fork from any fact; the first run stays as it is."""
    first = penstock("run", EXAMPLES / "loop.yaml", "--json").json()
    lines = penstock("trace", first["run_id"], "--json").json()
    at = next(x["seq"] for x in lines if x["fact"] == "settled" and x["data"]["visit"] == 2)
    fork = penstock("fork", first["run_id"], "--at", str(at), "--json").json()
    assert fork["status"] == "COMPLETED"
    assert (fork["run_id"] != first["run_id"], fork["parent"]) == (True, first["run_id"])
    assert [f["node"] for f in fork["firings"]] == [f["node"] for f in first["firings"]]
    assert penstock("show", first["run_id"], "--json").json()["facts"] == first["facts"]
    turn = [x["seq"] for x in lines if x["turn"] == 1]
    told = {"of": first["run_id"], "asked": 2, "at": turn[-1]}
    assert penstock("fork", first["run_id"], "--at", "2", "--json").json()["fork"] == told
    said = penstock("fork", first["run_id"], "--at", "2").out
    assert said.startswith(f"fact 2 lies within turn 1 (facts 1 to {turn[-1]}): the fork begins after fact {turn[-1]}")
    assert "lies within" not in penstock("fork", first["run_id"], "--at", str(turn[-1])).out
    assert penstock("verify", "--json").json()["violations"] == []


def test_work_drives_what_a_crash_has_left(penstock: Shell) -> None:
    """D-A.17: two runs were killed in the middle; work ends both, and leaves one that waits for a person."""
    for key in ("one", "two"):
        penstock.killed("run", "slow.yaml", "--key", key, key=key, when=working(1))
    penstock("run", EXAMPLES / "ask.yaml", "--json", code=4)
    found = penstock("work", "--until-idle", "--json").json()
    assert sorted(one["status"] for one in found["ended"]) == ["COMPLETED", "COMPLETED"]
    assert [one["status"] for one in found["open"]] == ["WAITING"]
    text = penstock("work", "--until-idle").out
    assert "0 runs ended, 1 are open" in text
    assert penstock("verify", "--json").json()["violations"] == []


def test_one_run_is_driven_and_the_others_are_left_alone(penstock: Shell) -> None:
    """A run that crashed is not half-driven by a command about another one: its effects would run in vain."""
    before = penstock.killed("run", "slow.yaml", "--key", "one", key="one", when=working(1))
    penstock("run", EXAMPLES / "loop.yaml", "--json")
    assert penstock("show", "one", "--json").json()["facts"] == before.facts


def test_commands_reach_a_run_that_another_process_drives(penstock: Shell) -> None:
    """D-X.27, D-X.29: through the inbox of whoever holds the store; refusals come back too."""
    process = penstock.start("run", "long.yaml", "--key", "k", "--json")
    try:
        penstock.until("k", working(1), process)
        assert penstock("resume", "k", "--json", code=2).error()["code"] == "PS-409-REFUSED"
        assert penstock("cancel", "k", "--json").json()["status"] == "CANCELLED"
        out, err = process.communicate(timeout=30)
        assert process.returncode == 3, err
        assert '"CANCELLED"' in out
    finally:
        process.kill()


def test_a_worker_serves_its_inbox(penstock: Shell) -> None:
    """D-A.16, D-X.18: an answer given while a worker drives the store is worked on by it."""
    run = penstock("run", EXAMPLES / "ask.yaml", "--json", code=4).json()["run_id"]
    worker = penstock.start("work")
    try:
        assert worker.stdout is not None
        assert "working" in worker.stdout.readline()
        penstock("respond", run, "Ask name", "Kim", "--json", code=0)
        penstock.until(run, lambda look: look.status == "COMPLETED")
    finally:
        worker.terminate()
        out, err = worker.communicate(timeout=30)
    assert worker.returncode == 0, err
    assert f"{run}  COMPLETED" in out


OUTER = """
version: light
nodes:
  - {label: Start, type: start}
  - {label: Sub, type: sub_diagram, diagram_name: slow.yaml}
  - {label: End, type: endpoint}
connections:
  - {from: Start, to: Sub}
  - {from: Sub, to: End}
"""


def test_what_a_run_has_called_goes_on_and_ends_with_it(penstock: Shell) -> None:
    """D-A.17, D-X.15: killed inside a sub_diagram it goes on inside; a cancel takes the called run along."""
    penstock.write("outer.yaml", OUTER)

    def called() -> list[dict[str, str]]:
        return [one for one in penstock("ps", "--all", "--json").json() if one["name"] == "slow"]

    for key in ("one", "two"):
        process = penstock.start("run", "outer.yaml", "--key", key)
        look = penstock.until(key, lambda look: look.nodes.get("Sub") == "RUNNING", process)
        child = next(one["run_id"] for one in called() if one["status"] == "RUNNING")
        penstock.until(child, working(2), process)
        process.kill()
        process.communicate()
        assert look.status == "RUNNING"
        if key == "one":
            assert penstock("run", "outer.yaml", "--key", key, "--json").json()["status"] == "COMPLETED"
            assert penstock("show", child, "--json").json()["counters"]["Work"] == 3
        else:
            assert penstock("cancel", key, "--json").json()["status"] == "CANCELLED"
            assert penstock("show", child, "--json").json()["status"] == "CANCELLED"
    assert len(called()) == 2
    assert penstock("verify", "--json").json()["violations"] == []
