"""DMN models with the values that the standard expects: each is right, or refused by name; none is silently wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.attacks.wrong_values import run
from tools.dmn_suite import run_folder

pytest.importorskip("lxml")
FOLDER = Path(__file__).parent


@pytest.mark.parametrize("model", ["constructs", "moments", "numbers", "typed"])
def test_every_value_is_that_of_the_standard(model):
    """C-53: decimals, moments with zones, durations, members, arithmetic, loops, filters, functions, types of inputs
    and results (DMN 1.5, 10.3.2)."""
    outcomes = run_folder(FOLDER / model)
    assert len(outcomes) > 15
    assert [outcome for outcome in outcomes if outcome.kind != "right"] == []


NAMED = ["A function in Java", "Functions outside of FEEL", "A function in PMML"]


def test_what_is_not_worked_out_is_refused_by_its_name():
    """C-53: a function of another machine has a value: null would be a wrong one."""
    outcomes = run_folder(FOLDER / "refused")
    assert {outcome.kind for outcome in outcomes} == {"refused"}
    assert [name for name, outcome in zip(NAMED, outcomes, strict=True) if name not in outcome.note] == []


def test_the_attack_counts_what_the_suite_says():
    result = run()
    assert (result.verdict, result.figures["wrong"], result.figures["silent"]) == ("ok", 0, 0)
    assert result.figures["right"] >= 90
    assert result.figures["refused"] == 3


def test_the_suite_tells_another_value_from_a_silent_null(tmp_path):
    """The count itself can fail: with other expectations the same model is wrong, and silent."""
    model = (FOLDER / "numbers/numbers.dmn").read_text("utf-8")
    tests = (FOLDER / "numbers/numbers-test-01.xml").read_text("utf-8")
    (tmp_path / "numbers.dmn").write_text(model, "utf-8")
    spoiled = tests.replace('<value xsi:type="xsd:decimal">0.3</value>', '<value xsi:type="xsd:decimal">0.4</value>')
    spoiled = spoiled.replace('<value xsi:nil="true"/>', '<value xsi:type="xsd:decimal">5</value>', 1)
    (tmp_path / "numbers-test-01.xml").write_text(spoiled, "utf-8")
    kinds = [outcome.kind for outcome in run_folder(tmp_path)]
    assert (kinds.count("wrong"), kinds.count("silent")) == (1, 1)
    assert run(tmp_path).verdict == "bad"
