"""command: programs that the operator has listed, without a shell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.executors.command import CommandExecutor

COMMAND = CommandExecutor()


@pytest.fixture
def program(bench, tmp_path: Path):
    """A program that does what a line of Python says; listed under its path."""

    def write(line: str, name: str = "tool") -> str:
        path = tmp_path / name
        path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{line}\n")
        path.chmod(0o755)
        bench.settings["hooks.commands"] = [str(path)]
        return str(path)

    return write


def test_a_program_gets_its_arguments_and_inputs(bench, program) -> None:
    """An argument stays one, whatever is filled into it; inputs come as JSON, and JSON is the result."""
    tool = program("print(json.dumps([sys.argv[1:], json.load(sys.stdin), os.path.realpath('.')]))")
    done = bench.done(COMMAND, {"command": [tool, "-n", "a {{x}}", "{{gone}}"]}, {"x": "1; rm -rf / $(id)"})
    inputs = {"inputs": {"default": "1; rm -rf / $(id)", "x": "1; rm -rf / $(id)"}, "node_id": "n"}
    assert done.body == [["-n", "a 1; rm -rf / $(id)", ""], inputs, str(bench.input_dir)]
    assert bench.done(COMMAND, {"command": [program("print('plain text')")]}).body == "plain text\n"


def test_a_program_sees_little_of_the_environment(bench, program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_OPERATOR", "x")
    assert "SECRET_OF_THE_OPERATOR" not in bench.done(COMMAND, {"command": [program("print(list(os.environ))")]}).body


def test_only_listed_programs_are_started(bench, program) -> None:
    """The house's rule for commands: a document names a program, the operator lists it."""
    for settings in ({}, {"hooks.commands": []}, {"hooks.commands": ["other"]}, {"hooks.commands": True}):
        bench.settings = settings
        failure = bench.failed(COMMAND, {"command": ["/bin/sh", "-c", "id"]})
        assert (failure.code, failure.category) == ("COMMAND_DISABLED", "authorization")


@pytest.mark.parametrize(
    ("line", "code", "category"),
    [
        ("sys.exit('no paper')", "PROGRAM_FAILED", "external"),
        ("print('x' * 5_000_000)", "RESOURCE_LIMIT", "resource"),
        ("time.sleep(600)", "PROGRAM_TIMEOUT", "timeout"),
    ],
)
def test_a_program_that_fails_says_why(bench, program, line: str, code: str, category: str) -> None:
    timeout = 500 if code == "PROGRAM_TIMEOUT" else 60_000
    failure = bench.failed(COMMAND, {"command": [program(line)]}, timeout_ms=timeout)
    assert (failure.code, failure.category) == (code, category)


def test_a_program_that_is_not_there_and_a_command_that_is_none(bench) -> None:
    bench.settings["hooks.commands"] = ["/nowhere/tool"]
    assert bench.failed(COMMAND, {"command": ["/nowhere/tool"]}).code == "PROGRAM_MISSING"
    for wrong in (None, "ls", [], ["/nowhere/tool"] * 101):
        assert bench.failed(COMMAND, {"command": wrong}).code == "INPUT_INVALID"
    assert bench.failed(COMMAND, {"command": ["/nowhere/tool", "{{x}}"]}, {"x": "a\0b"}).code == "INPUT_INVALID"
