"""Python in documents: what would end a run with a NameError is told by the check, with line and column."""

from __future__ import annotations

import builtins
import json
import sys
from typing import Any

import pytest

from penstock.errors import Finding
from penstock.lang.compile import check_document
from penstock.lang.python_scripts import BUILTINS, MODULES
from tests.conformance.process.make import findings, process, task


def diagram(code: str, **fields: Any) -> list[Finding]:
    """What is told about a code_job that gets `rows` and `limit`."""
    nodes = [
        {"label": "rows", "type": "start", "position": {"x": 0, "y": 0}},
        {"label": "Work", "type": "code_job", "position": {"x": 1, "y": 0}, "code": code, **fields},
        {"label": "End", "type": "endpoint", "position": {"x": 2, "y": 0}},
    ]
    ways = [{"from": "rows", "to": "Work", "label": "rows"}, {"from": "Work", "to": "End"}]
    whole = json.dumps({"version": "light", "nodes": nodes, "connections": ways}).encode()
    return [f for f in check_document(whole, name="d.json", language="diagram")[1] if f.rule.startswith("script_")]


def told(code: str, **fields: Any) -> list[tuple[str, str, str]]:
    return [(f.severity, f.message, f.hint) for f in diagram(code, **fields)]


@pytest.mark.parametrize(
    ("code", "place", "hint"),
    [
        ("result = rwos", "«rwos» (line 1, column 10)", "Did you mean «rows»?"),
        ("x = 1\nresult = {'n': x + totl}", "«totl» (line 2, column 20)", ""),
        ("def f(a):\n    return a + limt\nresult = f(rows)", "«limt» (line 2, column 16)", ""),
        ("result = lenn(rows)", "«lenn» (line 1, column 10)", "Did you mean «len»?"),
        ("result = [y for x in rows]", "«y» (line 1, column 11)", ""),
        ("return missing", "«missing» (line 1, column 8)", ""),
        ("for row in rows:\n    totl += row\nresult = 1", "«totl» (line 2, column 5)", ""),
        ("del rwos\nresult = 1", "«rwos» (line 1, column 5)", "Did you mean «rows»?"),
    ],
)
def test_d_x_15_names_that_nothing_gives(code: str, place: str, hint: str) -> None:
    """D-X.15: inputs are variables; any other name ends the run."""
    (finding,) = diagram(code)
    assert (finding.rule, finding.severity, finding.where.pointer) == ("script_name", "error", "/nodes/1/code")
    assert place in finding.message
    assert hint in finding.hint


GONE = [
    ("try:\n    1\nexcept ValueError as e:\n    pass\nresult = str(e)", "line 5, column 14"),
    ("try:\n    1\nexcept ValueError as e:\n    x = e\nelse:\n    x = e\nresult = x", "line 6, column 9"),
    ("def f():\n    try:\n        1\n    except ValueError as e:\n        pass\n    return e\nresult = f()",
     "line 6, column 12"),
    ("for row in rows:\n    try:\n        int(row)\n    except ValueError as e:\n        pass\n    print(e)",
     "line 6, column 11"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "place"), GONE)
def test_d_x_15_an_exception_has_its_name_only_in_its_handler(code: str, place: str) -> None:
    """D-X.15: Python deletes the name at the end of the `except`, and whoever reads it then ends the run."""
    (finding,) = diagram(code)
    assert (finding.rule, finding.severity) == ("script_name", "error")
    assert "«e»" in finding.message and place in finding.message and "another name" in finding.hint


def test_p_x_17_an_exception_has_its_name_only_in_its_handler() -> None:
    """P-X.17: a variable of the instance may have the same name, so it is only a warning; in a function it is not."""
    assert [row[:2] for row in script(GONE[0][0])] == [("warning", "script_name")]
    assert [row[:2] for row in script(GONE[2][0])] == [("error", "script_name")]


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    1\nexcept ValueError as e:\n    x = [e for _ in rows]\n    if x:\n        result = str(e)",
        "e = None\ntry:\n    1\nexcept ValueError as e:\n    pass\nresult = e",
        "try:\n    1\nexcept ValueError as rows:\n    pass\nresult = rows",
        "def f():\n    global e\n    e = 1\ntry:\n    1\nexcept ValueError as e:\n    f()\nresult = e",
        "try:\n    1\nexcept ValueError as e:\n    pass\nresult = [e for e in rows]",
        "try:\n    1\nexcept ValueError as e:\n    pass\ndef f(e):\n    return e\nresult = (lambda e: e)(f(1))",
        "try:\n    1\nexcept ValueError as e:\n    def f():\n        return e\n    result = f()",
    ],
)
def test_d_x_15_an_exception_that_is_there_is_no_alarm(code: str) -> None:
    assert told(code) == []


