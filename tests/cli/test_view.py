"""The live view in a real terminal, and the pictures of the README that are made from it."""

from __future__ import annotations

import os
import pty
import subprocess

from tests.cli.shell import EXAMPLES, PROGRAM, SLOW_LOOP, Shell, environment, working
from tools import record


def seen(shell: Shell, *arguments: str) -> tuple[list[str], int]:
    """Every screen that somebody at a terminal of 100 by 40 would have seen, and the exit code."""
    master, slave = pty.openpty()
    env = {**environment(), "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    del env["NO_COLOR"]
    process = subprocess.Popen(
        [*PROGRAM, *arguments], cwd=shell.folder, env=env, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    screen, screens, left = record.Screen(100, 40), [], b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        text, left = record.whole(left + data)
        screen.feed(text)
        screens.append(screen.plain())
    os.close(master)
    return screens, process.wait(30)


def test_the_net_is_drawn_with_its_tokens_moving(penstock: Shell) -> None:
    """D-11.4, D-8.1.7: on a terminal the run is seen in place: tokens on edges, counters, status."""
    screens, code = seen(penstock, "run", "slow.yaml")
    assert code == 0
    assert any("condfalse → Work ●" in one for one in screens)
    assert any("Work    running  ↻ 2/3" in one for one in screens)
    last = screens[-1]
    assert last.count("Start") == 1, "it is redrawn in place, not below"
    assert "limit reached  ↻ 3/3" in last
    assert "COMPLETED" in last
    assert "●" not in last.replace("● slow", "")


def test_a_failure_is_seen_at_its_node(penstock: Shell) -> None:
    penstock.write(
        "bad.yaml",
        "version: light\nnodes:\n  - {label: Start, type: start}\n"
        "  - {label: Read, type: db, operation: read, file: nothing.txt}\nconnections:\n  - {from: Start, to: Read}\n",
    )
    screens, code = seen(penstock, "run", "bad.yaml")
    assert code == 3
    assert "✗   Read   failed" in screens[-1]


def test_a_node_that_the_net_has_as_two_is_drawn_as_one(penstock: Shell) -> None:
    """D-8.1.7, D-X.14: a condition that asks a person, counted once for every time it decides."""
    screens, code = seen(penstock, "run", str(EXAMPLES / "judge.yaml"))
    assert code == 0
    assert not any("Good.ask" in one for one in screens)
    assert "Good      completed  ↻ ×2" in screens[-1]


def test_a_run_in_another_process_is_seen_moving_too(penstock: Shell) -> None:
    """D-X.27, D-11.4: who attaches to it sees the same picture."""
    penstock.write("slower.yaml", SLOW_LOOP.replace("400", "3000"))
    process = penstock.start("run", "slower.yaml", "--key", "k")
    penstock.until("k", working(1), process)
    screens, code = seen(penstock, "run", "slower.yaml", "--key", "k")
    assert code == 0
    assert any(f"following it in process {process.pid}" in one for one in screens)
    assert any("condfalse → Work ●" in one for one in screens)
    assert "limit reached  ↻ 3/3" in screens[-1]
    process.communicate()


def test_what_is_refused_at_once_leaves_nothing_on_the_screen(penstock: Shell) -> None:
    run = penstock("run", EXAMPLES / "ask.yaml", "--json", code=4).json()["run_id"]
    screens, code = seen(penstock, "respond", run, "Greet", "x")
    assert code == 2
    assert screens[-1].lstrip().startswith("error PS-409-STATUS")


def test_a_screen_scrolls_and_is_overwritten() -> None:
    screen = record.Screen(10, 3)
    screen.feed("one\r\ntwo\r\nthree\r\nfour")
    assert screen.plain() == "two\nthree\nfour"
    screen.feed("\r\x1b[2K\x1b[1A\x1b[2K\x1b[31mthree!\x1b[0m")
    assert screen.plain() == "two\nthree!\n"
    assert "\x1b[31mthree!\x1b[0m" in screen.text()


def test_the_picture_of_the_net_is_what_would_be_made() -> None:
    """The README's picture comes from a run, so it cannot show what does not happen."""
    committed = (record.ASSETS / "net.svg").read_text(encoding="utf-8")
    assert record.net_picture() == committed, "python -m tools.record net"
