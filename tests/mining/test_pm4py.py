"""pm4py as a second opinion, really installed in an environment of its own: the same logs, the same answers."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from random import Random

import pytest

from penstock.app.process.mining.conformance import check_conformance
from penstock.app.process.mining.editing.tree_definition import tree_definition
from penstock.errors import ExtraMissing, MinerFailed
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.mining import pm4py_client
from penstock.mining.conformance import conformance
from penstock.mining.flow_model import tree_model
from penstock.mining.inductive_miner import discover_tree
from penstock.mining.pm4py_client import check_with_pm4py, discover_with_pm4py
from penstock.mining.replay import Replayer
from tests.mining.random_trees import Variants, log_of, random_tree
from tests.servers import pm4py

_ROOT = Path(__file__).parents[2]


def second_opinion() -> str:
    return str(pm4py.python())


def logs(seed: int, number: int, *, loops: bool = True) -> list[Variants]:
    random = Random(seed)
    found: list[Variants] = []
    while len(found) < number:
        tree = random_tree(random, [f"x{i}" for i in range(3 + len(found) % 4)])
        if loops or "*" not in str(tree):
            found.append({case: cases for case, cases in log_of(tree, random, 30).items() if case})
    return [log for log in found if log]


def as_bpmn(log: Variants) -> tuple[str, dict[str, object]]:
    """Choices without the items by which they are asked for: pm4py knows none."""
    definition = tree_definition(discover_tree(log), None, "p", "P")
    return write_bpmn(definition), definition


def test_models_of_logs_replay_them_in_pm4py_too() -> None:
    """P-7.2.2: token replay and alignments of pm4py over the BPMN of our inductive miner: fitness 1.0."""
    for log in logs(41, 4):
        bpmn, _ = as_bpmn(log)
        aligned = check_with_pm4py(bpmn, log, "alignments", python=second_opinion())
        assert aligned.costs == (0,) * len(log) and aligned.bounded == 0
        assert aligned.fitness == pytest.approx(1.0)
    token = check_with_pm4py(bpmn, log, "token", python=second_opinion())
    assert token.costs == (0,) * len(log) and token.fitness == pytest.approx(1.0)


def test_deviations_cost_what_pm4py_says() -> None:
    """P-7.2.2: skips, repetitions, swaps and inventions in cases of generated processes: the same smallest number."""
    random = Random(43)
    for log in logs(47, 4):
        bpmn, definition = as_bpmn(log)
        broken = dict.fromkeys((_broken(list(case), random) for case in list(log)[:6]), 1)
        broken = {case: 1 for case in broken if case}
        theirs = check_with_pm4py(bpmn, broken, python=second_opinion())
        replayer = Replayer(tree_model(discover_tree(log)))
        ours = tuple(replayer.explain(case).cost for case in broken)
        assert ours == theirs.costs
        assert check_conformance(definition, broken).fits == tuple(cost == 0 for cost in theirs.costs)


def _broken(case: list[str], random: Random) -> tuple[str, ...]:
    for _ in range(2):
        at = random.randrange(len(case)) if case else 0
        how = random.choice(["skip", "again", "swap", "new"])
        if how == "skip":
            del case[at : at + 1]
        elif how == "again":
            case[at:at] = case[at : at + 1]
        elif how == "swap" and at:
            case[at - 1 : at + 1] = reversed(case[at - 1 : at + 1])
        else:
            case.insert(at, "new")
    return tuple(case)


def test_precision_is_that_of_pm4py() -> None:
    """P-7.4.4: within 0.05. Where markings are ambiguous we look at all of them, and pm4py at the one that its replay
    has chosen."""
    for log in logs(53, 5, loops=False):
        bpmn, _ = as_bpmn(log)
        ours = conformance(tree_model(discover_tree(log)), log).precision
        theirs = check_with_pm4py(bpmn, log, "token", python=second_opinion()).precision
        assert ours == pytest.approx(theirs, abs=0.05)


def test_trees_of_pm4py_replay_the_log_here() -> None:
    """P-7.2.2: its inductive miner's trees, as our replay reads them."""
    for log in logs(59, 3):
        replayer = Replayer(tree_model(discover_with_pm4py(log, python=second_opinion())))
        assert all(replayer.fits(case) for case in log)


def test_pm4py_that_takes_too_long_is_ended() -> None:
    """P-8.5: a typed answer, and no process is left."""
    with pytest.raises(MinerFailed) as failed:
        discover_with_pm4py({("a",): 1}, limit_s=0.05, python=second_opinion())
    assert failed.value.code == "PS-503-MINER" and "longer than 0.05 s" in str(failed.value)


def test_alignments_tell_how_many_have_no_answer() -> None:
    """P-7.2.2: the bound that was reached."""
    log = {tuple(f"x{i}" for i in range(8)): 1, tuple(f"x{7 - i}" for i in range(8)): 1, ("x1", "x0", "x0", "x7"): 1}
    bpmn, _ = as_bpmn(log)
    found = check_with_pm4py(bpmn, log, alignment_s=0.0, python=second_opinion())
    assert found.bounded == len(log) == found.costs.count(None)


def test_a_model_that_pm4py_cannot_read_is_a_typed_answer() -> None:
    """P-7.4.1."""
    with pytest.raises(MinerFailed, match="no answer"):
        check_with_pm4py("<no/>", {("a",): 1}, python=second_opinion())


def test_without_the_extra_the_message_names_it() -> None:
    """P-7.1.2: the tests' own environment has no pm4py."""
    with pytest.raises(ExtraMissing, match=r"penstock\[mining\]"):
        discover_with_pm4py({("a",): 1}, python=sys.executable)


def test_a_process_that_says_nothing_is_a_typed_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """P-7.1.2: one that dies says no JSON."""
    (tmp_path / "dies.py").write_text("import os; os._exit(3)")
    monkeypatch.setattr(pm4py_client, "_WORKER", tmp_path / "dies.py")
    with pytest.raises(MinerFailed, match="ended with 3"):
        discover_with_pm4py({("a",): 1})


def test_pm4py_is_in_no_other_extra() -> None:
    """STACK: AGPL comes with nothing but its own extra."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras["mining"] == ["pm4py>=2.7"]
    others = [*project["dependencies"], *(one for name, listed in extras.items() if name != "mining" for one in listed)]
    assert not [one for one in others if "pm4py" in one or "mining" in one]
