"""The test bench over HTTP: rule packs and FEEL are tried, compared and refused, and nothing is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.api.long_reads import LongReads
from tests.api.in_process import Site, on_site
from tests.api.places import ADMIN, VIEWER
from tests.api.serving import Server

PACK = "quality_rules_v2"  # of the sample tenant: 2.0.0 is deployed and has 0.05, 2.1.0 waits and has 0.04
BETWEEN = [{"line_id": "L01", "defect_rate": 0.045}]


def tried(server: Server, pack: str = PACK, user: str = VIEWER, **asked: Any) -> dict[str, Any]:
    answer = server.client(user).post(f"/rule-packs/{pack}/test", json=asked)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def refused(server: Server, status: int, pack: str = PACK, **asked: Any) -> dict[str, Any]:
    answer = server.client(VIEWER).post(f"/rule-packs/{pack}/test", json=asked)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return dict(answer.json())


def draft(threshold: Any = 0.01, **more: Any) -> dict[str, Any]:
    rule = {
        "id": "over", "name": "Over", "scope": "each", "when": "item.defect_rate >= threshold",
        "threshold": threshold, "decision": "critical", "confidence": 0.9, "reasoning": "${item.defect_rate} is over",
    }  # fmt: skip
    return {"version": "3.0.0", "rules": [rule], **more}


def test_c_53_packs_are_listed_with_what_is_in_force(either: Server) -> None:
    """C-53: the newest version first; the deployed one is in force, although a newer one is approved."""
    items = {item["id"]: item for item in either.client(VIEWER).get("/rule-bench").json()["items"]}
    pack = items[PACK]
    assert [version["version"] for version in pack["versions"]] == ["2.1.0", "2.0.0"]
    assert pack["in_force"] == "2.0.0" and [version["in_force"] for version in pack["versions"]] == [False, True]
    assert all(version["rules"] > 0 and version["tests"] == 3 for version in pack["versions"])
    assert items["defect_rules_v3"]["in_force"] == "3.0.0"


def test_one_pack_begins_with_the_input_of_its_first_test(either: Server) -> None:
    """The version in force unless another is asked for; the first test's input."""
    viewer = either.client(VIEWER)
    pack = viewer.get(f"/rule-bench/{PACK}").json()
    assert pack["version"] == "2.0.0" and pack["body"]["rules"][0]["threshold"] == 0.05
    assert pack["first_input"] == {
        "origin": "test", "name": "#1", "data": pack["body"]["tests"][0]["input"]["data"], "context": None,
    }  # fmt: skip
    assert viewer.get(f"/rule-bench/{PACK}", params={"version": "2.1.0"}).json()["version"] == "2.1.0"
    assert viewer.get(f"/rule-bench/{PACK}", params={"version": "9"}).json()["code"] == "VERSION_NOT_FOUND"
    assert viewer.get("/rule-bench/none").json()["code"] == "PS-404-THING"


def test_a_version_is_tried_against_the_one_in_force(either: Server) -> None:
    """CONSOLE 4, operations: input → decision, matched rules, diff to active; and the pack's own tests (C-83)."""
    trial = tried(either, data=BETWEEN, version="2.1.0")
    assert trial["version"] == "2.1.0" and not trial["is_draft"] and trial["problem"] is None
    assert trial["verdict"]["decision"] == "critical" and "over_limit" in trial["verdict"]["matched_rules"]
    (rule,) = [rule for rule in trial["matched"] if rule["id"] == "over_limit"]
    assert (rule["name"], rule["decision"], rule["confidence"]) == ("허용치 초과", "critical", 0.95)
    assert "0.045" in rule["reasoning"] and "0.04 " in rule["reasoning"]
    active = trial["in_force"]
    assert active["version"] == "2.0.0" and not active["same"] and active["verdict"]["decision"] == "warning"
    changed = {change["field"]: (change["before"], change["after"]) for change in active["differences"]}
    assert changed["decision"] == ("warning", "critical")
    assert [test["ok"] for test in trial["tests"]] == [True, True, True] and trial["tests_left"] == 0


