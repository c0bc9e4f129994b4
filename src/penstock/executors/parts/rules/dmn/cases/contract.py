"""Tests of a DMN model: what is asked with which data, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.feel.values import DateTime
from penstock.feel.values.text import written

if TYPE_CHECKING:
    from penstock.executors.parts.rules.dmn.engine import Answer, Model

RIGHT, WRONG, REFUSED = "right", "wrong", "refused"
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Case:
    """One question with one expected answer."""

    name: str
    asked: str  # the decision, decision service or business knowledge model
    data: Mapping[str, Any]
    wanted: Any
    same: Callable[[Any, Any], bool]  # (value, wanted)
    shown: Callable[[Any], str]  # of what is wanted
    output: str = ""  # of a decision service with several outputs: which of them
    where: str = ""  # in the file of tests


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case."""

    case: Case
    kind: str  # RIGHT, WRONG or REFUSED
    got: str
    wanted: str
    warnings: list[str] = field(default_factory=list)


def run_case(model: Model, case: Case, *, now: DateTime | None = None, strict: bool = False) -> Outcome:
    wanted = _short(case.shown(case.wanted))
    try:
        answer = model.evaluate(case.asked, case.data, now=now, strict=strict)
    except PenstockError as error:
        return Outcome(case, REFUSED, str(error), wanted)
    value = _output(answer, case, model)
    kind = RIGHT if case.same(value, case.wanted) else WRONG
    return Outcome(case, kind, _short(written(value)), wanted, [str(warning) for warning in answer.warnings])


def _output(answer: Answer, case: Case, model: Model) -> Any:
    if case.output and isinstance(answer.value, dict) and len(model.outputs(case.asked)) > 1:
        return answer.value.get(case.output)
    return answer.value


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
