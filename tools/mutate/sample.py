"""Which mutants are tried: random lines, the same for the same seed, and more of them when more are asked for."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from tools.mutate.mutants import Mutant, mutants
from tools.mutate.tree import ROOMS, ROOT

EXPLAINED = Path(__file__).with_name("explained.toml")


def every(rooms: Iterable[str], only: str = "") -> list[Mutant]:
    """All mutants of the rooms; `only` is a pattern of files."""
    unknown = set(rooms) - set(ROOMS)
    if unknown:
        raise SystemExit(f"there is no room {', '.join(sorted(unknown))}: choose of {', '.join(ROOMS)}")
    files = [file for room in rooms for file in sorted((ROOT / "src" / "penstock" / room).rglob("*.py"))]
    names = [file.relative_to(ROOT).as_posix() for file in files]
    return [made for name in names if re.search(only, name) for made in mutants(name, (ROOT / name).read_bytes())]


def chosen(made: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """One mutant each of `count` lines. A line's place in the order depends on the seed and on what stands there, so
    that a longer sample begins with the shorter one, and a change elsewhere leaves the sample as it is."""
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for mutant in made:
        lines.setdefault((mutant.file, mutant.line), []).append(mutant)
    ranked = sorted(lines.values(), key=lambda of_line: _rank(seed, "line", of_line[0].key))
    picked = []
    for of_line in ranked:
        if len(picked) == count:
            break
        for mutant in sorted(of_line, key=lambda one: _rank(seed, "mutant", one.key)):
            if mutant.is_valid((ROOT / mutant.file).read_bytes()):
                picked.append(mutant)
                break
    return picked


def explained() -> dict[tuple[str, str, str], str]:
    """(file, the line before, the line after) → why no test notices."""
    entries = tomllib.loads(EXPLAINED.read_text("utf-8")).get("explained", [])
    return {(one["file"], one["before"], one["after"]): one["why"] for one in entries}


def before_after(mutant: Mutant) -> tuple[str, str]:
    """The lines that the mutant changes, without their indentation."""
    shown = mutant.diff((ROOT / mutant.file).read_bytes()).splitlines()
    texts = [" ".join(line[1:].strip() for line in shown if line[:1] == sign) for sign in "-+"]
    return texts[0], texts[1]


def _rank(seed: int, what: str, key: str) -> str:
    return hashlib.sha256(f"{seed}/{what}/{key}".encode()).hexdigest()
