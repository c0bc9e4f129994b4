"""The table of C-05 has no empty cell: every alternative, and every other leaf, has a test that shows what it does."""

from __future__ import annotations

import re

import pytest

from tests.conformance.decision.harness import beside, besides, plain, rest, samples, shown, shows, table


def test_every_alternative_has_a_test_that_runs_it() -> None:
    """C-05, W-4.14.1: no cell is empty, and no test claims an alternative that there is not."""
    cells = {(one.section, one.leaf, one.alternative) for one in samples() if one.leaf}
    assert sorted(cells - set(shown())) == [] and sorted(set(shown()) - cells) == []
    assert not [line for line in table().splitlines() if line.endswith(" -")]


def test_every_other_leaf_has_one() -> None:
    """C-05: those that have one value; and no test claims a leaf that there is not."""
    assert [(section, path) for section, name, path, _ in plain() if beside(section, name, path) == "-"] == []
    known = {(at, path) for section, name, path, _ in plain() for at in (section, f"{section} {name}")}
    assert sorted(set(besides()) - known) == []
    assert len(rest().splitlines()) == len(list(plain()))


def test_samples_without_alternatives_run_too() -> None:
    """C-05: each is named by a test of its own, by its leaves."""
    alone = {(one.section, one.name) for one in samples() if not one.leaf}
    assert alone == {
        ("3.2", "schedule"), ("3.2", "event"), ("3.2", "webhook"), ("4.8", "switch_complex"),
        ("4.10", "compensation_inventory"), ("6.3", "set_vars"), ("7.5", "dlq"),
    }  # fmt: skip
    shown = {(section, name) for section, name, path, _ in plain() if beside(section, name, path) != "-"}
    assert alone <= shown


@pytest.mark.parametrize("wrong", [("4.9", "join/strategy", "some"), ("4.9", "join/none", "all"), ("4.2", "", "")])
def test_what_is_not_there_cannot_be_shown(wrong: tuple[str, str, str]) -> None:
    """C-05: a test that names an alternative wrongly does not load."""
    at, leaf, alternative = wrong
    with pytest.raises(AssertionError, match=re.escape(f"{at} {leaf}")):
        shows(at, leaf, alternative)
