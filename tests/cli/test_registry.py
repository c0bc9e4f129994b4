"""`penstock registry put`: JSON, YAML and DMN, and what is said about a thing that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import Shell

PACK = """id: oven
version: 1.0.0
rules:
  - {id: R1, when: "data.rate > 0.5", decision: critical}
  - {id: R2, when: "true", decision: normal}
"""
DMN = """<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="quality" name="Quality">
<decision id="verdict" name="verdict"><decisionTable hitPolicy="FIRST">
<input><inputExpression><text>rate</text></inputExpression></input><output name="decision"/>
<rule id="r1"><inputEntry><text>&gt; 0.5</text></inputEntry><outputEntry><text>"critical"</text></outputEntry></rule>
<rule id="r2"><inputEntry><text>-</text></inputEntry><outputEntry><text>"normal"</text></outputEntry></rule>
</decisionTable></decision>
</definitions>
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("given", ["pack.yaml", "@pack.yaml"])
def test_c_53_a_pack_is_put_as_yaml(here: Path, penstock: Shell, given: str) -> None:
    """C-53: a rule pack is a file of its own; a file needs no @."""
    (here / "pack.yaml").write_text(PACK)
    assert "is registered" in penstock("registry", "put", "rule_pack", "oven", given).out
    assert [one["id"] for one in penstock("registry", "get", "rule_pack", "oven").json()["rules"]] == ["R1", "R2"]
    assert "oven" in penstock("rules", "ls").out


def test_c_53_a_pack_is_put_as_dmn(here: Path, penstock: Shell) -> None:
    """C-53: a decision table from another tool is a pack like any other."""
    pytest.importorskip("lxml")
    (here / "quality.dmn").write_text(DMN)
    penstock("registry", "put", "rule_pack", "quality", "quality.dmn")
    assert 'id="verdict"' in penstock("registry", "get", "rule_pack", "quality").json()["dmn"]["model"]
    assert penstock("rules", "test", "quality").code == 0
    said = penstock("registry", "put", "template", "t", "quality.dmn", "--json", code=2).error()
    assert "rule_pack" in said["message"] and said["hint"]


def test_what_is_wrong_names_the_thing_and_the_line(here: Path, penstock: Shell) -> None:
    (here / "pack.yaml").write_text(PACK.replace("data.rate > 0.5", "data.rate >"))
    said = penstock("registry", "put", "rule_pack", "oven", "pack.yaml", code=2).err
    assert "pack.yaml:4:" in said and "/rules/0" in said and "hint:" in said and "rule_pack «oven» has 1 error" in said
    error = penstock("registry", "put", "connection", "x", '{"type": "fax"}', "--json", code=2).error()
    assert error["code"] == "PS-422-REGISTRY" and "connection «x»" in error["message"]
    assert "/type" in str(error["findings"][0]["where"])
    said = penstock("registry", "put", "connection", "x", '{"type": "fax"}', code=2).err
    assert "connection «x»" in said and "document" not in said
    missing = penstock("registry", "put", "rule_pack", "oven", "nowhere.yaml", "--json", code=2).error()
    assert "nowhere.yaml" in missing["message"]


def test_c_78_a_command_is_for_one_tenant(here: Path, penstock: Shell) -> None:
    """C-78: --tenant says for whom, wherever it stands; others see nothing of it."""
    flow = {"id": "wf_x", "version": 1, "edges": [], "nodes": [
        {"id": "w", "type": "WAIT", "condition": {"type": "manual"}},
    ]}  # fmt: skip
    (here / "x.json").write_text(json.dumps(flow))
    run = penstock("run", "x.json", "--tenant", "mill", "--json", code=4).json()["run_id"]
    assert penstock("ps", "--json").json() == []
    assert [one["run_id"] for one in penstock("ps", "--json", "--tenant=mill").json()] == [run]
    assert penstock("show", run, "--json", code=2).error()["code"] == "PS-404-RUN"
    assert penstock("cancel", run, "--json", code=2).error()["code"] == "PS-404-RUN"
    assert penstock("--tenant", "mill", "cancel", run, "--json").json()["status"] == "cancelled"


def test_w_4_10_5_what_a_run_did_is_undone_from_the_command_line(here: Path, penstock: Shell) -> None:
    """W-4.10.5: by hand; what cannot be undone is said."""
    flow = {"id": "wf_u", "version": 1, "edges": [], "nodes": [
        {"id": "act", "type": "ACTION", "channel": {"type": "webhook", "config": {"url": "outbox:a"}}},
        {"id": "undo", "type": "COMPENSATION", "for_node": "act",
         "actions": [{"type": "notification", "channel": "slack", "message": "taken back"}]},
    ]}  # fmt: skip
    (here / "u.json").write_text(json.dumps(flow))
    assert penstock("run", "u.json", "--key", "u", "--json").json()["status"] == "completed"
    assert penstock("compensate", "u", "--only", "nobody", "--json", code=2).error()["code"] == "PS-404-NODE"
    assert penstock("compensate", "u", "--json").json()["status"] == "compensated"
    assert "taken back" in penstock("outbox", "u").out
    again = penstock("compensate", "u", "--json", code=2).error()
    assert again["code"] in ("PS-409-UNDO", "PS-409-STATUS") and again["hint"]
