"""HtmlToText: what a reader of a page sees, without tags, scripts and styles."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from penstock.executors.processors.contract import Output, ProcessorContext, bad_file
from penstock.executors.processors.file_kinds import detected_mime
from penstock.executors.processors.texts import read_text, text_output

_UNSEEN = frozenset("script style noscript template iframe object svg head".split())
_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main "
    "nav ol p pre section table tr ul".split()
)
_SPACES, _LINES = re.compile(r"[ \t\r\f\v\u00a0]+"), re.compile(r"\n{3,}")


def run(context: ProcessorContext) -> Output:
    """config: encoding, links (write where links lead; default false)."""
    warned: list[str] = []
    detected = detected_mime(context.file)
    if detected and detected != "text/html":
        raise bad_file(f"the file is {detected}, and no HTML")
    text, title = html_text(read_text(context, warned), context.flag("links"))
    return text_output(context, text, "html", 1.0, warned, title=title[:500])


def html_text(page: str, links: bool = False) -> tuple[str, str]:
    """The text of a page, and its title."""
    reader = _Reader(links)
    reader.feed(page)
    reader.close()
    lines = [_SPACES.sub(" ", line).strip() for line in "".join(reader.parts).split("\n")]
    return _LINES.sub("\n\n", "\n".join(lines)).strip(), " ".join("".join(reader.title).split())


class _Reader(HTMLParser):
    def __init__(self, links: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.links = links
        self.parts: list[str] = []
        self.title: list[str] = []
        self._unseen: list[str] = []
        self._in_title = False
        self._link = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen.append(tag)
        elif tag == "body":
            self._unseen.clear()  # a head that was never closed ends here
        elif tag == "title":
            self._in_title = True
        elif tag in _BLOCKS:
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append("\t")
        elif tag == "a" and self.links:
            self._link = dict(attrs).get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unseen:
            while self._unseen.pop() != tag:
                continue
        elif tag == "title":
            self._in_title = False
        elif tag in _BLOCKS:
            self.parts.append("\n")
        elif tag == "a" and self._link:
            self.parts.append(f" ({self._link})")
            self._link = ""

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._unseen:
            self.parts.append(data)
