"""Manuals as files and texts, and what a model that invents things has read out of one."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

from tests.api.serving import Server
from tests.browser.runs import ADMIN
from tests.conformance.process.pdfs import of_objects, stream

#: one with a condition whose name had to be made up, one whose steps nobody is named for, and one that is sure
FAULTS = """# 설비 고장 처리 {}

이 문서는 설비가 고장 났을 때 누가 무엇을 하는지 정한다.

1. 작업자: 고장을 접수한다.
2. 설비 담당자: 30분 안에 설비를 점검한다.
3. 부품이 낡았으면 공장장이 교체를 승인한다. 그렇지 않으면 설비 담당자가 바로 수리한다.
4. 작업자: 수리 결과를 기록한다.

## 처리 등급

| 긴급도 | 핵심 설비 | 처리 등급 |
|---|---|---|
| 높음 | 예 | 즉시 |
| 높음 | 아니오 | 당일 |
| 낮음 | - | 계획 |
"""
RETURNS = "# Returns {}\n\nWhen damaged, throw it away.\nIf in doubt ask.\nIf the amount exceeds 100, escalate.\n"
PAGES = (
    ("1. 담당자: 구매 요청서를 작성한다.", "2. 금액이 1000을 넘으면 팀장이 결재한다."),
    ("3. 담당자: 물품을 주문한다.", "4. 담당자: 결과를 기록한다."),
)

TITLE = "설비 고장 접수"
#: pages of sentences; the first of a page is its heading
INVENTED_PAGES = (
    ("설비 고장 접수 절차",
     "이 문서는 설비가 고장 났을 때 누가 무엇을 하는지 정한다.",
     "작업자는 고장을 접수한다.",
     "설비 담당자는 30분 안에 설비를 점검한다."),
    ("수리와 승인",
     "수리비가 100만 원을 넘으면 공장장이 수리를 승인한다.",
     "그 밖에는 설비 담당자가 바로 수리한다.",
     "수리가 끝나면 작업자가 결과를 기록한다.",
     "긴급도가 높고 설비가 핵심이면 처리 등급은 즉시로 한다."),
)  # fmt: skip
DMN = """<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="d" name="d" namespace="urn:example">
  <decision id="grade" name="처리 등급">
    <decisionTable id="grade_table" hitPolicy="FIRST">
      <input id="i1" label="긴급도"><inputExpression id="e1"><text>urgency</text></inputExpression></input>
      <input id="i2" label="핵심 설비"><inputExpression id="e2"><text>is_core</text></inputExpression></input>
      <output id="o1" label="처리 등급" name="grade"/>
      <rule id="r1"><inputEntry id="a"><text>"높음"</text></inputEntry><inputEntry id="b"><text>true</text></inputEntry><outputEntry id="c"><text>"즉시"</text></outputEntry></rule>
      <rule id="r2"><inputEntry id="f"><text>-</text></inputEntry><inputEntry id="g"><text>-</text></inputEntry><outputEntry id="h"><text>"보통"</text></outputEntry></rule>
    </decisionTable>
  </decision>
