"""The words of people who draw: run statuses, node states, events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.dialects import token_events
from penstock.dialects.diagram import words
from penstock.lang import diagram
from penstock.lang.diagram.editor_schema import editor_schema, editor_schema_text
from penstock.lang.diagram.nodes import NODE_TYPES
from penstock.lifecycle.diagram_node import DIAGRAM_NODE
from penstock.lifecycle.diagram_run import DIAGRAM_RUN
from penstock.lifecycle.firing import UNIT_WORDS
from penstock.lifecycle.run import RUN

EXAMPLES = Path(__file__).parents[3] / "examples" / "diagram"
OTHERS = (".scenario.yaml", ".readable.yaml")  # stories, and a form that the editor's schema is not for
DOCUMENTS = sorted(file for file in EXAMPLES.glob("*.yaml") if not file.name.endswith(OTHERS))


def test_run_statuses() -> None:
    """D-X.8: every status of a run has a word, and only the six words are used."""
    assert set(words.RUN) >= set(RUN.statuses)
    six = {"PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED"}
    assert set(words.RUN.values()) == set(DIAGRAM_RUN.statuses) == six
    for status in ("RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED"):
        assert words.RUN[status] == status


def test_node_states() -> None:
    """D-8.1.1, D-8.1.2, D-8.1.3, D-8.1.4, D-8.1.6: every unit word of the house has a state."""
    assert set(words.UNIT) >= set(UNIT_WORDS.values())
    six = {"PENDING", "RUNNING", "COMPLETED", "FAILED", "MAXITER_REACHED", "SKIPPED"}
    assert set(words.STATES) == set(DIAGRAM_NODE.statuses) == set(words.STATES_KO) == six
    assert words.node_state(None) == "PENDING"
    assert words.node_state(None, ended=True) == "SKIPPED"
    assert words.node_state("RUNNING") == words.node_state("RETRYING") == words.node_state("WAITING") == "RUNNING"
    assert words.node_state("SUCCEEDED") == "COMPLETED"
    assert words.node_state("FAILED") == "FAILED"
    assert words.node_state("CANCELLED") == words.node_state("SKIPPED") == "SKIPPED"


def test_max_iteration_is_shown() -> None:
    """D-8.1.5, D-6.1.3, D-X.5: at the limit of the epoch; a limit of one outside a loop is just done."""
    assert words.node_state("SUCCEEDED", runs=2, max_iter=3) == "COMPLETED"
    assert words.node_state("SUCCEEDED", runs=3, max_iter=3) == "MAXITER_REACHED"
    assert words.node_state("SUCCEEDED", runs=1, max_iter=1, cyclic=False) == "COMPLETED"
    assert words.node_state("SUCCEEDED", runs=1, max_iter=1, cyclic=True) == "MAXITER_REACHED"
    assert words.node_state("RUNNING", runs=3, max_iter=3) == "RUNNING"
    assert words.node_state("FAILED", runs=3, max_iter=3) == "FAILED"


def test_events() -> None:
    """D-X.22: facts become the named events, and no others."""
    named = """
        run.started node.started node.completed node.failed node.maxiter_reached node.skipped token.published
        token.consumed token.absorbed token.expired token.discarded branch.decided run.waiting run.completed run.failed
        run.cancelled
    """.split()
    assert sorted(words.EVENTS) == sorted(named) and len(named) == 16
    told = {token_events.run_event(status) for status in RUN.statuses} - {None}
    assert told == {"run.waiting", "run.completed", "run.failed", "run.cancelled"}
    assert token_events.settled_event("done") == "node.completed"
    assert token_events.settled_event("failed") == "node.failed"
    assert token_events.settled_event("skipped") == token_events.settled_event("interrupted") == "node.skipped"
    assert token_events.absorbed_event("late") == token_events.absorbed_event("max_iteration") == "token.absorbed"
    assert token_events.absorbed_event("expired") == "token.expired"
    assert token_events.absorbed_event("cancelled") == "token.discarded"
    assert set(words.GONE) == {"token.consumed", "token.absorbed", "token.expired", "token.discarded"}


def test_the_editor_schema_is_made_from_the_types() -> None:
    """D-X.14: the committed schema is what the types say; `python -m penstock.lang.diagram.editor_schema` prints it."""
    file = Path(diagram.__file__).with_name("diagram.schema.json")
    assert file.read_text(encoding="utf-8") == editor_schema_text(), "make it again with the module's own command"


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_the_editor_schema_knows_every_field_of_the_examples(file: Path) -> None:
    """D-X.14: an editor that follows the schema marks nothing in an example."""
    yaml = pytest.importorskip("yaml")
    schema = editor_schema()
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert set(data) <= set(schema["properties"])
    for one in data["nodes"]:
        assert set(one) <= {*schema["$defs"][one["type"]]["properties"], "props"}
    for one in data["connections"]:
        assert set(one) <= set(schema["$defs"]["connection"]["properties"])
    for one in data.get("persons", {}).values():
        assert set(one) <= set(schema["$defs"]["person"]["properties"])


def test_the_editor_schema_has_every_type() -> None:
    """D-X.15: ten node types and two of the public form, each with its own fields."""
    schema = editor_schema()
    ten = "start person_job condition code_job api_job db user_response template_job sub_diagram endpoint".split()
    all_types = [*ten, "hook", "integrated_api"]
    assert sorted(NODE_TYPES) == sorted(all_types) and set(all_types) <= set(schema["$defs"])
    json.dumps(schema)
