"""Drafts: kept per person, and two windows do not overwrite each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.app.inbox.drafts import Drafts
from penstock.errors import BadInput, ChangedMeanwhile
from tests.app.workflows import opened


def test_two_windows(tmp_path: Path) -> None:
    with opened(tmp_path) as door:
        mine = Drafts(door, "kim")
        one = mine.put("item:r/ask", {"comment": "좋"})
        assert (one.number, mine.get("item:r/ask")) == (1, one)
        two = mine.put("item:r/ask", {"comment": "좋습니다"}, seen=1)
        assert two.number == 2
        for seen in (None, 1, 3):
            with pytest.raises(ChangedMeanwhile, match="2"):
                mine.put("item:r/ask", {"comment": "다른 창"}, seen=seen)
        assert mine.each() == [two] and Drafts(door, "lee").each() == [] == Drafts(door.of("u"), "kim").each()
        assert mine.drop("item:r/ask") and mine.get("item:r/ask") is None
        with pytest.raises(ChangedMeanwhile, match="gone"):
            mine.put("item:r/ask", {}, seen=2)


@pytest.mark.parametrize(("key", "body"), [("", 1), ("k" * 201, 1), ("k", "x" * 70_000)])
def test_what_is_too_large_is_refused(tmp_path: Path, key: str, body: object) -> None:
    with opened(tmp_path) as door, pytest.raises(BadInput):
        Drafts(door, "kim").put(key, body)
