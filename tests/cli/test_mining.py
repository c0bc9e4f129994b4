"""`penstock mine`: a log is brought, mapped, mined; the model is shown, approved, and instances are migrated to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.process.http.test_mining import STEPS, log_of
from tests.servers import pm4py

CLAIM = {**STEPS, "process_definition_id": "claim", "process_definition_name": "Claim"}


@pytest.fixture
def log(tmp_path: Path, penstock: Any) -> Path:
    (tmp_path / "claim.json").write_text(json.dumps(CLAIM))
    penstock("process", "define", str(tmp_path / "claim.json"), "--by", "kim")
    file = tmp_path / "claims.csv"
    file.write_bytes(log_of())
    return file


def test_p_7_2_2_a_file_is_mapped_without_being_kept(tmp_path: Path, penstock: Any, log: Path) -> None:
    """P-7.2.2: alone, and against a process; into a picture; nothing is stored."""
    shown = penstock("mine", str(log)).out
    assert "80 cases, 244 events" in shown and "variants 3" in shown and "bottleneck Look → Pay: waits 10h" in shown
    assert "fit " not in shown, "no process is named"
    held = penstock("mine", "claim", "--log", str(log)).out
    assert "75.0%: 60 of 80 cases are as v1 says" in held and "12 «Look» was repeated" in held
    found = penstock("mine", str(log), "--json", "--svg", tmp_path / "map.svg").json()
    assert (found["source"], found["log_id"], found["cases"], found["conformance"]) == ("log", None, 80, None)
    picture = (tmp_path / "map.svg").read_text()
    assert picture.startswith("<svg") and all(name in picture for name in ("Ask", "Look", "Pay", "72 · 10h"))
    assert penstock("mine", "logs", "--json").json() == []
    part = penstock("mine", str(log), "--to", "2026-03-02T00:00:00Z", "--json").json()
    assert 0 < part["cases"] < 80


def test_p_7_5_1_a_model_is_proposed_shown_approved_and_migrated_to(tmp_path: Path, penstock: Any, log: Path) -> None:
    """P-7.5.1, P-7.5.5, P-X.28: what --discover proposes waits; diff shows its evidence; a batch migrates and back."""
    begun = penstock("process", "start", "claim", "--by", "lee", "--json", code=4).json()["run_id"]
    assert "no history" in penstock("mine").out
    brought = penstock("mine", "import", str(log), "--process", "claim", "--by", "kim", "--json").json()
    assert (brought["cases"], brought["new"], brought["process"]) == (80, True, "claim")
    assert penstock("mine", "import", str(log), "--process", "claim", "--json").json()["new"] is False
    (line,) = penstock("mine", "--json").json()
    assert (line["id"], line["source"], line["cases"], line["pending_model"]) == ("claim", "log", 80, None)
    assert "no model of it waits" in penstock("mine", "diff", "claim", "--json", code=2).error()["message"]
    said = penstock("mine", "claim", "--discover", "--by", "kim").out
    assert "proposed claim_discovered v1 is pending" in said
    shown = penstock("mine", "diff", "claim", "--json", "--bpmn", tmp_path / "both.bpmn").json()
    assert (shown["model_id"], shown["cases"], shown["replay"]["base_fit"]) == ("claim_discovered", 80, 60)
    assert shown["running"]["can_move"] == 1 and shown["changes"]
    assert 'id="Look"' in (tmp_path / "both.bpmn").read_text()
    assert "claim_discovered" in penstock("mine", "diff", "claim").out
    assert penstock("process", "show", "claim", "--json").json()["version"] == 1
    penstock("process", "approve", "claim_discovered", "--into", "claim", "--by", "kim")
    assert penstock("process", "show", "claim", "--json").json()["version"] == 2
    words = ("batch", "start", "migrate", "--name", "claim", "--to", "2", "--by", "kim")
    assert penstock(*words, "--dry-run", "--json").json()["count"] == 1
    assert penstock(*words, "--json").json()["done"] == 1
    again = penstock(*words, "--json").json()
    assert again["done"] == 0 and again["refusals"][0]["reason"] == "it is on this version already"
    back = penstock("batch", "start", "undo_migration", begun, "--by", "kim", "--json").json()
    assert (back["done"], back["refused"]) == (1, 0)
    for wrong in (("migrate", "--name", "claim"), ("migrate", begun, "--to", "2"), ("pause", begun, "--to", "2")):
        assert penstock("batch", "start", *wrong, "--json", code=2).error()["code"] == "PS-400-INPUT", wrong
    removed = penstock("mine", "logs", "--remove", brought["id"][:8]).out
    assert "No event log was brought" in removed


def test_what_is_wrong_is_said_and_nothing_is_kept(tmp_path: Path, penstock: Any, log: Path) -> None:
    """P-7.2.1: a log that cannot be read, a process that is none, a column that is none."""
    bad = tmp_path / "bad.csv"
    bad.write_text("case,activity,time\n1,A,2026-01-01T00:00:00Z\n1,B,noon\n")
    for words in (("import", bad), (bad,), ("claim", "--log", bad), (bad, "--save")):
        error = penstock("mine", *map(str, words), "--json", code=2).error()
        assert error["code"] == "PS-422-EVENT_LOG" and "3" in error["message"], words
    assert penstock("mine", "logs", "--json").json() == []
    assert penstock("mine", "nothing", "--json", code=2).error()["code"] == "PROC-404"
    named = tmp_path / "orders.csv"
    named.write_text("order,what,when\n1,A,2026-01-01 09:00\n1,B,2026-01-01 10:00\n")
    columns = ("--column", "case=order", "--column", "activity=what", "--column", "time=when", "--zone", "Asia/Seoul")
    assert penstock("mine", str(named), "--json", code=2).error()["code"] == "PS-422-EVENT_LOG_COLUMNS"
    assert penstock("mine", str(named), *columns, "--json").json()["cases"] == 1
    assert penstock("mine", str(named), "--column", "case", "--json", code=2).error()["code"] == "PS-400-INPUT"
    kept = penstock("mine", "import", str(named), *columns, "--json").json()
    assert penstock("mine", kept["id"], "--json").json()["period"]["from"] == 1767225600000


def test_pm4py_is_asked_beside_us(penstock: Any, log: Path) -> None:
    """P-7.1.2, P-7.2.2: the real pm4py in its own environment says the same of which variants fit and how well; the
    extra that is missing is named, and so is an interpreter that is not there."""
    asked = ("mine", "claim", "--log", str(log), "--second-opinion")
    interpreter = str(pm4py.python())
    found = penstock(*asked, "--pm4py-python", interpreter, "--json").json()
    second = found["second_opinion"]
    # «Look» done twice is one of 4 + 3 possible deviations, «Look» left out one of 2 + 3; 12 and 8 cases of 80
    assert second["fitness"] == pytest.approx((60 + 12 * 6 / 7 + 8 * 4 / 5) / 80)
    assert (second["variants"], second["fitting"], second["bounded"]) == (3, 1, 0) and second["by"].startswith(
        "pm4py 2"
    )
    shown = penstock(*asked, "--pm4py-python", interpreter).out
    assert "second opinion pm4py 2" in shown and "1 of 3 variants fit (here 1)" in shown
    assert "bounded" not in shown
    assert "«mining»" in str(penstock(*asked, "--json", code=2).error())
    gone = penstock(*asked, "--pm4py-python", str(log.parent / "nothing"), "--json", code=2).error()
    assert "cannot be begun" in gone["message"]
    alone = penstock("mine", str(log), "--second-opinion", "--json", code=2).error()
    assert "no cases of a process" in alone["message"]
