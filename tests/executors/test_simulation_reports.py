"""Reports of simulations: what a manager reads, in both languages, and nothing in it that could run or load."""

from __future__ import annotations

import builtins
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from penstock.executors.parts.reports import ReportImpossible, render
from penstock.executors.parts.reports.words import WORDS
from penstock.executors.parts.simulation.wording import WARNINGS, difference
from tests.executors.desk import Desk
from tests.executors.simulations import CASES, Deployed, a_desk, order, past, result


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return a_desk(tmp_path)


@pytest.fixture
def simulated(desk: Desk) -> dict[str, Any]:
    past(desk, *(rate for rate, _ in CASES), labels={i: label for i, (_, label) in enumerate(CASES)})
    found = result(desk, order())
    return {**found, "subject": {**found["subject"], "artifact": {
        "type": "rule_pack", "id": "limits", "name": "<script>alert(1)</script> 규칙"}}}  # fmt: skip


@pytest.mark.parametrize("language", ["ko", "en"])
def test_html(simulated: dict[str, Any], language: str) -> None:
    """W-4.13.1, C-59: one self-contained page: the sentence, three numbers, matrix, dumbbells, lists; all escaped."""
    page = render(simulated, "html", language).decode()
    assert page.startswith(f'<!doctype html><html lang="{language}">')
    assert "<script" not in page and "&lt;script&gt;" in page and "src=" not in page and "http" not in page
    assert simulated["sentence"][language].replace("'", "&#x27;") in page
    assert page.count("<circle") == 12 and 'class="matrix"' in page  # six rates, now and then
    tiles = re.findall(r"<b>([^<]+)</b>", page.split('class="tiles"')[1].split("</ul>")[0])
    assert tiles == ["60.0%", "4", "0"]
    cells = re.findall(r'<td class="(\w+)">(\d+)</td>', page)
    assert cells == [("same", "3"), ("up", "4"), ("zero", "0"), ("same", "3")]


def test_pdf(simulated: dict[str, Any]) -> None:
    """W-4.13.1: A4 pages with the shipped font inside; Korean can be read out of it again."""
    reader = pytest.importorskip("pypdf")
    body = render(simulated, "pdf", "ko")
    assert body.startswith(b"%PDF-")
    read = reader.PdfReader(io.BytesIO(body))
    text = "\n".join(page.extract_text() for page in read.pages)
    assert "시뮬레이션 보고서" in text and "60.0%" in text and "정확도" in text
    assert all(abs(float(page.mediabox.width) - 595.28) < 0.1 for page in read.pages)
    fonts = {str(name["/BaseFont"]) for name in (font.get_object() for font in _fonts(read))}
    assert fonts and all("+" in name for name in fonts)  # embedded, as a subset


def _fonts(read: Any) -> list[Any]:
    return [font for page in read.pages for font in page["/Resources"]["/Font"].values()]


def test_json(simulated: dict[str, Any]) -> None:
    assert json.loads(render(simulated, "json"))["summary"]["total_samples"] == 10


@pytest.mark.parametrize("format", ["html", "pdf", "json"])
@pytest.mark.parametrize("language", ["ko", "en"])
def test_nothing_to_show(desk: Desk, format: str, language: str) -> None:
    """0 samples, no baseline, no test: every report is made all the same."""
    desk.tenant.deployments = Deployed(None)  # type: ignore[assignment]
    empty = result(desk, order())
    assert empty["summary"]["total_samples"] == 0
    assert render(empty, format, language)


def test_a_monte_carlo_report_has_its_intervals(desk: Desk) -> None:
    wish = {"iterations": 100, "distributions": {"rate": {"dist": "uniform", "min": 0, "max": 0.1}}}
    found = result(desk, order("monte_carlo", mode={"monte_carlo": wish}))
    page = render(found, "html", "en").decode()
    assert page.count("<rect") == 4 and "Expected decisions" in page
    assert render(found, "pdf", "en").startswith(b"%PDF-")


