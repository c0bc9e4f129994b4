"""The text form of Prometheus: families of samples, escaped as its format asks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from penstock.app.metrics.histogram import Histogram

MEDIA = "text/plain; version=0.0.4; charset=utf-8"


class ExpositionPage:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def family(
        self, name: str, kind: str, about: str, samples: Iterable[tuple[Mapping[str, str], float | None]]
    ) -> None:
        """A family of samples; a value of None is written as NaN: there is nothing to count yet."""
        self._head(name, kind, about)
        self.lines += [f"{name}{_labels(labels)} {_number(value)}" for labels, value in samples]

    def one(self, name: str, kind: str, about: str, value: float | None) -> None:
        self.family(name, kind, about, [({}, value)])

    def histogram(self, name: str, about: str, spreads: Iterable[tuple[Mapping[str, str], Histogram]]) -> None:
        """A histogram in seconds."""
        self._head(name, "histogram", about)
        for labels, spread in spreads:
            below = 0
            for bound, count in zip((*spread.bounds, math.inf), spread.counts, strict=True):
                below += count
                le = {**labels, "le": _number(bound / 1000)}
                self.lines.append(f"{name}_bucket{_labels(le)} {below}")
            self.lines.append(f"{name}_sum{_labels(labels)} {_number(spread.sum_ms / 1000)}")
            self.lines.append(f"{name}_count{_labels(labels)} {below}")

    def _head(self, name: str, kind: str, about: str) -> None:
        text = about.replace("\\", "\\\\").replace("\n", "\\n")
        self.lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
