"""Writes docs/seeds.md: one row per section of each seed, works / partly / not yet, with the command that shows it.

    python -m tools.gen_conformance            writes the page
    python -m tools.gen_conformance --check    writes nothing, exits 1 when the page is not what would be written

The status is counted, not claimed: docs/requirements/sections.toml says which ids a section stands for, the tests say
which of them they name, docs/requirements/waived.md says which no test can show, and the table of languages says which
documents are read at all.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from penstock.languages import HOUSE
from tools import traceability

ROOT = traceability.ROOT
PAGE = ROOT / "docs/seeds.md"
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
HEADING = re.compile(r"^(#{1,6}) (.+?)\s*$")
NOT_BUILT = "not built"  # a waiver that begins so leaves its section at partly


class Heading(NamedTuple):
    level: int
    text: str
    line: int


class Count(NamedTuple):
    ids: int
    named: int
    waived: int
    unbuilt: int

    def status(self, readable: bool) -> str:
        if self.ids == self.waived and not self.unbuilt:
            return "–"
        if not self.named:
            return "not yet"
        whole = self.named + self.waived == self.ids and not self.unbuilt and readable
        return "works" if whole else "partly"


def headings(text: str) -> list[Heading]:
    """The headings of a Markdown text. A fence that is never closed hides nothing; seed 004 has one."""
    lines, found, at = text.splitlines(), [], 0
    while at < len(lines):
        if (fence := FENCE.match(lines[at])) and (end := _closing(lines, at, fence[1])) is not None:
            at = end
        elif heading := HEADING.match(lines[at]):
            found.append(Heading(len(heading[1]), heading[2], at + 1))
        at += 1
    return found


def _closing(lines: list[str], start: int, fence: str) -> int | None:
    for at in range(start + 1, len(lines)):
        line = lines[at].strip()
        if len(line) >= len(fence) and set(line) == {fence[0]}:
            return at
    return None


def seeds(root: Path = ROOT) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((root / "docs/requirements/sections.toml").read_text("utf-8"))["seed"]
    return found


def page(root: Path = ROOT) -> str:
    return "\n".join(_page(root)) + "\n"


def _page(root: Path) -> Iterator[str]:
    known, named, waived = traceability.requirements(root), traceability.named(root), traceability.waived(root)
    read = {*HOUSE}
    yield from _HEAD
    for seed in seeds(root):
        ids_of_seed = [requirement.id for requirement in known.values() if requirement.catalogue == seed["catalogue"]]
        count, readable = _count(ids_of_seed, named, waived), seed["language"] in read
        yield from ("", f"## {seed['language']}: `tests/seeds/{seed['file']}`", "")
        yield (
            f"Catalogue [{seed['catalogue']}](requirements/{seed['catalogue']}.md) with its decisions and acceptance "
            f"scenarios: {count.named} of {count.ids} ids are named by a test, {_waived(count.waived)}."
        )
        if not readable:
            yield "Penstock does not read these documents yet: *partly* is what the engine can already do for them."
        yield from ("", "| section | ids | status | named | shown by |", "|---|---|---|---|---|")
        text = (root / "tests/seeds" / seed["file"]).read_text("utf-8")
        levels = {heading.text: heading.level for heading in headings(text)}
        for section in seed["sections"]:
            ids = [id for id in ids_of_seed if any(traceability.under(id, prefix) for prefix in section["ids"])]
            yield _row(section, levels[section["heading"]], _count(ids, named, waived), ids, named, readable)


def _waived(number: int) -> str:
    return "1 is waived with a reason" if number == 1 else f"{number} are waived with a reason"


def _row(
    section: dict[str, Any], level: int, count: Count, ids: list[str], seen: dict[str, list[str]], readable: bool
) -> str:
    status = count.status(readable)
    title = section["heading"] if section["heading"] == section["en"] else f"{section['heading']} · {section['en']}"
    title = "&emsp;" * (level - 2) + title
    shown = ""
    if status in ("works", "partly"):
        shown = f"`{section['command']}`" if "command" in section else _busiest(ids, seen)
    numbers = f"{count.named}/{count.ids}" + (f", {count.waived} waived" if count.waived else "")
    return f"| {title} | {', '.join(section['ids'])} | {status} | {numbers if ids else ''} | {shown} |"


def _busiest(ids: list[str], seen: dict[str, list[str]]) -> str:
    """The command that runs the one test file which names most of these ids."""
    files = Counter(file for one in ids for file in {where.split("::")[0] for where in seen.get(one, ())})
    file = min(files, key=lambda name: (-files[name], name))
    return f"`python3 bootstrap.py test -- {file}`"


def _count(ids: list[str], seen: dict[str, list[str]], without: dict[str, str]) -> Count:
    bare = [one for one in ids if one in without and one not in seen]
    unbuilt = sum(without[one].lower().startswith(NOT_BUILT) for one in bare)
    return Count(len(ids), sum(one in seen for one in ids), len(bare), unbuilt)


_HEAD = (
    "# What works of the seeds",
    "",
    "> made from the tests, `requirements/sections.toml` and `requirements/waived.md` by `tools/gen_conformance.py`",
    "",
    "The seeds are the users' own documents, kept word for word in `tests/seeds`. The catalogues number what they ask.",
    "A section **works** when a test names each of its ids or a waiver says why none can, **partly** when some are,",
    "**not yet** when none is; a dash means that there is nothing a test could show.",
)


def main(arguments: list[str]) -> int:
    made = page()
    if arguments == ["--check"]:
        same = PAGE.is_file() and PAGE.read_text("utf-8") == made
        print("docs/seeds.md is up to date" if same else "docs/seeds.md is stale: python -m tools.gen_conformance")
        return 0 if same else 1
    PAGE.write_text(made, "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
