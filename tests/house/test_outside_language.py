"""A sixth language from outside the package, by entry points alone: the one that docs/howto/add-a-language.md shows."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import environment
from tests.house.files import ROOT, SOURCE
from tests.house.installed import write_dist_info

PAGE = (ROOT / "docs/howto/add-a-language.md").read_text(encoding="utf-8")
NAME = "recipe"
LONG_S = 60.0


def block(language: str, of: str) -> str:
    """The block of code below the sentence that names a file."""
    found = re.search(rf"(?ms)`{re.escape(of)}`.*?^```{language}\n(.*?)^```", PAGE)
    assert found is not None, of
    return found[1]


class Kitchen:
    """A folder with the package, installed as an installer leaves it, and the command line beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site-packages"
        package = self.site / "penstock_recipe"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        for file in ("language.py", "dialect.py", "commands.py"):
            (package / file).write_text(block("python", f"penstock_recipe/{file}"), encoding="utf-8")
        write_dist_info(self.site, block("toml", "pyproject.toml"))
        (folder / "bread.yaml").write_text(block("yaml", "bread.yaml"), encoding="utf-8")
        self.env = {
            **environment(),
            "PYTHONPATH": f"{self.site}{os.pathsep}{ROOT / 'src'}",
            "PENSTOCK_STORE": str(folder / "kitchen.db"),
        }
        self.program = [sys.executable, "-m", "penstock"]

    def penstock(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [*self.program, *words], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=LONG_S
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.penstock(*words, "--json", code=code))


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    return Kitchen(tmp_path)


def test_the_house_does_not_know_it() -> None:
    for file in SOURCE.rglob("*.py"):
        assert NAME not in re.findall(r"\w+", file.read_text(encoding="utf-8")), file


def test_the_page_shows_what_happens(kitchen: Kitchen) -> None:
    """It is checked, drawn, and has a command of its own."""
    shown = re.search(r"(?ms)^```console\n(.*?)^```", PAGE)
    assert shown is not None
    for command, said in re.findall(r"(?m)^\$ penstock (.*)\n((?:(?!\$ ).*\n)*)", shown[1]):
        assert kitchen.penstock(*command.split()).rstrip() == said.rstrip(), command
    assert re.search(rf"(?m)^  {NAME} +Say how many steps", kitchen.penstock("--help"))


def test_what_is_wrong_is_told_with_its_place(kitchen: Kitchen) -> None:
    (kitchen.folder / "flat.yaml").write_text("recipe: flat\nsteps:\n- mix\n- 7\n", encoding="utf-8")
    (finding,) = kitchen.json("check", "flat.yaml", code=2)["findings"]
    assert (finding["rule"], finding["pointer"], finding["line"]) == ("recipe_step", "/steps/1", 4)
    (kitchen.folder / "other.yaml").write_text("nobody: knows\n", encoding="utf-8")
    (finding,) = kitchen.json("check", "other.yaml", code=2)["findings"]
    assert NAME in finding["message"]  # among the languages that there are


def test_it_runs_is_listed_killed_and_goes_on_to_its_end(kitchen: Kitchen) -> None:
    running = subprocess.Popen(
        [*kitchen.program, "run", "bread.yaml", "--key", "loaf"], cwd=kitchen.folder, env=kitchen.env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + LONG_S
        while time.monotonic() < until:
            if (kitchen.folder / "kitchen.db").exists():
                listed = kitchen.json("ps")
                if [run["status"] for run in listed] == ["resting"]:
                    break
            time.sleep(0.1)
        else:
            pytest.fail("it never came to rest")
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait(LONG_S)
    assert running.returncode == -signal.SIGKILL
    (left,) = kitchen.json("ps")
    assert (left["status"], left["name"]) == ("resting", "bread")
    ended = kitchen.json("work", left["run_id"])
    assert (ended["status"], ended["output"]) == ("served", {"dish": "bake done"})
    facts = [line["fact"] for line in kitchen.json("trace", "loaf") if line["fact"] in ("run.started", "run.moved")]
    assert facts.count("run.started") == 1
    assert [line.split()[0] for line in kitchen.penstock("draw", "loaf").splitlines()[::2]] == ["✓"] * 5
