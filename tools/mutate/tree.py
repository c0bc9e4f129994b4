"""The copy of the checkout in which code is broken: the checkout itself is never touched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutate"
ROOMS = ("lang", "kernel", "host", "executors")
#: tests that run the code in other processes, read the tree, or need a browser
NOT_COLLECTED = re.compile(r"/(browser|house|typing|cli|api|http|examples)/|kill|postgres|soak|trouble")


def copy(into: Path) -> Path:
    """What git knows of the checkout, as it stands now, with what is not committed."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name)
    return into


def bring_tests(into: Path) -> list[str]:
    """The test files of now; which of them are new or have changed."""
    changed = []
    for file in sorted((ROOT / "tests").rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            there = into / file.relative_to(ROOT)
            if not there.is_file() or there.read_bytes() != file.read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, there)
                changed.append(file.relative_to(ROOT).as_posix())
    return changed


def environment(tree: Path) -> dict[str, str]:
    """Python, and every Python that it starts, reads the copy and not the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    return {**kept, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}", "PYTHONHASHSEED": "0"}


def test_files(tree: Path) -> list[str]:
    names = (file.relative_to(tree).as_posix() for file in sorted((tree / "tests").rglob("test_*.py")))
    return [name for name in names if not NOT_COLLECTED.search(name)]
