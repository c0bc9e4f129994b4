"""The console's shared screens know no language by name: each has a folder and a line in the table of languages."""

from __future__ import annotations

import re
from pathlib import Path

from tests.house.files import ROOT, files, shown

CONSOLE = ROOT / "console/src"
TABLE = CONSOLE / "languages/index.ts"
NAMES = ("decision", "process", "plan", "pipeline", "diagram")
#: where a language may be named: its folder, the table, both dictionaries and the server's description
NAMED_IN = (*NAMES, "languages")
NOT_CODE = ("words/ko.ts", "words/en.ts", "api/schema.d.ts")
FIELD = re.compile(r"(?<=[\w)\]])\[\"\w+\"\]")
QUOTED = re.compile(rf"""["'`]({"|".join(NAMES)})["'`]""")
ADDRESS = re.compile(rf"""["'`]/({"|".join(f"{name}(?:s|es)" for name in NAMES)})\b""")
IMPORT = re.compile(r"(?:from|import)\s*\(?\s*\"(\.[^\"]+)\"")


def _folder(file: Path) -> str:
    return file.relative_to(CONSOLE).parts[0]


def _sources() -> list[Path]:
    return [
        file for file in files(".ts", ".tsx", below=CONSOLE) if file.relative_to(CONSOLE).as_posix() not in NOT_CODE
    ]


def named(line: str) -> bool:
    """A name of a language as a value, or an address that only one language has; `data["decision"]` is a field."""
    return bool(QUOTED.search(FIELD.sub("", line)) or ADDRESS.search(line))


def test_shared_screens_name_no_language() -> None:
    hits = [
        f"{shown(file)}:{number}: {line.strip()[:100]}"
        for file in _sources()
        if _folder(file) not in NAMED_IN
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if named(line)
    ]
    assert not hits, "\n" + "\n".join(hits)


def test_names_are_recognised() -> None:
    assert named('if (run.language === "process") return null;')
    assert named("case 'diagram': break;")
    assert named('["decision", "diagram"].map(optionOf)')
    assert named('useGet("/processes/instances")')
    assert not named('typeof data["decision"] === "string"')
    assert not named('go("/definitions")')


def test_no_shared_file_is_named_for_a_language() -> None:
    words = re.compile(rf"(?i)(?:^|[^a-z])({'|'.join(NAMES)})(?:es|s)?(?:[^a-z]|$)")
    own = [file for file in _sources() if _folder(file) not in NAMED_IN]
    parts = {part for file in own for part in file.relative_to(CONSOLE).with_suffix("").parts}
    split = {part: re.sub(r"(?<=[a-z])(?=[A-Z])", " ", part) for part in parts}
    # a decision in the inbox is a person's answer, not a document
    assert {part for part, text in split.items() if words.search(text)} - {"decision"} == set()


def test_every_folder_of_a_language_is_a_line_of_the_table() -> None:
    table = TABLE.read_text(encoding="utf-8")
    listed = re.search(r"LANGUAGES: readonly Language\[\] = \[\n(.*?)\];", table, re.DOTALL)
    assert listed, "the table has moved: say here where it is"
    lines = [line.strip().rstrip(",") for line in listed[1].splitlines()]
    assert sorted(lines) == sorted(name for name in NAMES if (CONSOLE / name).is_dir())
    for name in lines:
        text = (CONSOLE / name / "index.ts").read_text(encoding="utf-8")
        assert re.search(rf'export const {name}: Language = {{\s*name: "{name}"', text), f"{name}: it has another name"


def test_a_language_is_reached_by_the_table_alone() -> None:
    """No shared screen imports a language's file, and no language another's."""
    hits = []
    for file in _sources():
        for target in IMPORT.findall(file.read_text(encoding="utf-8")):
            other = _folder((file.parent / target).resolve())
            if other in NAMES and other != _folder(file) and file != TABLE:
                hits.append(f"{shown(file)}: {target}")
    assert not hits, "\n" + "\n".join(hits)
