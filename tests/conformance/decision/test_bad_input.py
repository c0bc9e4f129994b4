"""Documents broken at random: whatever is written, the reader ends with findings and never with an exception."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.lang.compile import check_document, compile_document
from penstock.net.compiled import Compiled
from tests.conformance.decision import broken, form_of_seed
from tests.conformance.decision.harness import samples
from tests.conformance.decision.make import seeds

DOCUMENTS = [*(one.workflow for one in samples()), *(seeds(number)[0] for number in ("11.1", "11.2", "11.3"))]
DOCUMENTS += [*(broken.whole(type) for type in form_of_seed.TYPES), broken.top()]
VALUES: list[Any] = [
    None,
    0,
    -1,
    1.5,
    10**30,
    1e308,
    True,
    False,
    "",
    "x",
    "x" * 5000,
    "${",
    "${}",
    "${1+}",
    "${input.x}",
    "${aas}",
    "${aas.x}",
    "${rag.x}",
    "${secrets}",
    "${fn.get_secret(1)}",
    "a | b",
    "end",
    "data_defect",
    "a\n",
    "fn.now()",
    "한",
    [],
    [None],
    [5],
    [{}],
    [[]],
    {},
    {"a": 1},
    {"$expr": "1"},
    {"channels": ["slack"]},
    {"variable": "v", "expression": "output"},
    {"schema": {}},
]
NAMES = (
    "notification",
    "audit",
    "output",
    "condition",
    "retry",
    "skip_on_error",
    "side_effects",
    "idempotency",
    "extra",
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from paths(value[key], (*at, key))


def reached(value: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        value = value[key]
    return value


def mutated(rng: random.Random) -> Any:
    made = copy.deepcopy(rng.choice(DOCUMENTS))
    for _ in range(rng.choice([1, 1, 2, 3])):
        known = list(paths(made))
        if not known:
            break
        way, what = rng.choice(known), rng.random()
        holder = reached(made, way[:-1])
        if what < 0.15:
            del holder[way[-1]]
        elif what < 0.3:
            holder[way[-1]] = copy.deepcopy(reached(made, rng.choice(known)))
        elif what < 0.4 and isinstance(holder, dict):
            holder[rng.choice(NAMES)] = copy.deepcopy(rng.choice(VALUES))
        else:
            holder[way[-1]] = copy.deepcopy(rng.choice(VALUES))
    return made


@pytest.mark.parametrize("seed", range(8))
def test_nothing_breaks_the_reader(seed: int) -> None:
    """W-9.1.1, W-12.1.6: findings with place and hint; what has no error becomes a net that can be compiled."""
    rng = random.Random(seed)
    for _ in range(60):
        body = json.dumps(mutated(rng)).encode()
        _, findings = check_document(body, name="t.json", language="decision")
        assert all(one.hint and one.where.line for one in findings)
        if not any(one.severity == "error" for one in findings):
            Compiled(compile_document(body, name="t.json", language="decision").net)
