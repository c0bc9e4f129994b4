"""Which tests run a line: collected piece by piece, one per test file, and kept in build/mutate."""

from __future__ import annotations

import ast
import difflib
import functools
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tools.mutate.tree import BUILD, ROOT, bring_tests, copy, environment, test_files

MAP_TREE, PIECES = BUILD / "tree", BUILD / "lines"
PIECE_SECONDS = 900
#: of the nearest file, and of the next ones
NEAR_TESTS = (40, 6, 6)


def build(only: str = "", fresh: bool = False) -> None:
    """Collects what is not there yet; `fresh` begins again with the code of now."""
    if fresh or not MAP_TREE.is_dir():
        copy(MAP_TREE)
        for piece in PIECES.glob("*.json"):
            piece.unlink()
    PIECES.mkdir(parents=True, exist_ok=True)
    for name in bring_tests(MAP_TREE):
        _piece(name).unlink(missing_ok=True)
    for name in test_files(MAP_TREE):
        into = _piece(name)
        if into.is_file() or not re.search(only, name):
            continue
        began = time.perf_counter()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.mutate.collect", "--lines-into", str(into)]
        log = into.with_suffix(".log")
        with log.open("w") as out:
            try:
                done = subprocess.run(
                    [*command, "-p", "no:cacheprovider", name],
                    cwd=MAP_TREE, env=environment(MAP_TREE), stdout=out, stderr=out, timeout=PIECE_SECONDS,
                )  # fmt: skip
                ended = str(done.returncode)
            except subprocess.TimeoutExpired:
                ended = "took too long"
        if not into.is_file():
            into.write_text(json.dumps({"tests": [], "lines": {}}), encoding="utf-8")
        print(f"{time.perf_counter() - began:7.1f} s  {ended:>2}  {name}", flush=True)


def _piece(name: str) -> Path:
    return PIECES / (name.replace("/", "~") + ".json")


class Cover:
    """What has been collected, asked by the lines of the code of now."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.by_line: dict[str, dict[int, set[str]]] = {}
        for piece in sorted(PIECES.glob("*.json")):
            data = json.loads(piece.read_text("utf-8"))
            names = [test for test, _, _ in data["tests"]]
            passed = {test for test, _, outcome in data["tests"] if outcome == "passed"}
            self.seconds |= {test: seconds for test, seconds, _ in data["tests"] if test in passed}
            for file, lines in data["lines"].items():
                known = self.by_line.setdefault(file, {})
                for line, numbers in lines.items():
                    tests = {names[number] for number in numbers} & passed
                    if tests:
                        known.setdefault(int(line), set()).update(tests)

        self.of_file = Counter(test.partition("::")[0] for test in self.seconds)

    def tests_of(self, file: str, first: int, last: int, statement: int, source: bytes) -> set[str]:
        """Those that run one of these lines; else those that run the statement; else none."""
        where = _moved(file, source)
        known = self.by_line.get(file, {})
        for lines in (range(first, last + 1), (statement,)):
            tests = set[str]().union(*(known.get(where.get(line, -1), set()) for line in lines))
            if tests:
                return tests
        return set()

    def tests_of_names(self, file: str, names: Iterable[str], source: bytes) -> set[str]:
        """Those that run a function that mentions one of the names, in its file or, unless it is private, another one
        of the rooms; and those that mention it themselves."""
        wanted, tests = set(names), self.mentioning(names)
        private = all(name.startswith("_") for name in wanted)
        for other in {file} if private else {file, *self.by_line}:
            text = source if other == file else _text(other)
            for function in _mentioning(text, wanted):
                first, last = function.body[0].lineno, function.end_lineno or function.lineno
                tests |= self.tests_of(other, first, last, first, text)
        return tests or self.tests_of(file, 1, len(source.splitlines()), 1, source)

    def mentioning(self, names: Iterable[str]) -> set[str]:
        """Tests that say one of the names: a limit that only they compare is run by nobody."""
        wanted, tests = set(names), set[str]()
        for file in self.of_file:
            for function in _mentioning(_text(file), wanted, "test"):
                tests |= {test for test in self.seconds if test.partition("[")[0] == f"{file}::{function.name}"}
        return tests

    def naming(self, tests: Iterable[str], words: Iterable[str]) -> set[str]:
        """Of these tests those with one of the words in their name: a case for each entry of a table, say."""
        wanted = tuple(words)
        return {test for test in tests if any(word in test for word in wanted)}

    def nearest(self, tests: Iterable[str]) -> list[str]:
        """A few fast ones of the files most of whose tests run the line: they are about it, and fail first."""
        by_file: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            by_file.setdefault(test.partition("::")[0], []).append(test)
        near = sorted(by_file, key=lambda file: len(by_file[file]) / self.of_file[file], reverse=True)
        return [test for file, most in zip(near, NEAR_TESTS, strict=False) for test in by_file[file][:most]]

    def order(self, tests: Iterable[str]) -> list[str]:
        """The fastest of every file, then the second of each: different tests notice different things."""
        by_file: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            by_file.setdefault(test.partition("::")[0], []).append(test)
        ranked = [(place, self.seconds[test], test) for ranks in by_file.values() for place, test in enumerate(ranks)]
        return [test for _, _, test in sorted(ranked)]


@functools.lru_cache(64)
def _moved(file: str, source: bytes) -> dict[int, int]:
    """Where a line of now stood when the lines were collected."""
    old = MAP_TREE / file
    if not old.is_file():
        return {}
    before, now = old.read_bytes().splitlines(), source.splitlines()
    if before == now:
        return {line: line for line in range(1, len(now) + 1)}
    where: dict[int, int] = {}
    for tag, i, i_end, j, j_end in difflib.SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        for line in range(j, j_end):
            if tag == "equal":
                where[line + 1] = i + line - j + 1
            elif i_end > i:
                where[line + 1] = min(i + line - j, i_end - 1) + 1
            elif i:
                where[line + 1] = i
    return where


@functools.lru_cache(512)
def _text(file: str) -> bytes:
    return (ROOT / file).read_bytes() if (ROOT / file).is_file() else b""


def _mentioning(source: bytes, names: set[str], begins: str = "") -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that use one of the names, or a part of them."""
    if not any(name.encode() in source for name in names):
        return []
    return [
        node
        for node in _functions(source)
        if node.name.startswith(begins)
        and any(
            isinstance(part, ast.Name) and part.id in names or isinstance(part, ast.Attribute) and part.attr in names
            for part in ast.walk(node)
        )
    ]


@functools.lru_cache(512)
def _functions(source: bytes) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
