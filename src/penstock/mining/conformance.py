"""A log held against a model: which cases fit, what the others have done otherwise, and how much the model allows."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.mining.deviations import CaseDeviation, Kind, name_deviations
from penstock.mining.flow_model import FlowModel
from penstock.mining.precision import precision
from penstock.mining.replay import MOST_STATES, Replayer

#: States that are looked at for all variants together; then those that are left are only told to fit or not.
MOST_STATES_IN_ALL = 3_000_000


class Deviation(msgspec.Struct, frozen=True):
    """`cases` have this one as their first, so that the cases of all deviations together are those that do not fit;
    `variants` are the numbers of the variants that have it at all. See CaseDeviation for the rest."""

    kind: Kind
    activity: str
    before: str
    after: str
    cases: int
    variants: tuple[int, ...]


class Conformance(msgspec.Struct, frozen=True):
    """`fits`, `deviating` and `first` have an entry for every variant, in their order: whether it fits, the places of
    the events that deviate, and its first deviation by number, -1 for none. `fitness` is 1 less the share of
    deviations in the events and activities that there would have to be at worst, over all cases; `bounded`: the search
    was ended somewhere, so that a deviation may be told where a smaller one would explain the case."""

    cases: int
    fitting: int
    fitness: float
    precision: float
    deviations: tuple[Deviation, ...]
    fits: tuple[bool, ...]
    deviating: tuple[tuple[int, ...], ...]
    first: tuple[int, ...]
    bounded: bool


def conformance(
    model: FlowModel, variants: Mapping[tuple[str, ...], int], most: int = MOST_STATES_IN_ALL,
    controls: frozenset[str] = frozenset(),
) -> Conformance:  # fmt: skip
    """`most`: states that are looked at in all. `controls`: activities of which it matters most that they were left
    out."""
    happen = frozenset(activity for case in variants for activity in case)
    replayer = Replayer(model, min(MOST_STATES, most), controls=controls, happen=happen)
    tally = _Tally()
    for number, (case, cases) in enumerate(variants.items()):
        fits = replayer.fits(case)
        if fits:
            tally.fitting(case, cases)
        elif most <= 0:
            replayer.bounded = True
            tally.unexplained(case, cases)
        else:
            replayer.most = min(MOST_STATES, most)
            explanation = replayer.explain(case)
            most -= replayer.looked_at
            named = name_deviations(case, explanation, model.labels, replayer.fits)
            tally.deviating_case(number, cases, named.deviations, named.places)
            tally.cost += explanation.cost * cases
        tally.worst += (len(case) + replayer.shortest()) * cases
    return tally.conformance(precision(replayer, variants), replayer.bounded or model.overfull)


class _Tally:
    def __init__(self) -> None:
        self.cases = self.fit = self.cost = self.worst = 0
        self.fits: list[bool] = []
        self.places: list[tuple[int, ...]] = []
        self.firsts: list[CaseDeviation | None] = []
        self.counted: dict[CaseDeviation, tuple[int, list[int]]] = {}

    def fitting(self, case: tuple[str, ...], cases: int) -> None:
        self.cases += cases
        self.fit += cases
        self._add(True, (), None)

    def unexplained(self, case: tuple[str, ...], cases: int) -> None:
        self.cases += cases
        self.cost += cases
        self._add(False, (), None)

    def deviating_case(
        self, number: int, cases: int, deviations: tuple[CaseDeviation, ...], places: tuple[int, ...]
    ) -> None:
        self.cases += cases
        for i, deviation in enumerate(deviations):
            had, numbers = self.counted.get(deviation, (0, []))
            self.counted[deviation] = (had + (0 if i else cases), [*numbers, number])
        self._add(False, places, deviations[0] if deviations else None)

    def _add(self, fits: bool, places: tuple[int, ...], first: CaseDeviation | None) -> None:
        self.fits.append(fits)
        self.places.append(places)
        self.firsts.append(first)

    def conformance(self, precise: float, bounded: bool) -> Conformance:
        ordered = sorted(self.counted.items(), key=lambda one: (-one[1][0], one[0]))
        place = {deviation: i for i, (deviation, _) in enumerate(ordered)}
        return Conformance(
            self.cases, self.fit, 1 - self.cost / self.worst if self.worst else 1.0, precise,
            tuple(Deviation(*deviation, cases, tuple(numbers)) for deviation, (cases, numbers) in ordered),
            tuple(self.fits), tuple(self.places),
            tuple(-1 if first is None else place[first] for first in self.firsts), bounded,
        )  # fmt: skip
