"""A model that cases are replayed over: nodes that take tokens from edges and put tokens on edges.

A definition and a process tree become one of these. Conditions are free choices: a replay asks what the model allows,
not what its data would have chosen. A marking is a set of edges, as the bits of a number; where a second token would
come to an edge the node does not fire, and `overfull` says so; at the end of a level tokens become one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Literal, NamedTuple

from penstock.mining.block_tree import ProcessTree

#: last: takes what has come as soon as nothing else can come: the end of a level
Join = Literal["any", "all", "inclusive", "last"]
Split = Literal["all", "one", "some"]
#: more ways at once than these are not told apart: one of them, or all
_MOST_WAYS = 6


class FlowNode(NamedTuple):
    """`label` is the activity; "" leaves no event. `optional`: it may be passed without its event, too. `clears`: all
    tokens on these edges are taken along; of a node without ways in, one of them is enough for it to fire."""

    label: str
    optional: bool
    join: Join
    split: Split
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    clears: int = 0


class FlowModel:
    """`final` is the edge that holds the only token when a case has ended; `anywhere` are labels that may come at any
    time, and change nothing."""

    def __init__(self, nodes: Iterable[FlowNode], begin: int, final: int, anywhere: Iterable[str] = ()) -> None:
        self.nodes = tuple(nodes)
        self.initial, self.final = 1 << begin, 1 << final
        self.anywhere = frozenset(anywhere)
        self.labels = frozenset(node.label for node in self.nodes if node.label) | self.anywhere
        #: labels that nothing asks for
        self.optional = self.labels - {node.label for node in self.nodes if not node.optional}
        self.overfull = False
        self._readers: dict[int, list[int]] = {}
        for number, node in enumerate(self.nodes):
            for edge in node.ins or _bits(node.clears):
                self._readers.setdefault(edge, []).append(number)
        self._sure, self._met = self._without_choice()
        self.initial = self._settled(self.initial)
        waiting = [i for i, node in enumerate(self.nodes) if node.join in ("inclusive", "last")]
        self._joins = {i: self._upstream(i) for i in waiting}
        self._merges = sum(1 << edge for node in self.nodes if node.join == "last" for edge in node.ins)

    def firings(self, marking: int) -> Iterator[tuple[str, bool, int]]:
        """Each with its label, whether it may leave no event, and the marking after it."""
        numbers = {number for edge in _bits(marking) for number in self._readers.get(edge, ())}
        for number in sorted(numbers):
            node = self.nodes[number]
            for taken in self._takes(number, node, marking):
                left = marking & ~taken
                for put in _puts(node):
                    if left & put & ~self._merges:
                        self.overfull = True
                    else:
                        yield node.label, node.optional, self._settled(left | put)

    def _without_choice(self) -> tuple[dict[int, int], list[tuple[int, int]]]:
        """What happens by itself, without an event and without another way: to the token of an edge, and to those of
        several that meet. As what it takes and what it puts."""
        cleared = 0
        for node in self.nodes:
            cleared |= node.clears
        sure, met = dict[int, int](), list[tuple[int, int]]()
        for node in self.nodes:
            alone = all(len(self._readers[edge]) == 1 and not cleared >> edge & 1 for edge in node.ins)
            chooses = node.split != "all" and len(node.outs) > 1
            if node.label or node.clears or chooses or not alone or not node.ins or not node.outs:
                continue
            put = sum(1 << edge for edge in node.outs)
            if node.join == "any" or len(node.ins) == 1:
                sure |= {1 << edge: put for edge in node.ins}
            elif node.join == "all":
                met.append((sum(1 << edge for edge in node.ins), put))
        return sure, met

    def _settled(self, marking: int) -> int:
        """The marking when all of that has happened. As often as there are edges at most: it may go round for ever."""
        for _ in range(len(self._sure) + len(self._met) + 1):
            before = marking
            for edge in _bits(marking):
                put = self._sure.get(1 << edge)
                if put is not None and not marking & put:
                    marking = marking & ~(1 << edge) | put
            for taken, put in self._met:
                if marking & taken == taken and not marking & ~taken & put:
                    marking = marking & ~taken | put
            if marking == before:
                break
        return marking

    def _takes(self, number: int, node: FlowNode, marking: int) -> Iterator[int]:
        """Sets of tokens that the node can fire by."""
        if not node.ins:
            yield marking & node.clears
            return
        ins = [1 << edge for edge in node.ins]
        if node.join == "any":
            yield from (edge | marking & node.clears for edge in ins if marking & edge)
        elif node.join == "all":
            if all(marking & edge for edge in ins):
                yield sum(ins)
        else:
            held, awaited = 0, 0
            for edge, above in zip(ins, self._joins[number], strict=True):
                held |= edge | (above if node.join == "inclusive" else 0) if marking & edge else 0
                awaited |= above if node.join == "last" or not marking & edge else 0
            if not marking & awaited & ~held:
                yield sum(edge for edge in ins if marking & edge)

    def _upstream(self, join: int) -> list[int]:
        """For every edge into a join: the edges from which a token can come there without passing the join."""
        writers: dict[int, list[int]] = {}
        for number, node in enumerate(self.nodes):
            for edge in node.outs if number != join else ():
                writers.setdefault(edge, []).append(number)
        above = []
        for edge in self.nodes[join].ins:
            met, todo = 1 << edge, [edge]
            while todo:
                for number in writers.get(todo.pop(), ()):
                    node = self.nodes[number]
                    for before in (*node.ins, *_bits(node.clears)):
                        if not met >> before & 1:
                            met |= 1 << before
                            todo.append(before)
            above.append(met & ~(1 << edge))
        return above


def _puts(node: FlowNode) -> Iterator[int]:
    outs = [1 << edge for edge in node.outs]
    if node.split == "all" or not outs:
        yield sum(outs)
    elif node.split == "one":
        yield from outs
    else:
        sizes = range(1, len(outs) + 1) if len(outs) <= _MOST_WAYS else (1, len(outs))
        for size in sizes:
            yield from (sum(ways) for ways in combinations(outs, size))


def _bits(marking: int) -> Iterator[int]:
    while marking:
        low = marking & -marking
        yield low.bit_length() - 1
        marking ^= low


class FlowModelBuilder:
    """Nodes are added between edges, which are numbers."""

    def __init__(self) -> None:
        self.nodes: list[FlowNode] = []
        self.edges = 0

    def edge(self) -> int:
        self.edges += 1
        return self.edges - 1

    def node(
        self, ins: Iterable[int], outs: Iterable[int], label: str = "", *, optional: bool = False, join: Join = "any",
        split: Split = "all", clears: int = 0,
    ) -> None:  # fmt: skip
        self.nodes.append(FlowNode(label, optional, join, split, tuple(ins), tuple(outs), clears))

    def anything(self, begin: int, end: int, labels: Iterable[str]) -> None:
        """Any of these, as often as one likes, or nothing."""
        for label in labels:
            self.node([begin], [begin], label)
        self.node([begin], [end])


def tree_model(tree: ProcessTree) -> FlowModel:
    builder = FlowModelBuilder()
    begin, end = builder.edge(), builder.edge()
    todo = [(tree, begin, end)]
    while todo:
        at, into, out = todo.pop()
        todo += _add_block(builder, at, into, out)
    return FlowModel(builder.nodes, begin, end)


def _add_block(builder: FlowModelBuilder, tree: ProcessTree, into: int, out: int) -> list[tuple[ProcessTree, int, int]]:
    """The node of an activity, or what is around the children of a block; they follow with their edges."""
    children = tree.children
    if not children:
        builder.node([into], [out], tree.activity)
        return []
    if tree.operator == "xor":
        return [(child, into, out) for child in children]
    if tree.operator == "sequence":
        inner = [into, *(builder.edge() for _ in children[1:]), out]
        return [(child, inner[i], inner[i + 1]) for i, child in enumerate(children)]
    if tree.operator == "loop":
        begin, end = builder.edge(), builder.edge()
        builder.node([into], [begin])
        builder.node([end], [out])
        return [(children[0], begin, end), (children[1], end, begin)]
    ways = [(child, builder.edge(), builder.edge()) for child in children]
    builder.node([into], [begin for _, begin, _ in ways])
    builder.node([end for _, _, end in ways], [out], join="all")
    return ways
