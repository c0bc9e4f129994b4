"""Which names of an expression are instance variables, and BPMN's names for what a completion condition counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from penstock.expr.root_names import HOST_ROOTS, RESERVED_ROOTS

#: Roots that every expression knows (KERNEL 9); a variable of such a name is read as context['name'].
ROOTS = frozenset(RESERVED_ROOTS) | {"nodes", "counters", "branches", "epoch", "config", "now", "undoing", "default"}
#: What an instance of several knows of itself, and what conditions may count. The first three names are those of
#: Camunda and related engines, the others those of the standard, where a sequence counts what has begun so far.
INSTANCE = {"loopCounter": "index"}
COUNTS = {
    "nrOfInstances": "planned", "nrOfCompletedInstances": "done", "nrOfActiveInstances": "open",
    "numberOfInstances": "total", "numberOfCompletedInstances": "done", "numberOfActiveInstances": "open",
    "numberOfTerminatedInstances": "failed", "loopResult": "last", "loopRound": "round",
}  # fmt: skip
#: Short words for the same; a variable of such a name is meant where there is one.
SHORT = {"done": "nrOfCompletedInstances", "failed": "numberOfTerminatedInstances", "open": "nrOfActiveInstances",
         "total": "nrOfInstances", "last": "loopResult", "round": "loopRound"}  # fmt: skip
#: names of other things in expressions: a variable of such a name is read another way
_TAKEN = ROOTS | {"True", "False", "None", "and", "or", "not"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TEXTS = re.compile(r"""("[^"]*"|'[^']*')""")
#: What elements are called where an expression of another language is read: in ours such a name means the element, in
#: theirs never. Every reader of such a text would have to hand it on, through all words of all modelers.
_ELEMENTS: ContextVar[frozenset[str]] = ContextVar("elements", default=frozenset())


@contextmanager
def beside_elements(ids: Iterable[str]) -> Iterator[None]:
    """Within, what FEEL and JUEL read under these names are variables all the same."""
    token = _ELEMENTS.set(frozenset(ids))
    try:
        yield
    finally:
        _ELEMENTS.reset(token)


def instance_variables(roots: frozenset[str]) -> set[str]:
    """Those roots of an expression that are variables of the instance."""
    return set(roots) - ROOTS - HOST_ROOTS


def replaced_names(text: str, instead: Mapping[str, str]) -> str:
    """An expression in which names are replaced; members of something and texts of the same word are not."""
    name = re.compile(rf"(?<![\w.$])({'|'.join(map(re.escape, instead))})(?![\w])(?!\s*[(:])")
    parts = _TEXTS.split(text)
    parts[::2] = [name.sub(lambda match: instead[match[1]], part) for part in parts[::2]]
    return "".join(parts)


def variable_text(name: str) -> str:
    """The text that reads an instance variable of any name."""
    plain = _PLAIN.match(name) and name not in _TAKEN and name not in _ELEMENTS.get()
    return name if plain else f"context[{quoted(name)}]"


def quoted(text: str) -> str:
    """A text literal. The expression language has no escapes, so a text with both quotes is concatenated."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    return "fn.concat(" + ', "\'", '.join(f"'{part}'" for part in text.split("'")) + ")"
