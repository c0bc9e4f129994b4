"""The corpus: seeds that once broke a law, one per line, kept for ever."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.sim.nets import by_hand

FILE = Path(__file__).with_name("corpus.txt")


@dataclass(frozen=True)
class Kept:
    """`known`: it still does, and is on the list of what has to be mended."""

    seed: int
    options: dict[str, Any]
    what: str
    known: bool

    @property
    def name(self) -> str:
        return f"{self.seed}{' known' if self.known else ''} {self.what}"


def read() -> list[Kept]:
    found = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            known = line.startswith("known ")
            seed, _, rest = line.removeprefix("known ").partition(" ")
            options, end = json.JSONDecoder().raw_decode(rest) if rest.startswith("{") else ({}, 0)
            if "keep" in options:
                options["keep"] = tuple(options["keep"])
            if "works" in options:
                options["works"] = [by_hand(name) for name in options["works"]]
            found.append(Kept(int(seed), options, rest[end:].strip(), known))
    return found
