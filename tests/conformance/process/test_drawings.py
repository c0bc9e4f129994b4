"""A file as a drawing: all of its processes, what lies beside them, and how what is no drawing is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import DocumentTooLarge, DocumentUnreadable
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
