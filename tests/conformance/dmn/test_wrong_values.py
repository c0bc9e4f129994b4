"""DMN models with the values that the standard expects: each is right, or refused by name; none is silently wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.attacks.wrong_values import run
from tools.dmn_suite import run_folder

pytest.importorskip("lxml")
FOLDER = Path(__file__).parent


@pytest.mark.parametrize("model", ["moments", "numbers"])
def test_every_value_is_that_of_the_standard(model):
    """C-53: decimals, moments with zones, durations, members and arithmetic (DMN 1.3, 10.3.2.3 and tables 55 to 59)."""
    outcomes = run_folder(FOLDER / model)
    assert len(outcomes) > 15
    assert [outcome for outcome in outcomes if outcome.kind != "right"] == []


def test_the_types_of_a_file_are_heeded():
    """C-53: an input of typeRef date is a date; a value that is none of its type fails by its name."""
    outcomes = run_folder(FOLDER / "typed")
    assert [(outcome.kind, outcome.note) for outcome in outcomes if outcome.kind != "right"] == [
        ("failed", '«colour»: \'green\' is not among "red", "blue".'),
        ("failed", "«span»: '90 minutes' is a string, not a days and time duration."),
    ]


NAMED = [
    "A context ({…})", "A loop (for", "A quantifier (some", "A quantifier (every", "A filter", "(instance of)",
    "(function(…) …)", "An argument by its name", "«years and months duration»", "A comment", "«Europe/Paris»",
    "«-0044-03-15»", "«10:00:00.123456789»", "six digits of a second", "300 digits", "string() of a list",
    "A range is no value", "«modulo»",
]  # fmt: skip


def test_what_is_not_worked_out_is_refused_by_its_name():
    """C-53: never another value, never a silent null."""
    outcomes = run_folder(FOLDER / "refused")
    assert {outcome.kind for outcome in outcomes} == {"refused"}
    assert [name for name, outcome in zip(NAMED, outcomes, strict=True) if name not in outcome.note] == []


def test_the_attack_counts_what_the_suite_says():
    result = run()
    assert (result.verdict, result.figures["wrong"], result.figures["silent"]) == ("ok", 0, 0)
    assert result.figures["right"] >= 70
    assert result.figures["refused"] == 20


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
