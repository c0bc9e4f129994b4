"""penstock run: what it prints, how it ends, and that a kill in the middle loses nothing."""

from __future__ import annotations

import signal
from collections import Counter

import pytest

from penstock.cli.drive import Started
from penstock.cli.run import finish
from tests.cli.shell import EXAMPLES, SLOW_LOOP, Shell, working


def test_a_loop_runs_to_its_end(penstock: Shell) -> None:
    """D-X.29, D-X.8, D-A.1, D-8.1.5: one object, in the words of diagrams; exit 0."""
    found = penstock("run", EXAMPLES / "loop.yaml", "--input", '{"topic": "water"}', "--json").json()
    assert list(found)[:7] == ["run_id", "language", "status", "output", "firings", "waiting", "failure"]
    assert (found["language"], found["status"]) == ("diagram", "COMPLETED")
    assert (found["waiting"], found["failure"]) == ([], None)
    assert found["output"]["Endpoint"].startswith("Writer answers")
    assert [f["node"] for f in found["firings"]] == [
        "Start", "PersonJob", "Condition", "PersonJob", "Condition", "PersonJob", "Condition", "Ask", "Endpoint",
    ]  # fmt: skip
    assert [f["iteration"] for f in found["firings"] if f["node"] == "PersonJob"] == [1, 2, 3]
    assert {(f["status"], f["epoch"], f["attempt"]) for f in found["firings"]} == {("COMPLETED", 0, 1)}
    assert found["nodes"]["PersonJob"] == "MAXITER_REACHED"
    assert found["key"] is None
    assert penstock("run", EXAMPLES / "loop.yaml", "--key", "k", "--json").json()["key"] == "k"


def test_without_a_terminal_it_prints_lines(penstock: Shell) -> None:
    said = penstock("run", EXAMPLES / "loop.yaml")
    assert "PersonJob (3/3) done" in said.out
    assert "Condition (3) decided condtrue" in said.out
    assert said.out.splitlines()[-2].endswith("COMPLETED")
    assert "\x1b" not in said.out


def test_a_failure_is_told_with_code_place_and_reason(penstock: Shell) -> None:
    """D-A.10, D-X.8: a diamond with an ALL merge ends FAILED with DEADLOCK; exit 3."""
    text = (EXAMPLES / "diamond.yaml").read_text(encoding="utf-8")
    penstock.write("all.yaml", text.replace("join_policy: any", "join_policy: all"))
    found = penstock("run", "all.yaml", "--json", code=3).json()
    assert found["status"] == "FAILED"
    assert (found["failure"]["code"], found["failure"]["node"]) == ("DEADLOCK", "Book")
    assert {"code", "category", "message", "node"} <= found["failure"].keys()
    said = penstock("run", "all.yaml", code=3)
    assert "DEADLOCK" in said.out
    assert "warning" in said.err


def test_a_wait_for_a_person_and_the_answer(penstock: Shell) -> None:
    """D-A.16, D-X.18: WAITING exits 4; after respond COMPLETED with the value; a second respond is refused."""
    waits = penstock("run", EXAMPLES / "ask.yaml", "--json", code=4).json()
    assert (waits["status"], waits["output"]) == ("WAITING", None)
    assert waits["waiting"][0]["node"] == "Ask name"
    assert waits["waiting"][0]["for"] == "person"
    ended = penstock("respond", waits["run_id"], "Ask name", '"Kim"', "--json").json()
    assert (ended["status"], ended["output"]) == ("COMPLETED", {"Endpoint": "Hello Kim!"})
    again = penstock("respond", waits["run_id"], "Ask name", "Lee", "--json", code=2)
    assert again.error()["code"] == "PS-409-STATUS"
    assert penstock("respond", waits["run_id"], "Nobody", "x", "--json", code=2).error()["code"] == "PS-404-NODE"


