"""penstock simulations and judgments: the report of a change, history from elsewhere, and labels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import Shell

PACK = "quality_rules_v2"
DOCUMENT = {
    "id": "wf_sim", "version": 1, "edges": [],
    "nodes": [{"id": "sim", "type": "SIMULATE", "mode": {"type": "replay", "replay": {"time_range": {
        "start": "2024-01-01T00:00:00Z", "end": "2024-02-01T00:00:00Z"}}},
        "artifact": {"type": "rule_pack", "id": PACK, "version": "2.1.0"}}],
}  # fmt: skip
ENTRY = {"rule_pack_id": PACK, "at": "2024-01-02T03:04:05Z", "decision": "warning", "label": "critical"}


def entry(number: int, rate: float) -> dict[str, object]:
    return {**ENTRY, "id": f"p{number}", "data": [{"line_id": "L01", "defect_rate": rate}]}


def test_import_simulate_label_and_report(penstock: Shell, tmp_path: Path) -> None:
    """C-59, W-4.13.1: JSON lines are imported, replayed, reported in three formats; a label changes the truth."""
    penstock.write("wf.json", json.dumps(DOCUMENT))
    first = penstock("run", "wf.json", "--json").json()
    assert first["output"]["simulation_result"]["summary"]["total_samples"] == 0
    penstock.write("past.jsonl", "\n".join(json.dumps(entry(i, 0.045)) for i in range(40)))
    assert penstock("judgments", "import", "past.jsonl", "--json").json() == {"count": 40, "labelled": 40}
    assert "imported 40 judgments" in penstock("judgments", "import", "past.jsonl").out  # again: nothing new
    found = penstock("run", "wf.json", "--json").json()["output"]["simulation_result"]
    assert found["summary"]["baseline_accuracy"] == 0 and found["summary"]["simulated_accuracy"] == 1
    assert found["recommendation"] == "deploy" and found["summary"]["total_samples"] == 40
    id = found["simulation_id"]
    assert penstock("simulations", "ls", "--json").json()[0]["simulation_id"] == id
    assert "2.0.0 → 2.1.0" in penstock("simulations", "ls", "--artifact", PACK).out
    shown = penstock("simulations", "show", id).out
    assert "accuracy" in shown and "0.0000 → 1.0000" in shown and "report.html" in shown
    for name in ("r.html", "r.pdf", "r.json"):
        penstock("simulations", "report", id, "--out", name, "--lang", "en")
        assert (tmp_path / name).stat().st_size > 1000
    assert penstock("judgments", "label", "p0", "normal", "--by", "qa", "--json").json()["by"] == "qa"
    again = penstock("run", "wf.json", "--json").json()["output"]["simulation_result"]
    assert again["summary"]["simulated_accuracy"] == 39 / 40
    assert penstock("simulations", "show", "none", "--json", code=2).error()["code"] == "PS-404-SIMULATION"
    assert penstock("judgments", "label", "none", "normal", "--json", code=2).error()["code"] == "PS-404-JUDGMENT"


def test_csv(penstock: Shell) -> None:
    """C-59: one row per judgment; the other columns are the judged row's fields."""
    penstock.write("wf.json", json.dumps(DOCUMENT))
    penstock("run", "wf.json", "--json")
    lines = ["rule_pack_id,at,decision,label,line_id,defect_rate", f"{PACK},2024-01-02T00:00:00Z,normal,,L01,0.01"]
    penstock.write("past.csv", "\n".join(lines))
    assert penstock("judgments", "import", "past.csv", "--json").json() == {"count": 1, "labelled": 0}
    found = penstock("run", "wf.json", "--json").json()["output"]["simulation_result"]
    assert found["summary"]["total_samples"] == 1 and found["failed"] == {"baseline": 0, "simulated": 0}


@pytest.mark.parametrize(
    "text", ["{", '[{"at": 1}]', '[{"rule_pack_id": "a", "at": "x", "data": 1, "decision": "no"}]']
)
def test_files_that_are_none(penstock: Shell, text: str) -> None:
    """Bad input: what is wrong, and in which entry."""
    penstock.write("wf.json", json.dumps(DOCUMENT))
    penstock("run", "wf.json", "--json")
    penstock.write("past.json", text)
    assert penstock("judgments", "import", "past.json", "--json", code=2).error()["code"] == "PS-400-INPUT"
