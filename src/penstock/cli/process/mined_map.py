"""The map of a process in a terminal: the picture, where time is lost, the variants, and how far they fit."""

from __future__ import annotations

from pathlib import Path

from penstock.app.process.mining.change_words import deviation_words
from penstock.app.process.mining.views.map_drawing import map_picture, span
from penstock.app.process.mining.views.overview import MinedMap, kind_of, share
from penstock.cli.net_text import coloured
from penstock.cli.output import TONES, console, moment, say
from penstock.errors import BadInput

_VARIANTS, _DEVIATIONS, _HANDOVERS = 10, 8, 3
_BAR = 20


def print_map(mined: MinedMap, paths: int) -> None:
    found, source = mined.map, mined.source
    if not found.cases:
        say("There is no case in it: no instance has ended, or none lies in the period.")
        return
    version = "" if source.row is None else f" v{source.row.version}"
    period = "" if found.begin is None or found.end is None else (
        f"{moment(found.begin, seconds=False)} – {moment(found.end, seconds=False)}"
    )  # fmt: skip
    of = "instances" if kind_of(source) == "runs" else f"log {source.log.name if source.log else ''}"
    say((source.name, "bold"), f"{version}  {found.cases:,} cases, {found.events:,} events  ",
        (f"{of}  {period}", "bright_black"))  # fmt: skip
    say()
    picture = map_picture(found, source.name, flows=paths)
    for line in picture.lines():
        console().print(coloured(line, 2))
    if picture.flows_left_out:
        say((f"  {picture.flows_left_out} rare paths are not drawn; every count is that of all cases", "bright_black"))
    _print_time(mined)
    _print_variants(mined)
    _print_conformance(mined)


def _print_time(mined: MinedMap) -> None:
    found, slow = mined.map, mined.map.bottleneck
    say()
    say(("time ", "bold"), f"a case takes {span(found.median_case_ms)} in the middle")
    if slow is not None:
        say(
            ("  bottleneck ", TONES["held"]), f"{slow.source} → {slow.target}: waits {span(slow.median_wait_ms)},",
            f" the slow 5 % {span(slow.p95_wait_ms)}; {slow.share:.0%} of all the time; {slow.arrivals_per_day:.1f}",
            f" a day come, for {slow.people} {'person' if slow.people == 1 else 'people'}",
        )  # fmt: skip
    for again in found.rework:
        say(("  again ", "bright_black"), f"{again.activity}: {again.repeats:,} times more, in {again.cases:,} cases")
    for hand in found.handovers[:_HANDOVERS]:
        passed = f"{hand.source} → {hand.target}: {hand.count:,}, after {span(hand.median_wait_ms)}"
        say(("  hand-over ", "bright_black"), passed)


def _print_variants(mined: MinedMap) -> None:
    variants, fits = mined.map.variants, mined.conformance
    say()
    say(("variants ", "bold"), f"{len(variants):,}")
    for rank, each in enumerate(variants[:_VARIANTS]):
        wrong = frozenset() if fits is None else frozenset(fits.deviating[rank])
        parts: list[str | tuple[str, str]] = []
        for place, activity in enumerate(each.activities):
            parts += [" → "] if place else []
            parts.append((activity, TONES["failed"]) if place in wrong else activity)
        bar = "█" * max(1, round(each.share * _BAR))
        drawn = (f"{bar:{_BAR}} ", "bright_black")
        say(f"  {rank + 1:2} {each.share:6.1%} ", drawn, f"{span(each.median_ms):>9}  ", *parts)
    if len(variants) > _VARIANTS:
        rest = sum(each.cases for each in variants[_VARIANTS:])
        say((f"  and {len(variants) - _VARIANTS:,} more, {rest:,} cases", "bright_black"))


def _print_conformance(mined: MinedMap) -> None:
    fits, row = mined.conformance, mined.source.row
    if fits is None or row is None:
        return
    say()
    bounded = ", as far as was searched" if fits.bounded else ""
    say(
        ("fit ", "bold"), f"{share(fits):.1%}: {fits.fitting:,} of {fits.cases:,} cases are as v{row.version} says",
        f"{bounded}; precision {fits.precision:.2f}",
    )  # fmt: skip
    for each in fits.deviations[:_DEVIATIONS]:
        say((f"  {each.cases:6,} ", TONES["failed"]), deviation_words(each))
    if mined.pending is not None:
        waiting = f"{mined.pending.changes} changes, {mined.pending.would_fit:,} cases would fit"
        say(("  a model waits: ", TONES["held"]), f"{waiting}: penstock mine diff {row.name}")


def write_svg(mined: MinedMap, file: Path, paths: int) -> None:
    write_file(file, map_picture(mined.map, mined.source.name, flows=paths).as_svg(mined.source.name))


def write_file(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise BadInput(what=str(file), why=error.strerror or "it cannot be written") from error


def read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadInput(what=str(file), why=error.strerror or "it cannot be read") from error