def test_an_answer_that_nobody_waits_for_is_refused_in_plain_words(penstock: Shell) -> None:
    """D-X.18, D-X.29: what is wrong in the words of the document, and which nodes wait; nothing is shown before."""
    run = penstock("run", EXAMPLES / "ask.yaml", "--json", code=4).json()["run_id"]
    facts = penstock("show", run, "--json").json()["facts"]
    for node, code, why in (
        ("Nobody", "PS-404-NODE", "There is no node «Nobody» in this run."),
        ("Start", "PS-409-STATUS", "«Start» is done already."),
        ("Greet", "PS-409-STATUS", "«Greet» does not wait for an answer."),
    ):
        error = penstock("respond", run, node, "x", "--json", code=2).error()
        assert (error["code"], error["message"]) == (code, why)
        assert error["hint"] == "An answer is awaited by «Ask name»."
        said = penstock("respond", run, node, "x", code=2)
        assert said.out == ""
        assert said.err.startswith(f"error {code}  {why}")
    for empty in ("", "  "):
        error = penstock("respond", run, "Ask name", empty, "--json", code=2).error()
        assert error["code"] == "PS-400-INPUT"
        assert "not JSON" in error["message"] and '""' in error["hint"]
    assert penstock("show", run, "--json").json()["facts"] == facts
    penstock("cancel", run, "--json")
    error = penstock("respond", run, "Ask name", "x", "--json", code=2).error()
    assert (error["code"], "has ended (CANCELLED)" in error["message"]) == ("PS-409-STATUS", True)
    assert "item" not in error["message"]


def test_the_parts_of_a_node_are_shown_as_the_node(penstock: Shell) -> None:
    """D-X.14, D-8.1.5: a condition that asks a person is one node, and a batch is one, whatever the net makes of it."""
    judged = penstock("run", EXAMPLES / "judge.yaml", "--key", "judge", "--json").json()
    assert [f["node"] for f in judged["firings"]] == ["Start", "Write", "Good", "Write", "Good", "Endpoint"]
    assert judged["counters"] == {"Start": 1, "Write": 2, "Good": 2, "Endpoint": 1}
    assert {f["status"] for f in judged["firings"]} == {"COMPLETED"}
    assert all(f["ended_at"] >= f["started_at"] for f in judged["firings"])
    calls = penstock("run", EXAMPLES / "calls.yaml", "--key", "calls", "--json").json()
    assert {f["node"] for f in calls["firings"]} == {"Start", "Greet all", "Endpoint"}
    assert [f["scope"].rpartition("/")[2] for f in calls["firings"] if f["scope"]] == ["0", "1", "2"]
    assert calls["counters"] == {"Start": 1, "Greet all": 1, "Endpoint": 1}
    for name, inner in (("judge", "Good.ask"), ("calls", "Greet all.item")):
        said = penstock("run", EXAMPLES / f"{name}.yaml").out
        shown = penstock("show", name).out + penstock("draw", name, "--mermaid").out
        assert inner not in said + shown + penstock("draw", EXAMPLES / f"{name}.yaml").out
    assert "Greet all[1] done" in said


def test_the_same_key_is_the_same_run(penstock: Shell) -> None:
    first = penstock("run", EXAMPLES / "loop.yaml", "--key", "k", "--json").json()
    again = penstock("run", EXAMPLES / "loop.yaml", "--key", "k", "--json").json()
    other = penstock("run", EXAMPLES / "loop.yaml", "--json").json()
    assert again == first
    assert other["run_id"] != first["run_id"]
    for wrong in (("ask.yaml",), ("loop.yaml", "--input", '{"other": 1}')):
        said = penstock("run", EXAMPLES / wrong[0], *wrong[1:], "--key", "k", "--json", code=2)
        assert said.error()["code"] == "PS-409-KEY"


def test_killed_in_the_middle_the_same_command_goes_on(penstock: Shell) -> None:
    """D-A.17, D-X.23, D-12.8: it continues; executions counted = max_iteration; no token lost or doubled."""
    command = ("run", "slow.yaml", "--key", "k")
    before = penstock.killed(*command, key="k", when=working(2))
    assert before.status == "RUNNING"
    ended = penstock(*command, "--json").json()
    assert ended["run_id"] == before.run_id
    assert ended["status"] == "COMPLETED"
    assert ended["counters"]["Work"] == 3
    assert [f["iteration"] for f in ended["firings"] if f["node"] == "Work"] == [1, 2, 3]
    lines = penstock("trace", "k", "--json").json()
    put = Counter((x["edge"], x["epoch"], x["data"]["token"]) for x in lines if x["fact"] == "put")
    taken = Counter((edge, x["epoch"], n) for x in lines if x["fact"] == "fired" for edge, n in x["data"]["takes"])
    assert put == taken
    assert set(put.values()) == {1}
    assert penstock("verify", "--json").json()["violations"] == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_kept_and_says_how_to_go_on(penstock: Shell, how: signal.Signals) -> None:
    penstock.write("slower.yaml", SLOW_LOOP.replace("400", "1500"))
    process = penstock.start("run", "slower.yaml", "--key", "k")
    run = penstock.until("k", working(2), process).run_id
    process.send_signal(how)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"Run {run} is kept" in err
    assert "penstock run slower.yaml --key k" in err
    assert "Traceback" not in err
    assert penstock("work", run, "--json").json()["status"] == "COMPLETED"


