"""The style of the house, read from its files. Each test lists everything it finds at once."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.house.files import ROOT, SOURCE, files, shown, texts

SEEDS = {
    "000_54d5b7dd25453b49.txt": "f71d8e3d744294145f9cbd04b89b50d9299d6ab9deec6fa4c04fa41295308326",
    "001_a2c3af8845b30091.txt": "67469ac7b1baa4d771cf6edc47c7d549599a925ddd5feeb8c0d44ff8499dc1b0",
    "002_e31161c294e0fa87.txt": "825dc1df147e505177400a9fcc047acc9466103c4816b1bc1388b30ce742dfe4",
    "003_b26476fa90161498.txt": "225f12ff877b7eddaa1d49373b2127a075afcb03e9b9159f55970f73adc30dae",
    "004_b1a9524774d0b8f7.txt": "4429e453385f9f8e22797d002194450274ec999034d2c4becba45386b8cbf64c",
}
NAMES_OF_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
CLASSES_OF_NOTHING = re.compile(r"(Manager|Helper|Utils?)$")
LONGEST_FILE = 700  # most are under 400; beyond this a file is two things
LINE = 120

# Written in pieces, so that this file does not name what it forbids.
_SOMEBODYS = "work|farm|root|home/[a-z]+|Users/[a-z]+"
MACHINE = re.compile(rf"(?:^|[\s\"'`(=:\[])/(?:{_SOMEBODYS})/\w")
OUTSIDE = re.compile(r"\.\./" + r"shared|(?:^|[\s\"'`(])shared/(?:requirements|seeds|tools|model)\b")
REGISTRY = re.compile("index" + "-url|find" + "-links|/simple" + r"/|\"resolved" + r"\"\s*:\s*\"http")
PROMISE = re.compile(r"\b(TO" + "DO|FIX" + "ME|XX" + r"X|HA" + r"CK)\b")
HTTP_ROUTE = re.compile(r"\b(GET|POST|PUT|DELETE|PATCH)\b")
KEPT_WORD_FOR_WORD = ("tests/seeds/", "docs/requirements/", "LICENSE")

SOURCES = files(".py", below=SOURCE)
PYTHON = [*SOURCES, *files(".py", below=ROOT / "tests"), *files(".py", below=ROOT / "tools"), ROOT / "bootstrap.py"]
PAGES = [file for file in files(".md") if not shown(file).startswith("examples/")]
BY_HAND = [
    page
    for page in PAGES
    if not shown(page).startswith(("docs/reference/", "docs/requirements/")) and shown(page) != "docs/seeds.md"
]


def test_a_file_begins_with_one_line_that_says_what_it_is_for() -> None:
    found = []
    for file in PYTHON:
        doc = (ast.get_docstring(_tree(file)) or "").splitlines()
        if file.stat().st_size and (not doc or any(doc[1:2])):
            found.append(f"{shown(file)}: {'the first line goes on in the second' if doc else 'no docstring'}")
    _nothing(found)


def test_a_source_file_is_about_one_thing() -> None:
    found = [shown(file) for file in SOURCES if {file.stem, file.parent.name} & NAMES_OF_NOTHING]
    for file in SOURCES:
        found += [
            f"{shown(file)}:{node.lineno}: {node.name}: a class is named by what it is"
            for node in ast.walk(_tree(file))
            if isinstance(node, ast.ClassDef) and CLASSES_OF_NOTHING.search(node.name)
        ]
        length = len(_lines(file))
        found += [f"{shown(file)}: {length} lines"] if length > LONGEST_FILE else []
    _nothing(found)


def test_no_code_is_made_from_text() -> None:
    found = []
    for file in SOURCES:
        for node in ast.walk(_tree(file)):
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else ""
                shell = any(
                    one.arg == "shell" and getattr(one.value, "value", True) is not False for one in node.keywords
                )
                if called in ("eval", "exec", "__import__") or shell:
                    found.append(f"{shown(file)}:{node.lineno}: {called or 'shell'}")
    _nothing(found)


def test_comments_promise_nothing() -> None:
    """A comment says why. What is left to do stands in the list of issues, not in the code."""
    found = []
    for file in PYTHON:
        with tokenize.open(file) as source:
            found += [
                f"{shown(file)}:{token.start[0]}: {token.string}"
                for token in tokenize.generate_tokens(source.readline)
                if token.type == tokenize.COMMENT and PROMISE.search(token.string)
            ]
    _nothing(found)


def test_a_clone_stands_alone() -> None:
    """No file names a folder beside the clone, a path of somebody's machine or the host of a package registry."""
    found = []
    for file in texts():
        if not shown(file).startswith(KEPT_WORD_FOR_WORD):
            found += [f"{shown(file)}:{number}: {line.strip()[:90]}" for number, line in _numbered(file) if leaks(line)]
    _nothing(found)


def test_leaks_are_recognised() -> None:
    assert leaks('open("/' + 'root/x.db")')
    assert leaks("see ../" + "shared/notes.md")
    assert leaks("--index" + "-url https://registry.example")
    assert not leaks("POST /work/items, https://example.com/work/x and work/items")


def test_the_seeds_are_word_for_word() -> None:
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (ROOT / "tests/seeds").iterdir()}
    assert found == SEEDS


def test_a_page_has_one_title_and_skips_no_level() -> None:
    found = []
    for page in PAGES:
        levels = _heading_levels(page)
        if levels[:1] != [1] or levels.count(1) != 1:
            found.append(f"{shown(page)}: one title, and first")
        if page in BY_HAND and any(after > before + 1 for before, after in zip(levels, levels[1:], strict=False)):
            found.append(f"{shown(page)}: a heading skips a level")
    _nothing(found)


def test_a_page_can_be_read_in_a_terminal() -> None:
    found = []
    for page in BY_HAND:
        fenced = False
        for number, line in _numbered(page):
            fenced ^= line.lstrip().startswith("```")
            free = fenced or line.startswith("|") or "](" in line
            found += [f"{shown(page)}:{number}: {len(line)} characters"] if len(line) > LINE and not free else []
    _nothing(found)


def test_links_lead_somewhere() -> None:
    link = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
    _nothing(
        f"{shown(page)}: {target} does not exist"
        for page in BY_HAND
        for target in link.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    )


def test_ci_runs_the_command_of_the_readme() -> None:
    script = ROOT / ".ci/run"
    lines = [line for line in _lines(script) if line and not line.startswith("#")]
    assert lines[-1] == "python3 bootstrap.py test"
    assert lines[-1] in (ROOT / "README.md").read_text(encoding="utf-8")
    assert os.access(script, os.X_OK)
    assert ".ci/run" in (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")


def test_constraints_name_versions_and_nothing_else() -> None:
    pinned = re.compile(r"[a-z0-9.-]+==[^\s/]+( ; .+)?$|# ")
    _nothing(line for line in _lines(ROOT / "constraints.txt") if not pinned.match(line))


def _nothing(found: Iterator[str] | list[str]) -> None:
    listed = list(found)
    assert not listed, "\n" + "\n".join(listed)


def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _numbered(file: Path) -> Iterator[tuple[int, str]]:
    return enumerate(_lines(file), 1)


def leaks(line: str) -> bool:
    path = MACHINE.search(line) and not HTTP_ROUTE.search(line)
    return bool(path or OUTSIDE.search(line) or REGISTRY.search(line))


def _heading_levels(page: Path) -> list[int]:
    levels, fenced = [], False
    for _, line in _numbered(page):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and (match := re.match(r"(#{1,6}) ", line)):
            levels.append(len(match[1]))
    return levels
