"""Random process trees and the cases that they play out: logs whose truth is known."""

from __future__ import annotations

from collections import Counter
from random import Random

from penstock.mining.block_tree import SILENT, ProcessTree, leaf

Variants = dict[tuple[str, ...], int]


def random_tree(random: Random, names: list[str], *, silent: float = 0.1) -> ProcessTree:
    """A tree in which every name stands once."""
    if len(names) == 1:
        only = leaf(names[0])
        if random.random() < silent:
            return ProcessTree("xor", children=(only, SILENT))
        return ProcessTree("loop", children=(only, SILENT)) if random.random() < silent else only
    cut = random.randrange(1, len(names))
    left, right = (random_tree(random, part, silent=silent) for part in (names[:cut], names[cut:]))
    operator = random.choices(["sequence", "xor", "parallel", "loop"], [6, 3, 2, 1])[0]
    return ProcessTree(operator, children=(left, right))  # type: ignore[arg-type]


def played(tree: ProcessTree, random: Random) -> list[str]:
    """One case of a tree."""
    children = tree.children
    if tree.operator == "activity":
        return [tree.activity]
    if tree.operator == "silent":
        return []
    if tree.operator == "xor":
        return played(random.choice(children), random)
    if tree.operator == "sequence":
        return [activity for child in children for activity in played(child, random)]
    if tree.operator == "loop":
        case = played(children[0], random)
        while random.random() < 0.3:
            case += played(children[1], random) + played(children[0], random)
        return case
    ways, case = [played(child, random) for child in children], []
    while ways := [way for way in ways if way]:
        case.append(random.choice(ways).pop(0))
    return case


def log_of(tree: ProcessTree, random: Random, cases: int) -> Variants:
    return dict(Counter(tuple(played(tree, random)) for _ in range(cases)))


def random_log(random: Random) -> Variants:
    """Cases that follow no model: any activities in any order."""
    names = "abcdefgh"[: random.randrange(1, 8)]
    cases = [tuple(random.choice(names) for _ in range(random.randrange(0, 8))) for _ in range(random.randrange(1, 12))]
    return dict(Counter(cases))
