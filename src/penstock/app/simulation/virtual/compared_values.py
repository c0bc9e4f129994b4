"""Values that a net's expressions compare outputs with: what an answer nobody knows is drawn from.

`judgment.decision == 'critical'` and `judgment.confidence < 0.8` say more about a node's output than any default: the
decision is one of the written words, the confidence lies on one side of 0.8 or on the other. What is only read, and
never compared, gets a value of the kind that its reader takes: a number where it is divided, a list where it is joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.expr import FUNCTIONS, Expression
from penstock.expr.nodes import Array, Call, Chain, Literal, Logic, Name, Node, Not, Path
from penstock.net.compiled import CNode, Compiled, expression, expressions_of
from penstock.net.model import SPREAD

#: keys below a node's output
Keys = tuple[str | int, ...]
#: node id → place in its output → values that something compares it with
Compared = dict[str, dict[Keys, list[Any]]]

_EQUALITY, _ORDER = ("==", "!="), ("<", "<=", ">", ">=")
#: members of a node's view that its record has, and not its output
_RECORD = frozenset({"status", "error", "retry_count", "started_at", "completed_at", "duration_ms"})
#: the newest payload of an event, in the expression that says whether it is the right one
EVENT = "event"
#: stands in the place of a node's id for what a run is started with
INPUT = "$input"
#: what a function calls its argument → a value that it takes
_TAKEN: dict[str, Any] = {
    "array": [], "date": "2026-01-05T09:00:00Z", "from": "2026-01-05T09:00:00Z", "to": "2026-01-06T09:00:00Z",
    "number": 1, "amount": 1, "object": {},
}  # fmt: skip
#: any text will do
ANY_TEXT = "simulated"


def compared_values(net: Compiled) -> Compared:
    """By node: the places of its output that expressions look at, and the values they compare them with."""
    names = _Producers(net)
    values: Compared = {}
    for node, read in _deciding_expressions(net):
        for root, keys, literals in _comparisons(read.tree):
            for producer, place in names.of(node, root, keys):
                known = values.setdefault(producer, {}).setdefault(place, [])
                known += [value for value in literals if not _is_among(value, known)]
    for node, read in (*_deciding_expressions(net), *_other_expressions(net)):
        for root, keys, value in _readings(read.tree, None, 0):
            for producer, place in names.of(node, root, keys):
                if place and not any(known[: len(place)] == place for known in values.get(producer, ())):
                    values.setdefault(producer, {})[place] = [value]
    return {producer: _without_parts(places) for producer, places in values.items()}


def _without_parts(places: dict[Keys, list[Any]]) -> dict[Keys, list[Any]]:
    """A place that another one lies in is an object or a list: it has no value of its own."""
    inner = {place[:n] for place in places for n in range(len(place))}
    return {place: values for place, values in places.items() if place not in inner}


class _Producers:
    """Which nodes make what a name means, and where in their output it lies."""

    def __init__(self, net: Compiled) -> None:
        self.net = net
        self.by_name: dict[str, list[str]] = {}
        self.spreading: list[str] = []
        for node in net.nodes:
            for name in node.spec.out:
                self.by_name.setdefault(name, []).append(node.id)
            if any(member.name == SPREAD for member in node.spec.sets) and node.kind not in (0, 1, 2):
                self.spreading.append(node.id)
        for alias, made_by in net.aliases.items():
            self.by_name.setdefault(alias, []).append(made_by.id)

    def of(self, node: CNode | None, root: str, keys: Keys) -> list[tuple[str, Keys]]:
        if root == "nodes" and keys:
            root, keys = str(keys[0]), keys[1:]
        elif root == "context" and keys[:1] == ("variables",) and len(keys) > 1:
            root, keys = str(keys[1]), keys[2:]
        if root == "input":
            return [(INPUT, keys)]
        if root in ("output", "default", "response") and node is not None:
            if root != "default" and node.effect is None and node.spec.value is not None:
                return []  # it computes its output itself
            makers = [node.id] if root != "default" and node.effect is not None else self._before(node)
            return [(maker, keys) for maker in makers]
        if node is not None and (named := [edge.src for edge in node.ins if edge.var == root]):
            return [(maker, keys) for source in named for maker in self._makers(source)]
        if root in self.by_name:
            return [(maker, keys) for maker in self.by_name[root]]
        if root in self.net.by_id:
            if keys[:1] == ("output",):
                keys = keys[1:]
            return [] if keys and keys[0] in _RECORD else [(root, keys)]
        if root in self.net.known:  # a variable: every node whose output's members become variables may set it
            return [(maker, (root, *keys)) for maker in self.spreading]
        return []

    def _before(self, node: CNode) -> list[str]:
        return [maker for edge in node.ins for maker in self._makers(edge.src)]

    def _makers(self, node: CNode, depth: int = 0) -> list[str]:
        """The node itself, or those before a route that hands on what it took."""
        if node.effect is not None or node.spec.work is not None or node.spec.value is not None or depth > 8:
            return [node.id]
        return [maker for edge in node.ins for maker in self._makers(edge.src, depth + 1)]


def _deciding_expressions(net: Compiled) -> Iterator[tuple[CNode | None, Expression]]:
    for edge in net.edges:
        if edge.guard is not None:
            yield edge.src, edge.guard
    for node in net.nodes:
        single = (node.port, node.only_if, node.until, node.again, node.undo_if, node.approve_if)  # polls succeed
        for read in single:
            if read is not None:
                yield node, read
        for guard in (guard for _, _, guard, _ in node.branches if guard is not None):
            yield node, guard
        for tree in (node.spec.value, *(member.value for member in node.spec.sets)):
            for read in expressions_of(tree):
                yield node, read
        for member in node.spec.sets:
            made = expression(member.expr) if member.expr else None
            if made is not None:
                yield node, made


def _other_expressions(net: Compiled) -> Iterator[tuple[CNode | None, Expression]]:
    for edge in net.edges:
        if edge.transform is not None:
            yield edge.src, edge.transform
    for node in net.nodes:
        spec, work = node.spec, node.spec.work
        trees = [spec.effect.args if spec.effect is not None else None]
        trees += [work.prompt, work.candidates] if work is not None else []
        trees += [tree for trigger in spec.triggers for tree in (trigger.value, trigger.filter)]
        for read in (*(read for tree in trees for read in expressions_of(tree)), node.items, *node.trigger_at):
            if read is not None:
                yield node, read


def _readings(tree: Node, reader: Node | None, nth: int) -> Iterator[tuple[str, Keys, Any]]:
    """Root name and keys of everything that an expression reads, with a value that its reader takes."""
    place = _place(tree) if isinstance(tree, Name | Path) else None
    if place is not None:
        yield *place, _taken_by(reader, nth)
        return
    for i, child in enumerate(tree.children):
        yield from _readings(child, tree, i)


def _taken_by(reader: Node | None, nth: int) -> Any:
    if isinstance(reader, Chain):
        texts = any(isinstance(child, Literal) and isinstance(child.value, str) for child in reader.children)
        return ANY_TEXT if texts or reader.operators[0] in _EQUALITY else 1
    if isinstance(reader, Call) and reader.function in FUNCTIONS:
        names = FUNCTIONS[reader.function].arguments.strip("()").split(", ")
        return _TAKEN.get(names[min(nth, len(names) - 1)].rstrip("?"), ANY_TEXT)
    return ANY_TEXT


def event_values(node: CNode, trigger: int) -> dict[Keys, list[Any]]:
    """The same of the payload that a trigger waits for."""
    match = node.match[trigger]
    values: dict[Keys, list[Any]] = {}
    for root, keys, literals in _comparisons(match.tree) if match is not None else ():
        if root == EVENT and keys:
            values.setdefault(keys, []).extend(literals)
    return values


def _comparisons(tree: Node) -> Iterator[tuple[str, Keys, list[Any]]]:
    """Root name, keys and compared values of every comparison in an expression."""
    if isinstance(tree, Chain):
        for i, operator in enumerate(tree.operators):
            yield from _pair(operator, tree.children[i], tree.children[i + 1])
    elif isinstance(tree, Logic | Not):
        for child in tree.children:
            if (place := _place(child)) is not None:
                yield *place, [True, False]
    elif isinstance(tree, Call) and tree.function in ("contains", "in", "if") and tree.children:
        yield from _call(tree)
    for child in tree.children:
        yield from _comparisons(child)


def _call(call: Call) -> Iterator[tuple[str, Keys, list[Any]]]:
    first = call.children[0]
    if call.function == "if":
        if (place := _place(first)) is not None:
            yield *place, [True, False]
        return
    literals, others = first, call.children[1:]
    if isinstance(literals, Array) and others and (place := _place(others[0])) is not None:
        yield *place, [child.value for child in literals.children if isinstance(child, Literal)]


def _pair(operator: str, left: Node, right: Node) -> Iterator[tuple[str, Keys, list[Any]]]:
    for side, other in ((left, right), (right, left)):
        place = _place(side)
        if place is None or not isinstance(other, Literal) or other.value is None:  # null asks whether it is there
            continue
        if operator in _EQUALITY:
            value = other.value
            yield *place, [value, not value] if isinstance(value, bool) else [value]
        elif operator in _ORDER and isinstance(other.value, int | float) and not isinstance(other.value, bool):
            step = abs(other.value) * 0.1 or 1
            yield *place, [other.value - step, other.value + step]


def _place(node: Node) -> tuple[str, Keys] | None:
    """A name, or a path from one; also inside a function of one argument, such as fn.lower(name)."""
    if isinstance(node, Name):
        return node.name, ()
    if isinstance(node, Path) and isinstance(node.target, Name) and (keys := node.constant_keys()) is not None:
        return node.target.name, keys
    if isinstance(node, Call) and len(node.children) == 1 and node.function in ("lower", "upper", "trim", "number"):
        return _place(node.children[0])
    return None


def _is_among(value: Any, known: list[Any]) -> bool:
    return any(type(value) is type(other) and value == other for other in known)


def with_value(body: Any, keys: Keys, value: Any) -> Any:
    """The body with this value at this place; what is in the way is replaced."""
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if isinstance(first, int):
        items = list(body) if isinstance(body, list) else []
        items += [None] * (first + 1 - len(items)) if first >= 0 else [None] if not items else []
        items[first] = with_value(items[first], rest, value)
        return items
    members = dict(body) if isinstance(body, dict) else {}
    members[first] = with_value(members.get(first), rest, value)
    return members
