"""`penstock rules test FILE.dmn`: a model with its tests beside it, one decision by hand, and bad files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.house.files import ROOT

pytest.importorskip("lxml")
MODEL = "https://www.omg.org/spec/DMN/20230324/MODEL/"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def model(*parts: str, namespace: str = "urn:m") -> str:
    return f'<definitions xmlns="{MODEL}" id="m" name="m" namespace="{namespace}">\n{"".join(parts)}</definitions>'


def decision(name: str, text: str, more: str = "") -> str:
    logic = f"<literalExpression><text>{text}</text></literalExpression>"
    return f'<decision id="{name}" name="{name}"><variable name="{name}"/>{more}{logic}</decision>\n'


INPUT = '<inputData id="x" name="x"><variable name="x" typeRef="number"/></inputData>\n'
NEEDS = '<informationRequirement><requiredInput href="#x"/></informationRequirement>'
TWICE = model(INPUT, decision("twice", "x * 2", NEEDS))


def test_c_53_the_example_is_right(here: Path, penstock: Any) -> None:
    """C-53: the example of the docs, with the tests that lie beside it."""
    for name in ("shipping.dmn", "shipping.tests.yaml"):
        shutil.copy(ROOT / "examples/decision" / name, here / name)
    said = penstock("rules", "test", "shipping.dmn")
    assert said.out.count("right") == 3 and "3 of 3 tests pass" in said.out


def test_c_53_a_wrong_test_shows_what_was_expected_and_where(here: Path, penstock: Any) -> None:
    """C-53: exit code 3; the expected value, the value, the file and line, and why it is null."""
    Path("m.dmn").write_text(TWICE, "utf-8")
    Path("m.tests.yaml").write_text(
        "tests:\n  - {name: good, decision: twice, input: {x: 1.5}, expect: 3}\n"
        "  - {name: bad, decision: twice, input: {x: a}, expect: 4}\n  - {decision: nobody}\n",
        "utf-8",
    )
    said = penstock("rules", "test", "m.dmn", code=3)
    assert "right" in said.out and "expected 4  at m.tests.yaml:3" in said.out and "1 of 3" in said.out
    assert "«x»: 'a' is a string, not a number" in said.out and "There is no decision «nobody»" in said.out
    tests = penstock("rules", "test", "m.dmn", "--json", code=3).json()["tests"]
    assert [test["result"] for test in tests] == ["right", "wrong", "refused"]
    assert (tests[1]["expected"], tests[1]["got"], tests[1]["where"]) == ("4", "null", "m.tests.yaml:3")


SUITE = """<testCases xmlns="http://www.omg.org/spec/DMN/20160719/testcase"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">
<modelName>m.dmn</modelName>
<testCase id="one"><inputNode name="x"><value xsi:type="xsd:decimal">2</value></inputNode>
<resultNode name="twice"><expected><value xsi:type="xsd:decimal">{}</value></expected></resultNode></testCase>
</testCases>"""


def test_c_53_tests_in_the_form_of_the_public_suite(here: Path, penstock: Any) -> None:
    """C-53: beside the model, or given with --tests; those of another model are refused."""
    Path("m.dmn").write_text(TWICE, "utf-8")
    Path("m-test-01.xml").write_text(SUITE.format(4), "utf-8")
    assert "1 of 1 tests pass" in penstock("rules", "test", "m.dmn").out
    Path("else.xml").write_text(SUITE.format(5), "utf-8")
    assert "0 of 1 tests pass" in penstock("rules", "test", "m.dmn", "--tests", "else.xml", code=3).out
    Path("n.dmn").write_text(TWICE, "utf-8")
    assert (
        "not about n.dmn"
        in penstock("rules", "test", "n.dmn", "--tests", "else.xml", "--json", code=2).error()["message"]
    )
    Path("broken.xml").write_text(SUITE.format("many"), "utf-8")
    assert (
        "«many» is no decimal"
        in penstock("rules", "test", "m.dmn", "--tests", "broken.xml", "--json", code=2).error()["message"]
    )


def test_c_53_a_decision_by_hand(here: Path, penstock: Any) -> None:
    """C-53: the value, and why it is null; --strict fails instead."""
    Path("m.dmn").write_text(TWICE, "utf-8")
    asked = ("rules", "test", "m.dmn", "--decision", "twice")
    assert penstock(*asked, "--input", '{"x": 0.1}').out.strip() == "0.2"
    assert penstock(*asked, "--json").json()["warnings"] == ["input «x» (line 2): The input «x» is not given."]
    assert penstock(*asked, "--strict", "--json", code=2).error()["code"] == "DMN_NULL"
    assert penstock(*asked, "--input", "[1]", "--json", code=2).error()["code"] == "PS-400-INPUT"
    assert penstock("rules", "test", "m.dmn", "--decision", "no", "--json", code=2).error()["code"] == "PS-404-DECISION"
    Path("p.json").write_text('{"id": "p", "rules": []}', "utf-8")
    assert penstock("rules", "test", "p.json", "--strict", "--json", code=2).error()["code"] == "PS-400-INPUT"


def test_c_53_imports_are_looked_for_beside_the_model(here: Path, penstock: Any) -> None:
    """C-53: by their namespace, whatever the files are called; a file that is broken disturbs nobody."""
    needs = '<informationRequirement><requiredDecision href="urn:base#one"/></informationRequirement>'
    importing = f'<import name="b" namespace="urn:base" importType="{MODEL}"/>\n'
    Path("main.dmn").write_text(model(importing, decision("two", "b.one + 1", needs)), "utf-8")
    missing = penstock("rules", "test", "main.dmn", "--json", code=2).json()
    assert [(finding["rule"], finding["line"]) for finding in missing["findings"]] == [("dmn_part", 2)]
    Path("a_broken.dmn").write_text("<definitions", "utf-8")
    Path("library.dmn").write_text(model(decision("one", "1"), namespace="urn:base"), "utf-8")
    assert penstock("rules", "test", "main.dmn", "--decision", "two").out.strip() == "2"


@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ([decision("a", "1"), decision("a", "2").replace('id="a"', 'id="b"')], "duplicate_name"),
        ([decision("a", "1 +")], "expression"),
        ([decision("a", "1", '<informationRequirement><requiredDecision href="#a"/></informationRequirement>')],
         "decision_cycle"),
    ],
)  # fmt: skip
def test_c_53_a_model_with_errors(here: Path, penstock: Any, parts: list[str], rule: str) -> None:
    """C-53: exit code 2; every error with its line and a hint."""
    Path("m.dmn").write_text(model(*parts), "utf-8")
    (finding,) = penstock("rules", "test", "m.dmn", "--json", code=2).json()["findings"]
    assert (finding["rule"], finding["line"] > 0, bool(finding["hint"])) == (rule, True, True)
    assert "m.dmn:" in penstock("rules", "test", "m.dmn", code=2).err


def test_c_53_a_file_of_tests_that_is_none(here: Path, penstock: Any) -> None:
    Path("m.dmn").write_text(TWICE, "utf-8")
    for text in ("5", "- 5", "- {name: x}", "- {decision: twice, inputs: {}}"):
        Path("m.tests.yaml").write_text(text, "utf-8")
        assert penstock("rules", "test", "m.dmn", "--json", code=2).error()["findings"]
