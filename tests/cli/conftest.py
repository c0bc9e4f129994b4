"""A folder with the program in it, for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import LONG_LOOP, SLOW_LOOP, Shell, Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    process = Zygote()
    yield process
    process.close()


@pytest.fixture
def penstock(tmp_path: Path, zygote: Zygote) -> Shell:
    shell = Shell(tmp_path, zygote)
    shell.write("slow.yaml", SLOW_LOOP)
    shell.write("long.yaml", LONG_LOOP)
    return shell
