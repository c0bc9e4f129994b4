"""Is a task done: criteria, progress, confidence, the boundaries; what the agent was told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.executors.parts.agent_streams import StreamSummary
from penstock.executors.parts.tasks.completion import (
    CommandEnd,
    Completion,
    RunCommand,
    after_crash,
    analyse,
    argv_of,
    criteria_of,
    review_notes,
)
from penstock.executors.parts.tasks.task_prompt import Resume, build_task_query, task_context


def analysed(
    criteria: Any, folder: Path, *, claims: Sequence[str] = (), result: bool = True, wrong: bool = False,
    percent: float = 0, said: str = "", exit_code: int | None = 0, run: RunCommand | None = None,
) -> Completion:  # fmt: skip
    summary = StreamSummary()
    summary.has_result, summary.result_is_error, summary.percent = result, wrong, percent
    summary.say(said)
    for claim in claims:
        summary.claim(claim)
    found = analyse(criteria_of(criteria), summary, folder=folder, exit_code=exit_code, run_command=run)
    return asyncio.run(found)


@pytest.mark.parametrize(("matched", "confidence"), [(10, 100), (8, 80), (7, 70), (0, 0)])
def test_confidence_is_the_share_of_criteria(tmp_path: Path, matched: int, confidence: int) -> None:
    """T-X.13, T-5.1.8, T-5.2.8, T-A.7, T-A.8: 7 of 10 is 70, 8 of 10 is 80."""
    texts = [f"criterion {no}" for no in range(10)]
    found = analysed(texts, tmp_path, claims=texts[:matched])
    assert (found.confidence, found.progress, found.matched) == (confidence, confidence, texts[:matched])


def test_confidence_without_a_result_event(tmp_path: Path) -> None:
    """T-X.13: 20 less, and never below 0."""
    assert analysed(["a"], tmp_path, claims=["a"], result=False).confidence == 80
    assert analysed(["a", "b"], tmp_path, claims=["a"], result=False).confidence == 30
    assert analysed(["a"], tmp_path, result=False).confidence == 0


@pytest.mark.parametrize("exit_code", [1, 137, None])
def test_confidence_is_zero_unless_it_exits_with_zero(tmp_path: Path, exit_code: int | None) -> None:
    """T-X.13: and the progress stays."""
    found = analysed(["a"], tmp_path, claims=["a"], exit_code=exit_code)
    assert (found.confidence, found.progress) == (0, 100)


def test_confidence_without_criteria(tmp_path: Path) -> None:
    """T-X.13: 100 with a result that is no error, else 60; nothing says how far it came, so progress is 0."""
    found = analysed([], tmp_path)
    assert (found.confidence, found.progress, found.criteria) == (100, 0, ())
    assert analysed(None, tmp_path, wrong=True).confidence == 60
    assert analysed([], tmp_path, result=False).confidence == 60


def test_progress_is_the_larger_of_the_two(tmp_path: Path) -> None:
    """T-X.13: max(explicit, matched); no more than 100."""
    assert analysed(["a", "b"], tmp_path, claims=["a"], percent=30).progress == 50
    assert analysed(["a", "b"], tmp_path, claims=["a"], percent=85.9).progress == 85
    assert analysed([], tmp_path, percent=40).progress == 40


def test_texts_match_when_the_agent_says_so(tmp_path: Path) -> None:
    """T-X.13: `[x] TEXT` word for word, spaces aside."""
    said = 'Summary\n  - [x]  The   page loads\n[X] {"a"}\n[ ] not done\nsee [x] in the middle\n'
    found = analysed(
        [{"text": "The page loads"}, '{"a"}', "not done", "in the middle", "The page"], tmp_path, said=said
    )
    assert [criterion.matched for criterion in found.criteria] == [True, True, False, False, False]


def test_files_exist_only_inside_the_folder(tmp_path: Path) -> None:
    """T-X.13: file_exists; no path and no link leads out."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    (tmp_path / "outside.txt").write_text("o")
    (folder / "link").symlink_to(tmp_path / "outside.txt")
    paths = ["a.txt", "none.txt", "../outside.txt", "link", "\0", str(folder / "a.txt")]
    found = analysed([{"file_exists": path} for path in paths], folder)
    assert [criterion.matched for criterion in found.criteria] == [True, False, False, False, False, True]
    assert found.criteria[2].how == found.criteria[3].how == "the path leaves the project"


def test_outputs_match_in_linear_time(tmp_path: Path) -> None:
    """T-X.13: output_matches; a pattern that is none matches nothing, one that explodes elsewhere does not here."""
    said = "12 passed, 0 failed\n" + "a" * 50_000
    patterns = [r"\d+ passed", r"[1-9]\d* failed", "(", r"(a+)+$", r"(a|aa)+b"]
    found = analysed([{"output_matches": pattern} for pattern in patterns], tmp_path, said=said)
    assert [criterion.matched for criterion in found.criteria] == [True, False, False, True, False]
    assert found.criteria[2].how == "not a regular expression"


def test_commands_are_run_where_the_project_is_trusted(tmp_path: Path) -> None:
    """T-X.13: argv or a text that is split without a shell; the exit code that is asked for; off without trust."""
    ran: list[tuple[str, ...]] = []

    async def run(no: int, argv: Sequence[str]) -> CommandEnd:
        ran.append((str(no), *argv))
        return CommandEnd(None, "it took longer than 60 s") if argv[0] == "sleep" else CommandEnd(3)

    criteria = [
        {"command": ["make", "test; rm -rf /"]}, {"command": "grep 'a b' $HOME", "exit": 3},
        {"command": ["sleep", "99"]},
    ]  # fmt: skip
    found = analysed(criteria, tmp_path, run=run)
    assert ran == [("0", "make", "test; rm -rf /"), ("1", "grep", "a b", "$HOME"), ("2", "sleep", "99")]
    assert [(c.matched, c.how) for c in found.criteria] == [
        (False, "exit code 3"), (True, "exit code 3"), (False, "it took longer than 60 s"),
    ]  # fmt: skip
    untrusted = analysed(criteria, tmp_path)
    assert {criterion.how for criterion in untrusted.criteria} == {"not run: the project is not trusted"}
    assert untrusted.confidence == 0


