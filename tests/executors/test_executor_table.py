"""The table of executors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock.executors
from penstock.executors import BUILTIN

NAMES = """
agent api assign bi cli_agent code command context dataset expression file handler http judgment llm mcp notify person
process_data processor publish rollback rollout shape simulate sql stream template tool
""".split()


def test_the_table_has_these():
    assert sorted(BUILTIN) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_executor_can_be_made_and_knows_its_name(name):
    made = BUILTIN[name]()
    assert made.name == name
    assert callable(made.run)


def test_the_table_itself_imports_nothing_heavy():
    code = (
        "import sys, penstock.executors\n"
        "heavy = {'httpx2', 'httpcore2', 'pydantic_monty', 'penstock.executors.http'} & set(sys.modules)\n"
        "sys.exit(','.join(sorted(heavy)) or 0)"
    )
    source = str(Path(penstock.executors.__file__).parents[2])
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": source}
    )
    assert ran.stderr.strip() == ""
