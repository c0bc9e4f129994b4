"""The plugin in a test suite of somebody else: fixtures without any import, snapshots that a flag writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.house.files import ROOT

SUITE = """

def test_it(penstock_test):
    run = penstock_test.start("ask.yaml")
    penstock_test.advance("5h")
    penstock_test.person("qa@example.com").answer("Ask name", "Kim")
    assert run.output == {"Endpoint": "Hello Kim!"}
    penstock_test.match_snapshot(run)


def test_that(async_penstock_test):
    import asyncio

    async def scene():
        async with async_penstock_test as penstock:
            run = await penstock.start("ask.yaml")
            await penstock.advance("1d")
            return run.failure["code"]

    assert asyncio.run(scene()) == "RESPONSE_TIMEOUT"
"""


def suite(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest as people call it, with the plugin that the package's entry point names."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "penstock.testing.pytest_plugin", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )  # fmt: skip


def test_fixtures_and_snapshots(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_ask.py").write_text(SUITE)
    (tmp_path / "ask.yaml").write_text((ROOT / "examples/diagram/ask.yaml").read_text("utf-8"), "utf-8")
    first = suite(tmp_path)
    assert first.returncode == 1 and "there is no snapshot" in first.stdout and "1 passed" in first.stdout
    assert suite(tmp_path, "--penstock-update").returncode == 0
    kept = tmp_path / "__snapshots__/test_ask/test_it.txt"
    assert "+5h  Ask name  done\n" in kept.read_text("utf-8")
    assert suite(tmp_path).returncode == 0
    kept.write_text(kept.read_text("utf-8").replace("+5h", "+6h"), "utf-8")
    changed = suite(tmp_path)
    assert changed.returncode == 1 and "is not as" in changed.stdout