def test_without_a_version_the_one_in_force_is_tried(either: Server) -> None:
    trial = tried(either, data=BETWEEN)
    assert trial["version"] == "2.0.0" and trial["verdict"]["decision"] == "warning"
    assert trial["in_force"]["same"] and trial["in_force"]["differences"] == []


def test_a_draft_is_tried_and_not_kept(either: Server) -> None:
    """A body that nobody has saved; the registry, the judgments and the audit stay as they were."""
    admin = either.client(ADMIN)
    before = [admin.get(path).json() for path in ("/rule-packs", "/judgments", "/audit")]
    own = [
        {"name": "right", "input": {"data": [{"defect_rate": 0.2}]}, "expected": {"decision": "critical"}},
        {"name": "wrong", "input": {"data": [{"defect_rate": 0.0}]}, "expected": {"decision": "critical"}},
    ]
    trial = tried(either, PACK, ADMIN, data=BETWEEN, draft=draft(tests=own))
    assert trial["is_draft"] and trial["version"] == "3.0.0"
    assert trial["matched"] == [
        {"id": "over", "name": "Over", "decision": "critical", "confidence": 0.9, "reasoning": "0.045 is over"}
    ]
    assert [(test["name"], test["ok"], test["decision"]) for test in trial["tests"]] == [
        ("right", True, "critical"), ("wrong", False, "normal"),
    ]  # fmt: skip
    assert trial["tests"][1]["wrong"] == "decision is normal, expected critical"
    assert trial["in_force"]["version"] == "2.0.0" and not trial["in_force"]["same"]
    assert [admin.get(path).json() for path in ("/rule-packs", "/judgments", "/audit")] == before


def test_a_table_names_the_lines_that_matched(either: Server) -> None:
    """Lines of a decision table have no reason of their own; its outputs are the result."""
    table = {
        "inputs": [{"name": "rate", "expression": "item.defect_rate"}],
        "outputs": [{"name": "decision"}],
        "rules": [
            {"id": "low", "name": "Low", "when": ["< 0.04"], "then": ["normal"]},
            {"id": "high", "name": "High", "when": [">= 0.04"], "then": ["warning"]},
        ],
    }
    trial = tried(either, data=BETWEEN, draft={"version": "4", "table": table})
    assert trial["verdict"]["decision"] == "warning"
    assert [(rule["id"], rule["name"], rule["decision"]) for rule in trial["matched"]] == [("high", "High", None)]


MODEL = """<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="m" name="press" namespace="press">
  <inputData id="rate" name="defect_rate"/>
  <decision id="verdict" name="verdict">
    <informationRequirement><requiredInput href="#rate"/></informationRequirement>
    <decisionTable hitPolicy="FIRST">
      <input><inputExpression typeRef="number"><text>defect_rate</text></inputExpression></input>
      <output name="decision" typeRef="string"/>
      <rule id="high"><inputEntry><text>&gt;= 0.04</text></inputEntry>
        <outputEntry><text>"critical"</text></outputEntry></rule>
      <rule id="rest"><inputEntry><text>-</text></inputEntry><outputEntry><text>"normal"</text></outputEntry></rule>
    </decisionTable>
  </decision>
</definitions>"""


def test_a_dmn_model_is_tried_like_any_pack(either: Server) -> None:
    """A draft that carries a DMN file; a broken one is refused with findings, and none of it resolves an entity."""
    trial = tried(either, data=BETWEEN, draft={"version": "5", "dmn": {"model": MODEL}})
    assert trial["verdict"]["decision"] == "critical" and any("high" in rule["id"] for rule in trial["matched"])
    bad = MODEL.replace("&gt;= 0.04", "&gt;= (")
    assert refused(either, 422, data=BETWEEN, draft={"dmn": {"model": bad}})["findings"]
    assert refused(either, 422, data=BETWEEN, draft={"dmn": {"model": "<x"}})["findings"]
    entity = f'<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]>{MODEL}'
    assert "root:" not in str(refused(either, 422, data=BETWEEN, draft={"dmn": {"model": entity}}))


