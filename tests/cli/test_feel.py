"""`penstock feel`: values as FEEL writes them, warnings with a caret, strict mode, unary tests."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def feel(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "feel", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, timeout=120)


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["for x in [1, 2, 3] return x * 0.1"], "[0.1, 0.2, 0.3]"),
        (["loan amount * 2", "--context", '{"loan amount": 10.25}'], "20.5"),
        (['{a b: "x", "c-d": @"2026-01-01"}'], '{a b: "x", "c-d": @"2026-01-01"}'),
        (["< 5, [10..20)", "--tests", "12"], "true"),
        (["? > limit", "--tests", "3", "--context", '{"limit": 5}'], "false"),
    ],
)
def test_the_value_is_printed(arguments: list[str], printed: str) -> None:
    done = feel(*arguments)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, printed, "")


def test_a_null_says_where_on_standard_error() -> None:
    done = feel("-", stdin='1 + "a"')
    assert done.returncode == 0 and done.stdout == "null\n"
    assert '1 + "a"\n' in done.stderr and "\n      ^" in done.stderr and "at character 3" in done.stderr


def test_strict_mode_and_what_cannot_be_read_fail() -> None:
    for arguments, code in ((["--strict", "1 / 0"], "FEEL_EVALUATION"), (["1 +"], "FEEL_SYNTAX")):
        done = feel(*arguments)
        assert done.returncode == 2 and code in done.stderr and done.stdout == ""
    assert feel("1", "--context", "[1]").returncode == 2


def test_json_has_the_value_and_the_warnings() -> None:
    answer = json.loads(feel("[0.5, 1 / 0]", "--json").stdout)
    assert answer == {"value": [0.5, None], "warnings": [{"message": "Division by zero", "position": 9}]}


def test_a_value_that_is_too_deep_is_refused() -> None:
    text = "(for i in 1..1000 return [partial[-1]])[-1]"
    for more in ([], ["--json"]):
        done = feel(text, *more)
        assert done.returncode == 2 and "FEEL_LIMIT" in done.stdout + done.stderr, done
