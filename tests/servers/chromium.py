"""The Chromium of this machine: one on the PATH, or the one that Playwright has fetched."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")


def executable(play: Any) -> str:
    """Its file; the test is skipped, and says how to get one, where there is none."""
    file = next((path for path in map(shutil.which, NAMES) if path), None) or str(play.chromium.executable_path)
    if not Path(file).is_file():
        pytest.skip("there is no Chromium: `apt-get install chromium`, or `playwright install chromium` in .venv")
    return file
