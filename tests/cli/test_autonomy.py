"""`penstock autonomy`: evaluated, listed, shown, dismissed, accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conformance.process.make import process, service

#: eight good ones without a bad one show 50 % whenever somebody looks
CONFIG = {"autonomy": {"raise_at": 0.5, "draft_at": 0.5, "draft_floor": 0.2, "min_cases": 5}}
LETTER = process(
    [service("answer", "SUPERVISED", agent="writer", name="회신")], [],
    process_definition_id="letter", process_definition_name="Letter",
)  # fmt: skip


def answered(penstock: Any, count: int) -> None:
    for _ in range(count):
        begun = penstock("process", "start", "letter", "--by", "lee", "--json", code=4).json()
        item = penstock("items", "ls", "--run", begun["run_id"], "--json").json()[0]["id"]
        penstock("items", "approve", item, "--by", "lee")


def test_a_proposal_is_evaluated_listed_dismissed_and_accepted(tmp_path: Path, penstock: Any) -> None:
    """P-4.2.2, P-X.28, P-X.40: nothing changes before somebody accepts, and each of it is in the audit."""
    (tmp_path / "letter.json").write_text(json.dumps(LETTER, ensure_ascii=False))
    penstock("process", "define", str(tmp_path / "letter.json"), "--by", "kim")
    penstock("registry", "put", "config", "tenant", json.dumps(CONFIG))
    penstock("registry", "put", "agent", "writer", '{"kind": "echo"}')
    assert "Nothing is proposed" in penstock("autonomy", "ls").out
    answered(penstock, 8)
    done = penstock("autonomy", "evaluate", "--json").json()
    assert (done["runs"], len(done["proposed"])) == (8, 1)
    (first,) = penstock("autonomy", "ls", "--process", "letter", "--json").json()
    assert (first["mode"], first["proposed"], first["direction"], first["decided"], first["unchanged"]) == (
        "SUPERVISED", "AUTONOMOUS", "raise", 8, 8,
    )  # fmt: skip
    shown = penstock("autonomy", "show", first["id"][:8]).out
    assert "letter v1 회신: SUPERVISED → AUTONOMOUS" in shown and "8 unchanged" in shown and "unknown" in shown
    refused = penstock("autonomy", "accept", first["id"], "--json", code=2).error()
    assert "--by" in refused["message"]
    penstock("autonomy", "dismiss", first["id"], "--reason", "not in the season", "--by", "kim")
    again = penstock("autonomy", "accept", first["id"], "--by", "kim", "--json", code=2).error()
    assert again["code"] == "PROC-409-STATE"
    answered(penstock, 5)
    penstock("autonomy", "evaluate")
    (second,) = penstock("autonomy", "ls", "--json").json()
    assert penstock("process", "show", "letter", "--json").json()["version"] == 1
    accepted = penstock("autonomy", "accept", second["id"], "--by", "kim", "--json").json()
    assert (accepted["status"], accepted["made_version"], accepted["approval_status"]) == ("accepted", 2, "approved")
    begun = penstock("process", "start", "letter", "--by", "lee", "--json").json()
    assert begun["status"] == "COMPLETED", "the agent works alone now"
    audit = penstock("audit", "ls", "--json").json()
    assert [row["action"] for row in reversed(audit) if row["action"].startswith("autonomy.")] == [
        "autonomy.propose", "autonomy.dismiss", "autonomy.propose", "autonomy.accept",
    ]  # fmt: skip
    missing = penstock("autonomy", "show", "none", "--json", code=2).error()
    assert missing["code"] == "PROC-404"
