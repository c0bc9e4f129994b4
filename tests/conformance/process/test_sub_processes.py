"""Sub-processes of every kind in each other: what is called sound never gets stuck (P-X.12)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.process.make import findings
from tests.conformance.process.random_sub_processes import play, random_process
from tests.conformance.process.running import Office, awaited

SEEDS = 40


@pytest.mark.parametrize("batch", range(4))
@awaited
async def test_whoever_does_what_is_asked_for_comes_to_the_end(tmp_path: Path, batch: int) -> None:
    """P-X.12, P-X.25, BPMN 10.3.5: embedded, ad-hoc and transaction sub-processes, with several instances and event
    sub-processes, in each other: they are sound, and whatever people answer the instance comes to its end."""
    async with Office(tmp_path) as office:
        for seed in range(batch * SEEDS // 4, (batch + 1) * SEEDS // 4):
            document = random_process(seed)
            assert [each for each in findings(document) if each.severity == "error"] == [], seed
            run = await office.start(document)
            await play(run, seed)
            assert run.status == "COMPLETED", (seed, run.status, run.look.failure)
