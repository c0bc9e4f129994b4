"""`penstock process conformance`: what ended instances have done otherwise than their version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conformance.process.make import process, task

TWO = process([task("a", name="접수"), task("b", name="발송")], ["a>b"], process_definition_id="two")


def test_ended_instances_are_held_against_their_version(tmp_path: Path, penstock: Any) -> None:
    """P-7.2.2: two that fit; nobody else's, and an id that there is not."""
    (tmp_path / "two.json").write_text(json.dumps(TWO, ensure_ascii=False))
    penstock("process", "define", str(tmp_path / "two.json"), "--by", "kim")
    assert "No instance has ended" in penstock("process", "conformance", "two").out
    for _ in range(2):
        begun = penstock("process", "start", "two", "--by", "lee", "--json", code=4).json()
        for _ in range(2):
            (item,) = penstock("items", "ls", "--run", begun["run_id"], "--json").json()
            penstock("items", "submit", item["id"], "--by", "lee", code=None)
    found = penstock("process", "conformance", "two", "--json").json()
    assert found["versions"] == [{"version": 1, "runs": 2, "fitting": 2, "fitness": 1.0, "deviations": []}]
    assert "2 of 2 fit, 100.0%" in penstock("process", "conformance", "two").out
    assert penstock("process", "conformance", "none", "--json", code=2).error()["code"] == "PROC-404"
