"""Manuals as PDF files: their text becomes a process; what is broken or hostile is refused."""

from __future__ import annotations

import asyncio
import base64
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.app.process.extraction import LONGEST, text_of_pdf
from penstock.errors import BadInput, ExtraMissing
from tests.api.places import ADMIN
from tests.api.serving import serving
from tests.conformance.process.pdfs import of_lines, of_objects, stream

pytest.importorskip("pypdf", reason="the extra «extract» is not installed")
MANUAL = ["# 공급망 데이터 검증 절차", "1. 담당자: 데이터 등록서를 접수한다", "2. 검토자: 수치를 검증한다"]
LOCK = "/Encrypt << /Filter /Standard /V 1 /R 2 /O (x) /U (y) /P -4 >> /ID [(a) (b)]"
CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"


def test_a_manual_as_a_pdf_is_read_as_its_text(tmp_path: Path) -> None:
    """P-1.2.6, P-6.1.1, P-X.28, P-A.15: over HTTP and with the command, the same process as from its text."""
    (tmp_path / "manual.pdf").write_bytes(of_lines(MANUAL))
    pdf = base64.b64encode(of_lines(MANUAL)).decode()
    with serving(tmp_path, "dev", "--quiet") as server:
        it = server.client(ADMIN)
        read, written = (
            it.post("/processes/definitions:extract", json={"dry_run": True, "id": "p", **one}).json()
            for one in ({"pdf": pdf}, {"text": "\n".join(MANUAL)})
        )
        assert read["definition"] == written["definition"] and len(read["definition"]["activities"]) == 2
        assert [one["name"] for one in read["definition"]["roles"]] == ["담당자", "검토자"]
        for wrong in ({"pdf": pdf, "text": "1. a"}, {}, {"pdf": "no base64!"}, {"pdf": "한글"}, {"pdf": "eA=="}):
            refused = it.post("/processes/definitions:extract", json=wrong)
            assert refused.status_code == 400 and refused.json()["code"], refused.text
        given = ["process", "extract", str(tmp_path / "manual.pdf"), "--id", "p", "--store", str(tmp_path / "c.db")]
        done = subprocess.run(
            [sys.executable, "-m", "penstock", *given], env=server.env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0 and "수치를 검증한다" in done.stdout, done.stderr


def _bomb() -> bytes:
    pack = zlib.compressobj(9)
    zeros = b"\0" * (1 << 20)
    body = b"".join(pack.compress(zeros) for _ in range(300)) + pack.flush()
    return of_lines(MANUAL, body, "/Filter /FlateDecode")


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "no PDF": (lambda: b"PK\x03\x04", "none"),
    "only its name": (lambda: b"%PDF-1.7\n" + b"\0" * 100, "broken"),
    "cut off": (lambda: of_lines(MANUAL)[:200], "broken"),
    "without text": (lambda: of_lines(MANUAL, b""), "pictures"),
    "pages that hold themselves": (
        lambda: of_objects([CATALOG, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000000 >>"]), "broken"
    ),
    "a length that refers to itself": (
        lambda: of_objects([
            CATALOG, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", b"<< /Length 4 0 R >>\nstream\nx\nendstream",
        ]), "pictures",
    ),
    "much in little": (_bomb, "LimitReached"),
    "an unknown lock": (
        lambda: of_lines(MANUAL, trailer=LOCK),
        "encrypted",
    ),
    "deeply nested": (
        lambda: of_objects([CATALOG, b"[" * 100_000, stream(b"")]), "RecursionError"
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_broken_or_hostile_is_refused(kind: str) -> None:
    """P-1.2.6, P-6.1.1: told why, and nothing but a process of its own has had to do with it."""
    made, why = HOSTILE[kind]
    with pytest.raises(BadInput, match=why):
        asyncio.run(text_of_pdf(made()))


def test_a_long_one_is_read_so_far_and_no_further() -> None:
    """P-1.2.6, P-6.1.2: no more than a text may have."""
    line = "1. 담당자: 데이터 등록서를 접수한다"
    found = asyncio.run(text_of_pdf(of_lines([line] * (LONGEST // len(line) + 100))))
    assert len(found) == LONGEST and found.startswith(line)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.3: a PDF needs a package that is not in the base install."""
    monkeypatch.setattr("penstock.executors.parts.processes.pdf.find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=r"penstock\[extract\]"):
        asyncio.run(text_of_pdf(of_lines(MANUAL)))
