"""The programs that count what is tested: a wrong count would be believed."""

from __future__ import annotations

from pathlib import Path

from tools import gen_conformance, traceability
from tools.gen_conformance import Count

CATALOGUE = """# Diagrams
| id | text |
|---|---|
| D-1.1 | first |
| D-1.2 | second |
- **D-10.1** tenth
"""

TESTS = '''"""A file of tests."""
import pytest

CASES = ["D-10.1"]

def test_one():
    """D-1.1: it holds."""
    assert True

def test_empty():
    """D-1.2: it says nothing."""
    print("D-1.2")

@pytest.mark.parametrize("case", CASES)
def test_table(case):
    assert case

def test_d_1_2_in_the_name():
    assert True

def not_a_test():
    """D-1.1"""
    assert True
'''


def house(root: Path, tests: str = TESTS, waived: str = "") -> Path:
    (root / "docs/requirements").mkdir(parents=True)
    (root / "tests").mkdir()
    for catalogue in traceability.CATALOGUES:
        (root / f"docs/requirements/{catalogue}.md").write_text(CATALOGUE if catalogue == "diagrams" else "# Other\n")
    (root / "docs/requirements/waived.md").write_text(f"# Waived\n\n{waived}\n")
    (root / "tests/test_it.py").write_text(tests)
    return root


def test_ids_are_read_from_docstrings_decorators_and_names(tmp_path: Path) -> None:
    named = traceability.named(house(tmp_path))
    assert named == {
        "D-1.1": ["tests/test_it.py::test_one"],
        "D-10.1": ["tests/test_it.py::test_table"],
        "D-1.2": ["tests/test_it.py::test_d_1_2_in_the_name"],
    }


def test_a_test_that_checks_nothing_is_named_and_does_not_count(tmp_path: Path) -> None:
    assert traceability.complaints(house(tmp_path)) == ["thin: tests/test_it.py::test_empty checks nothing"]


def test_unknown_ids_are_named(tmp_path: Path) -> None:
    root = house(tmp_path, 'def test_x():\n    """D-7.7"""\n    assert 1\n', "D-8.8: because")
    assert traceability.complaints(root) == [
        "unknown: tests/test_it.py::test_x names D-7.7",
        "unknown: waived.md names D-8.8",
    ]


def test_a_waiver_needs_a_reason(tmp_path: Path) -> None:
    root = house(tmp_path, waived="D-1.1: a rationale\nD-1.2:\n- D-10.1: a glossary")
    assert traceability.waived(root) == {"D-1.1": "a rationale", "D-10.1": "a glossary"}


def test_prefixes_count_whole_segments() -> None:
    assert traceability.under("D-1.1", "D-1")
    assert not traceability.under("D-10.1", "D-1")
    assert traceability.under("D-10.1", "D-")
    assert traceability.under("TC-WF-001", "TC-WF-")


def test_a_status_is_not_better_than_its_ids() -> None:
    assert Count(ids=3, named=3, waived=0, unbuilt=0).status(readable=True) == "works"
    assert Count(ids=3, named=2, waived=1, unbuilt=0).status(readable=True) == "works"
    assert Count(ids=3, named=2, waived=1, unbuilt=1).status(readable=True) == "partly"
    assert Count(ids=3, named=1, waived=0, unbuilt=0).status(readable=True) == "partly"
    assert Count(ids=3, named=3, waived=0, unbuilt=0).status(readable=False) == "partly"
    assert Count(ids=3, named=0, waived=2, unbuilt=0).status(readable=True) == "not yet"
    assert Count(ids=1, named=0, waived=1, unbuilt=1).status(readable=True) == "not yet"
    assert Count(ids=1, named=0, waived=1, unbuilt=0).status(readable=True) == "–"
    assert Count(ids=0, named=0, waived=0, unbuilt=0).status(readable=True) == "–"


def test_headings_inside_code_are_none_and_an_open_fence_hides_nothing() -> None:
    text = "# A\n```python\n# no\n````\n## B\n~~~\n# no\n~~~\n```\n## C\n"
    assert [one.text for one in gen_conformance.headings(text)] == ["A", "B", "C"]
