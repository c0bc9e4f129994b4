"""Manuals as files: PDF, DOCX, HTML and text are read with their pages, columns, tables; hostile ones are refused."""

from __future__ import annotations

import asyncio
import base64
import io
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.app.process.extraction import Manual, manual_of_document
from penstock.errors import BadInput, ExtraMissing
from penstock.executors.parts.processes import manual_documents
from tests.api.places import ADMIN
from tests.api.serving import serving
from tests.conformance.process.manuals.files import Part, docx_of, html_of, pdf_of
from tests.conformance.process.pdfs import of_lines, of_objects, stream

pytest.importorskip("pdfplumber", reason="the extra «extract» is not installed")
pytest.importorskip("docx", reason="the extra «extract» is not installed")
pytest.importorskip("fpdf", reason="the extra «reports» is not installed")
MANUAL = ["# 공급망 데이터 검증 절차", "1. 담당자: 데이터 등록서를 접수한다", "2. 검토자: 수치를 검증한다"]
LOCK = "/Encrypt << /Filter /Standard /V 1 /R 2 /O (x) /U (y) /P -4 >> /ID [(a) (b)]"
CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def manual_of(source: bytes, name: str = "") -> Manual:
    return asyncio.run(manual_of_document(source, name))


def lines_of(source: bytes, name: str = "") -> list[str]:
    return [line for line in manual_of(source, name).text.text.split("\n") if line.strip()]


