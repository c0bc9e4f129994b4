"""Sections 13 and 14 of the source: what it points to is there, and its words are in the glossary."""

from __future__ import annotations

import re

import pytest

from tests.house.files import ROOT

PAGE = ROOT / "docs/explanation/source-links.md"
GLOSSARY = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
#: 13.1: what is linked, the document, and a word of what is found there
LINKS = [
    ("node types", "B-2 Module Design", "executor"),
    ("JUDGMENT", "B-6 AI/Agent Spec", "prompt"),
    ("data query", "B-3 DB Schema", "fact_"),
    ("API calls", "B-4 API Spec", "endpoint"),
    ("error handling", "D-3 Runbook", "repair"),
    ("monitoring", "D-2 Monitoring", "metrics"),
    ("tests", "C-3 Test Plan", "TC-WF-001"),
    ("deployment", "D-1 DevOps", "CI/CD"),
]
#: 14.1: the word, and what its line must say in both languages
TERMS = [
    ("DSL", "domain specific language", "도메인 특화 언어"),
    ("node", "basic unit of execution", "기본 실행 단위"),
    ("edge", "connection", "연결"),
    ("instance", "a run", "인스턴스"),
    ("checkpoint", "state", "체크포인트"),
    ("DLQ", "dead letter queue", "데드 레터"),
    ("circuit breaker", "failures in a row", "회로 차단기"),
    ("idempotency", "same request", "멱등성"),
]


def line(text: str, word: str) -> str:
    """The row of a table whose first cell has this word."""
    rows = (row for row in text.splitlines() if row.startswith("| "))
    return next(row for row in rows if word in re.split(r", | \(", row.split(" | ")[0].removeprefix("| ")))


@pytest.mark.parametrize(("subject", "document", "word"), LINKS)
def test_w_13_1_1_every_link_of_the_source_leads_somewhere(subject: str, document: str, word: str) -> None:
    """W-13.1.1: the row names the document, and the pages beside it are there and speak of it."""
    row = line(PAGE.read_text(encoding="utf-8"), subject)
    assert document in row
    pages = [PAGE.parent / target for target in re.findall(r"\]\(([^)]+)\)", row)]
    assert pages and [page.name for page in pages if not page.exists()] == []
    found = row + "".join(page.read_text(encoding="utf-8") for page in pages)
    assert word.lower() in found.lower()


@pytest.mark.parametrize(("term", "english", "korean"), TERMS)
def test_w_14_1_1_the_words_of_the_source_are_in_the_glossary(term: str, english: str, korean: str) -> None:
    """W-14.1.1: with their meaning in both languages; and the history of the document is kept."""
    row = line(GLOSSARY, term)
    assert english in row.lower() and korean in row
    assert "| 1.0 | 2024-01-10 |" in GLOSSARY and "| 2.0 | 2024-01-15 |" in GLOSSARY