@pytest.mark.parametrize("raw", [[{"command": "'"}], [{"command": []}], [7], [{}], [None], "text", {"a": 1}])
def test_criteria_that_cannot_be_read_are_not_met(tmp_path: Path, raw: Any) -> None:
    assert not analysed(raw, tmp_path).matched
    assert argv_of(7) == argv_of([1]) == argv_of("'") == ()


@pytest.mark.parametrize(("progress", "what"), [
    (0, "clean"), (19, "clean"), (20, "resume"), (79, "resume"), (80, "complete"), (100, "complete"),
])  # fmt: skip
def test_after_a_crash(progress: int, what: str) -> None:
    """T-8.1.3, T-8.1.4, T-8.1.5, T-X.20: exactly 80 is complete, exactly 20 is resumed."""
    assert after_crash(progress, 80) == what


def test_recovery_can_be_told_never_to_complete() -> None:
    """T-X.20: recovery.complete_at 101."""
    assert after_crash(100, 101) == "resume"
    assert after_crash(50, 50) == "complete"


def test_review_notes(tmp_path: Path) -> None:
    """T-5.1.10, T-5.2.10, T-1.2.2: what was met and how, what was not and why, what the agent says."""
    completion = analysed(["a", {"file_exists": "b.txt"}], tmp_path, claims=["a"])
    summary = StreamSummary()
    summary.result, summary.raw_lines = "I did it", 2
    assert review_notes(completion, summary, ["completed after crash at 85%"]).splitlines() == [
        "completed after crash at 85%", "1 of 2 success criteria are met.", "[x] a (the agent says so)",
        "[ ] b.txt (there is no such file)", "The agent has not said how it ended.",
        "2 lines of its output are no JSON, 0 were too long.", "Result: I did it",
    ]  # fmt: skip


# -- what the agent is told --------------------------------------------------------------------------------------------


def test_the_context_holds_all_five_parts(tmp_path: Path) -> None:
    """T-5.1.6, T-5.2.6, T-5.2.7: task, agent instructions, references, criteria, skill; and the query of them."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/api.md").write_text("GET /pets")
    task = {"id": "t1", "title": "Pets", "description": "Add pets.", "references": ["docs/api.md"],
            "skill": "style", "skill_text": "Be brief."}  # fmt: skip
    agent = {"name": "coder", "instructions": "You write Python."}
    criteria = criteria_of(["It runs", {"file_exists": "pets.py"}])
    context = task_context(tmp_path, task, agent, criteria)
    assert (context.task_instructions, context.agent_instructions) == ("Add pets.", "You write Python.")
    assert [(reference.path, reference.text) for reference in context.references] == [("docs/api.md", "GET /pets")]
    assert (context.skill_context, context.success_criteria, context.warnings) == ("Be brief.", criteria, [])
    query = build_task_query(context)
    for part in ("# Task: Pets", "Add pets.", "You write Python.", "GET /pets", "Be brief.", "- It runs", "pets.py"):
        assert part in query
    summary = StreamSummary()
    summary.say(query)
    assert not summary.claims, "an agent that repeats its prompt has claimed nothing"


def test_what_is_missing_is_a_warning(tmp_path: Path) -> None:
    """T-X.11: a missing reference or skill is told, and fails nothing; a skill that is a file is read."""
    task = {"id": "t", "title": "T", "references": ["none.md", "folder"], "skill": "gone"}
    (tmp_path / "folder").mkdir()
    context = task_context(tmp_path, task, {}, [])
    assert list(context.warnings) == [
        "The reference «none.md» is missing.", "The reference «folder» is no file.", "The skill «gone» is missing.",
    ]  # fmt: skip
    assert "The skill «gone» is missing." in build_task_query(context)
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/gone.md").write_text("found")
    assert task_context(tmp_path, task, {}, []).skill_context == "found"


def test_references_do_not_leave_the_project(tmp_path: Path) -> None:
    """T-X.11: neither by dots, nor by a root, nor by a link."""
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "secret").write_text("the secret")
    (project / "link").symlink_to(tmp_path / "secret")
    (project / "loop").symlink_to(project / "loop")
    names = ["../secret", str(tmp_path / "secret"), "link", "loop", "a\0b"]
    context = task_context(project, {"id": "t", "references": names, "skill": "../../secret"}, {}, [])
    assert (list(context.references), context.skill_context) == ([], "")
    assert len(context.warnings) == 6
    assert "the secret" not in build_task_query(context)


def test_large_references_are_cut(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"\xff" * 200_000)
    [reference] = task_context(tmp_path, {"references": ["big"]}, {}, []).references
    assert len(reference.text) < 70_000
    assert reference.text.endswith("(cut)")


def test_what_happened_before_is_told(tmp_path: Path) -> None:
    """T-X.14, T-X.21: the log's end and what was met; the comment of whoever sent it back."""
    resume = Resume(50, ["It runs"], "writing b.py\n[x] claimed then")
    context = task_context(tmp_path, {"title": "T"}, {}, [], resume=resume, feedback="Names are wrong.\n")
    query = build_task_query(context)
    assert "interrupted at 50 %" in query
    for part in ("- It runs", "    | writing b.py", "Names are wrong."):
        assert part in query
    summary = StreamSummary()
    summary.say(query)
    assert not summary.claims
