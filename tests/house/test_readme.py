"""The README is short and true: its Python runs, its pictures are there, its guarantees point at tests that exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.house.files import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_can_be_read_in_one_go() -> None:
    assert len(README.splitlines()) <= 150


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    program = re.findall(r"(?ms)^```python\n(.*?)^```", README)
    assert len(program) == 1
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run(
        [sys.executable, "-c", program[0]], capture_output=True, text=True, cwd=tmp_path, env=env, timeout=60
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line.strip() for line in lines[:3]] == ["COMPLETED 3", "1 run.started", "2 fired Start"]


def test_its_pictures_are_there() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert pictures
    assert [one for one in pictures if not (ROOT / one).read_bytes().startswith((b"<svg", b"\x89PNG"))] == []


def test_each_guarantee_links_to_a_test() -> None:
    section = README.partition("## Three guarantees")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| guarantee")]
    assert len(rows) == 3
    assert all(re.search(r"\]\(tests/[\w/]+\.py\)", row) for row in rows)


def test_the_menu_has_every_page_for_people() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    folders = ("tutorial", "howto", "explanation", "adr")
    pages = [page for folder in folders for page in sorted((ROOT / "docs" / folder).glob("*.md"))]
    assert [page.name for page in pages if f"{page.parent.name}/{page.name}" not in menu] == []
