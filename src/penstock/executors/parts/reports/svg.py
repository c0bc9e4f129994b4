"""The charts of a report as SVG: dumbbells of both values, and shares with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from penstock.executors.parts.reports.facts import Facts, Metric

WIDTH, LABEL, RIGHT, ROW = 770, 130, 130, 40
_INK, _SOFT, _LINE = "#16202e", "#5b6778", "#dde3ea"
_TONE = {True: "#1a7f4b", False: "#c2342d", None: "#5b6778"}


def dumbbells(metrics: Sequence[Metric], facts: Facts) -> str:
    """One line per metric from its value before (open) to its value after (full), on a scale from 0 to 100 %."""
    height = 30 + ROW * len(metrics)
    parts = _axis(height)
    for index, metric in enumerate(metrics):
        y = 38 + ROW * index
        colour = _TONE[metric.better]
        parts.append(_text(0, y + 1, metric.label, _INK))
        parts.append(_text(0, y + 15, facts.better_side(metric), _SOFT, size=11))
        after = _x(metric.simulated or 0.0)
        if metric.baseline is not None:
            before = _x(metric.baseline)
            parts.append(
                f'<line x1="{before:.1f}" y1="{y}" x2="{after:.1f}" y2="{y}" stroke="{colour}" stroke-width="4"/>'
            )
            parts.append(f'<circle cx="{before:.1f}" cy="{y}" r="7" fill="#fff" stroke="{colour}" stroke-width="2.5"/>')
        parts.append(f'<circle cx="{after:.1f}" cy="{y}" r="7.5" fill="{colour}"/>')
        both = f"{metric.text(metric.baseline)} → {metric.text(metric.simulated)}"
        parts.append(_text(WIDTH, y + 5, both, colour, anchor="end", size=13))
    return _svg(height, parts, facts.word("metrics"))


def intervals(shares: Sequence[tuple[str, float, float, float]]) -> str:
    """A bar per decision with its 95 % interval as a whisker."""
    height = 30 + ROW * len(shares)
    parts = _axis(height)
    for index, (name, share, low, high) in enumerate(shares):
        y = 38 + ROW * index
        parts.append(_text(0, y + 5, name, _INK))
        width = max(0.5, _x(share) - LABEL)
        parts.append(f'<rect x="{LABEL}" y="{y - 9}" width="{width:.1f}" height="18" rx="3" fill="#2f6fed"/>')
        parts.append(
            f'<line x1="{_x(low):.1f}" x2="{_x(high):.1f}" y1="{y}" y2="{y}" stroke="{_INK}" stroke-width="2"/>'
        )
        parts.append(_text(WIDTH, y + 5, f"{share * 100:.1f}% ({low * 100:.1f}–{high * 100:.1f})", _SOFT, "end", 13))
    return _svg(height, parts, "95 %")


def _x(share: float) -> float:
    return LABEL + share * (WIDTH - LABEL - RIGHT)


def _axis(height: int) -> list[str]:
    parts = []
    for percent in range(0, 101, 25):
        x = _x(percent / 100)
        parts.append(f'<line x1="{x:.1f}" y1="20" x2="{x:.1f}" y2="{height}" stroke="{_LINE}"/>')
        parts.append(_text(x, 12, f"{percent}%", _SOFT, "middle", 12))
    return parts


def _text(x: float, y: float, text: str, colour: str, anchor: str = "start", size: int = 14) -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" fill="{colour}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'
    )  # fmt: skip


def _svg(height: int, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}" font-family="inherit">'
        f"{''.join(parts)}</svg>"
    )
