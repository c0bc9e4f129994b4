"""One HTTP approval stays short: one fold of the run, few reads of the store, few steps from file to file."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tools.walk_request import approval


def test_an_approval_folds_its_run_once(tmp_path: Path) -> None:
    """Before a request passed its reading of the run on there were 3 folds, 73 files and 392 returns to files already
    left, which makes 464 steps. The turn of the engine is counted with it."""
    walk = asyncio.run(approval(tmp_path))
    assert walk.body["state"] == "COMPLETED"
    assert walk.folds == 1, walk.text()
    assert walk.reads.total() <= 12, walk.text()
    assert walk.hops <= 280, walk.text()  # with the share of its tenant, the caller's language, long reads and slices
