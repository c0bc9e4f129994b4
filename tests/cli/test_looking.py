"""Commands that look: check, ps, show, trace, replay, draw, verify, rebuild, version."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest

from penstock.cli.main import COMMANDS
from tests.cli.shell import EXAMPLES, PROGRAM, Shell, Zygote, environment, working


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, zygote: Zygote) -> Shell:
    """A store in which one run has ended and one waits."""
    shell = Shell(tmp_path_factory.mktemp("full"), zygote)
    shell("run", EXAMPLES / "loop.yaml", "--key", "done", "--json")
    shell("run", EXAMPLES / "ask.yaml", "--key", "waits", "--json", code=4)
    return shell


def test_check_says_what_a_document_is(penstock: Shell) -> None:
    """D-X.29: ok, language, findings; a warning is no error."""
    found = penstock("check", EXAMPLES / "loop.yaml", "--json").json()
    assert found == {"ok": True, "language": "diagram", "findings": []}
    text = (EXAMPLES / "diamond.yaml").read_text(encoding="utf-8").replace("join_policy: any", "join_policy: all")
    penstock.write("warned.yaml", text)
    warned = penstock("check", "warned.yaml", "--json").json()
    assert (warned["ok"], {one["severity"] for one in warned["findings"]}) == (True, {"warning"})
    said = penstock("check", "warned.yaml")
    assert re.search(r"warned.yaml:\d+:\d+ warning", said.out)
    assert "ok (diagram, 1 warning" in said.out


def test_ps_lists_open_runs_and_on_request_all(full: Shell) -> None:
    (waits,) = full("ps", "--json").json()
    assert (waits["key"], waits["status"], waits["waiting"][0]["node"]) == ("waits", "WAITING", "Ask name")
    both = full("ps", "--all", "--json").json()
    assert [(one["key"], one["status"]) for one in both] == [("waits", "WAITING"), ("done", "COMPLETED")]
    text = full("ps", "--all").out.splitlines()
    assert text[0].split()[:2] == ["RUN", "STATUS"]
    assert len(text) == 3
    assert len(full("ps", "--all", "--limit", "1", "--json").json()) == 1
    assert "1 ended run hidden, -a shows them" in full("ps").out
    assert "hidden" not in full("ps", "-a").out


def test_show_draws_the_run_and_says_what_it_waits_for(full: Shell) -> None:
    said = full("show", "waits")
    assert "penstock respond" in said.out
    assert re.search(r"◔ +Ask name +waiting", said.out)
    found = full("show", "done", "--json").json()
    assert (found["key"], found["status"], found["counters"]["PersonJob"]) == ("done", "COMPLETED", 3)
    assert full("show", found["run_id"][:10], "--json", code=0 if _unique(full) else 2)


def _unique(full: Shell) -> bool:
    return len({one["run_id"][:10] for one in full("ps", "--all", "--json").json()}) == 2


def test_trace_tells_every_fact_once(full: Shell) -> None:
    """D-X.29, D-11.4, D-12.7: facts in order, each number once; two halves of a fact stand under one number."""
    lines = full("trace", "done", "--json").json()
    numbers = [line["seq"] for line in lines]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, max(numbers) + 1))
    assert max(Counter(numbers).values()) == 3  # put, fired and settled of a condition
    assert [line["node"] for line in lines if line["fact"] == "settled"] == [
        "Start", "PersonJob", "Condition", "PersonJob", "Condition", "PersonJob", "Condition", "Ask", "Endpoint",
    ]  # fmt: skip
    text = full("trace", "done").out.splitlines()
    assert text[0].split() == ["FACT", "TURN", "WHAT"]
    assert len(text[1:]) == len(lines)
    assert [int(line[:4]) for line in text[1:] if line[:4].strip()] == sorted(set(numbers))
    events = full("trace", "done", "--events", "--json").json()
    assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
    kinds = Counter(one["name"] for one in events)
    assert kinds["token.published"] == kinds["token.consumed"] > 0


def test_trace_tells_the_turns(penstock: Shell) -> None:
    """D-X.29, D-X.23: an effect is asked in one turn and settles in the next; every line has an index of its own."""
    text = (EXAMPLES / "loop.yaml").read_text(encoding="utf-8").replace("max_iteration: 3", "max_iteration: 9")
    penstock.write("ten.yaml", text)
    penstock("run", "ten.yaml", "--key", "ten", "--json")
    lines = penstock("trace", "ten", "--json").json()
    assert [line["index"] for line in lines] == list(range(1, len(lines) + 1))
    turns = [line["turn"] for line in lines]
    assert turns == sorted(turns)
    assert set(turns) == set(range(1, 12))
    asked = [line["turn"] for line in lines if line["fact"] == "effect.asked"]
    settled = [x["turn"] for x in lines if x["fact"] == "settled" and x["node"] in ("PersonJob", "Ask")]
    assert (asked, settled) == (list(range(1, 11)), list(range(2, 12)))
    shown = penstock("trace", "ten").out.splitlines()[1:]
    assert [int(line[4:10]) for line in shown if line[4:10].strip()] == list(range(1, 12))
    last = lines[-1]["seq"]
    assert penstock("replay", "ten", "--to", str(last), "--json").json()["fact"] == last


def test_trace_shows_epochs_and_the_beginning_of_long_values(penstock: Shell) -> None:
    """D-2.2.1, D-11.4: the epoch of tokens and firings; --full shows values whole."""
    penstock("run", EXAMPLES / "epochs.yaml", "--key", "e", "--json")
    text = penstock("trace", "e").out
    lines = penstock("trace", "e", "--json").json()
    newest = max(line["epoch"] for line in lines if line["fact"] == "put")
    assert newest > 0
    assert all(re.search(rf"(put|fired) .* epoch={epoch} ", text) for epoch in range(newest + 1))
    long = "water " * 100
    penstock("run", EXAMPLES / "loop.yaml", "--input", f'{{"topic": "{long}"}}', "--key", "long", "--json")
    assert long.strip() not in penstock("trace", "long").out
    assert max(len(line) for line in penstock("trace", "long").out.splitlines()) < 400
    assert long.strip() in penstock("trace", "long", "--full").out


def test_a_run_that_nobody_drives_says_so(penstock: Shell) -> None:
    """D-A.17: it was killed; show and ps say how to go on. While somebody drives the store they do not."""
    process = penstock.start("run", "long.yaml", "--key", "k")
    try:
        penstock.until("k", working(1), process)
        assert "nobody drives" not in penstock("show", "k").out + penstock("ps").out
        assert penstock("show", "k", "--json").json()["driver"] == process.pid
    finally:
        process.kill()
        process.communicate()
    for command in (["show", "k"], ["ps"]):
        said = penstock(*command).out
        assert "nobody drives" in said and "penstock work" in said
    assert penstock("show", "k", "--json").json()["driver"] is None
    assert penstock("ps", "--json").json()[0]["driver"] is None


def test_replay_shows_any_moment_and_compares_the_checkpoint(full: Shell) -> None:
    """D-12.7, D-X.23: the state after any fact; the checkpoint is the fold, byte for byte."""
    whole = full("replay", "waits", "--json").json()
    assert (whole["status"], whole["equal"], whole["checkpoint"]) == ("WAITING", True, whole["facts"])
    lines = full("trace", "done", "--json").json()
    back = next(x["seq"] for x in lines if x["fact"] == "put" and "condfalse" in x["edge"])
    moment = full("replay", "done", "--to", str(back), "--json").json()
    assert (moment["status"], moment["fact"], moment["counters"]["PersonJob"]) == ("RUNNING", back, 1)
    assert moment["tokens"] == {"Condition:condfalse>PersonJob": 1}
    said = full("replay", "done", "--to", str(back)).out
    assert "condfalse → PersonJob ●" in said
    assert "byte for byte" in full("replay", "waits").out
    once, again = (full("replay", "done", "--json").json()["state_sha256"] for _ in range(2))
    assert once == again


def test_draw_a_document_and_a_run(full: Shell) -> None:
    """D-8.1.1, D-11.4: for the terminal, as SVG, as Mermaid; to the screen or to a file."""
    assert "PersonJob" in full("draw", EXAMPLES / "loop.yaml").out
    picture = full("draw", "done", "--svg").out
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert full("draw", "waits", "--mermaid").out.startswith("flowchart")
    said = full("draw", "done", "--svg", "--theme", "dark", "-o", "out/run.svg")
    assert "out/run.svg" in said.out
    assert (full.folder / "out/run.svg").read_text(encoding="utf-8").startswith("<svg")
    found = full("draw", EXAMPLES / "loop.yaml", "--mermaid", "--json").json()
    assert (found["form"], found["file"]) == ("mermaid", None)
    assert full("draw", "done", "--svg", "-o", "/proc/no/such.svg", "--json", code=2).error()["code"] == "PS-400-INPUT"
    assert full("draw", "done", "--svg", "--mermaid", "--json", code=2).error()["code"] == "PS-400-INPUT"
    assert full("draw", "nothing.yaml", "--json", code=2).error()["code"] == "PS-400-INPUT"


def test_verify_counts_what_it_has_seen(full: Shell) -> None:
    found = full("verify", "--json").json()
    assert found == {"violations": [], "runs": 2, "facts": found["facts"]}
    assert found["facts"] > 30
    assert full("verify").out.startswith("0 violations")


def test_rebuild_changes_nothing_that_drives_a_run(penstock: Shell) -> None:
    """D-A.19, D-8.1.7, D-X.4: with every projection dropped and folded again a waiting run ends as it would have."""
    run = penstock("run", EXAMPLES / "ask.yaml", "--json", code=4).json()["run_id"]
    assert penstock("rebuild", "--json").json() == {"runs": 1}
    assert penstock("verify", "--json").json()["violations"] == []
    ended = penstock("respond", run, "Ask name", "Kim", "--json").json()
    assert (ended["status"], ended["output"]) == ("COMPLETED", {"Endpoint": "Hello Kim!"})


def test_looking_takes_no_lock(penstock: Shell) -> None:
    """D-X.27: all of it works while another process drives the store."""
    process = penstock.start("run", "long.yaml", "--key", "k")
    try:
        penstock.until("k", working(1), process)
        assert penstock("show", "k", "--json").json()["status"] == "RUNNING"
        assert penstock("trace", "k", "--json").json()
        assert penstock("verify", "--json").json()["violations"] == []
        assert penstock("replay", "k", "--json").json()["status"] == "RUNNING"
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_version_and_help(penstock: Shell) -> None:
    assert re.match(r"penstock \d+\.\d+\.\d+", penstock("version").out)
    assert set(penstock("version", "--json").json()) == {"penstock", "python"}
    assert "--max-concurrent" in penstock("run", "--help").out
    assert re.fullmatch(r"penstock \d+\.\d+\.\d+\n", penstock("--version").out)


def test_the_list_of_commands_is_whole_and_no_line_is_cut(penstock: Shell) -> None:
    """Every command is listed with a line of its own, and says more when it is asked."""
    said = penstock("--help").out
    assert "..." not in said.partition("Commands:")[2]
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\w.*\.$", said, re.MULTILINE)
        assert penstock(name, "--help").out.startswith(f"Usage: penstock {name}")


def test_a_command_that_looks_imports_little(penstock: Shell) -> None:
    """What it does not need is not imported: no engine, no network, no sandbox, no live view."""
    penstock("run", EXAMPLES / "ask.yaml", "--json", code=4)
    heavy = ("httpx2", "asyncio", "penstock.host.embedded", "penstock.kernel.decide", "rich.live", "penstock.executors")
    for command, none in (("version", (*heavy, "penstock.kernel", "penstock.lang")), ("ps", heavy)):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "penstock", command], cwd=penstock.folder, env=environment(),
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert not names & set(none)


def test_what_a_stranger_wrote_cannot_steer_the_terminal(penstock: Shell) -> None:
    """A body with escape sequences is printed without them; JSON keeps it as it is."""
    text = (EXAMPLES / "ask.yaml").read_text(encoding="utf-8")
    penstock.write("ask.yaml", text)
    run = penstock("run", "ask.yaml", "--json", code=4).json()["run_id"]
    evil = '"\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m[bold]Kim[/bold]"'
    said = penstock("respond", run, "Ask name", evil)
    shown = said.out + penstock("show", run).out + penstock("trace", run).out
    assert not set(shown) & {"\x1b", "\x07", "\x9b"}
    assert "[bold]Kim[/bold]" in shown
    assert "\x1b" in penstock("show", run, "--json").json()["output"]["Endpoint"]


def test_a_reader_that_goes_away_is_no_error(full: Shell) -> None:
    line = f"{' '.join(PROGRAM)} trace done | head -n 1"
    done = subprocess.run(["sh", "-c", line], cwd=full.folder, env=environment(), capture_output=True, text=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
