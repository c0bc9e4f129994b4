"""Soundness of random drawings, asked of pm4py as well, and played."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from penstock.errors import DocumentInvalid
from penstock.lang.compile import compile_document
from penstock.net.soundness import verdict
from tests.conformance.process.random_drawings import RandomDrawing, block_drawing, free_drawing
from tests.servers.pm4py import Pm4py

pytestmark = pytest.mark.xdist_group("pm4py")
DRAWINGS = 250  # of each of the two shapes
PLAYS = 2_000
CHUNKS = 5
NO_WAY_OUT = {"UNBOUNDED_LOOP", "cycle_without_choice"}


@pytest.fixture(scope="module")
def pm4py() -> Iterator[Pm4py]:
    other = Pm4py()
    yield other
    other.end()


def status_of(drawing: RandomDrawing) -> str:
    """sound, unsound or undecided; a loop that nothing leaves is refused before its markings are looked at."""
    source = drawing.bpmn().encode()
    try:
        net = compile_document(source, name="random.bpmn", language="process", unsound=True).net
    except DocumentInvalid as wrong:
        rules = {finding.rule for finding in wrong.findings if finding.severity == "error"}
        return "unsound" if rules <= NO_WAY_OUT else f"refused for {rules}"
    return verdict(net).status


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("make", [block_drawing, free_drawing])
def test_pm4py_says_the_same(make: Callable[[int], RandomDrawing], chunk: int, pm4py: Pm4py) -> None:
    """P-3.4.4, P-X.12: classical soundness, here of our net, and by Woflan of the Petri net that pm4py makes."""
    counts: Counter[str] = Counter()
    differences = []
    for seed in range(chunk, DRAWINGS, CHUNKS):
        drawing = make(seed)
        ours = status_of(drawing)
        theirs = pm4py.soundness(drawing.bpmn())
        said = theirs.get("error") or ("sound" if theirs["sound"] else "unsound")
        counts[ours, said] += 1
        if said in ("sound", "unsound") and ours != "undecided" and said != ours:
            differences.append((seed, ours, theirs))
    print(f"{make.__name__} {chunk}, pm4py {pm4py.version}: {dict(counts)}")
    assert not differences
    answered = sum(count for (_, said), count in counts.items() if said in ("sound", "unsound"))
    assert answered > 0.9 * DRAWINGS / CHUNKS, counts
    assert counts["sound", "sound"] and counts["unsound", "unsound"], "both verdicts occur"


class TokenGame:
    """Tokens on the flows of a drawing, moved by the rules of BPMN 13.4 alone: none of the engine's own code."""

    def __init__(self, drawing: RandomDrawing, rng: random.Random) -> None:
        self.drawing, self.rng = drawing, rng
        self.into = {id: [n for n, flow in enumerate(drawing.flows) if flow[1] == id] for id in drawing.elements}
        self.out = {id: [n for n, flow in enumerate(drawing.flows) if flow[0] == id] for id in drawing.elements}
        self.tokens: Counter[int] = Counter()
        self.ended = 0

    def play(self, most: int = 400) -> str:
        """ended: one token reached the end and none is left; stranded: nothing can move; long: it goes on."""
        for id, tag in self.drawing.elements.items():
            if tag == "startEvent":
                self.tokens.update(self.out[id])
        for _ in range(most):
            able = [id for id in self.drawing.elements if self._ready(id)]
            if not able:
                return "ended" if self.ended == 1 and not +self.tokens else "stranded"
            self._fire(self.rng.choice(able))
        return "long"

    def _ready(self, id: str) -> bool:
        marked = [flow for flow in self.into[id] if self.tokens[flow]]
        if self.drawing.elements[id] == "parallelGateway":
            return bool(marked) and len(marked) == len(self.into[id])
        return bool(marked)

    def _fire(self, id: str) -> None:
        tag, marked = self.drawing.elements[id], [flow for flow in self.into[id] if self.tokens[flow]]
        self.tokens.subtract(marked if tag == "parallelGateway" else [self.rng.choice(marked)])
        self.ended += tag == "endEvent"
        out = self.out[id]
        self.tokens.update([self.rng.choice(out)] if tag == "exclusiveGateway" and out else out)


@pytest.mark.parametrize("make", [block_drawing, free_drawing])
def test_what_is_sound_never_strands_a_token(make: Callable[[int], RandomDrawing]) -> None:
    """P-X.12: in 2,000 random plays of drawings that are called sound every token reaches the end."""
    sound = [drawing for drawing in map(make, range(60)) if status_of(drawing) == "sound"]
    assert len(sound) > 10
    results: Counter[str] = Counter()
    for number in range(PLAYS):
        results[TokenGame(sound[number % len(sound)], random.Random(number)).play()] += 1
    print(f"{make.__name__}: {PLAYS} plays of {len(sound)} sound drawings: {dict(results)}")
    assert set(results) <= {"ended", "long"} and results["ended"] > 0.9 * PLAYS


@pytest.mark.parametrize("make", [block_drawing, free_drawing])
def test_what_is_not_sound_breaks_in_some_play(make: Callable[[int], RandomDrawing]) -> None:
    """The plays above can fail: of drawings that are called unsound most are seen to break."""
    unsound = [drawing for drawing in map(make, range(60)) if status_of(drawing) == "unsound"]
    assert len(unsound) > 5
    broken = [
        any(TokenGame(drawing, random.Random(number)).play() != "ended" for number in range(60)) for drawing in unsound
    ]
    assert sum(broken) > 0.8 * len(unsound)
