"""claude-code persons: a program in the place of Claude Code that writes its stream as Claude Code does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from penstock.executors.llm import LlmExecutor
from penstock.executors.person import PersonExecutor

PERSON, LLM = PersonExecutor(), LlmExecutor()
CLAUDE = {"name": "P", "service": "claude-code", "model": "claude-code", "system_prompt": "Be brief."}

#: what a session of the real program looks like, with what it was told in the result
STREAM = """
told = sys.stdin.read()
print(json.dumps({"type": "system", "subtype": "init", "session_id": "s", "model": "claude-x"}))
print(json.dumps({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "thinking"}],
                  "usage": {"input_tokens": 5, "output_tokens": 2}}}))
result = {"type": "result", "subtype": "success", "is_error": False, "result": json.dumps([sys.argv[1:], told]),
          "num_turns": 1, "total_cost_usd": 0.01, "usage": {"input_tokens": 5, "output_tokens": 2}}
print(json.dumps(result))
"""


@pytest.fixture
def claude(bench, tmp_path: Path):
    def write(line: str = STREAM) -> None:
        path = tmp_path / "claude"
        path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{line}\n")
        path.chmod(0o755)
        bench.settings["llm.claude_code"] = [str(path), "-p"]

    return write


def test_the_program_is_told_on_its_input(bench, claude) -> None:
    """D-X.17: instructions and prompt on standard input, the turns as an option, the result as the answer."""
    claude()
    args = {"person": CLAUDE, "default_prompt": "Say {{word}}", "max_turns": 3}
    done = bench.done(PERSON, args, {"word": "$(id) --help"})
    options, told = json.loads(done.body)
    assert options == ["-p", "--max-turns", "3"]
    assert told == "Be brief.\n\nSay $(id) --help"
    assert (done.meta["model"], done.meta["token_usage"]) == ("claude-x", {"input": 5, "output": 2, "total": 7})
    once = bench.done(PERSON, {"person": {**CLAUDE, "model": "opus"}, "default_prompt": "x"})
    assert json.loads(once.body)[0] == ["-p", "--max-turns", "1", "--model", "opus"]


def test_it_runs_only_where_the_operator_allows_it(bench) -> None:
    """D-X.17: a document cannot start a program by itself."""
    for settings in ({}, {"llm.claude_code": False}, {"llm.claude_code": "claude"}, {"llm.claude_code": [1]}):
        bench.settings = settings
        failure = bench.failed(PERSON, {"person": CLAUDE, "default_prompt": "x"})
        assert (failure.code, failure.category) == ("PERSON_SERVICE", "authorization")
        assert "claude_code = true" in failure.message


def test_true_is_the_preset_that_plans_have(bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D-X.17: `claude -p --output-format stream-json --verbose`, found on the PATH."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nimport json, sys\n{STREAM}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    bench.settings["llm.claude_code"] = True
    options, _ = json.loads(bench.done(PERSON, {"person": CLAUDE, "default_prompt": "x"}).body)
    assert options == ["-p", "--output-format", "stream-json", "--verbose", "--max-turns", "1"]


@pytest.mark.parametrize(
    ("line", "code", "category"),
    [
        ("sys.exit('Invalid API key')", "LLM_ERROR", "external"),
        ("pass", "LLM_ERROR", "external"),
        ('print(json.dumps({"type": "result", "is_error": True, "result": "limit reached"}))', "LLM_ERROR", "external"),
        ("time.sleep(600)", "LLM_TIMEOUT", "timeout"),
        ("sys.stdout.write('x' * 70_000_000)", "LLM_ERROR", "external"),
    ],
)
def test_a_program_without_an_answer_says_why(bench, claude, line: str, code: str, category: str) -> None:
    claude(line)
    person = {**CLAUDE, "timeout": 0.5 if code == "LLM_TIMEOUT" else 60}
    failure = bench.failed(PERSON, {"person": person, "default_prompt": "x"})
    assert (failure.code, failure.category) == (code, category)


def test_a_model_is_no_option(bench, claude) -> None:
    claude()
    for model in ("--dangerously-skip-permissions", "a b", "x" * 200):
        failure = bench.failed(PERSON, {"person": {**CLAUDE, "model": model}, "default_prompt": "x"})
        assert failure.code == "INPUT_INVALID"
    bench.settings["llm.claude_code"] = ["/nowhere/claude"]
    assert bench.failed(PERSON, {"person": CLAUDE, "default_prompt": "x"}).code == "COMMAND_NOT_FOUND"


def test_it_decides_yes_and_no(bench, claude) -> None:
    """D-X.16: an answer that is neither is asked for again."""
    claude('print(json.dumps({"type": "result", "is_error": False, "result": "Yes, it is fine."}))')
    assert bench.done(LLM, {"person": CLAUDE, "prompt": "Good?", "answer": "yes_no"}).body == "yes"
    claude('print(json.dumps({"type": "result", "is_error": False, "result": "Hm."}))')
    assert bench.failed(LLM, {"person": CLAUDE, "prompt": "Good?", "answer": "yes_no"}).code == "OUTPUT_SCHEMA"
