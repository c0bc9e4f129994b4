"""The public API keeps its types: what users write is checked, and what is wrong is reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRONG = """
from penstock import Penstock
async def wrong() -> None:
    async with Penstock("runs.db") as penstock:
        number: int = penstock.start("hash")
        await penstock.signal(run="x")
        penstock.releese("loop.yaml")
"""


def mypy(path: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_what_users_write_type_checks() -> None:
    code, said = mypy(ROOT / "tests" / "typing" / "api.py")
    assert code == 0, said


def test_mistakes_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(WRONG)
    code, said = mypy(file)
    assert code == 1
    assert said.count("error:") >= 3 and "releese" in said and "assignment" in said, said