def test_rules_that_cannot_be_applied_say_which(either: Server) -> None:
    """Data that a rule cannot read is an answer, not a failure of the request."""
    trial = tried(either, data=[{"defect_rate": "much"}], draft=draft())
    assert trial["verdict"] is None and trial["matched"] == []
    assert trial["problem"]["rule"] == "over" and trial["problem"]["code"] and trial["problem"]["message"]
    assert tried(either, data=[])["verdict"]["decision"] == "unknown"


def test_bad_trials_are_refused(either: Server) -> None:
    """Every finding of a draft with its place; unknown packs, versions and members; too many rows."""
    problem = refused(either, 422, data=BETWEEN, draft={"version": "3", "rules": [{"id": "x", "when": "1 +"}]})
    assert problem["code"] == "PS-422-REGISTRY"
    assert {finding["where"]["pointer"] for finding in problem["findings"]} >= {"/rules/0/when"}
    assert refused(either, 422, data=BETWEEN, draft={})["findings"][0]["rule"] == "no_rules"
    assert refused(either, 422, data=BETWEEN, draft={"rules": [[[]]]})["code"] == "PS-422-REGISTRY"
    assert refused(either, 404, data=BETWEEN, version="9.9.9")["code"] == "VERSION_NOT_FOUND"
    assert refused(either, 404, "none", data=BETWEEN)["code"] == "PS-404-THING"
    assert refused(either, 422, data=BETWEEN, rows=[])["code"] == "PS-422-REQUEST"
    assert refused(either, 422, context={})["code"] == "PS-422-REQUEST"
    assert refused(either, 413, data=[{"defect_rate": 0}] * 1_001)["code"] == "PS-413-TRIAL"
    many = [{"id": f"r{index}", "when": "true", "decision": "normal"} for index in range(300)]
    assert refused(either, 413, data=[{"x": 0}] * 300, draft={"rules": many})["code"] == "PS-413-TRIAL"
    korean = either.client(VIEWER).post(
        f"/rule-packs/{PACK}/test", json={"data": [0] * 2_000}, headers={"Accept-Language": "ko"}
    )
    assert "2000행" in korean.json()["detail"]


def test_tests_that_do_not_fit_are_counted(either: Server) -> None:
    """One trial asks a bounded number of conditions, also in the pack's own tests."""
    test = {"input": {"data": [{"x": 1}] * 26_000}, "expected": {"decision": "normal"}}
    trial = tried(either, data=BETWEEN, draft=draft(tests=[test, test]))
    assert (len(trial["tests"]), trial["tests_left"]) == (1, 1)


def test_a_trial_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """Its process is killed, the server goes on, and the next trial has a new process."""

    async def story(site: Site) -> None:
        trials: LongReads = site.app.state.server.trials
        patience, trials.answer_s = trials.answer_s, 0
        path, asked = f"/api/v1/rule-packs/{PACK}/test", {"data": BETWEEN}
        answer = await site.client.post(path, json=asked)
        assert (answer.status_code, answer.json()["code"]) == (503, "PS-503-TRIAL"), answer.text
        assert trials._process is None
        trials.answer_s = patience
        answer = await site.client.post(path, json=asked)
        assert answer.status_code == 200 and answer.json()["verdict"]["decision"] == "warning", answer.text

    on_site(story, tmp_path, rounds=0)


# ---- FEEL ------------------------------------------------------------------------------------------------------------


def feel(server: Server, text: str, status: int = 200, **more: Any) -> dict[str, Any]:
    answer = server.client(VIEWER).post("/feel", json={"text": text, **more})
    assert answer.status_code == status, answer.text
    return dict(answer.json())


