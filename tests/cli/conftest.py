"""A folder with the program in it, for every test."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import LONG_LOOP, SLOW_LOOP, Shell, Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    # a shell that starts the tests in the background lets them, and all that they start, not hear Ctrl-C
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    process = Zygote()
    yield process
    process.close()


@pytest.fixture
def penstock(tmp_path: Path, zygote: Zygote) -> Shell:
    shell = Shell(tmp_path, zygote)
    shell.write("slow.yaml", SLOW_LOOP)
    shell.write("long.yaml", LONG_LOOP)
    return shell