def test_a_manual_as_a_pdf_is_read_as_its_text(tmp_path: Path) -> None:
    """P-1.2.6, P-6.1.1, P-X.28, P-A.15: over HTTP and with the command, the same process as from its text."""
    (tmp_path / "manual.pdf").write_bytes(of_lines(MANUAL))
    pdf = base64.b64encode(of_lines(MANUAL)).decode()
    with serving(tmp_path, "dev", "--quiet") as server:
        it = server.client(ADMIN)
        read, document, written = (
            it.post("/processes/definitions:extract", json={"dry_run": True, "id": "p", **one}).json()
            for one in ({"pdf": pdf}, {"document": {"content_base64": pdf}}, {"text": "\n".join(MANUAL)})
        )
        for one in (read, document):
            assert one["definition"]["activities"] == written["definition"]["activities"]
            assert one["definition"]["transitions"] == written["definition"]["transitions"]
        assert len(read["definition"]["activities"]) == 2
        assert [one["name"] for one in read["definition"]["roles"]] == ["담당자", "검토자"]
        for wrong in ({"pdf": pdf, "text": "1. a"}, {}, {"pdf": "no base64!"}, {"pdf": "한글"}, {"pdf": "eA=="}):
            refused = it.post("/processes/definitions:extract", json=wrong)
            assert refused.status_code == 400 and refused.json()["code"], refused.text
        given = ["process", "extract", str(tmp_path / "manual.pdf"), "--id", "p", "--store", str(tmp_path / "c.db")]
        done = subprocess.run(
            [sys.executable, "-m", "penstock", *given], env=server.env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0 and "수치를 검증한다" in done.stdout, done.stderr


# ---- what stands where -----------------------------------------------------------------------------------------------

LONG = """접수 담당자는 고객이 제출한 신청서와 첨부 서류를 빠짐없이 확인하고 접수 대장에 기록한 다음
심사 담당자에게 전자 결재로 넘긴다.|심사 담당자는 넘겨받은 서류를 규정과 대조하여 검토하고
그 결과를 심사 의견서에 작성한다.""".replace("\n", " ").split("|")


def test_p_6_1_1_lines_of_a_page_are_joined_to_sentences() -> None:
    """P-6.1.1: a sentence over two lines of a page is one, with its page and its place in the text."""
    text = manual_of(pdf_of([Part("h1", "심사 매뉴얼"), Part("ol", LONG)])).text
    assert [sentence.text for sentence in text.sentences] == ["심사 매뉴얼", *LONG]
    assert {sentence.page for sentence in text.sentences} == {1}
    for sentence in text.sentences:
        assert text.text[sentence.start : sentence.end] == sentence.text
    assert [sentence.paragraph for sentence in text.sentences] == [1, 2, 3]


def test_p_6_1_1_two_columns_are_read_one_after_the_other() -> None:
    """P-6.1.1: the left column down to its end, then the right one; what stands above both comes first."""
    steps = [f"담당자가 {n}번 서류를 확인하고 그 내용을 대장에 기록한다." for n in range(1, 13)]
    source = pdf_of([Part("h1", "두 단으로 쓴 매뉴얼"), Part("ol", steps)], columns=2)
    assert lines_of(source) == ["# 두 단으로 쓴 매뉴얼", *(f"{n}. {step}" for n, step in enumerate(steps, 1))]


def test_p_6_1_1_a_table_is_read_as_its_rows() -> None:
    """P-6.1.1: of a PDF, a DOCX and an HTML page alike, in its place between the paragraphs."""
    parts = [Part("h1", "기준"), Part("p", "아래 표를 따른다."),
             Part("table", [["금액", "결재자"], ["100만원 미만", "팀장"], ["100만원 이상", "대표"]]),
             Part("p", "표 밖의 경우는 없다.")]  # fmt: skip
    wanted = ["# 기준", "아래 표를 따른다.", "| 금액 | 결재자 |", "|---|---|", "| 100만원 미만 | 팀장 |",
              "| 100만원 이상 | 대표 |", "표 밖의 경우는 없다."]  # fmt: skip
    assert lines_of(pdf_of(parts)) == wanted
    assert lines_of(docx_of(parts), "a.docx") == wanted
    assert lines_of(html_of(parts), "a.html") == wanted


def test_p_6_1_1_pages_are_counted_and_their_numbers_are_no_steps() -> None:
    """P-6.1.1: a sentence names its page; what stands at the edge of every page is no part of the text."""
    from fpdf import FPDF

    class Paged(FPDF):
        def header(self) -> None:
            self.set_font("helvetica", "", 8)
            self.cell(0, 5, "Confidential manual", new_x="LMARGIN", new_y="NEXT")

        def footer(self) -> None:
            self.set_y(-15)
            self.set_font("helvetica", "", 8)
            self.cell(0, 5, f"{self.page_no()} / 4")

    pdf = Paged()
    for page in range(1, 5):
        pdf.add_page()
        pdf.set_font("helvetica", "", 12)
        pdf.multi_cell(0, 8, f"The clerk checks folder number {page} of the archive.")
    text = manual_of(bytes(pdf.output())).text
    assert [(sentence.page, sentence.text) for sentence in text.sentences] == [
        (page, f"The clerk checks folder number {page} of the archive.") for page in range(1, 5)
    ]


def test_p_6_1_1_lists_of_a_docx_have_the_numbers_of_word() -> None:
    """P-6.1.1: headings by their style, numbered and bulleted lists, and page breaks."""
    import docx
    from docx.enum.text import WD_BREAK

    document = docx.Document()
    document.add_heading("접수 절차", 0)
    document.add_heading("처리", 1)
    document.add_paragraph("신청서를 접수한다.", style="List Number")
    document.add_paragraph("서류를 검토한다.", style="List Number")
    document.add_paragraph("누락된 서류", style="List Bullet")
    document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
    document.add_paragraph("결과를 통보한다.", style="List Number")
    out = io.BytesIO()
    document.save(out)
    text = manual_of(out.getvalue(), "manual.docx").text
    assert [line for line in text.text.split("\n") if line] == [
        "# 접수 절차", "## 처리", "1. 신청서를 접수한다.", "2. 서류를 검토한다.", "- 누락된 서류",
        "3. 결과를 통보한다.",
    ]  # fmt: skip
    assert [sentence.page for sentence in text.sentences] == [1, 1, 1, 1, 1, 2]


def test_p_6_1_1_a_page_of_the_web_without_its_scripts() -> None:
    """P-6.1.1: lists in lists, unclosed elements, entities; nothing of scripts, styles and what is hidden."""
    page = """<html><head><title>Ship</title></head><body><nav>Home</nav><p>First<p>Second &amp; third
    <ol><li>Clerk: pack it<ul><li>with paper</ul><li><b>Driver:</b> ship it</ol>
    <div hidden>9. Thief: steal it</div><p style="display: none">gone</p><script>document.write("x")</script>"""
    assert lines_of(page.encode(), "a.html") == [
        "# Ship", "First", "Second & third", "1. Clerk: pack it", "  - with paper", "2. Driver: ship it",
    ]  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp949"])
def test_a_text_in_the_letters_that_people_have(encoding: str) -> None:
    """P-X.2: UTF-8 and UTF-16, and the old Korean encoding."""
    assert lines_of("1. 담당자: 접수한다".encode(encoding), "a.txt") == ["1. 담당자: 접수한다"]


# ---- what is refused -------------------------------------------------------------------------------------------------


def _bomb() -> bytes:
    pack = zlib.compressobj(9)
    zeros = b"\0" * (1 << 20)
    body = b"".join(pack.compress(zeros) for _ in range(1200)) + pack.flush()
    return of_lines(MANUAL, body, "/Filter /FlateDecode")


def _scanned(pages: int) -> bytes:
    """Pages with a picture each and no letters."""
    from fpdf import FPDF
    from PIL import Image

    pdf = FPDF()
    for _ in range(pages):
        pdf.add_page()
        pdf.image(Image.new("L", (40, 40), 100), x=10, y=10, w=100)
    return bytes(pdf.output())


def _locked() -> bytes:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", "", 12)
    pdf.cell(0, 10, "1. Clerk: read it")
    pdf.set_encryption(owner_password="owner", user_password="user")
    return bytes(pdf.output())


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "only its name": (lambda: b"%PDF-1.7\n" + b"\0" * 100, "broken"),
    "cut off": (lambda: of_lines(MANUAL)[:200], "broken|no text"),
    "without text": (lambda: of_lines(MANUAL, b""), "no text on page 1"),
    "scanned": (lambda: _scanned(1), "no text on page 1; it may hold pictures of pages"),
    "three pages scanned": (lambda: _scanned(3), "no text on pages 1 to 3"),
    "pages that hold themselves": (
        lambda: of_objects([CATALOG, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000000 >>"]), "broken|no text"
    ),
    "a length that refers to itself": (
        lambda: of_objects([
            CATALOG, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", b"<< /Length 4 0 R >>\nstream\nx\nendstream",
        ]), "broken|no text",
    ),
    "much in little": (_bomb, "too much|too long|no text"),
    "an unknown lock": (lambda: of_lines(MANUAL, trailer=LOCK), "encrypted"),
    "a password": (_locked, "encrypted"),
    "deeply nested": (lambda: of_objects([CATALOG, b"[" * 100_000, stream(b"")]), "broken|no text"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_broken_or_hostile_is_refused(kind: str) -> None:
    """P-1.2.6, P-6.1.1: told why and on which page, and only a process of its own has had to do with it."""
    make, why = HOSTILE[kind]
    with pytest.raises(BadInput, match=why):
        manual_of(make(), "manual.pdf")


def _archive(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in parts.items():
            archive.writestr(name, body)
    return out.getvalue()


def _docx_with(document: bytes) -> bytes:
    """A DOCX whose main part is this one."""
    source = zipfile.ZipFile(io.BytesIO(docx_of([Part("p", "x")])))
    parts = {name: source.read(name) for name in source.namelist()}
    return _archive({**parts, "word/document.xml": document})


ENTITY = (
    f'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:document xmlns:w="{WORD}">'
    "<w:body><w:p><w:r><w:t>1. Clerk: read &e;</w:t></w:r></w:p></w:body></w:document>"
).encode()
HOSTILE_WORD: dict[str, tuple[Callable[[], bytes], str]] = {
    "no archive": (lambda: b"PK\x03\x04" + b"x" * 50, "broken"),
    "another archive": (lambda: _archive({"a.txt": b"x"}), "no DOCX"),
    "much in little": (lambda: _docx_with(b"<x>" + b"\0" * 150_000_000), "too much"),
    "thousands of parts": (lambda: _archive({f"{n}": b"" for n in range(6000)}), "too much"),
    "broken XML": (lambda: _docx_with(b"<w:document>"), "broken"),
    "an old or locked file": (lambda: b"\xd0\xcf\x11\xe0" + b"\0" * 600, "none"),
    "nothing in it": (lambda: docx_of([]), "no text"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE_WORD)
def test_a_docx_that_is_broken_or_hostile_is_refused(kind: str) -> None:
    """P-6.1.1: before anything is unpacked, where it would be far larger than it looks."""
    make, why = HOSTILE_WORD[kind]
    with pytest.raises(BadInput, match=why):
        manual_of(make(), "manual.docx")


def test_an_entity_of_a_docx_reads_no_file() -> None:
    """P-6.1.1: no file of the machine gets into the text."""
    try:
        text = manual_of(_docx_with(ENTITY), "manual.docx").text.text
    except BadInput:
        text = ""
    assert "root:" not in text


def test_a_table_that_is_mostly_empty_is_refused() -> None:
    """P-6.1.1: 3,000 rows of one cell below one row of 3,000 are nine million cells, out of 50 kB."""
    page = f"<table><tr>{'<td>b' * 3000}{'<tr><td>a' * 3000}</table>"
    with pytest.raises(BadInput, match="too many cells"):
        manual_of(page.encode(), "manual.html")


def test_a_list_that_begins_with_no_number_begins_with_one() -> None:
    """P-6.1.1: a digit that is no number is nothing to break on."""
    assert manual_of('<ol start="²"><li>read it</ol>'.encode(), "manual.html").text.text == "1. read it"


def test_a_page_that_was_scanned_among_others_is_told() -> None:
    """P-6.1.1: the rest is read, and the page is named."""
    from fpdf import FPDF
    from PIL import Image

    pdf = FPDF()
    pdf.set_font("helvetica", "", 12)
    pdf.add_page()
    pdf.multi_cell(0, 8, "1. Clerk: read the form")
    pdf.add_page()
    pdf.image(Image.new("L", (40, 40), 100), x=10, y=10, w=100)
    manual = manual_of(bytes(pdf.output()))
    assert manual.pictures == [2] and "read the form" in manual.text.text


def test_a_file_or_a_text_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """P-6.1.1: nothing is read in part without a word."""
    monkeypatch.setattr(manual_documents, "MAX_TEXT", 500)
    with pytest.raises(BadInput, match="500 are read"):
        manual_of(of_lines(["1. 담당자: 데이터 등록서를 접수한다"] * 100))
    monkeypatch.setattr(manual_documents, "MAX_BYTES", 100)
    with pytest.raises(BadInput, match="100 are read"):
        manual_of(of_lines(MANUAL))


@pytest.mark.parametrize(("package", "name"), [("pdfplumber", "a.pdf"), ("docx", "a.docx")])
def test_without_the_extra_it_says_what_to_install(package: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.3: a PDF and a DOCX need packages that are not in the base install."""
    monkeypatch.setattr("penstock.executors.parts.processes.manual_documents.find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=r"penstock\[extract\]"):
        manual_of(of_lines(MANUAL) if package == "pdfplumber" else docx_of([Part("p", "x")]), name)
