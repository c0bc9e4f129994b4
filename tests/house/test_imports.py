"""Imports lean one way: the contracts of pyproject.toml hold, and they would notice if they did not."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.house.files import ROOT, SOURCE

CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
CONTRACTS: dict[str, dict[str, Any]] = {contract["id"]: contract for contract in CONFIG["contracts"]}


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    """import-linter over the package below `source`, with this house's contracts."""
    program = (
        "import sys; from importlinter.cli import lint_imports\n"
        f"sys.path.insert(0, {str(source)!r})\n"
        f"sys.exit(lint_imports(config_filename={str(ROOT / 'pyproject.toml')!r}, no_cache=True))"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=source)


def test_every_contract_is_kept() -> None:
    result = lint(SOURCE.parent)
    assert result.returncode == 0, result.stdout + result.stderr


PLANTED = {
    "an upward import": ("net/planted.py", "from penstock.kernel import failure", "Imports lean one way"),
    "a hidden upward import": (
        "kernel/planted.py",
        "def f():\n    from penstock.store import contract",
        "Imports lean one way",
    ),
    "a new room": ("planted.py", "", "Imports lean one way"),
    "a clock in the kernel": ("kernel/planted.py", "import time", "The pure part"),
    "randomness in a language": ("lang/planted.py", "from random import random", "The pure part"),
    "a clock behind a door": ("expr/planted.py", "from penstock.errors_clock import now", "The pure part"),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_import_is_found(what: str, tmp_path: Path) -> None:
    file, text, contract = PLANTED[what]
    shutil.copytree(SOURCE, tmp_path / "penstock", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "penstock" / file).write_text(text + "\n")
    if what == "a hidden upward import":
        (tmp_path / "penstock/store/contract.py").touch()
    if what == "a clock behind a door":
        (tmp_path / "penstock/errors_clock.py").write_text("from time import time as now\n")
    result = lint(tmp_path)
    assert result.returncode == 1
    assert any(contract in line and "BROKEN" in line for line in result.stdout.splitlines()), result.stdout


def test_every_language_stands_in_the_contract() -> None:
    folders = {file.parent.name for file in (SOURCE / "lang").glob("*/__init__.py")}
    assert {name.removeprefix("penstock.lang.") for name in CONTRACTS["languages"]["modules"]} == folders
    assert {name.removeprefix("penstock.dialects.") for name in CONTRACTS["dialects"]["modules"]} == folders


def test_every_pure_room_stands_in_the_contract() -> None:
    layers = CONTRACTS["layers"]["layers"]
    right_of_store = layers[layers.index("store | executors | mining") + 1 :]
    rooms = {f"penstock.{room}" for layer in right_of_store for room in layer.split(" | ")}
    assert rooms == set(CONTRACTS["pure"]["source_modules"])
