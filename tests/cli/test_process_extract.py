"""`penstock process extract`: a text in plain language becomes a definition that somebody accepts."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from penstock.executors.parts.rules.dmn import read_model
from tests.cli.shell import Shell

PURCHASE = """# Purchase

1. Clerk: Take the request
2. If the amount is greater than 1,000, the manager must approve the request. Otherwise, the clerk must place the order.
"""


@pytest.fixture
def text(penstock: Shell) -> Path:
    return penstock.write("purchase.md", PURCHASE)


def test_it_is_shown_and_written_and_not_kept(penstock: Shell, text: Path) -> None:
    """P-X.2, P-X.3, P-X.22: who does what under which condition, how sure it is; the file is a definition as it is."""
    said = penstock("process", "extract", text, "--id", "purchase", "--out", "p.json").out
    assert "purchase approved  100% sure, read by rules" in said and "wrote p.json" in said
    assert "a1     clerk        Take the request" in said and "if amount > 1000" in said
    assert penstock("process", "ls", "--json").json() == [], "nothing is kept without --save"
    written = json.loads((penstock.folder / "p.json").read_text("utf-8"))
    assert written["process_definition_id"] == "purchase"
    assert penstock("check", "--sound", "p.json").out.startswith("p.json: ok (process, sound")
    assert "purchase v1 base approved" in penstock("process", "define", "p.json").out
    shown = penstock("process", "extract", text, "--id", "purchase", "--json").json()
    assert (shown["version"], shown["diff"], shown["new"]) == (None, {}, False), "it is the same as what is there"
    assert shown["definition"] == written and shown["evidence"]["a1"] and set(shown["parts"].values()) == {1.0}


def test_it_is_kept_and_unsure_ones_wait(penstock: Shell, text: Path) -> None:
    """P-6.1.6, P-X.23, P-X.43: as sure as 0.80 it may be begun; less, and somebody approves or rejects it first."""
    assert "purchase v1 approved" in penstock("process", "extract", text, "--id", "purchase", "--save").out
    penstock("process", "start", "purchase", code=4)
    vague = penstock.write("vague.md", "Somebody looks at the mail.\nThen it is sorted.\n")
    assert "mail v1 pending  75% sure" in penstock("process", "extract", vague, "--id", "mail", "--save").out
    refused = penstock("process", "start", "mail", "--json", code=2).error()
    assert refused["code"] == "PROC-409-STATE" and "pending" in refused["message"]
    told = penstock("process", "reject", "mail", "--by", "analyst@example.com", "-m", "who sorts it?").out
    assert "mail v1 base rejected" in told and "who sorts it?" in told
    assert penstock("process", "approve", "mail", "--by", "analyst@example.com", "--json", code=2).error()["code"] == (
        "PROC-409-STATE"
    )


def test_what_is_no_text(penstock: Shell) -> None:
    """P-X.1: exit code 2 with a code and a hint, and nothing kept, whatever the file holds."""
    (penstock.folder / "bytes.md").write_bytes(b"\xff\xfe\x00")
    penstock.write("empty.md", "")
    for name in ("bytes.md", "nowhere.md", "empty.md"):
        told = penstock("process", "extract", name, "--save", "--json", code=2).error()
        assert told["code"] and told["message"], name
    assert penstock("process", "ls", "--json").json() == []


def test_each_element_is_shown_with_its_sentence(penstock: Shell) -> None:
    """P-6.1.3, P-6.1.7, P-X.22: on the screen, and as JSON, BPMN and DMN files and one page with both side by side."""
    rows = ["| Amount | Approver |", "|---|---|", "| up to 1,000 | clerk |", "| over 1,000 | boss |", ""]
    text = "\n".join((PURCHASE, "## Approval limits", *rows))
    file = penstock.write("purchase.md", text)
    said = penstock(
        "process", "extract", file, "--id", "purchase", "--bpmn", "p.bpmn", "--dmn", "p.dmn", "--html", "p.html"
    )
    assert "p. 1  «Clerk: Take the request»" in said.out and "table" in said.out and "wrote p.html" in said.out
    assert penstock("check", "p.bpmn").out.startswith("p.bpmn: ok (process")
    model = read_model((penstock.folder / "p.dmn").read_bytes())
    assert model.evaluate("Approval limits", {"amount": 1000}).value == "clerk"
    assert model.evaluate("Approval limits", {"amount": 1001}).value == "boss"
    page = (penstock.folder / "p.html").read_text("utf-8")
    assert page.count("Take the request") >= 3 and "<svg" in page and 'href="#s2"' in page and 'id="s2"' in page
    shown = penstock("process", "extract", file, "--id", "purchase", "--json").json()
    assert shown["elements"][0]["sentences"] == ["s2"] and shown["sentences"][1]["text"] == "Clerk: Take the request"
    refused = penstock(
        "process", "extract", penstock.write("a.md", PURCHASE), "--dmn", "no.dmn", "--json", code=2
    ).error()
    assert "no decision tables" in refused["message"] and not (penstock.folder / "no.dmn").exists()


def test_the_page_shows_markup_as_text(penstock: Shell) -> None:
    """P-6.1.7: a manual cannot put anything into the page: no element, no attribute, no script, no address."""
    evil = '<script>alert(1)</script>" onload="x" <img src=//evil> javascript:alert(1)'
    text = f"# {evil}\n1. {evil}: {evil}\n2. If {evil}, {evil}. Otherwise, the clerk files it.\n"
    penstock("process", "extract", penstock.write("evil.md", text), "--id", "evil", "--html", "evil.html")
    tags = Tags()
    tags.feed((penstock.folder / "evil.html").read_text("utf-8"))
    assert not tags.names & {"script", "img", "iframe", "object", "form"}
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert all(value.startswith("#") for name, value in tags.attributes if name in ("href", "src"))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
