"""A definition out of a text: by a scripted model on a real socket, repaired once, else by rules."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from penstock import Penstock
from penstock.app.process.extraction import Proposal, propose
from penstock.app.process.models import extracted
from penstock.cli.identity import Claimed
from penstock.errors import Finding
from penstock.executors.parts.rules.dmn import read_model
from tests.conformance.process.test_plain_words import MANUAL
from tests.executors.bench import Server, as_json

GOOD = {
    "process_definition_name": "검증", "roles": [{"id": "clerk", "name": "담당자"}],
    "activities": [{"id": "a", "name": "접수", "type": "humanTask", "role": "clerk"},
                   {"id": "b", "name": "분류", "type": "serviceTask", "agent_mode": "AUTONOMOUS"}],
    "transitions": [{"id": "t", "source": "a", "target": "b"}],
}  # fmt: skip
BROKEN = {**GOOD, "transitions": [{"id": "t", "source": "a", "target": "nowhere"}]}


class Models:
    """A model that says the given things in turn."""

    def __init__(self) -> None:
        self.says: list[Any] = []
        self.server = Server(self._answer)

    def _answer(self, seen: Any) -> Any:
        said = self.says.pop(0)
        message = {"role": "assistant", "content": said if isinstance(said, str) else json.dumps(said)}
        return as_json({"model": "tiny-1", "choices": [{"message": message}]})


@pytest.fixture
def models() -> Iterator[Models]:
    made = Models()
    yield made
    made.server.close()


def proposed(folder: Path, models: Models | None, *says: Any, text: str = MANUAL) -> Proposal:
    async def scene() -> Proposal:
        settings: dict[str, Any] = {"http.allow": ["127.0.0.1"]}
        if models is not None:
            models.says = list(says)
            settings["llm.base_url"] = f"{models.server.url}/v1"
        async with Penstock(folder / "store.db", settings=settings, tenant="other") as door:
            return await propose(door, text)

    return asyncio.run(scene())


def test_without_a_model_the_rules_read_it(tmp_path: Path) -> None:
    """P-X.2, P-X.3: offline, and sure enough to be started."""
    found = proposed(tmp_path, None)
    assert (found.source, found.certain, found.findings) == ("rules", True, []) and found.evidence["a1"]


def test_what_the_rules_did_not_understand_is_told(tmp_path: Path) -> None:
    """P-X.22, P-6.1.6: with its line, beside what the checks say; such a text waits for a person."""
    text = "# Ship\n1. Clerk: take the order\n2. Clerk: pick a carrier depending on the weight\n3. Clerk: ship it"
    found = proposed(tmp_path, None, text=text)
    assert [(one.rule, one.severity, one.where.line) for one in found.findings] == [
        ("condition_not_read", "warning", 3)
    ]
    assert (found.confidence, found.certain) == (0.75, False)


@pytest.mark.parametrize(("confidence", "certain"), [(1.0, True), (0.8, True), (0.7999, False), (0.0, False)])
def test_p_6_1_6_four_fifths_are_enough_and_less_is_not(confidence: float, certain: bool) -> None:
    """P-6.1.6, P-X.22: 0.80 itself passes; what cannot be used waits for a person, however sure it is."""
    made: dict[str, Any] = {"definition": {}, "confidence": confidence, "parts": {}, "evidence": {}}
    wrong = Finding("rule", "error", "It cannot be used.")
    assert Proposal(**made, source="rules", findings=[]).certain is certain
    assert Proposal(**made, source="rules", findings=[wrong]).certain is False


@pytest.mark.parametrize("letter", ["\ufffe", "\uffff", "\ud800", "\x0c", "\x1f"])
def test_letters_that_xml_cannot_say_are_left_out(letter: str, tmp_path: Path) -> None:
    """P-6.1.7: BPMN and DMN XML of a manual are well-formed, whatever its letters are."""
    rows = f"| 금액 | 결{letter}재자 |\n|---|---|\n| 100만원 미만 | 팀{letter}장 |\n| 그 외 | 대표 |\n"
    found = proposed(tmp_path, None, text=f"# 신{letter}청\n1. 담당자가 신청{letter}서를 접수한다.\n\n{rows}")
    assert found.reading.dmn is not None and ElementTree.fromstring(found.reading.bpmn) is not None
    assert len(ElementTree.fromstring(found.reading.dmn)) == 2  # an input and a decision


@pytest.mark.parametrize("word", ["a", "가", "0", "신청서을 ", "경우 ", "- a\n"])
def test_a_long_manual_of_one_word_is_read_in_time(word: str, tmp_path: Path) -> None:
    """P-6.1.2: a rule that goes back from each of 300,000 letters would take an hour, and is ended by the tests."""
    text = f"1. {word * (300_000 // len(word))}"
    found = proposed(tmp_path, None, text=text)
    assert found.reading.chunks and max(chunk.tokens for chunk in found.reading.chunks) <= 800


def test_a_model_reads_it(tmp_path: Path, models: Models) -> None:
    """P-X.2: what a model has read goes through the same checks and the same confidence."""
    found = proposed(tmp_path, models, GOOD)
    assert (found.source, found.confidence, found.certain) == ("tiny-1", 1.0, True)
    assert found.definition["process_definition_id"] == "proc_text"
    asked = models.server.seen[0].json["messages"]
    assert "never an instruction" in asked[0]["content"] and "데이터 등록서 접수" in asked[1]["content"]


def test_a_definition_that_cannot_be_used_is_repaired_once(tmp_path: Path, models: Models) -> None:
    """P-X.2: checked, and repaired with what the checks have said."""
    found = proposed(tmp_path, models, BROKEN, GOOD)
    assert found.source == "tiny-1" and not found.findings
    assert "nowhere" in models.server.seen[1].json["messages"][-1]["content"]
    found = proposed(tmp_path, models, BROKEN, BROKEN)
    assert not found.certain and found.parts["schema"] == 0.0 and found.note


def test_a_model_that_says_nothing_of_use(tmp_path: Path, models: Models) -> None:
    found = proposed(tmp_path, models, "I cannot", "Sorry")
    assert found.source == "rules" and found.note and found.certain


def test_p_x_41_the_tables_stand_in_proc_def(tmp_path: Path) -> None:
    """P-X.41, P-6.1.7: proc_def.dmn is the DMN XML of the version in force, and null where there are no tables."""
    text = f"{MANUAL}\n## 기준\n| 금액 | 결재자 |\n|---|---|\n| 100만원 미만 | 팀장 |\n| 그 외 | 대표 |\n"

    async def scene() -> str | None:
        async with Penstock(tmp_path / "store.db", tenant="other") as door:
            await extracted(door, text, id="with", by=Claimed("x"))
            await extracted(door, MANUAL, id="without", by=Claimed("x"))
            return (await extracted(door, text, id="with", by=Claimed("x"), store=False)).reading.dmn

    dmn = asyncio.run(scene())
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as store:
        rows = store.execute("SELECT name, definition, dmn FROM proc_def ORDER BY dmn IS NULL").fetchall()
    assert dmn is not None and [row[2] for row in rows] == [dmn, None]
    assert read_model(rows[0][2].encode()).evaluate("기준", {"amount": 999_999}).value == "팀장"
