"""FEEL beside feelin, an implementation of others: 2,000 generated expressions have equal values.

feelin calculates with binary numbers, so numbers are compared to ten digits. Where the two differ on purpose, the
difference is listed here with the sentence of the standard.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import feel
from tests.feel.expression_generator import Generator

COUNT = 2_000
PACKAGE = "feelin@8"
SCRIPT = """
import { evaluate } from 'feelin';
import { readFileSync, writeFileSync } from 'node:fs';
const answers = JSON.parse(readFileSync('expressions.json', 'utf8')).map((text) => {
  try {
    const value = evaluate(text, {}).value;
    return { value: value === undefined ? null : value };
  } catch (error) {
    return { error: String(error) };
  }
});
writeFileSync('answers.json', JSON.stringify(answers));
"""
_BETWEEN = re.compile(r"between (-?[0-9.]+) and (-?[0-9.]+)")


def _turned_round(text: str) -> bool:
    return any(float(low) > float(high) for low, high in _BETWEEN.findall(text))


#: name → what the standard says, and which expressions it is about
DIFFERENCES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "a range that is turned round": (
        "Table 55: `e1 between e2 and e3` is `e1 >= e2 and e1 <= e3`; feelin swaps the bounds.",
        _turned_round,
    ),
    "months up to the end of a shorter month": (
        "Table 73: years and months duration gives whole months; from the 31st to the 28th the last is not whole.",
        lambda text: text.startswith("years and months duration"),
    ),
}


@pytest.fixture(scope="module")
def feelin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which feelin is installed."""
    folder = tmp_path_factory.mktemp("feelin")
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("feelin is not compared: there is no npm here")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE]
    try:
        installed = subprocess.run(command, capture_output=True, text=True, timeout=200)
    except subprocess.TimeoutExpired:
        pytest.skip("feelin is not compared: npm did not answer")
    if installed.returncode != 0:
        pytest.skip(f"feelin is not compared: npm cannot install it ({installed.stderr.strip()[-200:]})")
    (folder / "compare.mjs").write_text(SCRIPT)
    return folder


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, bool) or isinstance(theirs, bool) or not isinstance(ours, int | float):
        if isinstance(ours, list) and isinstance(theirs, list):
            return len(ours) == len(theirs) and all(map(same, ours, theirs))
        if isinstance(ours, dict) and isinstance(theirs, dict):
            return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
        return type(ours) is type(theirs) and ours == theirs
    return isinstance(theirs, int | float) and abs(ours - theirs) <= 1e-10 * max(1, abs(ours))


def explained(text: str) -> bool:
    return any(concerns(text) for _, concerns in DIFFERENCES.values())


def test_generated_expressions_have_the_values_that_feelin_has(feelin: Path) -> None:
    generator = Generator(20_261_118)
    expressions = [generator.any() for _ in range(COUNT)]
    (feelin / "expressions.json").write_text(json.dumps(expressions))
    subprocess.run(["node", "compare.mjs"], cwd=feelin, check=True, timeout=200)
    answers = json.loads((feelin / "answers.json").read_text())
    different = []
    for text, answer in zip(expressions, answers, strict=True):
        ours = feel.to_json(feel.evaluate(text))
        if not same(ours, answer.get("value")) and not explained(text):
            different.append(f"{text}: ours {ours!r}, feelin {answer!r}")
    assert len(answers) == COUNT
    assert "\n".join(different) == ""
