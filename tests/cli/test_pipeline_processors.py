"""Processors of one's own: named in the settings, on the command line, or offered by an installed package (F-X.14)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.app.pipelines import a_pipeline, a_stage
from tests.cli.shell import PROGRAM, Shell, environment

SHOUT = '''"""A processor of one's own."""

from letters import louder

from penstock.executors.processors import Output, ProcessorContext, processor


@processor("Shout")
def shout(context: ProcessorContext) -> Output:
    made = context.new_file("txt")
    made.write_text(louder(context.file.read_text()))
    return Output(output={"characters": context.size}, file=made, mime="text/plain")
'''
LETTERS = "def louder(text):\n    return text.upper()\n"


@pytest.fixture
def shouting(penstock: Shell) -> Shell:
    """A folder with a file, a pipeline that shouts, and a module that nobody has been told of."""
    (penstock.folder / "inbox").mkdir()
    (penstock.folder / "inbox/a.txt").write_text("quiet")
    stages = [a_stage("shout", 1, processor_type="Shout"), a_stage("sum", 2, processor_type="Checksum")]
    penstock.write("loud.json", json.dumps(a_pipeline("LOUD", file_type="ANY", stages=stages)))
    (penstock.folder / "own").mkdir()
    penstock.write("own/shouting.py", SHOUT)
    penstock.write("own/letters.py", LETTERS)
    penstock.store.parent.mkdir()
    return penstock


WATCH = ("pipeline", "watch", "inbox", "--definition", "loud.json", "--once")


def loud(shell: Shell) -> str:
    (made,) = (shell.folder / "inbox/a.txt.results").glob("*1-shout.txt")
    return made.read_text()


def test_f_x_14_an_unknown_processor_is_refused_before_anything_is_kept(shouting: Shell) -> None:
    error = shouting(*WATCH, "--json", code=2).json()
    assert "unknown_processor" in json.dumps(error) and "Shout" in json.dumps(error)
    assert shouting("pipeline", "define", "loud.json", "--json", code=2).json()
    assert shouting("pipeline", "ls", "--json").json() == []


def test_f_x_14_own_processors_on_the_command_line(shouting: Shell) -> None:
    shouting(*WATCH, "--processors", "own/shouting.py")
    assert loud(shouting) == "QUIET"


def test_f_x_14_own_processors_in_the_settings(shouting: Shell) -> None:
    """Beside the store: for every command that needs them, also one that only goes on."""
    (shouting.store.parent / "settings.toml").write_text('[python]\nmodules = ["../own/shouting.py"]\n')
    assert shouting("check", "loud.json", "--json").json()["ok"]
    shouting("pipeline", "define", "loud.json")
    shouting("pipeline", "watch", "inbox", "--once")
    assert loud(shouting) == "QUIET"


def test_f_x_14_own_processors_of_an_installed_package(shouting: Shell) -> None:
    """The entry point `penstock.processors`."""
    site = shouting.folder / "own"
    (site / "shouting-1.0.dist-info").mkdir()
    (site / "shouting-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    points = "[penstock.processors]\nShout = shouting:shout\n"
    (site / "shouting-1.0.dist-info/entry_points.txt").write_text(points)
    more = environment()
    more["PYTHONPATH"] += f":{site}"
    done = subprocess.run([*PROGRAM, *WATCH], cwd=shouting.folder, env=more, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert loud(shouting) == "QUIET"


@pytest.mark.parametrize(
    ("module", "text", "why"),
    [
        ("own/none.py", None, "no such file"),
        ("no_such_module", None, "no_such_module"),
        ("own/wrong.py", "def f(:\n", "syntax"),
        ("own/wrong.py", "1 / 0\n", "ZeroDivisionError"),
        ("own/wrong.py", SHOUT.replace('"Shout"', '"Copy"'), "already"),
    ],
    ids=["missing file", "missing module", "syntax", "raises", "name taken"],
)
def test_f_x_14_own_processors_that_cannot_be_imported_are_told(
    shouting: Shell, module: str, text: str | None, why: str
) -> None:
    if text is not None:
        shouting.write(module, text)
    error = shouting(*WATCH, "--json", "--processors", module, code=2).error()
    assert error["code"] == "PS-400-INPUT" and why.lower() in error["message"].lower()
    assert Path(module).name in error["message"]
