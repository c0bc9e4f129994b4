"""Random values for a Monte Carlo simulation: one distribution per field, drawn from one seeded stream."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

Draw = Callable[[random.Random], Any]


class DistributionRefused(Exception):
    """A distribution that cannot be drawn from; `hint` says what to write."""

    def __init__(self, field: str, why: str, hint: str) -> None:
        self.hint = hint
        super().__init__(f"The distribution of «{field}»: {why}.")


def draws_of(distributions: Mapping[str, Any]) -> dict[str, Draw]:
    """A way to draw each field, in the order of their names. Raises DistributionRefused, and so does drawing."""
    return {field: _finite(field, _draw_of(field, distributions[field])) for field in sorted(distributions)}


def _finite(field: str, draw: Draw) -> Draw:
    """Numbers so large that only drawing shows it are refused as well."""

    def drawn(chooser: random.Random) -> Any:
        try:
            value = draw(chooser)
            fits = not isinstance(value, float) or math.isfinite(value)
        except (ArithmeticError, ValueError):
            fits = False
        if not fits:
            raise DistributionRefused(field, "it draws numbers that no computer can hold", "Write smaller parameters.")
        return value

    return drawn


def drawn_rows(base: Any, draws: Mapping[str, Draw], chooser: random.Random) -> Any:
    """The data with every drawn field replaced; in a list, each row has draws of its own."""
    if isinstance(base, list | tuple):
        return [drawn_rows(row, draws, chooser) for row in base]
    row = dict(base) if isinstance(base, Mapping) else {}
    return {**row, **{field: draw(chooser) for field, draw in draws.items()}}


def _draw_of(field: str, body: Any) -> Draw:
    if not isinstance(body, Mapping):
        raise DistributionRefused(field, "it is no object", "Write {dist: normal, mean, sd}.")
    kind = str(body.get("dist") or body.get("type") or "")
    make = DISTRIBUTIONS.get(kind)
    if make is None:
        raise DistributionRefused(field, f"there is no «{kind}»", f"Distributions are {', '.join(DISTRIBUTIONS)}.")
    draw = make(_Parameters(field, kind, body))
    low, high = body.get("min"), body.get("max")
    if kind not in ("uniform", "integer", "triangular", "choice") and (low is not None or high is not None):
        return _clamped(draw, _Parameters(field, kind, body), low is not None, high is not None)
    return draw


def _clamped(draw: Draw, p: _Parameters, above: bool, below: bool) -> Draw:
    low, high = p.number("min") if above else -math.inf, p.number("max") if below else math.inf
    p.check_order(low, high)
    return lambda chooser: min(max(draw(chooser), low), high)


class _Parameters:
    """The numbers that a distribution is given."""

    def __init__(self, field: str, kind: str, body: Mapping[str, Any]) -> None:
        self.field, self.kind, self.body = field, kind, body

    def number(self, *names: str, default: float | None = None, least: float = -math.inf) -> float:
        value = next((self.body[name] for name in names if self.body.get(name) is not None), default)
        if not _is_number(value) or float(value or 0) < least:
            shown = names[0] if least == -math.inf else f"{names[0]} of at least {least:g}"
            hint = f"Write {{dist: {self.kind}, {names[0]}: …}}."
            raise DistributionRefused(self.field, f"«{self.kind}» needs a number {shown}", hint)
        return float(value or 0)

    def ordered(self) -> tuple[float, float]:
        low, high = self.number("min", "low"), self.number("max", "high")
        self.check_order(low, high)
        return low, high

    def check_order(self, low: float, high: float) -> None:
        if low > high:
            raise DistributionRefused(self.field, f"min {low:g} is above max {high:g}", "Change one of them.")
        if low > -math.inf and high < math.inf and not math.isfinite(high - low):
            raise DistributionRefused(self.field, "min and max lie too far apart", "Change one of them.")


def _is_number(value: Any) -> bool:
    """A number that a computer can hold: an integer of four hundred digits is none."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _normal(p: _Parameters) -> Draw:
    mean, deviation = p.number("mean"), p.number("sd", "std", "stddev", least=0)
    return lambda chooser: chooser.gauss(mean, deviation)


def _lognormal(p: _Parameters) -> Draw:
    mean, deviation = p.number("mean", "mu"), p.number("sd", "sigma", least=0)
    return lambda chooser: chooser.lognormvariate(mean, deviation)


def _uniform(p: _Parameters) -> Draw:
    low, high = p.ordered()
    return lambda chooser: chooser.uniform(low, high)


def _integer(p: _Parameters) -> Draw:
    low, high = p.ordered()
    least, most = math.ceil(low), math.floor(high)
    if least > most:
        raise DistributionRefused(p.field, f"no integer lies between {low:g} and {high:g}", "Change min or max.")
    return lambda chooser: chooser.randint(least, most)


def _triangular(p: _Parameters) -> Draw:
    low, high = p.ordered()
    mode = p.number("mode", default=(low + high) / 2)
    if not low <= mode <= high:
        raise DistributionRefused(p.field, f"mode {mode:g} is not from {low:g} to {high:g}", "Change the mode.")
    return lambda chooser: chooser.triangular(low, high, mode)


def _exponential(p: _Parameters) -> Draw:
    mean = p.number("mean", least=1e-300)
    return lambda chooser: chooser.expovariate(1 / mean)


def _beta(p: _Parameters) -> Draw:
    alpha, beta = p.number("alpha", least=1e-9), p.number("beta", least=1e-9)
    return lambda chooser: chooser.betavariate(alpha, beta)


def _bernoulli(p: _Parameters) -> Draw:
    share = p.number("p", least=0)
    if share > 1:
        raise DistributionRefused(p.field, f"p is {share:g}", "Write a probability from 0 to 1.")
    return lambda chooser: chooser.random() < share


def _choice(p: _Parameters) -> Draw:
    values, weights = p.body.get("values"), p.body.get("weights")
    if not isinstance(values, list) or not values:
        raise DistributionRefused(p.field, "«choice» needs values", "Write {dist: choice, values: […]}.")
    if weights is None:
        return lambda chooser: chooser.choice(values)
    fits = isinstance(weights, list) and len(weights) == len(values) and all(map(_is_number, weights))
    if not fits or min(weights) < 0 or not sum(weights) or not _is_number(sum(weights)):
        raise DistributionRefused(p.field, "its weights do not fit", "Write one number of 0 or more for each value.")
    return lambda chooser: chooser.choices(values, weights)[0]


def _constant(p: _Parameters) -> Draw:
    value = p.body.get("value")
    return lambda chooser: value


DISTRIBUTIONS: dict[str, Callable[[_Parameters], Draw]] = {
    "normal": _normal,
    "lognormal": _lognormal,
    "uniform": _uniform,
    "integer": _integer,
    "triangular": _triangular,
    "exponential": _exponential,
    "beta": _beta,
    "bernoulli": _bernoulli,
    "choice": _choice,
    "constant": _constant,
}
