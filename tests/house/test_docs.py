"""The documentation says what the program does: generated pages are fresh, complete, and the site builds."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from penstock.lang.compile import check_document
from tests.house.files import ROOT, SOURCE, files, shown
from tools import gen_conformance, gen_docs, traceability

REFERENCE = ROOT / "docs/reference"
DECISION = ["Context", "Decision", "Price", "What would change our mind"]
MADE = [page for page in gen_docs.PAGES if gen_docs.load(page.module)]


def words(page: str) -> set[str]:
    """What stands in code marks or in a heading of a page of the reference."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    return {*re.findall(r"`([^`]+)`", text), *re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def test_the_reference_is_what_the_code_says() -> None:
    assert gen_docs.stale() == [], "python3 bootstrap.py docs writes them again"


@pytest.mark.parametrize("page", MADE, ids=lambda page: page.file)
def test_a_page_names_everything(page: gen_docs.Page) -> None:
    module = gen_docs.load(page.module)
    assert module is not None
    names = list(page.names(module))
    there = words(f"{page.file}.md")
    ends = {part for word in there for part in (word, word.rpartition(".")[2], word.removeprefix("penstock "))}
    assert names, "a page about nothing"
    assert [name for name in names if name not in ends] == []


def test_every_error_class_is_documented() -> None:
    """Read from the source, not from the generator: an error outside of `errors` would be found too."""
    there = words("errors.md")
    found = [
        (shown(file), node.name)
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} & there
    ]
    assert found
    assert [one for one in found if one[1] not in there] == []
    assert {file.rpartition("/")[0] for file, _ in found} == {"src/penstock/errors"}


def test_every_error_has_a_message_of_its_own() -> None:
    module = gen_docs.load("penstock.errors")
    assert module is not None
    silent = [one.__name__ for one in gen_docs.error_classes(module) if not gen_docs.first_line(one)]
    assert silent == []


def test_every_kind_and_executor_file_is_documented() -> None:
    kinds = {file.stem for file in (SOURCE / "kernel/kinds").glob("[a-z]*.py")} - {"contract"}
    executors = {file.stem for file in (SOURCE / "executors").glob("[a-z]*.py")} - {"contract"}
    assert kinds <= words("kinds.md")
    assert executors <= words("executors.md")


def test_every_decision_stands_in_the_index() -> None:
    index = (ROOT / "docs/adr/index.md").read_text(encoding="utf-8")
    pages = sorted(file.name for file in (ROOT / "docs/adr").glob("[0-9]*.md"))
    assert [name for name in pages if f"({name})" not in index] == []
    for name in pages:
        text = (ROOT / "docs/adr" / name).read_text(encoding="utf-8")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == DECISION, name


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "properdocs", "build", "--strict", "-f", "mkdocs.yml", "-d", str(tmp_path)]
    result = subprocess.run(build, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "index.html").is_file()


def test_the_menu_names_files_that_exist() -> None:
    def leaves(node: object) -> list[str]:
        if isinstance(node, list | dict):
            return [leaf for one in (node.values() if isinstance(node, dict) else node) for leaf in leaves(one)]
        return [str(node)]

    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert [leaf for leaf in leaves(nav) if not (ROOT / "docs" / leaf).is_file()] == []


def test_the_table_of_seeds_is_what_the_tests_say() -> None:
    assert gen_conformance.PAGE.read_text(encoding="utf-8") == gen_conformance.page(), "python3 bootstrap.py docs"


@pytest.mark.parametrize("seed", gen_conformance.seeds(), ids=lambda seed: seed["language"])
def test_every_heading_of_a_seed_has_a_row(seed: dict[str, object]) -> None:
    text = (ROOT / "tests/seeds" / str(seed["file"])).read_text(encoding="utf-8")
    sections = seed["sections"]
    assert isinstance(sections, list)
    title, *headings = gen_conformance.headings(text)
    assert title.level == 1
    assert [section["heading"] for section in sections] == [heading.text for heading in headings]


@pytest.mark.parametrize("seed", gen_conformance.seeds(), ids=lambda seed: seed["language"])
def test_every_row_stands_for_ids_that_exist(seed: dict[str, object]) -> None:
    known = traceability.requirements()
    sections = seed["sections"]
    assert isinstance(sections, list)
    empty = [
        (section["heading"], prefix)
        for section in sections
        for prefix in section["ids"]
        if not any(traceability.under(one, prefix) for one in known)
    ]
    assert empty == []


def test_the_commands_of_the_table_name_files_that_exist() -> None:
    text = (ROOT / "docs/requirements/sections.toml").read_text(encoding="utf-8")
    named = set(re.findall(r"examples/[\w./-]+", text))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_no_test_names_an_unknown_requirement_or_checks_nothing() -> None:
    assert traceability.complaints() == []


def test_the_diagrams_in_the_docs_are_well_drawn() -> None:
    blocks = [
        (shown(page), block)
        for page in [*files(".md", below=ROOT / "docs"), ROOT / "README.md"]
        for block in re.findall(r"(?ms)^```yaml\n(version: light\n.*?)^```", page.read_text("utf-8"))
    ]
    assert blocks
    found = [(page, str(one)) for page, text in blocks for one in check_document(text.encode(), name="docs.yaml")[1]]
    assert found == []


def test_the_version_is_the_one_of_the_changelog() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] in ("Unreleased", version)
