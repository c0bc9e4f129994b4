"""The readable form: heads, ways and persons, and lines that are too long or say nothing (D-X.14)."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import Finding
from penstock.lang.compile import check_document, compile_document
from penstock.lang.diagram.yaml_text import yaml_text
from tests.conformance.diagram.make import node, only, told_well


def readable(flow: list[Any], nodes: list[Any] | None = None, **top: Any) -> bytes:
    usual = [{"S": {"type": "start"}}, {"A": {"type": "template_job", "template": "a"}}, {"E": {"type": "endpoint"}}]
    return yaml_text({"version": "readable", "nodes": nodes or usual, "flow": flow, **top}).encode()


def findings(source: bytes) -> list[Finding]:
    return check_document(source, name="d")[1]


def edges(source: bytes) -> list[tuple[str, str]]:
    return [(edge.src, edge.dst) for edge in compile_document(source, name="d").net.edges]


LONG = 30_000
LINES = {
    "spaces in a head": ("/nodes/1/", [{"S": {"type": "start"}}, {"A" + " " * LONG + "x": {"type": "endpoint"}}], []),
    "brackets in a head": ("/nodes/1/", [{"S": {"type": "start"}}, {" [a" * LONG: {"type": "endpoint"}}], []),
    "groups in a way": ("/flow/0/S", None, [{"S": "(" + "()" * LONG + "x"}]),
    "spaces in a way": ("/flow/0/S", None, [{"S": 'to "A"' + " " * LONG + "-"}]),
    "a way in a list": ("/flow/0/S/1", None, [{"S": ['to "A"', "x" * LONG]}]),
    "an arrow": ("/flow/0", None, ["S -> " + " " * LONG + "A"]),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_too_long_is_not_read(name: str) -> None:
    """D-X.14: it is told with its place, and nothing is searched in it."""
    place, nodes, flow = LINES[name]
    finding = only(findings(readable(flow, nodes)), "line_too_long")
    assert finding.where is not None and finding.where.pointer is not None
    assert finding.where.pointer.startswith(place) and len(finding.message) < 200
    told_well([finding])


@pytest.mark.parametrize(
    ("flow", "ways"),
    [
        ([{"S": 'to "A" - to "E"'}, {"A": 'to "E"'}], [("S", "A"), ("S", "E"), ("A", "E")]),
        ([{"S": '  to "A"  as "raw_text"  '}, {"A": "E (object) (x)"}], [("S", "A"), ("A", "E")]),
        ([{"S": 'to "A" naming "b - to "'}, {"A": 'to "E"'}], [("S", "A"), ("A", "E")]),
        (["S -> A -> E"], [("S", "A"), ("A", "E")]),
    ],
)
def test_ways(flow: list[Any], ways: list[tuple[str, str]]) -> None:
    """D-X.14: words in quotes, several behind a dash, and the older form with brackets; a quoted dash is a text."""
    assert edges(readable(flow)) == ways


@pytest.mark.parametrize(
    "way", ['to "A" to "E"', 'to "A" as "object" as "raw_text"', 'from "x"', 'to "A" - ', 'to "A" x']
)
def test_what_is_no_way_is_refused(way: str) -> None:
    """D-X.14: a word that stands twice would leave one of its values out."""
    assert only(findings(readable([{"S": way}])), "bad_flow").where.pointer == "/flow/0/S"


def test_a_label_without_quotes() -> None:
    """D-X.14: the hint shows where the quotes go; a label that begins like a word is a label all the same."""
    assert 'to "E"' in only(findings(readable([{"S": "to E"}])), "bad_flow").hint
    nodes = [{"S": {"type": "start"}}, {"to lunch": {"type": "endpoint"}}]
    assert edges(readable([{"S": "to lunch"}], nodes)) == edges(readable([{"S": 'to "to lunch"'}], nodes))
    assert edges(readable([{"S": "to lunch (x)"}], nodes)) == [("S", "to lunch")]


@pytest.mark.parametrize(
    ("head", "label", "position"),
    [
        ("Try @(1,2) [endpoint]", "Try @(1,2)", None),
        ("Try @(1,2) @( 3 , -4.5 )", "Try @(1,2)", {"x": 3, "y": -4.5}),
        ("Try [endpoint] @(3,4)", "Try", {"x": 3, "y": 4}),
        ("a@(b)", "a@(b)", None),
    ],
)
def test_heads(head: str, label: str, position: dict[str, Any] | None) -> None:
    """D-X.14: the type and the position are what stands last; a label may look like either."""
    source = readable([{"S": f'to "{label}"'}], [{"S": {"type": "start"}}, {head: {"type": "endpoint"}}])
    assert edges(source) == [("S", label)]
    from penstock.lang.diagram.readable_form import read_head

    assert read_head(head).position == position


def test_a_person_who_is_called_like_an_id() -> None:
    """D-X.17: `person_Judge` is the person of that name if there is one, and else Judge."""
    nodes = [{"S": {"type": "start"}}, {"A": {"type": "person_job", "person": "person_Judge", "default_prompt": "x"}}]
    for persons, asked in (
        ([{"Judge": {"service": "mock"}}, {"person_Judge": {"service": "echo"}}], "person_Judge"),
        ([{"person_Judge": {"service": "echo"}}, {"Judge": {"service": "mock"}}], "person_Judge"),
        ([{"Judge": {"service": "mock"}}], "Judge"),
    ):
        net = compile_document(readable([{"S": 'to "A"'}], nodes, persons=persons), name="d").net
        assert node(net, "A").effect.args["person"]["name"] == asked


def test_an_id_that_two_persons_share_is_nobodys() -> None:
    """D-X.17: nobody is asked in another's place."""
    nodes = [{"S": {"type": "start"}}, {"A": {"type": "person_job", "person": "person_a_b", "default_prompt": "x"}}]
    persons = [{"a b": {"service": "mock"}}, {"a_b": {"service": "echo"}}]
    finding = only(findings(readable([{"S": 'to "A"'}], nodes, persons=persons)), "unknown_person")
    assert finding.node == "A"
