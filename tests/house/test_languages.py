"""A language is four folders with one name and one line in a table: nothing else knows it by its name."""

from __future__ import annotations

import pytest

from penstock import languages
from tests.house.files import ROOT
from tests.house.language_names import (
    NAMES,
    ROOMS,
    compared_names,
    imported_folders,
    named_modules,
    source_files,
)

SOURCE = ROOT / "src" / "penstock"
#: modules that carry such a word and mean something else
OTHER_MODULES = {
    "diagram.py": "public: what authors of handlers import",
    "executors/parts/rules/decisions.py": "the decisions of a DMN file",
    "lang/process/bpmn/diagram_interchange.py": "BPMN's own word for how it is drawn",
    "store/postgres/pipeline.py": "PostgreSQL's own word for statements that are sent together",
    "executors/parts/processes/": "processes of the operating system",
    "executors/parts/sessions/process_": "processes of the operating system",
}
_AGENT = "the kind of agent that is a program of the operator's"
#: comparisons with such a word that mean something else: where, and the word
OTHER_WORDS = {
    ("app/registry/artifact_types.py", "process"): _AGENT,
    ("executors/agents/__init__.py", "process"): _AGENT,
    ("executors/parts/rules/dmn/model.py", "decision"): "DMN's own word for an element of its graph",
    ("net/", "diagram"): "the net's join mode of that name",
}


def test_no_module_is_named_for_a_language() -> None:
    found = list(named_modules(source_files(SOURCE)))
    assert [file for file in found if not file.startswith(tuple(OTHER_MODULES))] == []
    assert [other for other in OTHER_MODULES if not any(file.startswith(other) for file in found)] == []


def test_nothing_compares_with_the_name_of_a_language() -> None:
    """The list of exceptions holds none that is not there any more."""
    found = {
        (file, name): line
        for file in source_files(SOURCE)
        for line, name in compared_names(file, (SOURCE / file).read_text(encoding="utf-8"))
    }
    allowed = {(file, name) for file, name in found for other in OTHER_WORDS if _fits((file, name), other)}
    assert {where: line for where, line in found.items() if where not in allowed} == {}
    assert [other for other in OTHER_WORDS if not any(_fits(where, other) for where in found)] == []


def test_nothing_imports_the_folder_of_a_language() -> None:
    """The table finds them by name. Two documented methods of the door are about workflows alone."""
    found = {
        file: module
        for file in source_files(SOURCE)
        for _, module in imported_folders(file, (SOURCE / file).read_text(encoding="utf-8"))
    }
    assert set(found) == {"app/penstock.py"}


def _fits(found: tuple[str, str], other: tuple[str, str]) -> bool:
    return found[0].startswith(other[0]) and found[1] == other[1]


def test_every_language_of_the_table_has_its_folders() -> None:
    assert {*languages.HOUSE} <= NAMES
    for room in ROOMS:
        folders = {file.parent.name for file in (SOURCE / room).glob("*/__init__.py")} & NAMES
        assert folders == {*languages.HOUSE}, room
    screens = {folder.name for folder in (ROOT / "console" / "src").iterdir()} & NAMES
    assert screens == {*languages.HOUSE}


@pytest.mark.parametrize(
    "file",
    [
        "host/process_events.py", "host/decision.py", "app/runs/diagram_view.py", "store/of_pipeline.py",
        "app/processes.py", "app/process/decision_rows.py", "executors/plan/__init__.py",
    ],
)  # fmt: skip
def test_a_planted_module_is_found(file: str) -> None:
    assert list(named_modules([file])) == [file]


@pytest.mark.parametrize("file", ["lang/process/words.py", "app/decision/judgments.py", "lifecycle/decision_run.py"])
def test_a_module_in_its_own_folder_is_not(file: str) -> None:
    assert not list(named_modules([file]))


@pytest.mark.parametrize(
    "text",
    [
        'if net.language == "decision": pass',
        'if "process" != language: pass',
        'if language in ("decision", "process"): pass',
        'if language not in {"diagram"}: pass',
        'about = net.declares.policies.get("process")',
        'about = net.declares.policies["process"]',
        'LABELS = {"decision": 1, "process": 2}',
        'LABELS = {"diagram": 1}',
        'DECISION, PROCESS = "decision", "process"',
        'PROCESS = "process"',
        'compile_document(b"", language="decision")',
        'match language:\n    case "pipeline" | "plan":\n        pass',
    ],
)
def test_a_planted_comparison_is_found(text: str) -> None:
    assert list(compared_names("host/planted.py", text))
    assert not list(compared_names("dialects/process/planted.py", text))


@pytest.mark.parametrize(
    "text",
    [
        "from penstock.lang.process import words", "import penstock.app.decision.judgments",
        "def f():\n    from penstock.dialects import diagram",
    ],
)  # fmt: skip
def test_a_planted_import_is_found(text: str) -> None:
    assert list(imported_folders("host/planted.py", text))
    assert not list(imported_folders("cli/process/planted.py", text))


@pytest.mark.parametrize(
    "text", ['verdict = output["decision"]', 'out = {"decision": "normal", "confidence": 1}', 'kind = "processed"']
)
def test_a_field_of_a_verdict_is_no_comparison(text: str) -> None:
    assert not list(compared_names("host/planted.py", text))
