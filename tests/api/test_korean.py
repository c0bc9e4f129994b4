"""Korean for people: every code has a wording, its values are those of the English one, and who asks for it gets it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import penstock.errors
from penstock.errors import BadInput, DocumentInvalid, Finding, PenstockError, RunNotFound
from penstock.errors.korean import error_text, failure_text, finding_text, is_korean, needed
from penstock.errors.korean.failures import CATEGORIES, FAILURES
from penstock.errors.korean.findings import FINDINGS
from penstock.errors.korean.problems import CODES, ERRORS
from tests.api.serving import Server, serving
from tools.read_source import failures, rules

HANGUL = re.compile("[가-힣]")
VALUES = re.compile(r"\{(\w+)\}")


def kinds(of: type[PenstockError]) -> Iterator[type[PenstockError]]:
    for kind in of.__subclasses__():
        if kind.__module__.startswith("penstock.errors"):
            yield kind
        yield from kinds(kind)


RULES, CODES_OF_FAILURES = rules(), failures()
ALL = sorted({PenstockError, *kinds(PenstockError)}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_is_worded_with_the_values_of_its_message(kind: type[PenstockError]) -> None:
    assert kind.__name__ in ERRORS, f"give {kind.__name__} a wording in penstock/errors/korean/problems.py"
    message, hint = ERRORS[kind.__name__]
    english = (kind.__doc__ or "").strip().splitlines()[0]
    assert set(VALUES.findall(message)) == set(VALUES.findall(english))
    assert HANGUL.search(message) and (HANGUL.search(hint) or not kind.hint)


@pytest.mark.parametrize("rule", sorted({rule.rule for rule in RULES}))
def test_every_finding_is_worded(rule: str) -> None:
    """With no more values than each of its messages quotes."""
    assert rule in FINDINGS, f"give «{rule}» a wording in penstock/errors/korean/findings.py"
    for english in (one.message for one in RULES if one.rule == rule):
        quoted = english.count("«") if english not in ("…", "….") else 9  # what is passed on may quote anything
        assert any(needed(text) <= quoted for text in FINDINGS[rule]), english
    assert all(HANGUL.search(text) for text in FINDINGS[rule])


@pytest.mark.parametrize("code", sorted({one.code for one in CODES_OF_FAILURES}))
def test_every_failure_is_worded(code: str) -> None:
    assert code in FAILURES, f"give «{code}» a wording in penstock/errors/korean/failures.py"
    for english in (one.message for one in CODES_OF_FAILURES if one.code == code):
        quoted = english.count("«") if english.strip("….") else 9
        assert any(needed(text) <= quoted for text in FAILURES[code]), english


def test_no_wording_is_left_over_from_an_error_that_is_gone() -> None:
    assert {kind.__name__ for kind in ALL} == set(ERRORS)
    assert all(HANGUL.search(text) for text in (*CATEGORIES.values(), *(message for message, _ in CODES.values())))


READERS = [
    *sorted(Path("src/penstock/executors/parts/processes").glob("manual_*.py")),
    *sorted(Path("src/penstock/executors/parts/processes/manual_readers").glob("*.py")),
    *(Path("src/penstock") / name for name in ("app/process/extraction.py", "cli/process/extraction.py")),
]
REASON = re.compile(r"""(?:Refused\(|why=|why = |return )f?"((?:it|its|there|more than|only|nothing) [^"]+)\"""")


def test_why_a_manual_cannot_be_read_is_worded() -> None:
    """P-6.1.1: every reason that a reader of documents gives, with what the file is called; and no word of English."""
    reasons = {reason for file in READERS for reason in REASON.findall(file.read_text("utf-8"))}
    assert len(reasons) >= 15
    for reason in reasons:
        said = re.sub(r"\{[^{}]*\}", "7", reason)
        message = error_text(BadInput(what="the PDF", why=said))[0]
        assert message.startswith("PDF: 읽을 수 없어요. "), said
        ours = re.sub(r"\(\w+\)|Markdown", "", message)  # in brackets is what a library calls it
        assert not re.search(r"[a-z]{2,}", ours), (said, message)
    for said in ("page 1", "pages 1 to 3", "pages 1, 4"):
        message = error_text(BadInput(what="the PDF", why=f"there is no text on {said}; it may hold pictures of pages"))
        assert not re.search("[a-z]", message[0]) and "1" in message[0]


def test_values_stand_where_they_belong() -> None:
    """The file, the field, the first finding; what is not known speaks for itself."""
    assert failure_text("FILE_NOT_FOUND", "There is no file «orders.csv».") == "파일이 없어요: «orders.csv»"
    missing = Finding("missing_field", "error", "«version» is missing.", hint="Write `version: …` here.")
    worded = finding_text(missing)
    assert (worded.rule, worded.message, worded.hint) == ("missing_field", "«version» 칸이 빠졌어요.", "")
    assert error_text(DocumentInvalid([missing]))[0] == "문서에 오류가 1개 있어요. 첫째: «version» 칸이 빠졌어요."
    assert error_text(RunNotFound(run="r1"))[0] == "실행 «r1»: 이 저장소에 없어요."
    assert (
        failure_text("MY_OWN", "Mine.") == "Mine."
        and finding_text(Finding("mine", "error", "Mine.")).message == "Mine."
    )
    # what quotes braces or less than expected is no reason to fail
    assert "{x}" in failure_text("FILE_NOT_FOUND", "There is no file «{x}».")
    assert failure_text("FILE_NOT_FOUND", "There is none.")


@pytest.mark.parametrize(
    ("asked", "korean"),
    [("ko", True), ("ko-KR,ko;q=0.9,en;q=0.8", True), ("ko_KR.UTF-8", True), ("en-US,ko;q=0.5", False), ("", False),
     (None, False), ("kok", False)],
)  # fmt: skip
def test_who_asks_for_korean(asked: str | None, korean: bool) -> None:
    assert is_korean(asked) is korean


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("site"), "dev", "--quiet") as one:
        yield one


def test_the_server_words_what_it_says_for_whoever_asks(server: Server) -> None:
    """Errors, findings and failures in the tongue of Accept-Language; codes, places and values are the same."""
    korean, english = {"Accept-Language": "ko-KR,ko;q=0.9"}, {"Accept-Language": "en"}
    with closing(server.client("admin@example.com")) as client:
        for headers, said in (
            (korean, "실행 «rnone»: 이 저장소에 없어요."),
            (english, "There is no run «rnone» in this store."),
        ):
            problem = client.get("/runs/rnone", headers=headers).json()
            assert (problem["code"], problem["detail"]) == ("PS-404-RUN", said)
        document = {"id": "wf_none", "nodes": [], "edges": []}
        for headers, said in ((korean, "칸이 빠졌어요"), (english, "is missing")):
            found = client.post("/definitions/check", json={"document": document}, headers=headers).json()["findings"]
            (finding,) = [one for one in found if one["rule"] == "missing_field"]
            assert said in finding["message"] and "version" in finding["message"]
        run = client.post("/runs", json={"definition": "wf_order_import", "input": {}}).json()["id"]
        for _ in range(600):
            if client.get(f"/runs/{run}").json()["state"] == "FAILED":
                break
        for headers, said in ((korean, "파일이 없어요: «orders.csv»"), (english, "There is no file «orders.csv».")):
            page = client.get(f"/runs/{run}", headers=headers).json()
            assert page["failure"]["message"] == said == page["why"][0]["message"]
            assert page["failure"]["code"] == "FILE_NOT_FOUND"
            line = client.get(f"/runs?q={run}", headers=headers).json()["items"][0]
            assert line["result"] == f"FILE_NOT_FOUND: {said}"
        assert "고치세요" in client.get(f"/runs/{run}", headers=korean).json()["failure"]["hint"]


def test_the_command_line_speaks_korean_where_people_do(tmp_path: Path) -> None:
    """LC_ALL before LANG; what programs read stays as it is."""
    file = tmp_path / "wf.json"
    file.write_text('{"id": "wf_none", "nodes": [], "edges": []}', encoding="utf-8")
    env = {**os.environ, "LANG": "ko_KR.UTF-8", "PYTHONIOENCODING": "utf-8", "LC_ALL": ""}

    def said(*args: str, **more: str) -> str:
        command = [sys.executable, "-m", "penstock", *args]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={**env, **more}, check=False)
        return done.stdout + done.stderr

    assert "«version» 칸이 빠졌어요." in said("check", str(file))
    assert "«version» is missing." in said("check", str(file), LC_ALL="C.UTF-8")
    assert "«version» is missing." in said("check", str(file), "--json")
    assert penstock.errors.RunNotFound(run="x").message.startswith("There is no run")
