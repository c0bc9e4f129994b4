"""A server that cannot start says why: code, message and hint, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.serving import ROOT


def started(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "penstock", *words, "--port", "0", "--store", str(folder / "s" / "penstock.db")],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "file", "text", "code"),
    [
        (("serve",), "settings.toml", '[jwt]\nissuer = "https://login.example.com"\n', "PS-400"),
        (("dev", "--quiet"), "penstock.db", "these are notes, and no store\n" * 40, "PS-409-STORE-FOREIGN"),
    ],
    ids=["settings", "store"],
)
def test_what_keeps_it_from_starting_is_told(
    tmp_path: Path, words: tuple[str, ...], file: str, text: str, code: str
) -> None:
    """An error while the application comes up is told as every other: exit 2, one message, nothing of the framework."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / file).write_text(text)
    done = started(tmp_path, *words)
    assert done.returncode == 2, done.stderr
    assert code in done.stderr and "hint" in done.stderr.lower(), done.stderr
    assert "Traceback" not in done.stderr and "startup failed" not in done.stderr, done.stderr
