"""The package is typed: mypy --strict finds nothing, and users see the types."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.files import ROOT, SOURCE


@pytest.mark.slow
def test_mypy_strict_finds_nothing() -> None:
    result = subprocess.run([sys.executable, "-m", "mypy"], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "py.typed").is_file()