@pytest.mark.parametrize(
    "code",
    [
        "result = rows",
        "result = default",
        "import math, json as j\nfrom datetime import date\nresult = [math.pi, j.dumps(1), str(date)]",
        "total = 0\nfor row in rows:\n    total += row\nresult = total",
        "def f(a, *b, **c):\n    d = a\n    return [d + e for e in b]\nresult = f(1)",
        "class A:\n    x = 1\n    def m(self):\n        return self.x\nresult = A().m()",
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None\nresult = 1",
        "try:\n    result = limit\nexcept NameError:\n    result = 0",
        "def f():\n    global seen\n    seen = 1\nf()\nresult = seen",
        "result = (lambda a, b=1: a + b)(2)\nif (n := len(rows)) > 1:\n    result = n",
        "with open('x') as f:\n    result = f\ntry:\n    1\nexcept ValueError as e:\n    result = str(e)",
        "match rows:\n    case [a, *b]:\n        result = a, b\n    case other:\n        result = other",
        "return f\"{rows['a']}\"",
        "def f(a):\n    a += 1\n    return a\nresult = f(1)",
        "import os.path as p, json\np += 1\njson += 1\nrows += [1]\ndel rows\nresult = 1",
        "match rows:\n    case {'a': a, **rest}:\n        a += 1\n        del rest\nresult = 1",
    ],
)
def test_d_x_15_what_python_knows_is_known(code: str) -> None:
    """D-X.15: no false alarm."""
    assert told(code) == []


def test_d_x_15_what_the_sandbox_does_not_have() -> None:
    """D-X.15: built-in names and modules that it lacks, a function that is not there, text that is no Python."""
    assert told("result = input()")[0][:2] == ("error", "The sandbox has no «input» (line 1, column 10).")
    assert told("import statistics")[0][:2] == (
        "error", "The sandbox has no module «statistics» (line 1, column 1)."
    )  # fmt: skip
    assert told("def run(rows):\n    return rows", function_name="rnu") == [
        ("error", "The script has no function «rnu».", "Did you mean «run»?")
    ]
    assert told("x = 1\nif x\n    2")[0][1] == "The script cannot be read: expected ':' (line 2, column 5)."
    assert told("(" * 5_000 + ")" * 5_000)[0][0] == "error"


def script(code: str, *more: dict[str, Any]) -> list[tuple[str, str, str]]:
    whole = process([task("S", type="scriptTask", python_code=code), *more], ["S>B"] if more else [])
    return [(f.severity, f.rule, f.hint) for f in findings(whole) if f.rule.startswith("script_")]


def test_p_x_17_the_names_of_a_script_task() -> None:
    """P-X.17: variables come in; what is nearly the name of one that is named elsewhere is told."""
    other = task("B", type="scriptTask", python_code="result = {'total': amount}")
    assert script("result = {'tax': totl // 10}", other) == [("warning", "script_name", "Did you mean «total»?")]
    assert script("result = {'tax': total // 10}", other) == []
    form = task("B", form={"type": "object", "properties": {"amount": {"type": "number"}}})
    assert script("result = {'tax': amout // 10}", form) == [("warning", "script_name", "Did you mean «amount»?")]
    assert script("result = {'tax': price // 10}", form) == []
    assert script("result = {'n': lenn(rows)}") == [("warning", "script_name", "Did you mean «len»?")]
    assert script("import uuid\nresult = {}")[0][:2] == ("error", "script_module")
    assert script("result = {'a': bytearray(1)}")[0][:2] == ("error", "script_name")


def test_the_sandbox_has_what_the_check_says() -> None:
    """D-X.15: the lists of the check are those of the interpreter."""
    monty = pytest.importorskip("pydantic_monty")

    def works(pool: Any, code: str) -> bool:
        with pool.checkout(script_name="code") as session:
            try:
                session.feed_run(code)
            except monty.MontyError:
                return False
            return True

    names = {name for name in dir(builtins) if not name.startswith("_")} | {"__debug__", "__file__", "__name__"}
    with monty.Monty(min_processes=1, max_processes=1) as pool:
        assert {name for name in names if works(pool, name)} == BUILTINS
        modules = {name for name in sys.stdlib_module_names if not name.startswith("_")} - {"antigravity", "this"}
        assert {name for name in modules if works(pool, f"import {name}")} == MODULES
