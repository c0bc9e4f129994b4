"""Expectations of Python tests that would hold for nothing: texts for lists, names that there are not, True for 1."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from penstock.errors import BadInput, ScenarioBusy
from penstock.testing import BlockingVirtualPenstock
from penstock.testing.expectations import part_mismatches
from tests.house.files import ROOT
from tests.testing.test_what_happens import approval, workflow

DEFECT = ROOT / "examples/decision/defect_alert.json"


def waiting(penstock: BlockingVirtualPenstock) -> Any:
    penstock.stub("data_defect", [{"line_id": "L01", "defect_rate": 0.08}])
    return penstock.start(DEFECT, {"line_id": "L01"})


@pytest.mark.parametrize(
    ("expected", "actual", "equal"),
    [
        (True, 1, False), (1, True, False), (0, False, False), (1, 1.0, True), ([1], [True], False), ([], (), True),
        ({"a": {"b": 1}}, {"a": {"b": True}}, False), ({"a": 1}, {"a": 1, "b": 2}, True), (None, False, False),
        ("1", 1, False), ([{"a": 1}], [{"a": 1.0}], True), ({}, [], False), ([1, 2], [1], False),
    ],
)  # fmt: skip
def test_values_are_equal_as_in_json(expected: Any, actual: Any, equal: bool) -> None:
    assert (part_mismatches("x", expected, actual) == []) is equal


def test_counts_are_numbers(penstock_test: BlockingVirtualPenstock) -> None:
    run = waiting(penstock_test)
    for then in ({"visits": {"data_defect": True}}, {"runs": True}):
        with pytest.raises(AssertionError):
            penstock_test.expect(run, **then)


@pytest.mark.parametrize("word", ["not_reached", "passes", "path", "compensated"])
def test_a_text_is_no_list_of_nodes(word: str, penstock_test: BlockingVirtualPenstock) -> None:
    with pytest.raises(BadInput, match="list of nodes"):
        penstock_test.expect(waiting(penstock_test), **{word: "judge_quality"})


@pytest.mark.parametrize("then", [{"not_reached": ["judge_qualty"]}, {"visits": {"judge_qualty": 0}}])
def test_nodes_that_there_are_not(then: dict[str, Any], penstock_test: BlockingVirtualPenstock) -> None:
    with pytest.raises(BadInput, match="no node «judge_qualty»") as refused:
        penstock_test.expect(waiting(penstock_test), **then)
    assert "judge_quality" in str(refused.value.facts["hint"])


def test_stubs_of_nodes_that_there_are_not(penstock_test: BlockingVirtualPenstock) -> None:
    penstock_test.stub("data_defekt", 1)
    with pytest.raises(BadInput, match="no node «data_defekt»") as refused:
        waiting(penstock_test)
    assert "data_defect" in str(refused.value.facts["hint"])
    with pytest.raises(BadInput, match="effect"):
        penstock_test.stub(effect="reed", behaviours=[1])


def test_stubs_of_nodes_of_another_document(penstock_test: BlockingVirtualPenstock) -> None:
    """One that was released before, or that is started later with a stub of its own."""
    penstock_test.release(workflow(approval()))
    penstock_test.stub("ask", True)
    assert waiting(penstock_test).status == "waiting"


def test_a_stub_that_holds_its_question_against_something(penstock_test: BlockingVirtualPenstock) -> None:
    """An AssertionError of a stub is the test's, and not a failure of the node."""

    def rows(request: Any) -> Any:
        assert request.args["params"]["line_id"] == "L02", "another line"

    penstock_test.stub("data_defect", rows)
    with pytest.raises(AssertionError, match="another line"):
        penstock_test.start(DEFECT, {"line_id": "L01"})
    penstock_test.rest()


@pytest.mark.parametrize("span", [2.5, None, True, -1])
def test_spans_that_are_none(span: Any, penstock_test: BlockingVirtualPenstock) -> None:
    with pytest.raises(BadInput):
        penstock_test.advance(span)


@pytest.mark.parametrize("span", ["999999999999w", 10**18])
def test_time_ends_with_the_year_9999(span: Any, penstock_test: BlockingVirtualPenstock) -> None:
    penstock_test.start(workflow(approval()))
    with pytest.raises(BadInput, match="9999"):
        penstock_test.advance(span)
    with pytest.raises(BadInput, match="9999"):
        penstock_test.advance_until(lambda: False, within="999999999999w")


def test_a_span_is_bounded_in_real_time() -> None:
    """Each moment is quick, and there are too many: what happens most often is named."""
    with BlockingVirtualPenstock(patience_s=0.5) as penstock:
        penstock.stub("data_defect", [{"defect_rate": 0.004}])
        penstock.release(DEFECT, in_force=True)
        with pytest.raises(ScenarioBusy, match=r"real time.*still to come.*«data_defect».*wf_defect_alert_v2.*runs"):
            penstock.advance("100000d")


def test_inside_a_running_loop_the_other_fixture_is_named() -> None:
    async def scene() -> None:
        with pytest.raises(BadInput, match="event loop") as refused, BlockingVirtualPenstock():
            pass
        assert "async_penstock_test" in str(refused.value.facts["hint"])

    asyncio.run(scene())


def test_not_reached_is_true_of_nodes_that_exist(penstock_test: BlockingVirtualPenstock) -> None:
    run = waiting(penstock_test)
    penstock_test.expect(run, not_reached=["action_log"], visits={"action_log": 0})
    assert json.dumps(run.path)
