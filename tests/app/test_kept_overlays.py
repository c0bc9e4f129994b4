"""Looks into the past of a long run go on from the nearest mark, and show what a fold from the beginning shows."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.app.drawing import kept_overlays
from penstock.app.drawing.kept_overlays import KeptOverlays
from penstock.app.drawing.run_graph import _facts as facts_of
from penstock.app.drawing.run_graph import _graph as graph_from
from penstock.app.drawing.run_graph import deltas, graph, graph_of
from penstock.errors import PenstockError
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactReader
from penstock.net.compiled import Compiled
from penstock.net.model import Edge, Effect, Net, Node
from tests.app.scenes import Echo, opened
from tests.app.test_history import KNOWN, stir
from tests.conformance.decision.harness import INPUT
from tests.conformance.decision.make import compiled
from tests.conformance.decision.world import go
from tests.kernel.harness import Sim


@pytest.fixture
def close(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mark every few facts."""
    monkeypatch.setattr(kept_overlays, "MARKS", 1000)
    monkeypatch.setattr(kept_overlays, "LEAST", 3)


@pytest.mark.parametrize("which", KNOWN)
@pytest.mark.usefixtures("close")
def test_a_fold_that_goes_on_from_a_mark_is_the_whole_fold(which: str) -> None:
    """CONSOLE 5: whatever happened, after any fact the graph is the same."""
    net = compiled(KNOWN[which]).net
    made = Compiled(net)

    def same(body: Any) -> Any:
        return body

    def net_of(_: str) -> Compiled:
        return made

    for seed in range(3):
        sim, rng = Sim(net, INPUT, check=False), random.Random(f"{which}/{seed}")
        for _ in range(40):
            with contextlib.suppress(PenstockError):
                stir(sim, rng)
        turns = [(at, F.decode_facts(body)) for at, body in sim.turns]
        of, kept, ends = sum(len(facts) for _, facts in turns), KeptOverlays(), [0]
        for _, facts in turns:
            ends.append(ends[-1] + len(facts))
        overlay = kept.nearest(1, of, net_of, same)
        for at, fact, last in facts_of(turns, of):
            overlay.one(at, fact, ends=last)
            if last:
                kept.passed(1, overlay, of)
        for fact in rng.sample(range(1, of + 1), min(of, 25)):
            picture = kept.nearest(1, fact, net_of, same)
            assert picture.st.n in ends and picture.st.n <= fact and (fact < 30 or picture.st.n)
            rest = turns[ends.index(picture.st.n) :]
            for at, one, last in facts_of(rest, fact - picture.st.n):
                picture.one(at, one, ends=last)
            assert graph_from(picture, of) == graph_of(net_of, turns, fact, of, same), fact


def _counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many facts were folded since it was asked last."""
    count, plain = [0], FactReader.one

    def one(reader: FactReader, at: int, fact: Any) -> Any:
        count[0] += 1
        return plain(reader, at, fact)

    monkeypatch.setattr(FactReader, "one", one)

    def since() -> int:
        folded, count[0] = count[0], 0
        return folded

    return since


def test_time_travel_folds_no_more_than_between_two_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-66: the first look folds the run, the next ones what lies behind the mark before them."""
    monkeypatch.setattr(kept_overlays, "LEAST", 50)
    folded = _counted(monkeypatch)
    nodes = [Node(id="s", kind="start")]
    nodes += [Node(id=f"n{i}", kind="task", effect=Effect(executor="echo")) for i in range(300)]
    edges = tuple(Edge(id=f"{a.id}>{b.id}", src=a.id, dst=b.id) for a, b in zip(nodes, nodes[1:], strict=False))

    async def scene() -> None:
        async with opened(tmp_path, echo=Echo()) as door:
            run = await door.start(door.release(Net(name="long", nodes=tuple(nodes), edges=edges)))
            await door.wait(run, timeout=60)
            of = door.store.facts_of(door.row(run).no)
            plain = [graph(door, run, fact) for fact in (5, of // 3, of // 2, of - 1)]
            kept = door.keep_folds()
            folded()
            graph(door, run)
            assert folded() == of
            every = of // kept_overlays.MARKS
            for shown in plain:
                assert graph(door, run, shown.at) == shown
                assert folded() <= every + 10
            deltas(door, run, of // 2, of // 2 + 20)
            assert folded() <= every + 30
            kept.forget()
            assert graph(door, run, of - 1) == plain[-1] and folded() == of - 1

    go(scene())


def test_marks_are_bounded_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_overlays, "LEAST", 3)
    net = compiled(KNOWN[next(iter(KNOWN))]).net
    made, sim = Compiled(net), Sim(net, INPUT, check=False)
    turns = [(at, F.decode_facts(body)) for at, body in sim.turns]
    kept = KeptOverlays(most_bytes=1)
    for run in range(20):
        overlay = kept.nearest(run, 10**6, lambda _: made, lambda body: body)
        for at, fact, last in facts_of(turns, 10**6):
            overlay.one(at, fact, ends=last)
            if last:
                kept.passed(run, overlay, 6)
    assert kept.nearest(0, 10**6, lambda _: made, lambda body: body).st.n == 0
    assert kept.nearest(19, 10**6, lambda _: made, lambda body: body).st.n > 0
    assert len(kept._runs) == 1
