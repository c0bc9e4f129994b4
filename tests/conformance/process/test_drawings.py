"""A file as a drawing: all of its processes, what lies beside them, and how what is no drawing is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import DocumentTooLarge, DocumentUnreadable
from penstock.lang.compile import check_document
from penstock.lang.process.drawing import read_drawing, write_drawing

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / "tests/bpmn").glob("*.*"))
HEAD = '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" id="d" targetNamespace="t">'


def bpmn(inner: str, beside: str = "") -> str:
    return f'{HEAD}\n{beside}<process id="p" name="P">{inner}</process>\n</definitions>\n'


TWO = f"""{HEAD}
<message id="m" name="order"/>
<collaboration id="c">
  <participant id="shop" name="Shop" processRef="sell"/><participant id="buyer" name="Buyer" processRef="buy"/>
  <participant id="bank" name="Bank"/><participant id="idle" name="Idle" processRef="empty"/>
  <messageFlow id="mf" name="buys" sourceRef="ask" targetRef="get" messageRef="m"/>
  <messageFlow id="mf2" sourceRef="ask" targetRef="bank"/>
</collaboration>
<process id="sell" isExecutable="true"><task id="get" name="Get"/></process>
<process id="buy" isExecutable="false"><task id="ask" name="Ask"/></process>
<process id="empty"/>
<globalUserTask id="g" name="Anywhere"/>
</definitions>
"""


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_what_is_not_changed_is_written_as_it_was(file: Path) -> None:
    """P-X.25, P-2.3.1: byte for byte."""
    text = file.read_bytes().decode()
    drawing = read_drawing(text, file.name)
    assert write_drawing(drawing) == drawing.source == text


def test_every_process_with_elements_is_a_definition() -> None:
    """P-X.25, P-X.6: whether it is marked executable or not; what has none is told, pools and messages are kept."""
    drawing = read_drawing(TWO, "two.bpmn")
    assert [(data["process_definition_id"], data["process_definition_name"]) for data in drawing.definitions] == [
        ("sell", "Shop"), ("buy", "Buyer"),
    ]  # fmt: skip
    assert not any("unsupported" in data or "left_out" in data for data in drawing.definitions)
    assert [(pool["name"], pool.get("process")) for pool in drawing.pools] == [
        ("Shop", "sell"), ("Buyer", "buy"), ("Bank", None), ("Idle", "empty"),
    ]  # fmt: skip
    assert drawing.message_flows == (
        {"id": "mf", "name": "buys", "source": "ask", "target": "get", "message": "order"},
        {"id": "mf2", "source": "ask", "target": "bank"},
    )
    assert drawing.left_out == (
        {"what": "the process", "id": "empty", "name": "Idle", "why": "nothing is drawn in it"},
        {"what": "the global user task", "id": "g", "name": "Anywhere", "why": "nothing calls it"},
    )


def test_the_text_is_not_kept_in_the_definitions() -> None:
    """P-2.2.9: they stay as small as what is drawn."""
    long = bpmn('<task id="a"/>', f"<!-- {'x' * 10_000} -->")
    assert len(str(read_drawing(long, "p.bpmn").definitions)) < 1_000


def test_each_process_has_its_own_part_of_the_picture() -> None:
    """P-X.25: its elements, its pool and the messages that it sends; of the first what belongs to no other, too."""
    shape = '<di:BPMNShape bpmnElement="{0}"/>'.format
    drawn = "".join(map(shape, ("shop", "buyer", "bank", "get", "ask", "store")))
    plane = f'<di:BPMNDiagram><di:BPMNPlane bpmnElement="c">{drawn}<di:BPMNEdge bpmnElement="mf"/></di:BPMNPlane>'
    text = TWO.replace("</definitions>", f"{plane}</di:BPMNDiagram></definitions>")
    text = text.replace("<definitions", '<definitions xmlns:di="http://www.omg.org/spec/BPMN/20100524/DI"')
    first, second = (data["diagram"] for data in read_drawing(text, "two.bpmn").definitions)
    assert (set(first["shapes"]), set(first["edges"])) == ({"shop", "bank", "get", "store"}, set())
    assert (set(second["shapes"]), set(second["edges"])) == ({"buyer", "ask"}, {"mf"})


def test_references_may_have_a_prefix() -> None:
    """P-X.25: they are qualified names, and ids are none."""
    flow = '<sequenceFlow id="f" sourceRef="x:a" targetRef="x:b"/><exclusiveGateway id="g" default="x:f"/>'
    lane = '<laneSet><lane id="l"><flowNodeRef> x:a </flowNodeRef></lane></laneSet>'
    text = bpmn(f'{lane}<task id="a"/><receiveTask id="b" messageRef="x:m"/>{flow}', '<message id="m" name="Paid"/>')
    (data,) = read_drawing(text, "p.bpmn").definitions
    assert data["transitions"][0] == {"id": "f", "source": "a", "target": "b"}
    assert data["lanes"][0]["elements"] == ["a"] and data["gateways"][0]["default"] == "f"
    assert data["activities"][1]["message"] == "Paid"


def test_one_definition_of_several_names_the_way_to_all() -> None:
    """P-X.6: where a single definition is asked for, nothing is taken silently."""
    text = TWO.replace('isExecutable="false"', 'isExecutable="true"')
    errors = [finding for finding in check_document(text.encode(), name="two.bpmn")[1] if finding.severity == "error"]
    assert [finding.rule for finding in errors] == ["bpmn_not_supported"]
    assert "penstock process import" in errors[0].hint and "Buyer" in errors[0].message


def test_a_file_of_very_many_parts_is_refused() -> None:
    """P-X.25: each would cost something for every other."""
    processes = "".join(f'<process id="q{n}"><task id="t{n}"/></process>' for n in range(100))
    members = "".join(f'<participant id="m{n}"/>' for n in range(301))
    for beside, why in ((processes, "101 processes"), (f"<collaboration>{members}</collaboration>", "301 pools")):
        with pytest.raises(DocumentUnreadable, match=why):
            read_drawing(bpmn('<task id="a"/>', beside), "p.bpmn")


def test_what_is_noted_stays_in_the_file() -> None:
    """P-2.3.1: data, stores, properties, groups, notes: nothing of a definition, and nothing is lost."""
    notes = (
        '<property id="x"/><dataObject id="o"/><dataObjectReference id="r" name="Bill" dataObjectRef="o"/>'
        '<dataStoreReference id="s" name="Files"/><textAnnotation id="n"><text> as  agreed </text></textAnnotation>'
        '<group id="g"/><association id="as" sourceRef="a" targetRef="n"/>'
    )
    text = bpmn(f'<task id="a"/>{notes}')
    drawing = read_drawing(text, "p.bpmn")
    (data,) = drawing.definitions
    assert "unsupported" not in data and "left_out" not in data and write_drawing(drawing) == text
    data = data | {"activities": [{**data["activities"][0], "name": "A"}]}
    assert write_drawing(drawing.changed("p", data)) == text.replace('<task id="a"', '<task id="a" name="A"')


@pytest.mark.parametrize("encoding", ["euc-kr", "utf-16", "utf-16-le", "windows-1252", "utf-8"])
def test_other_encodings_are_kept_as_utf_8(encoding: str) -> None:
    """P-X.25: as the first line says, which then says UTF-8."""
    name = "Prüfen" if encoding == "windows-1252" else "검토"
    head = f'<?xml version="1.0" encoding="{encoding.upper()}"?>'
    text = head + bpmn(f'<task id="a" name="{name}"/>')
    drawing = read_drawing(text.encode(encoding), "p.bpmn")
    assert drawing.definitions[0]["activities"][0]["name"] == name
    assert write_drawing(drawing) == text.replace(encoding.upper(), "UTF-8")


@pytest.mark.parametrize(
    ("given", "why", "line"),
    [
        (bpmn('<task id="a"/>\n<task id="a"/>'), "<task> on line 2 and <task> have the same id «a»", 3),
        (bpmn("") + "<definitions/>", "junk after document element", 4),
        (bpmn('<task id="a"/>', "<definitions/>"), "second <definitions>", 2),
        (bpmn("", '<choreography id="c" name="Talk"/>'), "the choreography «Talk», the process «P»", 1),
        (f"{HEAD}</definitions>", "no process", 1),
        (bpmn('<task id="a">\n')[:-40], "not well-formed", 2),
        (bpmn('<task id="a" name="\0"/>'), "NUL", 2),
        ("", "empty", 1),
        (bpmn('<task id="a"/>').replace("20100524/MODEL", "1"), "<definitions> of «http://www.omg.org/spec/BPMN/1»", 1),
        ("<x/>", "its root is <x>", 1),
        (HEAD + "<process>" + "<subProcess>" * 10_000, "more than 100 deep", 1),
        (f'<!DOCTYPE d [<!ENTITY a "&b;&b;"><!ENTITY b "ha">]>{HEAD}&a;</definitions>', "DOCTYPE", 1),
        (b'<?xml version="1.0" encoding="KLINGON"?><a/>', "klingon", 1),
        (b'<?xml version="1.0" encoding="EUC-KR"?><a>' + b"\xff\xff</a>", "is not EUC-KR", 1),
        ("<a>검토</a>".encode("euc-kr"), "is not UTF-8", 1),
        ("[]", "neither", 1),
        ('{"a": 1}', "neither", 1),
    ],
)  # fmt: skip
def test_what_is_no_drawing_is_refused_with_its_place(given: str | bytes, why: str, line: int) -> None:
    """P-X.25: by name, and where it stands; never a traceback."""
    with pytest.raises(DocumentUnreadable) as refused:
        read_drawing(given, "p.bpmn")
    assert why in str(refused.value)
    where = refused.value.facts.get("where")
    assert where is not None and where.line == line


def test_a_huge_file_is_not_looked_at() -> None:
    """P-X.25: refused by its size alone."""
    with pytest.raises(DocumentTooLarge):
        read_drawing(b"<a>" + b"x" * (50 * 1024 * 1024), "p.bpmn")
