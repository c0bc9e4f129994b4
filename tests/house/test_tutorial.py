"""What tutorial and how-to pages show is what happens: their files are saved, their commands run, their output read.

A page is read from top to bottom. A fenced block after a line that ends with a file name in code marks and a colon is
saved under that name. In a ```console block a line that begins with `$ ` is a command; the lines below it must stand in
its output, in this order. A line `…` stands for anything, and so does `…` at the end of a line. A command ends with 0,
unless `echo $?` follows it. Ids, times and hashes may differ; an id that a page shows is used by its later commands.

`penstock dev … &` and `penstock serve … &` run beside the page until it ends or kills them. Pages write localhost:8080;
here it is a free port. What such a command has printed when it answers is its output.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.program import write_program
from tests.house.files import ROOT
from tests.house.installed import write_dist_info

PAGES = sorted([*(ROOT / "docs/tutorial").glob("*.md"), *(ROOT / "docs/howto").glob("*.md")])
FENCE = re.compile(r"^```(\w*)\s*$")
SAVED = re.compile(r"`([\w.-]+(?:/[\w.-]+)*\.\w+)`[^`]*:$")
SERVES = re.compile(r"^(?:\w+=\S+ )*penstock (?:dev|serve)\b.* &$")
PORT = "8080"
#: of a run, of a deployment, of a simulation, and of an execution
ID = re.compile(
    r"\b[rcd][0-9a-z]{15}\b|\bdep_[0-9a-f]{16}\b|\bsim_[0-9a-f]{18}\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b"
)
VARIES = (
    (re.compile(r"\b[0-9a-f]{16}\b"), "BATCH"),  # before runs: a batch may begin with c or d, too
    (ID, "RUN"),
    (re.compile(r"\bps_[0-9a-f]{16}_[\w-]{43}"), "KEY"),
    (re.compile(r"\bk1:[0-9a-f]{12}:"), "SEAL:"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{12}\b"), "DRAFT"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "TRACE"),
    (re.compile(r"\blocalhost:\d+"), "HERE"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "WHEN"),
    (re.compile(r"\b1\d{12}\b"), "AT"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "WHEN"),
    (re.compile(r"^\d{4}-\d\d-\d\d\b"), "DAY"),
    (re.compile(r"\b\d+(\.\d+)? ?(s|min)\b"), "TIME"),
    (re.compile(r"\s+"), " "),
)


class Step(NamedTuple):
    """A file to save, or a command with what it should print."""

    line: int
    file: str
    text: str
    shown: tuple[str, ...] = ()


def steps(page: Path) -> Iterator[Step]:
    lines = page.read_text(encoding="utf-8").splitlines()
    said, at = "", 0
    while at < len(lines):
        if fence := FENCE.match(lines[at]):
            end = next(n for n in range(at + 1, len(lines)) if lines[n] == "```")
            block = lines[at + 1 : end]
            if fence[1] == "console":
                yield from commands(block, at + 2)
            elif named := SAVED.search(said):
                yield Step(at + 1, named[1], "\n".join(block) + "\n")
            at, said = end, ""
        elif lines[at].strip():
            said = lines[at].rstrip()
        at += 1


def commands(block: list[str], first: int) -> Iterator[Step]:
    starts = [n for n, line in enumerate(block) if line.startswith("$ ")]
    assert starts[:1] == [0], f"line {first}: a console block begins with a command"
    for start, end in zip(starts, [*starts[1:], len(block)], strict=True):
        yield Step(first + start, "", block[start][2:], tuple(block[start + 1 : end]))


def plain(text: str) -> str:
    for varying, word in VARIES:
        text = varying.sub(word, text)
    return text.strip()


class Shell:
    """One bash for a whole page, in an empty folder, with this tree's program first on the path."""

    def __init__(self, folder: Path, *, has_package: bool) -> None:
        programs = folder.parent / "programs"
        programs.mkdir()
        python = shlex.quote(sys.executable)
        for name, call in (
            ("penstock", f"{python} -m penstock"),
            ("python", python),
            ("pytest", f"{python} -m pytest"),
        ):
            (programs / name).write_text(f'#!/bin/sh\nexec {call} "$@"\n')
            (programs / name).chmod(0o755)
        unset = ("PENSTOCK_STORE", "PENSTOCK_DEBUG", "FORCE_COLOR", "COLUMNS")
        env = {name: value for name, value in os.environ.items() if name not in unset}
        env |= {"PATH": f"{programs}:{env['PATH']}", "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "TERM": "dumb"}
        if not has_package:  # what is installed is read once a process
            write_program(programs / "penstock")
        self.folder, self.port = folder, free_port()
        pipe, out = subprocess.PIPE, subprocess.STDOUT
        self.bash = subprocess.Popen(
            ["bash"], cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=out, text=True, start_new_session=True
        )

    def do(self, command: str) -> tuple[int, list[str]]:
        command = command.replace(f"localhost:{PORT}", f"localhost:{self.port}")
        return self.serve(command) if SERVES.match(command) else self.run(command)

    def serve(self, command: str) -> tuple[int, list[str]]:
        log = self.folder.parent / "server.log"
        code, lines = self.run(f"{command.removesuffix(' &')} --port {self.port} > {shlex.quote(str(log))} 2>&1 &")
        for _ in range(600):
            if answers(self.port):
                return code, [*lines, *log.read_text(encoding="utf-8").splitlines()]
            time.sleep(0.1)
        raise AssertionError(f"it does not come up: {log.read_text(encoding='utf-8')}")

    def run(self, command: str) -> tuple[int, list[str]]:
        assert self.bash.stdin is not None and self.bash.stdout is not None
        self.bash.stdin.write(f"{{ {command}\n}} </dev/null; __c=$?; printf '\\n@@%s\\n' $__c; (exit $__c)\n")
        self.bash.stdin.flush()
        lines: list[str] = []
        for line in self.bash.stdout:
            if line.startswith("@@"):
                return int(line[2:]), lines
            lines.append(line.rstrip("\n"))
        raise AssertionError(f"the shell ended: {lines}")

    def close(self) -> None:
        """Nothing of a page outlives it."""
        os.killpg(self.bash.pid, signal.SIGKILL)
        self.bash.communicate()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/ready", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def missing(shown: tuple[str, ...], lines: list[str], ids: dict[str, str]) -> str:
    """The first line of the page that the output does not have; on the way, which id of the page is which here."""
    at = 0
    for line in shown:
        wanted = plain(line.removesuffix("…"))
        found = next((n for n in range(at, len(lines)) if wanted in plain(lines[n])), None) if wanted else at
        if found is None:
            return line
        if wanted:
            ids.update(zip(ID.findall(line), ID.findall(lines[found]), strict=False))
            at = found + (not line.endswith("…"))
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    todo = list(steps(page))
    shell, ids = Shell(folder, has_package=any(step.file == "pyproject.toml" for step in todo)), {}
    try:
        for number, step in enumerate(todo):
            if step.file:
                (folder / step.file).parent.mkdir(parents=True, exist_ok=True)
                (folder / step.file).write_text(step.text, encoding="utf-8")
                if step.file == "pyproject.toml" and "\nname = " in step.text:  # a package: its reader installs it
                    write_dist_info(folder, step.text)
                continue
            command = ID.sub(lambda match: ids.get(match[0], match[0]), step.text)
            code, lines = shell.do(command)
            said = f"{page.name}:{step.line}: $ {command}\n" + "\n".join(lines)
            asked = any(one.text == "echo $?" for one in todo[number + 1 : number + 2])
            assert code == 0 or asked, f"{said}\n(exit code {code})"
            assert not (lost := missing(step.shown, lines, ids)), f"{said}\n(it does not have: {lost})"
    finally:
        shell.close()


def test_the_pages_are_there_and_show_something() -> None:
    assert len(PAGES) > 10
    silent = [page.name for page in PAGES if not any(not step.file for step in steps(page))]
    assert silent == [], "a how-to without a command that was run"


def test_a_page_that_lies_is_found() -> None:
    ids: dict[str, str] = {}
    assert missing(("run r1m7fc34v6376603  COMPLETED",), ["run r000000000000000 COMPLETED"], ids) == ""
    assert ids == {"r1m7fc34v6376603": "r000000000000000"}
    assert missing(("   0.00 s  Start done", "…", "b"), ["a", "1.52 s Start done", "x", "b"], ids) == ""
    assert missing(("b", "a"), ["a", "b"], ids) == "a"
    assert missing(("22 facts",), ["23 facts"], ids) == "22 facts"
    assert missing(("475e52ab1336cf74  done",), ["cdab7c93c1778a4e  done"], ids) == ""
