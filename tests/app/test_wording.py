"""Every node type has a word in both tongues: no author's type is shown to people as it is written."""

from __future__ import annotations

import pytest

from penstock.app.status_labels import wording
from penstock.lang.decision import nodes as decision
from penstock.lang.diagram import nodes as diagram
from penstock.lang.process import nodes as process

#: W-2.1.2, D-X.15 and what a process is drawn with
TYPES = {
    "decision": "DATA BI JUDGMENT MCP ACTION APPROVAL WAIT SWITCH PARALLEL COMPENSATION DEPLOY ROLLBACK SIMULATE",
    "diagram": "start person_job condition code_job api_job db user_response template_job sub_diagram endpoint "
    "hook integrated_api",
    "process": "humanTask serviceTask scriptTask businessRuleTask sendTask receiveTask subProcess callActivity "
    "exclusiveGateway parallelGateway inclusiveGateway eventBasedGateway startEvent endEvent catchEvent throwEvent "
    "boundaryEvent complexGateway adHocSubProcess transaction",
}


@pytest.mark.parametrize("locale", ["ko", "en"])
@pytest.mark.parametrize("language", TYPES)
def test_every_node_type_has_words(language: str, locale: str) -> None:
    """Those that are registered, and those that the language names for later."""
    said = wording(locale)[language]["types"]
    assert set(TYPES[language].split()) <= set(said)
    assert all(one["label"] and one["icon"] for one in said.values())
    hangul = [any("가" <= letter <= "힣" for letter in one["label"]) for one in said.values()]
    assert all(hangul) if locale == "ko" else not any(hangul)


def test_the_types_are_written_out() -> None:
    """W-2.1.2, D-X.15: a type that is added gets words."""
    registered = {
        "decision": {*decision.NODE_TYPES}, "diagram": {*diagram.NODE_TYPES},
        "process": {*process.ELEMENT_TYPES},
    }  # fmt: skip
    assert {language: set(names.split()) for language, names in TYPES.items()} == registered


@pytest.mark.parametrize("locale", ["ko", "en"])
def test_instances_and_work_items_of_processes_have_words(locale: str) -> None:
    """P-4.1.12, P-X.30: the seven of work items and the three of instances, in both tongues."""
    said = wording(locale)["process"]
    assert {"TODO", "IN_PROGRESS", "SUBMITTED", "DONE", "REWORK", "CANCELLED", "COMPENSATED"} <= set(said["node"])
    assert {"RUNNING", "COMPLETED", "TERMINATED"} <= set(said["run"])