</definitions>
"""  # noqa: E501 - a file as a tool writes it


def kept_manual(server: Server, text: str, id: str) -> str:
    """Read and saved; the address of its review."""
    with closing(server.client(ADMIN)) as admin:
        answer = admin.post("/processes/definitions:extract", json={"text": text, "id": id})
        assert answer.status_code == 201, answer.text
        return f"/manuals/{answer.json()['id']}/v/{answer.json()['version']}"


def _definition(name: str) -> dict[str, Any]:
    task = {"type": "humanTask", "agent_mode": "MANUAL"}
    return {
        "process_definition_id": name, "process_definition_name": TITLE,
        "roles": [{"id": "worker", "name": "작업자"}, {"id": "keeper", "name": "설비 담당자"}],
        "activities": [
            {"id": "receive", "name": "고장 접수", "role": "worker", **task},
            {"id": "check", "name": "설비 점검", "role": "keeper", **task},
            {"id": "approve", "name": "수리 승인", **task},
            {"id": "repair", "name": "수리", "role": "keeper", **task},
            {"id": "record", "name": "결과 기록", "role": "worker", **task},
        ],
        "gateways": [
            {"id": "cost", "name": "수리비가 100만 원을 넘는가", "type": "exclusiveGateway", "default": "t4"},
        ],
        "transitions": [
            {"id": "t1", "source": "receive", "target": "check"}, {"id": "t2", "source": "check", "target": "cost"},
            {"id": "t3", "source": "cost", "target": "approve", "condition": "cost > 1000000"},
            {"id": "t4", "source": "cost", "target": "repair"}, {"id": "t5", "source": "approve", "target": "repair"},
            {"id": "t6", "source": "repair", "target": "record"},
        ],
    }  # fmt: skip


def invented(server: Server, name: str) -> dict[str, Any]:
    """What a model has read, with two claims that the manual does not hold; its drawing is the server's own."""
    definition = _definition(name)
    with closing(server.client(ADMIN)) as admin:
        seen = admin.post("/definitions/inspect", json={"document": json.dumps(definition)})
        assert seen.status_code == 200, seen.text
        bpmn = seen.json()["bpmn"]
    sentences: list[dict[str, Any]] = []
    whole = ""
    for page, texts in enumerate(INVENTED_PAGES, 1):
        for n, text in enumerate(texts, 1):
            place = {"paragraph": len(sentences) + 1, "start": len(whole), "end": len(whole) + len(text)}
            sentences.append({"id": f"s{page}.{n}", "page": page, "text": text, **place})
            whole += f"{text}\n"

    def element(collection: str, id: str, called: str, confidence: float, *of: str) -> dict[str, Any]:
        return {"collection": collection, "id": id, "name": called, "confidence": confidence, "sentences": list(of)}

    return {
        "id": name, "version": None, "approval_status": "pending",
        "confidence": 0.72, "source": "test-model", "note": "", "evidence": {}, "findings": [],
        "parts": {"activities": 0.95, "transitions": 0.9, "gateways": 0.4, "schema": 1.0},
        "definition": definition, "diff": {}, "bpmn": bpmn, "dmn": DMN, "text": whole, "sentences": sentences,
        "chunks": [
            {"number": 1, "tokens": 142, "first": "s1.1", "last": "s1.4"},
            {"number": 2, "tokens": 187, "first": "s2.1", "last": "s2.5"},
        ],
        "elements": [
            element("activities", "receive", "고장 접수", 0.97, "s1.3"),
            element("activities", "check", "설비 점검", 0.95, "s1.4"),
            element("gateways", "cost", "수리비가 100만 원을 넘는가", 0.62, "s2.2", "s2.3"),
            element("activities", "approve", "수리 승인", 0.55, "s2.2"),
            element("activities", "repair", "수리", 0.92, "s2.3"),
            element("activities", "record", "결과 기록", 0.94, "s2.4"),
            element("transitions", "t1", "t1", 0.9, "s1.3", "s1.4"),
            element("transitions", "t2", "t2", 0.9, "s1.4"),
            element("transitions", "t3", "t3", 0.7, "s2.2"),
            element("transitions", "t4", "t4", 0.85, "s2.3"),
            element("transitions", "t5", "t5", 0.9, "s2.2", "s2.3"),
            element("transitions", "t6", "t6", 0.95, "s2.4"),
            element("roles", "worker", "작업자", 0.97, "s1.3", "s2.4"),
            element("roles", "keeper", "설비 담당자", 0.95, "s1.4", "s2.3"),
            element("decisions", "grade", "처리 등급", 0.81, "s2.5"),
        ],
        "dropped": [
            {"kind": "activity", "name": "보험사에 알림", "quote": "보험사에 고장을 알린다",
             "why": "이 말은 매뉴얼에 없어요."},
            {"kind": "role", "name": "품질 관리자", "quote": "", "why": "든 문장이 이 역할을 말하지 않아요."},
        ],
    }  # fmt: skip


def pdf(pages: tuple[tuple[str, ...], ...]) -> bytes:
    """A file of some pages with Korean letters; a page without lines is a picture, as a scanner makes it."""
    letters = sorted({letter for lines in pages for line in lines for letter in line})
    code = {letter: f"{number:04x}" for number, letter in enumerate(letters, 1)}
    table = "".join(f"<{code[letter]}> <{letter.encode('utf-16-be').hex()}>\n" for letter in letters)
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /T def /CMapType 2 def\n"
        "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{len(letters)} beginbfchar\n{table}endbfchar endcmap end end"
    )
    first = 6
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} /MediaBox [0 0 595 842] >>".encode(),
        b"<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 5 0 R>>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /T /DW 1000 >>",
        stream(cmap.encode()),
    ]
    for n, lines in enumerate(pages):
        words = "".join(f"<{''.join(code[letter] for letter in line)}> Tj 0 -24 Td\n" for line in lines)
        page = f"BT /F 12 Tf 50 780 Td\n{words}ET" if lines else "0.5 g 50 50 400 600 re f"
        resources = b"<< /Font << /F 3 0 R >> >>"
        objects += [
            b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R /Resources %b >>" % (first + 2 * n + 1, resources),
            stream(page.encode()),
        ]
    return of_objects(objects)
