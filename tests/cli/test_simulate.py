"""`penstock simulate`: the report for people and for programs, its page, and what cannot be simulated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.simulate import duration_text, read_duration
from penstock.errors import BadInput
from tests.cli.shell import Shell
from tests.conformance.decision.make import act, approval, document

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_document_without_a_store(penstock: Shell, tmp_path: Path) -> None:
    """W-9.4.2: nodes reached, what would have been sent, the odds, the load and what was assumed. No store is made."""
    file = EXAMPLES / "decision/defect_alert.json"
    shown = penstock("simulate", str(file), "--input", '{"line_id": "L1"}', "--due", "2h", "--runs", "300")
    for text in (
        "12 of 12 nodes reached", "refused 1 to send, 1 to ask", "within 2 h (between", "load quality_manager",
        "most likely", "assumed request_approval: a person decides after about 1 h, approved in 90% of all cases",
        "no run of it has ended in this store",
    ):  # fmt: skip
        assert text in shown.out, text
    assert not list(tmp_path.rglob("*.db"))


def test_for_programs_and_as_a_page(penstock: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document([approval("ask", "qa"), act("tell")], ("ask>tell",))))
    answers = '{"ask": "approved"}'
    given = ("a.json", "--answers", answers, "--runs", "50", "--report", "out/page.html", "--locale", "ko")
    body = json.loads(penstock("simulate", *given, "--json").out)
    assert body["ok"] and body["document"]["name"] == "wf_test" and body["dry_run"]["refused"]["send"] == 1
    assert body["monte_carlo"]["outcomes"] == [{"status": "COMPLETED", "count": 50, "share": 1.0}]
    page = (tmp_path / "out/page.html").read_text()
    assert '<html lang="ko">' in page and "<svg" in page and "역할별 업무량" in page
    assert "http" not in page and "<script" not in page  # one file: nothing is fetched
    again = json.loads(penstock("simulate", *given[:-4], "--report", "out/report.json", "--json").out)
    assert json.loads((tmp_path / "out/report.json").read_text())["monte_carlo"] == again["monte_carlo"]


def test_a_run_of_the_store_and_its_history(penstock: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document([approval("ask", "quality_manager")])))
    run = json.loads(penstock("run", "a.json", "--json", code=4).out)["run_id"]
    shown = penstock("simulate", run, "--runs", "50", "--due", "1d").out
    assert f"run {run} of wf_test" in shown and "the rest of it" in shown and "dry run" not in shown
    penstock("approve", run, "--by", "manager@example.com")
    penstock("work", "--until-idle")
    learnt = json.loads(penstock("simulate", "a.json", "--runs", "20", "--json").out)
    assert learnt["monte_carlo"]["history"]["runs"] == 1 and learnt["monte_carlo"]["assumptions"] == []


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("nothing.json",), "PS-400-INPUT", "no such file"),
        (("r0123456789abcdef",), "PS-404-RUN", "r0123456789abcdef"),
        (("a.json", "--due", "soon"), "PS-400-INPUT", "no duration"),
        (("a.json", "--input", "{"), "PS-400-INPUT", "not JSON"),
        (("a.json", "--answers", "[]"), "PS-400-INPUT", "node id to answer"),
        (("a.json", "--answers", '{"nobody": 1}'), "PS-400-INPUT", "no such node"),
        (("a.json", "--runs", "2000000"), "PS-400-INPUT", "the number of runs"),
        (("broken.json",), "PS-422-DOCUMENT", "error"),
        (("a.json", "--report", "a.json/page.html"), "PS-400-INPUT", "cannot be written"),
    ],
)
def test_what_cannot_be_simulated(
    words: tuple[str, ...], code: str, text: str, penstock: Shell, tmp_path: Path
) -> None:  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(document([act("tell")])))
    (tmp_path / "broken.json").write_text(json.dumps(document([act("tell")], ("tell>nobody",))))
    told = json.loads(penstock("simulate", *words, "--json", code=2).out)
    assert told["error"]["code"] == code and text in json.dumps(told, ensure_ascii=False)


def test_a_document_that_fails_says_so(penstock: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document([act("tell", message="${input.n / 2}")])))
    shown = penstock("simulate", "a.json", "--input", '{"n": "many"}', "--runs", "0", code=2).out
    assert "unresolved tell" in shown and "FAILED" in shown and "forecast" not in shown


@pytest.mark.parametrize(
    ("text", "ms"), [("90s", 90_000), ("1h30m", 5_400_000), ("1.5h", 5_400_000), ("2d", 172_800_000), ("5ms", 5)]
)
def test_durations_are_read(text: str, ms: int) -> None:
    assert read_duration(text) == ms


@pytest.mark.parametrize("text", ["", "2", "h", "2h x", "-2h", "2 h"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(BadInput):
        read_duration(text)


@pytest.mark.parametrize(("ms", "text"), [(0, "0 ms"), (1_500, "1.5 s"), (5_400_000, "1.5 h"), (86_400_000, "1 d")])
def test_durations_are_written(ms: int, text: str) -> None:
    assert duration_text(ms) == text