def test_an_interruption_is_always_said(penstock: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    """D-X.8: also before the run is known: exit 130, and with a key the command that goes on."""

    async def interrupted() -> None:
        raise KeyboardInterrupt

    assert finish(interrupted(), Started(), penstock.store, False, "penstock run a.yaml --key k") == 130
    err = capsys.readouterr().err
    assert err.startswith("Interrupted.\n") and "go on with: penstock run a.yaml --key k" in err
    assert finish(interrupted(), Started(), penstock.store, False) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_input_from_text_file_and_stdin(penstock: Shell) -> None:
    penstock.write("in.json", '{"topic": "water"}')
    for given, piped in (('{"topic": "water"}', ""), ("@in.json", ""), ("-", '{"topic": "water"}')):
        run = penstock("run", EXAMPLES / "loop.yaml", "--input", given, "--json", input=piped).json()["run_id"]
        first = penstock("trace", run, "--json").json()[0]
        assert first["data"]["input"] == {"topic": "water"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ('{"a": 1,}', "line 1, column 9"),
        ('{"a":\n  nope}', "line 2, column"),
        ("", "not JSON"),
        ("@missing.json", "no such file"),
        ("[" * 100_000, "not JSON"),
    ],
    ids=["comma", "word", "empty", "no file", "deep"],
)
def test_an_input_that_is_no_json_is_refused_with_its_place(penstock: Shell, given: str, why: str) -> None:
    said = penstock("run", EXAMPLES / "loop.yaml", "--input", given, "--json", code=2)
    assert said.error()["code"] == "PS-400-INPUT"
    assert why in said.error()["message"]
    assert not penstock.store.exists()


def test_at_most_so_many_nodes_work_at_once(penstock: Shell) -> None:
    """D-X.29, D-7.2.2: --max-concurrent holds, as the trace shows; none at all is a wrong call."""
    nodes = "".join(f"  - {{label: N{i}, type: person_job, person: W, default_prompt: x}}\n" for i in range(6))
    ways = "".join(f"  - {{from: Start, to: N{i}}}\n" for i in range(6))
    head = "version: light\npersons:\n  W: {service: echo, delay_ms: 100}\nnodes:\n  - {label: Start, type: start}\n"
    penstock.write("wide.yaml", f"{head}{nodes}connections:\n{ways}")
    for limit, most in (("2", 2), ("6", 6)):
        run = penstock("run", "wide.yaml", "--max-concurrent", limit, "--json").json()["run_id"]
        open_now, seen = 0, 0
        for line in penstock("trace", run, "--json").json():
            open_now += {"effect.asked": 1, "settled": -1}.get(line["fact"], 0) if line.get("node") != "Start" else 0
            seen = max(seen, open_now)
        assert seen == most
    said = penstock("run", "wide.yaml", "--max-concurrent", "0", "--json", code=2)
    assert "--max-concurrent" in said.error()["message"]


def test_a_run_waits_for_what_it_called(penstock: Shell) -> None:
    """D-X.15, D-X.18: a user_response in a sub_diagram makes the caller wait; it takes the answer, too."""
    penstock.write("inner.yaml", (EXAMPLES / "ask.yaml").read_text(encoding="utf-8"))
    penstock.write(
        "outer.yaml",
        "version: light\nnodes:\n  - {label: Start, type: start}\n"
        "  - {label: Sub, type: sub_diagram, diagram_name: inner.yaml}\n  - {label: End, type: endpoint}\n"
        "connections:\n  - {from: Start, to: Sub}\n  - {from: Sub, to: End}\n",
    )
    waits = penstock("run", "outer.yaml", "--json", code=4).json()
    assert waits["status"] == "WAITING"
    (one,) = waits["waiting"]
    assert one["node"] == "Ask name"
    assert one["run"] != waits["run_id"]
    assert penstock("show", one["run"], "--json").json()["parent"] == waits["run_id"]
    ended = penstock("respond", waits["run_id"], "Ask name", "Kim", "--json").json()
    assert (ended["run_id"], ended["status"]) == (waits["run_id"], "COMPLETED")
    assert "Hello Kim!" in str(ended["output"])
