"""One copy of the checkout and one process that forks: tries mutants one after another."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

from tools.mutate.cover import Cover
from tools.mutate.mutants import Mutant
from tools.mutate.tree import BUILD, copy, environment

#: how many tests are tried before all the others that fit into the time
FIRST = 25
MOST = 600
#: a text of the line that may stand in the name of a test
WORD = re.compile(r"""["']([\w.]{4,})["']""")


class Worker:
    def __init__(self, number: int) -> None:
        self.tree = copy(BUILD / f"work-{os.getpid()}-{number}")
        self.clean: dict[str, bool] = {}
        self.stamp = 1_000_000_000
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tools.mutate.server"], cwd=self.tree, env=environment(self.tree),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        shutil.rmtree(self.tree, ignore_errors=True)

    def tried(self, mutant: Mutant, cover: Cover, seconds: float) -> dict[str, Any]:
        """Breaks the file, runs the tests that run it until one fails, and mends the file again."""
        file = self.tree / mutant.file
        whole = file.read_bytes()
        if mutant.names:
            tests = cover.tests_of_names(mutant.file, mutant.names, whole)
        else:
            tests = cover.tests_of(mutant.file, mutant.line, mutant.last_line, mutant.statement, whole)
        if not tests:
            return {"status": "uncovered", "tests": 0, "by": ""}
        ran = 0
        self._write(mutant, mutant.apply(whole))
        try:
            words = [*WORD.findall(whole.splitlines()[mutant.line - 1].decode()), *_said(mutant.function)]
            first = cover.mentioning(mutant.names) | cover.naming(tests, words)
            for some in _portions(tests, cover, seconds, first):
                answer = self._ask(some, cover)
                while answer["failed"] and not self._passes_clean(answer["failed"], mutant, whole):
                    some = [test for test in some if test != answer["failed"]]
                    answer = self._ask(some, cover)
                ran += answer["ran"]
                if answer["code"] == -9:
                    return {"status": "timeout", "tests": ran, "by": "took too long"}
                if answer["failed"] or answer["code"] not in (0, 5) and self._runs_clean(some, mutant, whole, cover):
                    return {"status": "killed", "tests": ran, "by": answer["failed"] or answer["told"]}
        finally:
            self._write(mutant, whole)
        return {"status": "survived", "tests": ran, "by": ""}

    def _passes_clean(self, failed: str, mutant: Mutant, whole: bytes) -> bool:
        """A test that fails in the copy anyway notices nothing."""
        test = failed.removesuffix(" (import)")
        if test not in self.clean:
            broken = (self.tree / mutant.file).read_bytes()
            self._write(mutant, whole)
            self.clean[test] = test == "collection" or self._send([test], 120)["code"] in (0, 5)
            self._write(mutant, broken)
        return self.clean[test]

    def _runs_clean(self, tests: list[str], mutant: Mutant, whole: bytes, cover: Cover) -> bool:
        """Where no test failed and yet they did not end well: is it the change, or would they end so anyway?"""
        broken = (self.tree / mutant.file).read_bytes()
        self._write(mutant, whole)
        clean: bool = self._ask(tests, cover)["code"] in (0, 5)
        self._write(mutant, broken)
        return clean

    def _ask(self, tests: list[str], cover: Cover) -> dict[str, Any]:
        if not tests:
            return {"code": 0, "failed": "", "ran": 0, "told": ""}
        return self._send(tests, 90 + 10 * sum(cover.seconds[test] for test in tests))

    def _send(self, tests: list[str], seconds: float) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"tests": tests, "seconds": seconds}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def _write(self, mutant: Mutant, text: bytes) -> None:
        """With a time of its own: what Python has compiled is kept by time and size."""
        file = self.tree / mutant.file
        file.write_bytes(text)
        self.stamp += 2
        os.utime(file, (self.stamp, self.stamp))


def _said(function: str) -> list[str]:
    """The name of a function, as tests may have it in theirs."""
    name = function.rpartition(".")[2].strip("_")
    return [name] if len(name) > 4 else []


def _portions(tests: set[str], cover: Cover, seconds: float, first: set[str]) -> list[list[str]]:
    """Those that name what is changed, the nearest, a few of all kinds, then the quickest, as far as they fit into the
    time."""
    naming = cover.order(first)[:FIRST]
    near = list(dict.fromkeys((*naming, *cover.nearest(tests))))
    left = tests - set(near)
    fitting = _fitting(cover.order(left), cover, seconds / 2, at_least=not near)
    quick = sorted(left - set(fitting), key=lambda test: (cover.seconds[test], test))
    fitting += _fitting(quick, cover, seconds / 2)
    return [some for some in (near, fitting[:FIRST], fitting[FIRST:]) if some]


def _fitting(tests: list[str], cover: Cover, seconds: float, at_least: bool = False) -> list[str]:
    fitting, spent = [], 0.0
    for test in tests[:MOST]:
        if spent + cover.seconds[test] <= seconds or at_least and not fitting:
            fitting.append(test)
            spent += cover.seconds[test]
    return fitting
