"""The model that a history speaks for: the base with what happened often enough, else one made of the log alone.

A base is changed in small steps, each for one kind of deviation, and a step stays only if the model can still be run,
every run of it can end, and more cases fit than before: a path back that cases took, an activity that cases left out,
two neighbours that cases did in the other order, an activity that the base does not have. What no case did although
there were enough to say so is taken out. A control is never unlearned: that an approval or a check was left out, or
done at another time, stays a deviation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from penstock.app.process.mining.conformance import Variants, check_conformance
from penstock.app.process.mining.controls import controls_of, is_control
from penstock.app.process.mining.definition_model import definition_model
from penstock.app.process.mining.editing.added_shapes import with_added_shapes
from penstock.app.process.mining.editing.definition_edit import DefinitionEdit
from penstock.app.process.mining.editing.learned_step import LearnedStep, learned, touched
from penstock.app.process.mining.editing.tree_definition import tree_definition
from penstock.errors import DocumentInvalid
from penstock.lang.compile import compile_document
from penstock.lang.contract import Resolve
from penstock.mining.conformance import Conformance, Deviation
from penstock.mining.inductive_miner import discover_tree
from penstock.mining.replay import Replayer

#: Of all cases, so many have to show something before the model allows it; and at least this many cases.
LEAST_SHARE, LEAST_CASES = 0.005, 3
#: With fewer cases nothing is taken out for not having happened.
ENOUGH_CASES = 50
_MOST_TRIES = 40
#: States that are looked at after a step: the most frequent variants are explained, the others only told to fit or not.
_STATES = 25_000
BASE_CHANGED, INDUCTIVE = "base changed by the log", "inductive miner"

Reason = Literal["control", "seldom", "not_drawable"]


class NotLearned(msgspec.Struct, frozen=True):
    """A deviation that the model does not allow either. control: it is a rule. seldom: too few cases. not_drawable: no
    small change would allow it and leave the model sound."""

    deviation: Deviation
    reason: Reason


class Proposal(msgspec.Struct, frozen=True):
    """`conformance` is the model's; without a base `not_learned` has what noise left out. A base that fits as it is
    comes back unchanged. `steps` have changed it, one after the other."""

    definition: dict[str, Any]
    algorithm: str
    conformance: Conformance
    not_learned: tuple[NotLearned, ...]
    steps: tuple[LearnedStep, ...] = ()


def propose_model(
    base: Mapping[str, Any] | None, variants: Variants, *, id: str = "", name: str = "", noise: float = 0.0,
    least_share: float = LEAST_SHARE, resolve: Resolve | None = None,
) -> Proposal:  # fmt: skip
    """`noise` is for a log without a base, `least_share` for one with a base, `resolve` gives processes that it calls.
    Raises DocumentInvalid for a base that cannot be run, LogTooLarge for a log that no model can be made of."""
    if base is None:
        made = tree_definition(discover_tree(variants, noise), None, id, name)
        found = check_conformance(made, variants)
        rest = tuple(NotLearned(deviation, "seldom") for deviation in found.deviations)
        return Proposal(made, INDUCTIVE, found, rest)
    learning = _Learning(base, variants, least_share, resolve)
    learning.learn()
    changed = {**learning.data, "process_definition_id": id or base["process_definition_id"]}
    if name:
        changed["process_definition_name"] = name
    drawn = with_added_shapes(changed, base)
    found = check_conformance(drawn, variants)
    return Proposal(drawn, BASE_CHANGED, found, tuple(learning.not_learned(found)), tuple(learning.steps))


def can_run(definition: Mapping[str, Any], resolve: Resolve | None = None) -> bool:
    """Does it compile, and can every run of it end?"""
    try:
        compile_document(msgspec.json.encode(definition), name="process.json", language="process", resolve=resolve)
    except DocumentInvalid:
        return False
    return True


class _Learning:
    def __init__(
        self, base: Mapping[str, Any], variants: Variants, least_share: float, resolve: Resolve | None
    ) -> None:
        self.data: dict[str, Any] = dict(base)
        self.variants = dict(sorted(variants.items(), key=lambda one: -one[1]))
        self.counts, self.resolve = list(self.variants.values()), resolve
        self.found = check_conformance(base, self.variants)
        self.controls = controls_of(base)
        self.against_rules = self._against_rules()
        self.least = max(LEAST_CASES, math.ceil(least_share * self.found.cases))
        self.tried: set[tuple[str, ...]] = set()
        self.steps: list[LearnedStep] = []

    def learn(self) -> None:
        while len(self.tried) < _MOST_TRIES and (frequent := self._frequent()):
            self._try(frequent[0])
        if self.found.cases >= ENOUGH_CASES:
            self._take_out()

    def not_learned(self, found: Conformance) -> Iterator[NotLearned]:
        for deviation in found.deviations:
            seldom = deviation.cases < self.least
            reason: Reason = "seldom" if seldom else "not_drawable"
            yield NotLearned(deviation, "control" if self._touches_control(deviation) else reason)

    # -- what cases did ------------------------------------------------------------------------------------------------

    def _cases(self, deviation: Deviation) -> int:
        """All that have it, also beside others."""
        return sum(self.counts[number] for number in deviation.variants)

    def _frequent(self) -> list[Deviation]:
        cases = {_key(one): self._cases(one) for one in self.found.deviations}
        wanted = (one for one in self.found.deviations if _key(one) not in self.tried)
        found = [one for one in wanted if cases[_key(one)] >= self.least]
        return sorted(found, key=lambda one: -cases[_key(one)])

    def _try(self, deviation: Deviation) -> None:
        """Keeps the step for a deviation if it is a good one; it is not tried again."""
        self.tried.add(_key(deviation))
        edit = DefinitionEdit(self.data, len(self.tried))
        before, listed = self.data, list(self.variants)
        if not self._touches_control(deviation) and _edited(edit, deviation) and self._keeps(edit, more=True):
            cases = [listed[number] for number in deviation.variants]
            self.steps.append(learned(*_key(deviation), cases, touched(before, self.data)))

    def _keeps(self, edit: DefinitionEdit, *, more: bool) -> bool:
        if not can_run(edit.data, self.resolve):
            return False
        replayer = Replayer(definition_model(edit.data))
        fits = [replayer.fits(case) for case in self.variants]
        if any(fits[number] for number in self.against_rules):
            return False
        fitting = sum(cases for cases, fit in zip(self.counts, fits, strict=True) if fit)
        better = fitting > self.found.fitting or not more and fitting == self.found.fitting
        if better:
            self.data, self.found = edit.data, check_conformance(edit.data, self.variants, _STATES)
        return better

    def _touches_control(self, deviation: Deviation) -> bool:
        """To leave a control out, or to do it, or what it stands before, at another time."""
        if deviation.kind == "order":
            return deviation.activity in self.controls or deviation.after in self.controls
        return deviation.kind in ("skipped", "missing_end") and deviation.activity in self.controls

    def _against_rules(self) -> set[int]:
        """The variants that have passed a control by: no change of the model may make one of them fit."""
        deviations = self.found.deviations
        return {number for one in deviations if self._touches_control(one) for number in one.variants}

    # -- what no case did ----------------------------------------------------------------------------------------------

    def _take_out(self) -> None:
        done = {activity for case in self.variants for activity in case}
        for number, entry in enumerate(list(self.data.get("activities") or ())):
            name = str(entry.get("name") or entry["id"])
            if name in done or is_control(entry) or not _is_work(entry):
                continue
            edit, before = DefinitionEdit(self.data, len(self.tried) + 1 + number), self.data
            if edit.removed(entry["id"]) and self._keeps(edit, more=False):
                self.steps.append(LearnedStep("step_removed", (name,), (), touched(before, self.data)))


def _is_work(entry: Mapping[str, Any]) -> bool:
    """Would the log have it? What tools and scripts do leaves no event."""
    by_machine = entry.get("tool") or entry.get("job") or entry.get("computes") is not None or entry.get("python_code")
    handler = entry.get("is_for_compensation") or entry.get("triggered_by_event")
    sends = entry.get("bpmn") in ("sendTask", "receiveTask", "businessRuleTask", "scriptTask")
    return entry.get("type") in ("humanTask", "serviceTask") and not (by_machine or handler or sends)


def _key(deviation: Deviation) -> tuple[str, str, str, str]:
    return deviation.kind, deviation.activity, deviation.before, deviation.after


def _edited(edit: DefinitionEdit, deviation: Deviation) -> bool:
    """Draws what would allow it; False where no small change does."""
    at, before, after = (
        edit.named(name) if name else None for name in (deviation.activity, deviation.before, deviation.after)
    )
    if deviation.kind == "repeated":
        return at is not None and before is not None and edit.path_back(before, at)
    if deviation.kind == "skipped":
        return at is not None and edit.optional(at)
    if deviation.kind == "order":
        return at is not None and after is not None and edit.beside(after, at)
    if deviation.kind == "unknown":
        return at is None and before is not None and edit.added_after(before, deviation.activity)
    return False
