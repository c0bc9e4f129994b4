"""Every decision workflow of the examples and the how-tos is well written, and the small ones do what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from penstock import Blocking
from penstock.lang.compile import check_document
from tests.house.files import ROOT
from tools import record

FOLDER = ROOT / "examples/decision"
EXAMPLES = sorted(FOLDER.glob("*.json"))
PAGES = sorted([*(ROOT / "docs/howto").glob("decision-*.md"), *(ROOT / "docs/tutorial").glob("decision*.md")])
BLOCK = re.compile(r"(?ms)^```json\n(.*?)^```")


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def is_workflow(text: str) -> bool:
    found = json.loads(text)
    return isinstance(found, dict) and {"nodes", "edges"} <= found.keys()


WRITTEN = [
    pytest.param(text, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, text in enumerate(blocks(page), 1)
    if is_workflow(text)
]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_workflow_in_the_docs_is_well_written(text: str) -> None:
    """W-9.2.1: not even a hint is left to give about what the pages show."""
    language, findings = check_document(text.encode(), name="docs.json")
    assert (language, [str(one) for one in findings]) == ("decision", [])


def test_every_page_shows_a_workflow() -> None:
    assert len(PAGES) > 20
    assert [page.name for page in PAGES if not any(map(is_workflow, blocks(page)))] == []


def test_the_readme_lists_every_workflow() -> None:
    text = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    assert [file.name for file in EXAMPLES if f"`{file.name}`" not in text] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_is_well_written(example: Path) -> None:
    assert [str(one) for one in check_document(example.read_bytes(), name=example.name)[1]] == []


def test_the_tutorial_shows_the_examples() -> None:
    """The English tutorial's files are those of the folder, in their order."""
    shown = blocks(ROOT / "docs/tutorial/decision.md")
    names = ("line_rows.json", "line_judged.json", "line_check.json")
    assert shown == [(FOLDER / name).read_text(encoding="utf-8") for name in names]


def test_the_korean_tutorial_differs_in_words_only() -> None:
    english, korean = (blocks(ROOT / f"docs/tutorial/decision{ending}.md") for ending in ("", ".ko"))
    assert [shape(json.loads(text)) for text in english] == [shape(json.loads(text)) for text in korean]


def shape(value: Any) -> Any:
    """A document without the texts that people read."""
    read = ("name", "title", "description", "message")
    if isinstance(value, dict):
        return {key: "" if key in read else shape(one) for key, one in value.items()}
    return [shape(one) for one in value] if isinstance(value, list) else value


def test_the_picture_of_the_alarm_is_what_would_be_made() -> None:
    committed = (record.ASSETS / "decision.svg").read_text(encoding="utf-8")
    assert record.decision_picture() == committed, "python -m tools.record decision"


@pytest.mark.parametrize(("line", "verdict", "ends"), [("L01", "critical", "waiting"), ("L02", "normal", "completed"),
                                                       ("L03", "warning", "completed")])  # fmt: skip
def test_the_line_check_judges_the_sample_plant(line: str, verdict: str, ends: str, tmp_path: Path) -> None:
    """W-4.8.1, W-4.6.2: critical goes to the quality manager, a warning is told, a good day ends."""
    with Blocking(tmp_path / "runs.db") as penstock:
        release = penstock.release(FOLDER / "line_check.json")
        look = penstock.wait(penstock.start(release, {"line_id": line}), until_waiting=True)
    assert look.status.lower() == ends
    assert look.variables["judgment_result"]["decision"] == verdict