def test_without_the_extra(simulated: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A PDF needs fpdf2: it is said which extra brings it."""
    real = builtins.__import__

    def missing(name: str, *args: Any, **more: Any) -> Any:
        if name.endswith("reports.pdf") or name == "fpdf":
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ReportImpossible, match=r"penstock\[reports\]"):
        render(simulated, "pdf", "ko")


def test_html_instead_of_pdf(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation does not fail for its report: HTML is kept, with a warning."""
    import penstock.executors.simulate as module

    def only_html(found: Any, format: str, language: str) -> bytes:
        if format == "pdf":
            raise ReportImpossible("no fpdf2")
        return render(found, format, language)

    monkeypatch.setattr(module, "render", only_html)
    past(desk, 0.01)
    found = result(desk, order(report={"format": "pdf"}))
    assert found["report"]["format"] == "html" and found["report"]["url"].endswith("report.html")
    assert "no fpdf2" in found["warnings"][-1]["text"]["en"]


@pytest.mark.parametrize(
    ("p", "magnitude", "words"),
    [
        (0.0001, "negligible", ("real", "but")), (0.0001, "large", ("real", "and")),
        (0.5, "large", ("may be chance", "and")), (0.5, "negligible", ("may be chance", "and")),
    ],
)  # fmt: skip
def test_real_and_large_are_two_things(p: float, magnitude: str, words: tuple[str, str]) -> None:
    """C-59: one sentence separates what the p-value says from what the effect size says."""
    size = {"name": "cramers_v", "value": 0.3, "magnitude": magnitude}
    said = difference({"p_value": p, "confidence_level": 0.95, "significant": p < 0.05, "effect_size": size})
    assert all(word in said["en"] for word in (*words, magnitude)) and re.search("[가-힣]", said["ko"])


def test_every_word_has_both_languages() -> None:
    for texts in (*WORDS.values(), *WARNINGS.values()):
        assert set(texts) == {"ko", "en"}
        assert set(re.findall(r"\{\w+\}", texts["ko"])) == set(re.findall(r"\{\w+\}", texts["en"]))


# ---- words a manager understands -------------------------------------------------------------------------------------


def test_how_many_truths_are_labels(simulated: dict[str, Any], tmp_path: Path) -> None:
    """Beside the accuracy stands of how many labels it is; without any, whose word was taken instead."""
    assert "Accuracy of 10 labelled" in render(simulated, "html", "en").decode()
    assert "정확도 (정답 10건)" in render(simulated, "html", "ko").decode()
    (tmp_path / "other").mkdir()
    other = a_desk(tmp_path / "other")
    past(other, *[0.01, 0.04] * 20)
    page = render(result(other, order()), "html", "en").decode()
    assert "Accuracy, nobody has labelled" in page and "the present version counts as right" in page


def test_reading_aids(simulated: dict[str, Any]) -> None:
    """Which side of a dumbbell is the better one, what p and effect size mean, before and after, and no noise."""
    page = render(simulated, "html", "en").decode()
    assert page.count("better to the right") == 4 and page.count("better to the left") == 2
    assert "chance of so large a difference" in page and "how large it is" in page
    assert "Rows are decisions before, columns are decisions after" in page and "decisions then" not in page
    assert "&lt; 1 ms" in page and not re.search(r"0\.\d+ ms", page)
    assert "변경 전" in render(simulated, "html", "ko").decode()


def test_the_gravest_first(desk: Desk) -> None:
    """What is newly missed comes before what is newly alarmed, each with the value that was judged."""
    rules = [
        {"id": "a", "scope": "each", "when": "rate >= 0.03 && rate < 0.05", "decision": "warning"},
        {"id": "b", "scope": "each", "when": "rate >= 0.07", "decision": "critical"},
    ]
    desk.tenant.things["rule_pack"]["limits@1.1.0"] = {
        "id": "limits", "version": "1.1.0", "status": "approved", "rules": rules,
    }  # fmt: skip
    past(desk, 0.04, 0.06, 0.04, 0.06, labels={1: "critical", 3: "critical"})
    found = result(desk, order())
    assert [row["judgment"] for row in found["changes"]] == ["p00003", "p00001", "p00002", "p00000"]
    assert found["changes"][0]["value"] == "rate 0.06"
    assert "rate 0.06" in render(found, "html", "en").decode()
