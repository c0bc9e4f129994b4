"""What every test shares: hypothesis profiles, golden files, and soaks that run only when asked for."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shared machine is slow at random moments; a deadline would test the machine.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", choices=("check", "write"), default="check", help="write: what is, is what should be")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "soak" in (config.getoption("-m") or ""):
        return
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="runs for minutes: ask for it with -m soak"))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a committed file, and shows the difference; `--golden=write` writes it instead."""

    def compare(file: Path, text: str) -> None:
        known = file.read_text(encoding="utf-8") if file.is_file() else ""
        if known == text:
            return
        shown = "".join(
            difflib.unified_diff(known.splitlines(True), text.splitlines(True), f"{file.name} (committed)", "now")
        )
        if request.config.getoption("--golden") == "write":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(shown)
            return
        pytest.fail(f"{file} differs; if that is meant: pytest --golden=write\n{shown}", pytrace=False)

    return compare
