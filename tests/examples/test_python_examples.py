"""Every Python example runs as it stands, in an empty folder, and prints what its last lines say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.files import ROOT

FOLDER = ROOT / "examples/python"
EXAMPLES = sorted(FOLDER.glob("*.py"))
PRINTS = re.compile(r"(?m)^# Prints:\n((?:# > .*\n?)+)\Z")


def promised(example: Path) -> list[str]:
    found = PRINTS.search(example.read_text(encoding="utf-8"))
    assert found, "an example ends with what it prints"
    return [line.removeprefix("# > ") for line in found[1].splitlines()]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_prints_what_it_says(example: Path, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(example)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=120)
    assert result.returncode == 0, result.stderr
    assert [line.rstrip() for line in result.stdout.splitlines()] == promised(example)


def test_there_are_examples_and_the_readme_lists_them() -> None:
    listed = set(re.findall(r"`(\w+\.py)`", (ROOT / "examples/README.md").read_text(encoding="utf-8")))
    assert listed == {example.name for example in EXAMPLES}


def test_the_readme_lists_every_document() -> None:
    folder = ROOT / "examples/diagram"
    text = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    assert [file.name for file in sorted(folder.iterdir()) if f"`{file.name}`" not in text] == []
