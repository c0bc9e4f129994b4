"""What a model would change in a process, each change with its evidence in the cases (console 14.8).

A change is a group of elements that hang together: what is new, gone or different, with the ways between it. It is
told by its shape: a path back, a step that may be left out, steps side by side, a step that is new, one that is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.app.process.mining.change_words import change_words
from penstock.app.process.mining.conformance import Variants, check_conformance
from penstock.app.process.mining.controls import controls_of
from penstock.app.process.mining.editing.changed_elements import ChangedElements, ChangeGroup, Kind
from penstock.app.process.mining.editing.learned_step import LearnedStep
from penstock.app.process.mining.editing.saved_time import SavedTime
from penstock.app.process.mining.proposal import can_run
from penstock.lang.contract import Resolve
from penstock.mining.activity_map import ActivityMap
from penstock.mining.conformance import Conformance, Deviation


class Change(msgspec.Struct, frozen=True):
    """`shape` and `activities` are what `title` and `detail` say in English, for other languages: path_back (to the
    first, after the second), optional (the first), beside (the first beside the second), step_added and step_removed
    (all of them), other. `elements` are ids of either model."""

    kind: Kind
    shape: str
    title: str
    detail: str
    activities: tuple[str, ...]
    elements: tuple[str, ...]
    cases: int
    saved_ms_per_week: int | None


class ModelDiff(msgspec.Struct, frozen=True):
    """`still_not` are the deviations from the model; `rules` says of each whether it goes past a control, which is
    never learned. `sound`: the model can be run, and every run of it can end."""

    changes: tuple[Change, ...]
    base_fit: int
    model_fit: int
    cases: int
    precision: float
    still_not: tuple[Deviation, ...]
    rules: tuple[bool, ...]
    sound: bool
    bounded: bool


def model_diff(
    base: Mapping[str, Any], model: Mapping[str, Any], variants: Variants, found: ActivityMap,
    resolve: Resolve | None = None, steps: Sequence[LearnedStep] = (),
) -> ModelDiff:  # fmt: skip
    """`steps`: by which a proposal has made the model of the base; of others what they changed is seen by its shape."""
    before, after = check_conformance(base, variants), check_conformance(model, variants)
    evidence = _Evidence(variants, before, after, SavedTime(variants, found))
    groups = ChangedElements(base, model)
    controls = controls_of(base)
    return ModelDiff(
        tuple(sorted((evidence.change(group) for group in groups.groups(steps)), key=lambda one: -one.cases)),
        before.fitting, after.fitting, after.cases, after.precision, after.deviations,
        tuple(passes_control(deviation, controls) for deviation in after.deviations),
        can_run(model, resolve), before.bounded or after.bounded,
    )  # fmt: skip


def passes_control(deviation: Deviation, controls: frozenset[str]) -> bool:
    """Was a control left out, or done at another time?"""
    if deviation.kind == "order":
        return deviation.activity in controls or deviation.after in controls
    return deviation.kind in ("skipped", "missing_end") and deviation.activity in controls


class _Evidence:
    """Which cases speak for a change: those that its step was learned from, else those whose deviations from the base
    are about it."""

    def __init__(self, variants: Variants, before: Conformance, after: Conformance, saved: SavedTime) -> None:
        self.variants, self.before, self.after, self.saved = variants, before, after, saved
        self.listed = list(variants)

    def change(self, group: ChangeGroup) -> Change:
        names, saved, shown = group.activities, None, self._that_show(group)
        cases = sum(shown.values())
        if group.shape == "path_back":
            saved = self.saved.path_back(names[0], shown)
        elif group.shape == "beside":
            saved = self.saved.beside(*names[:2])
        title, detail = change_words(group.shape, names, cases, self.before.cases)
        return Change(group.kind, group.shape, title, detail, names, group.elements, cases, saved)

    def _that_show(self, group: ChangeGroup) -> dict[tuple[str, ...], int]:
        names, step = group.activities, group.step
        if group.shape in ("step_added", "step_removed"):
            return {case: cases for case, cases in self.variants.items() if set(names) & set(case)}
        if step is not None:
            return {case: self.variants[case] for case in step.variants}
        if group.shape == "path_back":
            return self._that_have("repeated", names[:1], names[1:]) or self._that_have("repeated", names[:1])
        if group.shape == "beside":
            return self._that_have("order", names)
        if group.shape == "optional":
            return self._that_have("skipped", names[:1])
        return self._that_fit_now(names)

    def _that_have(
        self, kind: str, activities: Collection[str], after: Collection[str] = ()
    ) -> dict[tuple[str, ...], int]:
        """The variants with a deviation of a kind from the base that is about these."""
        return self._numbered(
            number for one in self.before.deviations
            if one.kind == kind and one.activity in activities and (not after or one.before in after)
            for number in one.variants
        )  # fmt: skip

    def _that_fit_now(self, activities: Collection[str]) -> dict[tuple[str, ...], int]:
        """The variants with a deviation near these, which the model allows."""
        near = (one for one in self.before.deviations if {one.activity, one.before, one.after} & set(activities))
        return self._numbered(number for one in near for number in one.variants if self.after.fits[number])

    def _numbered(self, numbers: Iterable[int]) -> dict[tuple[str, ...], int]:
        return {self.listed[number]: self.variants[self.listed[number]] for number in sorted(set(numbers))}
