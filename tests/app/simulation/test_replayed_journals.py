"""A law: what a journal says is enough to live a run again. Virtual runs of every language are read and replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.app.simulation.replay import ReplayedAnswers, same_result
from penstock.app.simulation.subject import of_document
from penstock.app.simulation.virtual.answers import RecordedAnswers
from penstock.app.simulation.virtual.assumptions import seeded
from penstock.app.simulation.virtual.called_nets import ready
from penstock.app.simulation.virtual.compared_values import compared_values
from penstock.app.simulation.virtual.history import History, JournalReader
from penstock.app.simulation.virtual.virtual_run import VirtualRun
from penstock.kernel import fact as F
from penstock.net.compiled import Compiled
from penstock.net.model import SPREAD

ROOT = Path(__file__).parents[3]
NOW = 1_790_000_000_000
EXAMPLES = (
    "decision/defect_alert.json", "decision/ccp_deviation.json", "decision/line_check.json",
    "decision/rule_deploy.json", "process/data_registration.json", "process/fork_join.json", "process/saga.json",
    "process/supervised.json", "diagram/ask.yaml", "diagram/branches.yaml", "diagram/diamond.yaml",
    "diagram/epochs.yaml", "diagram/judge.yaml", "diagram/loop.yaml", "diagram/quorum.yaml", "diagram/calls.yaml",
    "pipeline/documents.json", "pipeline/images.json", "plan/site",
)  # fmt: skip
INPUTS: dict[str, Any] = {
    "decision/line_check.json": {"line_id": "L1"},
    "decision/rule_deploy.json": {"rule_pack_id": "quality_rules_v2", "target_env": "production"},
}


def journal_of(virtual: VirtualRun) -> list[tuple[int, list[list[Any]]]]:
    return [(at, F.decode_facts(F.encode_facts(facts))) for at, facts in virtual.turns]


@pytest.mark.parametrize("path", EXAMPLES)
def test_a_journal_is_enough_to_live_a_run_again(path: str) -> None:
    subject = of_document(ROOT / "examples" / path, None, input=INPUTS.get(path))
    net = subject.compiled
    compared, called = compared_values(net), ready(subject.called)
    for seed in range(12):
        recorder = RecordedAnswers(net, seeded(str(seed)), compared=compared, called=called)
        first = VirtualRun(net, recorder, NOW)
        first.start(subject.inputs[0])
        history = History()
        JournalReader(history, net, lambda _: net, lambda body: body, keep_args=True).read(journal_of(first))
        answers = ReplayedAnswers(net, history, compared)
        again = VirtualRun(net, answers, NOW)
        again.start(subject.inputs[0])
        assert answers.missing == answers.not_comparable == [], seed
        assert (again.status, again.elapsed_ms) == (first.status, first.elapsed_ms), seed
        assert sorted(again.trail) == sorted(first.trail), seed
        assert same_result(first.run.st.results, again.run.st.results), seed


def test_a_variable_may_be_set_by_every_node_that_spreads_its_output() -> None:
    """Of a process: nobody knows which activity sets `has_issue`, so each of them may."""
    net = of_document(ROOT / "examples/process/data_registration.json", None).compiled
    spreading = {node.id for node in net.nodes if any(each.name == SPREAD for each in node.spec.sets)} - {".start"}
    compared = compared_values(Compiled(net.net))
    assert set(compared) == spreading and all(values == {("has_issue",): [True, False]} for values in compared.values())