@pytest.mark.parametrize(
    ("text", "context", "written", "value", "type"),
    [
        ("for x in [1, 2, 3] return x * 0.1", {}, "[0.1, 0.2, 0.3]", [0.1, 0.2, 0.3], "list"),
        ("0.1 + 0.2", {}, "0.3", 0.3, "number"),
        ("Full Name + \"!\"", {"Full Name": "Kim"}, '"Kim!"', "Kim!", "string"),
        ("order.total > limit", {"order": {"total": 12}, "limit": 10}, "true", True, "boolean"),
        ('date("2024-02-29") + duration("P1Y")', {}, '@"2025-02-28"', "2025-02-28", "date"),
        ("10 ** 400", {}, "1" + "0" * 400, None, "number"),
        ("{a: 1, b: a + 1}", {}, "{a: 1, b: 2}", {"a": 1, "b": 2}, "context"),
    ],
)  # fmt: skip
def test_feel_values(dev: Server, text: str, context: Any, written: str, value: Any, type: str) -> None:
    """DMN 1.5, 10.3: a value as text, as JSON, and its type."""
    answer = feel(dev, text, context=context)
    assert (answer["text"], answer["value"], answer["type"]) == (written, value, type)
    assert answer["warnings"] == []


def test_feel_null_says_where_and_strict_fails(dev: Server) -> None:
    """DMN 1.5, 10.3.1.3: an error is null, with a warning that has its place; strict fails instead."""
    answer = feel(dev, '1 + (2 + "a")')
    assert (answer["text"], answer["value"], answer["type"]) == ("null", None, "Null")
    assert answer["warnings"] and answer["warnings"][0]["position"] in range(5, 14)
    problem = feel(dev, '1 + (2 + "a")', 422, strict=True)
    assert problem["code"] == "FEEL_EVALUATION" and problem["position"] == answer["warnings"][0]["position"]
    assert problem["hint"]


def test_feel_unary_tests(dev: Server) -> None:
    """DMN 1.5, 10.3.2.7: what stands in a cell of a decision table."""
    assert feel(dev, "< 5, [10..20)", kind="unary_tests", value=12)["value"] is True
    assert feel(dev, "< 5, [10..20)", kind="unary_tests", value=20)["value"] is False
    assert feel(dev, "? > limit", kind="unary_tests", value=3, context={"limit": 2})["names"] == ["limit"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1 +", "FEEL_SYNTAX"),
        ("for x in", "FEEL_SYNTAX"),
        ("(" * 5_000, "FEEL_SYNTAX"),
        ("count(for x in 1..1000000000000 return x)", "FEEL_LIMIT"),
        ("{f: function(n) f(n + 1), r: f(1)}.r", "FEEL_LIMIT"),
        ("for x in 1..19000 return exp(x)", "FEEL_LIMIT"),
        ("for x in 1..1000000 return exp(x)", "FEEL_LIMIT"),
        ("for x in 1..15000 return \"aaaaaaaa\"", "FEEL_LIMIT"),
        ("x" * 10_001, "PS-422-REQUEST"),
        ("", "PS-422-REQUEST"),
    ],
)  # fmt: skip
def test_feel_bombs_end(dev: Server, text: str, code: str) -> None:
    """Bad input of the issue: nesting, ranges, recursion, texts; each ends with a code, a place and a hint."""
    answer = dev.client(VIEWER).post("/feel", json={"text": text})
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] == code and answer.json()["hint"]
    if code.startswith("FEEL"):
        assert answer.json()["position"] >= 1


def test_feel_is_told_in_korean(dev: Server) -> None:
    answer = dev.client(VIEWER).post("/feel", json={"text": "1 +"}, headers={"Accept-Language": "ko"})
    assert answer.json()["title"] == "맞지 않음" and "번째 글자" in answer.json()["detail"]


def test_feel_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """Like a trial of rules: its process is killed, and the server goes on."""

    async def story(site: Site) -> None:
        trials: LongReads = site.app.state.server.trials
        patience, trials.answer_s = trials.answer_s, 0
        answer = await site.client.post("/api/v1/feel", json={"text": "1 + 1"})
        assert (answer.status_code, answer.json()["code"]) == (503, "PS-503-TRIAL"), answer.text
        assert trials._process is None
        trials.answer_s = patience
        answer = await site.client.post("/api/v1/feel", json={"text": "1 + 1"})
        assert answer.status_code == 200 and answer.json()["value"] == 2, answer.text

    on_site(story, tmp_path, rounds=0)
