"""`penstock check --sound`: the way that shows it, gone by the kernel, and drawn."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.shell import Shell
from tests.conformance.process.test_nine_pairs import A, X, pair, source


def test_the_way_its_rehearsal_and_its_picture(penstock: Shell, tmp_path: Path) -> None:
    """P-X.12, KERNEL 8: told in the author's names; with --json as data."""
    (tmp_path / "pair.json").write_bytes(source(pair(X, A)))
    told = penstock("check", "pair.json", "--sound", "--picture", "way.svg", code=2)
    assert "«수치 검증» → «합류»" in told.err and "rehearsed: the run cannot" in told.err
    assert "<svg" in (tmp_path / "way.svg").read_text()[:200]
    level = json.loads(penstock("check", "pair.json", "--sound", "--json", code=2).out)["soundness"][0]
    assert (level["verdict"], level["why"], level["rehearsed"]["code"]) == ("unsound", "deadlock", "DEADLOCK")
    assert level["path"][-1]["node"] in ("a", "b") and level["held"]


def test_a_sound_document(penstock: Shell, tmp_path: Path) -> None:
    """KERNEL 8: also of a language that does not ask it by itself."""
    (tmp_path / "good.json").write_bytes(source(pair(A, A)))
    assert "sound" in penstock("check", "good.json", "--sound").out
