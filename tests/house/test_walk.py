"""The walk from an answer to the next effect stays as short as it is, and ARCHITECTURE.md shows it as it is."""

from __future__ import annotations

import pytest

from tools import walk

#: files, returns to files already left; change them downwards only
PLAIN, WATCHED = (35, 58), (36, 59)  # with the queues that tenants share (ADR 0030)


@pytest.mark.parametrize(("watched", "most"), [(False, PLAIN), (True, WATCHED)], ids=["plain", "watched"])
def test_the_walk_is_no_longer_than_it_was(watched: bool, most: tuple[int, int]) -> None:
    files, returns = walk.figures(walk.walk(watched=watched))
    assert files <= most[0] and returns <= most[1], (
        f"{files} files and {returns} returns; python -m tools.walk shows it"
    )


def test_a_fact_is_evolved_once_on_the_way_also_when_somebody_watches() -> None:
    def evolved(watched: bool) -> list[str]:
        visits = (visit for visit in walk.walk(watched=watched) if visit.file.startswith("kernel/evolve/"))
        return [function for visit in visits for function in visit.functions]

    assert evolved(False) == evolved(True)


def test_the_architecture_shows_the_walk_as_it_is() -> None:
    text = walk.PAGE.read_text(encoding="utf-8")
    assert walk.written(text) == text, "python -m tools.walk --write writes it again"
