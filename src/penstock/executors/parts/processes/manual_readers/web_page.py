"""The parts of an HTML page: headings, paragraphs, lists and tables; scripts, styles and what is hidden is left out."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

_LEFT_OUT = ("script", "style", "template", "noscript", "svg", "math", "head", "nav", "iframe", "object", "select")
_BREAKS = ("p", "div", "section", "article", "main", "header", "footer", "blockquote", "pre", "dl", "dt", "dd", "form",
           "figure", "figcaption", "hr", "address", "aside", "body", "html", "ul", "ol", "br", "center",
           "caption")  # fmt: skip
_VOID = ("br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "track", "wbr")
#: elements that end when another begins, and nobody has to write their end
_ENDS = {"p": ("p",), "li": ("p", "li"), "td": ("p", "td", "th"), "th": ("p", "td", "th"), "tr": ("p", "td", "th",
"tr"),
         "dt": ("dt", "dd"), "dd": ("dt", "dd"), "tbody": ("td", "th", "tr", "thead"), "ul": ("p",),
         "ol": ("p",)}  # fmt: skip
_HEADING = re.compile(r"h([1-6])\Z")
_DEPTH = 500


class Refused(Exception):
    """The document is not read; the text says why."""


def read(source: bytes) -> dict[str, Any]:
    page = _Page()
    page.feed(_decoded(source))
    page.close()
    page.flush()
    blocks = page.blocks
    if page.title and not any(block["kind"] == "heading" for block in blocks):
        blocks.insert(0, {"kind": "heading", "text": page.title, "level": 1, "page": 1})
    return {"blocks": blocks, "pages": 1, "pictures": []}


def _decoded(source: bytes) -> str:
    said = re.search(rb"<meta[^>]{0,200}charset=[\"']?([\w-]{1,40})", source[:4096], re.I)
    names = [said[1].decode().lower()] if said else []
    names = ["utf-16", *names] if source[:2] in (b"\xff\xfe", b"\xfe\xff") else names
    for name in ("utf-8-sig", *names, "cp949"):
        try:
            return source.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    raise Refused("its letters are of no encoding that is known")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[dict[str, Any]] = []
        self.title = ""
        self.text = ""
        self.open: list[str] = []
        self.left_out = 0  # how many elements from the outermost one that is left out
        self.lists: list[int | None] = []  # the next number of each open list; None for bullets
        self.kind: dict[str, Any] = {}
        self.tables: list[list[list[str]]] = []
        self.in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        for ended in _ENDS.get(tag, ()):
            if self.open and self.open[-1] == ended:
                self.handle_endtag(ended)
        if tag == "title":
            self.in_title = True
        if tag in _VOID:
            if tag in ("br", "hr"):
                self._break()
            return
        hidden = "hidden" in known or "display:none" in (known.get("style") or "").replace(" ", "").lower()
        if self.left_out or hidden or tag in _LEFT_OUT:
            self.left_out += 1
            self.open.append(f"-{tag}")
            return
        self.open.append(tag)
        if len(self.open) > _DEPTH:
            raise Refused(f"more than {_DEPTH} elements are inside each other")
        self._begin(tag, known)

    def _begin(self, tag: str, known: dict[str, str | None]) -> None:
        if tag in ("ul", "ol"):
            self.flush()
            start = known.get("start") or "1"
            self.lists.append((int(start) if start.isdecimal() and len(start) < 4 else 1) if tag == "ol" else None)
        elif tag == "li":
            self.flush()
            number = self.lists[-1] if self.lists else None
            if number is not None:
                self.lists[-1] = number + 1
            mark = "-" if number is None else f"{number}."
            self.kind = {"kind": "item", "mark": mark, "level": max(len(self.lists), 1)}
        elif heading := _HEADING.match(tag):
            self.flush()
            self.kind = {"kind": "heading", "level": int(heading[1])}
        elif tag == "table":
            self.flush()
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables:
            if not self.tables[-1]:
                self.tables[-1].append([])
            self.text = ""
        elif tag in _BREAKS:
            self._break()

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self.in_title = False
        if tag not in self.open and f"-{tag}" not in self.open:
            return
        while self.open:
            last = self.open.pop()
            if last.startswith("-"):
                self.left_out -= 1
            else:
                self._end(last)
            if last.lstrip("-") == tag:
                return

    def _end(self, tag: str) -> None:
        if tag in ("td", "th") and self.tables:
            self.tables[-1][-1].append(" ".join(self.text.split()))
            self.text = ""
        elif tag == "table" and self.tables:
            rows = [row for row in self.tables.pop() if any(row)]
            if rows and not self.tables:
                width = max(map(len, rows))
                rows = [row + [""] * (width - len(row)) for row in rows]
                self.blocks.append({"kind": "table", "rows": rows, "page": 1})
        elif tag in ("ul", "ol"):
            self.flush()
            if self.lists:
                self.lists.pop()
        elif tag == "li" or _HEADING.match(tag) or tag in _BREAKS:
            self.flush()

    def handle_data(self, data: str) -> None:
        if self.in_title and not self.title:
            self.title = " ".join(data.split())
        if not self.left_out:
            self.text += data

    def _break(self) -> None:
        """A break inside an item or a cell is a space; elsewhere it begins a new paragraph."""
        if self.tables or self.kind.get("kind") == "item" and not self.text.strip():
            self.text += " "
        else:
            self.flush()

    def flush(self) -> None:
        if self.tables:
            return
        text = " ".join(self.text.split())
        if text:
            self.blocks.append({**(self.kind or {"kind": "paragraph"}), "text": text, "page": 1})
        self.text, self.kind = "", {}
