"""`penstock dlq` and `penstock rules`: what people and programs get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import ROOT, Said

BROKEN = {"id": "data_y", "type": "DATA", "source": {"type": "api", "connection": "none", "query": "/"}}
MENDED = {"id": "data_y", "type": "DATA", "source": {"type": "expression"}, "output": {"expression": "input"}}
PACKS = ROOT / "src/penstock/sample_tenant/rule_packs"
DMN = """<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="d" name="d">
<decision id="x" name="x"><decisionTable hitPolicy="FIRST">
<input><inputExpression><text>t</text></inputExpression></input><output name="decision"/>
<rule><inputEntry><text>{test}</text></inputEntry><outputEntry><text>"critical"</text></outputEntry></rule>
</decisionTable></decision></definitions>"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, node: dict[str, Any], **top: Any) -> str:
    Path(name).write_text(json.dumps({"id": "wf", "version": 1, "nodes": [node], "edges": [], **top}), "utf-8")
    return name


def test_w_7_5_2_letters_are_listed_shown_and_replayed(here: Path, penstock: Any) -> None:
    """W-7.5.2, W-7.5.4: ls, show, replay, with --json; the mended document is named beside the run."""
    run = penstock("run", write("a.json", BROKEN), "--input", '{"n": 1}', "--json", code=3).json()["run_id"]
    (one,) = penstock("dlq", "ls", "--json").json()
    assert (one["run"], one["code"], one["document"], one["replays"]) == (run, "CONNECTION_NOT_FOUND", "wf", 0)
    assert "input" not in one
    listed = penstock("dlq", "ls")
    assert run in listed.out and "CONNECTION_NOT_FOUND" in listed.out
    shown = penstock("dlq", "show", run[:14], "--json").json()
    assert shown["input"] == {"n": 1} and shown["execution_history"][-1]["node_id"] == "data_y"
    text = penstock("dlq", "show", run).out
    assert "There is no connection" in text and f"penstock dlq replay {run}" in text
    again: Said = penstock("dlq", "replay", run, "--json", code=3)
    assert again.json()["replay_of"] == run
    good = penstock("dlq", "replay", run, write("b.json", MENDED, version=2), "--json").json()
    assert good["output"] == {"y_data": {"n": 1}}
    penstock("dlq", "replay", run, code=3)
    told = penstock("dlq", "replay", run, "--json", code=2).error()
    assert told["code"] == "PS-409-REPLAY" and "3 times" in told["message"]
    assert penstock("dlq", "show", good["run_id"], "--json", code=2).error()["code"] == "PS-404-LETTER"
    assert penstock("dlq", "show", "--json", code=2).error()["code"] == "PS-400-USAGE"
    assert "notices" not in penstock("outbox", run).out and run in penstock("outbox", run).out


def test_a_newer_version_in_force_replays_what_asks_for_it(here: Path, penstock: Any) -> None:
    """W-7.5.4: `auto_replay_on_fix` replays when a newer version becomes active; without it nothing is replayed."""
    for wanted in (True, False):
        name = f"wf_{str(wanted).lower()}"
        more = {"id": name, "policies": {"dlq": {"replay": {"auto_replay_on_fix": wanted}}}}
        run = penstock("run", write("a.json", BROKEN, **more), "--input", '{"n": 1}', "--json", code=3).json()["run_id"]
        penstock("releases", "submit", write("b.json", MENDED, **{**more, "version": 2}))
        penstock("releases", "approve", name, "2")
        replayed = penstock("releases", "activate", name, "2", "--json").json()["replayed"]
        assert len(replayed) == wanted
        if wanted:
            penstock("work", "--until-idle")
            again = penstock("show", replayed[0], "--json").json()
            assert (again["status"], again["key"]) == ("completed", f"replay:{run}:1")


def test_c_53_rule_packs_are_listed_checked_and_tested(here: Path, penstock: Any) -> None:
    """C-53, C-83: findings with place and hint, and a line for each of the pack's own tests."""
    penstock("run", write("a.json", MENDED))
    packs = {one["id"]: one for one in penstock("rules", "ls", "--json").json()}
    assert packs["defect_rules_v3"]["version"] == "3.0.0" and packs["defect_rules_v3"]["tests"] == 4
    assert "ccp_rules_v2" in penstock("rules", "ls").out
    for name in ("defect_rules_v3", "defect_rules_v3@3.0.0", str(PACKS / "quality_rules_v2.json")):
        found = penstock("rules", "test", name, "--json").json()
        assert found["ok"] and found["tests"] and all(test["ok"] for test in found["tests"])
    assert "4 of 4 tests pass" in penstock("rules", "test", "defect_rules_v3").out
    assert penstock("rules", "test", "nobody", "--json", code=2).error()["hint"]
    assert penstock("rules", "test", "--json", code=2).error()["code"] == "PS-400-USAGE"


def test_c_53_packs_with_errors_and_one_whose_tests_fail(here: Path, penstock: Any) -> None:
    """C-53: exit 2 with the line of each error, exit 3 with what was different."""
    rule = {"id": "hot", "when": "data.t > 10", "decision": "critical"}
    tests = [{"name": "cool", "input": {"data": {"t": 1}}, "expected": {"decision": "critical"}}]
    Path("p.json").write_text(json.dumps({"id": "p", "rules": [rule], "tests": tests}), "utf-8")
    said = penstock("rules", "test", "p.json", code=3)
    assert "cool" in said.out and "decision is normal, expected critical" in said.out and "0 of 1 tests" in said.out
    assert penstock("rules", "test", "p.json", "--json", code=3).json()["tests"][0]["wrong"]
    Path("bad.yaml").write_text("id: p\nrules:\n  - id: hot\n    when: data.t >\n    decision: hottest\n", "utf-8")
    wrong = penstock("rules", "test", "bad.yaml", "--json", code=2).json()
    assert {(one["line"], bool(one["hint"])) for one in wrong["findings"]} == {(4, True), (5, True)}
    told = penstock("rules", "test", "bad.yaml", code=2)
    assert "bad.yaml:4" in told.err and "hint:" in told.err and "2 errors" in told.err
    assert penstock("rules", "test", "none.json", "--json", code=2).error()["code"] == "PS-400-INPUT"


def test_c_53_dmn_files(here: Path, penstock: Any) -> None:
    """C-53: DMN is read as a pack; what is wrong in it has its line."""
    pytest.importorskip("lxml")
    Path("a.dmn").write_text(DMN.replace("{test}", "&gt; 10"), "utf-8")
    assert penstock("rules", "test", "a.dmn", "--json").json()["ok"]
    Path("b.dmn").write_text(DMN.replace("{test}", "&gt; ("), "utf-8")
    wrong = penstock("rules", "test", "b.dmn", "--json", code=2).json()
    assert not wrong["ok"] and wrong["findings"][0]["line"]
