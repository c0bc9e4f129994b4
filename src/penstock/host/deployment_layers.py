"""Layers: which version of a thing applies, by the deployments that were made of it, the newest on top (C-58, C-82)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from penstock.store.deployments import LayerRow

#: type, id, environment
LayerKey = tuple[str, str, str]
#: whoever takes no part in a rollout that is under way
STABLE = 99


class Layer(NamedTuple):
    """`scope` are the lines that a deployment is for, `lines` those of them that have it by now; None: all."""

    deployment: str  # "": what it was rolled back to
    version: str
    percent: int
    scope: frozenset[str] | None
    lines: frozenset[str] | None
    beneath: str | None  # what applied before there were layers
    rolling_since: int | None = None  # None: it has succeeded, or is what was gone back to
    taken: str = ""  # the version that was taken back here: older layers do not bring it again

    @property
    def settled(self) -> bool:
        return self.rolling_since is None

    def reaches(self, line: str) -> bool:
        return self.lines is None or line in self.lines


class Applied(NamedTuple):
    """The version that applies. `is_last_resort`: nothing that was in force before is left."""

    version: str
    deployment: str = ""  # "": none led to it
    is_last_resort: bool = False


#: can a version be used where it is settled (None), or where it is rolled out since that moment?
Works = Callable[[str, int | None], bool]


def bucket_of(run: str) -> int:
    """C-58: where an instance stands from 0 to 99; one that is not known takes no part."""
    if not run:
        return STABLE
    return int.from_bytes(hashlib.blake2b(run.encode(), digest_size=8).digest()) % 100


def layers_of(
    rows: Iterable[LayerRow], hides: Callable[[LayerKey, Layer], bool] = lambda key, layer: False
) -> dict[LayerKey, tuple[Layer, ...]]:
    """From the top of each thing down to the first layer that hides all that lies beneath, where it is sure to."""
    layers: dict[LayerKey, list[Layer]] = {}
    taken: dict[LayerKey, set[str]] = {}
    closed: set[LayerKey] = set()
    for row in rows:
        key = (row.type, row.artifact, row.environment)
        if key in closed:
            continue
        layer = layer_of(row)
        layers.setdefault(key, []).append(layer)
        if layer.percent >= 100 and layer.lines is None and layer.version not in taken.get(key, ()):
            if hides(key, layer):
                closed.add(key)
        if layer.taken:
            taken.setdefault(key, set()).add(layer.taken)
    return {key: tuple(stack) for key, stack in layers.items()}


def layer_of(row: LayerRow) -> Layer:
    scope = _lines(row.lines)
    taken = row.version if row.status == "rolled_back" else ""
    if row.pinned and row.to_version is not None:
        return Layer("", row.to_version, 100, scope, scope, None, taken=taken)
    live = scope if row.live_lines is None else _lines(row.live_lines)
    rolling_since = None if row.status == "succeeded" else row.began_at
    return Layer(row.id, row.version, row.percent, scope, live, row.previous, rolling_since, taken)


def _lines(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(msgspec.json.decode(text, type=list[str]))


def applying(
    layers: Iterable[Layer], line: str, bucket: int, works: Works
) -> tuple[Layer | str | None, frozenset[str]]:
    """The layer that an instance is in; else the version that lies beneath them all; None: nobody has said. With it
    the versions that were taken back, or are for others."""
    beneath: list[str] = []
    taken: set[str] = set()
    held: set[str] = set()
    for layer in layers:
        if layer.scope is not None and line not in layer.scope:
            continue
        if bucket < layer.percent and layer.reaches(line) and layer.version not in taken:
            if works(layer.version, layer.rolling_since):
                return layer, frozenset()
        if layer.taken:
            taken.add(layer.taken)
        if not layer.settled:
            held.add(layer.version)
        if layer.beneath is not None:
            beneath.append(layer.beneath)
    for version in reversed(beneath):
        if version not in taken and works(version, None):
            return version, frozenset()
    return None, frozenset(held | taken)
