"""A folder with the program in it, for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import SLOW_LOOP, Shell


@pytest.fixture
def penstock(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path)
    shell.write("slow.yaml", SLOW_LOOP)
    return shell
