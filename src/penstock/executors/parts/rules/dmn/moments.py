"""Texts of JSON as the moments that they stand for: JSON has no dates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.feel.evaluation import Fault
from penstock.feel.values.temporal import read_temporal

if TYPE_CHECKING:
    from penstock.executors.parts.rules.dmn.run import ModelRun

Scope = Mapping[str, Any]
_DEEPEST = 20


def with_moments(body: Callable[[Scope, ModelRun], Any], scope: Scope, run: ModelRun) -> Any:
    """A value of an expression over data of JSON: where a text of the data has no meaning as a text, it is read as the
    moment that it stands for."""
    before, noted = len(run.notes), run.noted
    value = body(scope, run)
    if run.noted == noted:
        return value
    moments = {
        name: moment
        for name, text in run.known.items()
        if name not in run.texts and scope.get(name) is text and (moment := moments_in(text)) is not text
    }
    if not moments:
        return value
    return _better(value, lambda: body({**scope, **moments}, run), run, before)


def tested_with_moment(
    test: Callable[[Any, Scope, ModelRun], bool | None], value: str, moment: Any, scope: Scope, run: ModelRun
) -> bool | None:
    """What a cell says of a text of JSON or, where something in the cell has no meaning for a text, of the moment that
    the text stands for. A cell that is plainly false is not asked again: every negation would turn true."""
    before, noted = len(run.notes), run.noted
    truth = test(value, scope, run)
    if truth is True or run.noted == noted:
        return truth
    better: bool | None = _better(truth, lambda: test(moment, scope, run), run, before)
    return better


def _better(value: Any, again: Callable[[], Any], run: ModelRun, before: int) -> Any:
    """The value of the second try where it has nothing to note; else the first, whose notes begin at `before`."""
    after, noted = len(run.notes), run.noted
    second = again()
    if run.noted == noted:
        del run.notes[before:]
        return second
    del run.notes[after:]
    return value


def moments_in(value: Any, depth: int = 0) -> Any:
    """The value with its ISO texts as dates, times and durations; the value itself where it has none."""
    if type(value) is str:
        try:
            moment = read_temporal(value)
        except Fault:
            return value
        return value if moment is None else moment
    if depth > _DEEPEST or type(value) not in (list, dict):
        return value
    items = value.items() if type(value) is dict else enumerate(value)
    changed = {key: new for key, item in items if (new := moments_in(item, depth + 1)) is not item}
    if not changed:
        return value
    return {**value, **changed} if type(value) is dict else [changed.get(i, item) for i, item in enumerate(value)]
