"""Graph facts about a net, over numbers: dominators, back edges, cycles, reachability.

Everything here is iterative and near-linear: a document may have many thousand nodes in one line, or be made to hurt.
Dominators are found by the method of Lengauer and Tarjan (simple linking), which has no slow shapes; the shorter
fixed-point methods take quadratic time on two long chains with rungs between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.net.model import Net

ROOT = -1  # the virtual root above all roots
NOWHERE = -2  # the immediate dominator of what no root can reach

Adjacency = Sequence[Sequence[int]]


class Dominators(list[int]):
    """The immediate dominator of every node; questions about the tree take constant or logarithmic time."""

    __slots__ = ("_head", "_heavy", "enter", "leave")

    def __init__(self, idom: Iterable[int], preorder: Sequence[int]) -> None:
        """`preorder` has every reached node after its dominators."""
        super().__init__(idom)
        size = [1] * len(self)
        heavy = [NOWHERE] * (len(self) + 1)  # the child with the largest subtree; the virtual root is last, at -1
        for v in reversed(preorder):
            above = self[v]
            if above >= 0:
                size[above] += size[v]
            if heavy[above] == NOWHERE or size[heavy[above]] < size[v]:
                heavy[above] = v
        self._heavy, self._head = heavy, list(range(len(self)))
        self.enter, self.leave = [-1] * len(self), [-1] * len(self)
        free = [0] * (len(self) + 1)
        for v in preorder:
            above = self[v]
            if heavy[above] == v and above >= 0:
                self._head[v] = self._head[above]
            self.enter[v] = free[above]
            free[v] = free[above] + 1
            free[above] = self.leave[v] = self.enter[v] + size[v]

    def dominates(self, a: int, b: int) -> bool:
        if a == ROOT or self[b] == NOWHERE:
            return a in (ROOT, b)
        return self.enter[a] <= self.enter[b] < self.leave[a]

    def meet(self, a: int, b: int) -> int:
        """The nearest node that dominates both; ROOT if only the virtual root does."""
        head, enter = self._head, self.enter
        while a >= 0 and b >= 0 and head[a] != head[b]:
            if enter[head[a]] > enter[head[b]]:
                a = self[head[a]]
            else:
                b = self[head[b]]
        if a < 0 or b < 0:
            return ROOT
        return a if enter[a] < enter[b] else b

    def toward(self, above: int, below: int) -> int:
        """The child of `above` on the way down to `below`, which it strictly dominates."""
        head = self._head[below]
        while self[head] != above:
            if above != ROOT and head == self._head[above]:
                return self._heavy[above]
            head = self._head[self[head]]
        return head


def dominators(n: int, succ: Adjacency, pred: Adjacency, roots: Iterable[int]) -> Dominators:
    """Immediate dominators by number: ROOT where only the virtual root dominates, NOWHERE where nothing leads."""
    roots = list(roots)
    order, parent = _preorder(n, succ, roots)
    number = [-1] * n
    for i, v in enumerate(order):
        number[v] = i + 1  # 0 is the virtual root
    is_root = [False] * n
    for v in roots:
        is_root[v] = True
    count = len(order) + 1
    semi, label, ancestor, dom = list(range(count)), list(range(count)), [-1] * count, [0] * count
    bucket: list[list[int]] = [[] for _ in range(count)]

    def best(v: int) -> int:
        """The node with the smallest semidominator between v and the top of its tree so far; shortens the path."""
        path = []
        while ancestor[v] != -1 and ancestor[ancestor[v]] != -1:
            path.append(v)
            v = ancestor[v]
        for below in reversed(path):
            above = ancestor[below]
            if semi[label[above]] < semi[label[below]]:
                label[below] = label[above]
            ancestor[below] = ancestor[above]
            v = below
        return label[v]

    for w in range(count - 1, 0, -1):
        node = order[w - 1]
        if is_root[node]:
            semi[w] = 0
        for before in pred[node]:
            if number[before] >= 0:
                semi[w] = min(semi[w], semi[best(number[before])])
        bucket[semi[w]].append(w)
        above = parent[w - 1]
        ancestor[w] = above
        for v in bucket[above]:
            u = best(v)
            dom[v] = u if semi[u] < semi[v] else above
        bucket[above].clear()
    idom = [NOWHERE] * n
    for w in range(1, count):
        if dom[w] != semi[w]:
            dom[w] = dom[dom[w]]
        idom[order[w - 1]] = order[dom[w] - 1] if dom[w] else ROOT
    return Dominators(idom, order)


def dominates(idom: list[int], a: int, b: int) -> bool:
    """Does every way from a root to b pass a? (A node dominates itself.)"""
    if isinstance(idom, Dominators):
        return idom.dominates(a, b)
    while b >= 0 and b != a:
        b = idom[b]
    return a == b


def sccs(n: int, succ: Adjacency) -> list[int]:
    """The strongly connected component of every node, numbered so that edges never lead to a larger number."""
    component, low, index = [-1] * n, [0] * n, [-1] * n
    stack: list[int] = []
    counter = components = 0
    for start in range(n):
        if index[start] >= 0:
            continue
        walk = [(start, 0)]
        while walk:
            v, at = walk.pop()
            if at == 0:
                index[v] = low[v] = counter
                counter += 1
                stack.append(v)
            else:
                low[v] = min(low[v], low[succ[v][at - 1]])
            for i in range(at, len(succ[v])):
                w = succ[v][i]
                if index[w] < 0:
                    walk += [(v, i + 1), (w, 0)]
                    break
                if component[w] < 0:
                    low[v] = min(low[v], index[w])
            else:
                if low[v] == index[v]:
                    while component[v] < 0:
                        component[stack.pop()] = components
                    components += 1
    return component


def cyclic(succ: Adjacency, component: Sequence[int]) -> list[bool]:
    """Does the node lie on a cycle?"""
    sizes: dict[int, int] = {}
    for c in component:
        sizes[c] = sizes.get(c, 0) + 1
    return [sizes[c] > 1 or v in succ[v] for v, c in enumerate(component)]


def reachable(n: int, succ: Adjacency, starts: Iterable[int]) -> list[bool]:
    """What can be reached from the starts, they themselves included."""
    seen = [False] * n
    todo = list(starts)
    for v in todo:
        seen[v] = True
    while todo:
        for w in succ[todo.pop()]:
            if not seen[w]:
                seen[w] = True
                todo.append(w)
    return seen


class NetGraph:
    """A net by numbers. Edges with an unknown end are left out; of nodes with the same id the first counts.

    Roots are where tokens begin: nodes without in-edges, and the entries of scopes.
    """

    def __init__(self, net: Net) -> None:
        self.net = net
        self.number: dict[str, int] = {}
        for i, node in enumerate(net.nodes):
            self.number.setdefault(node.id, i)
        n = len(net.nodes)
        self.edges = [e for e in net.edges if e.src in self.number and e.dst in self.number]
        self.src = [self.number[e.src] for e in self.edges]
        self.dst = [self.number[e.dst] for e in self.edges]
        self.outs: list[list[int]] = [[] for _ in range(n)]  # edge numbers
        self.ins: list[list[int]] = [[] for _ in range(n)]
        for i, (a, b) in enumerate(zip(self.src, self.dst, strict=True)):
            self.outs[a].append(i)
            self.ins[b].append(i)
        self.succ = [[self.dst[e] for e in outs] for outs in self.outs]
        self.pred = [[self.src[e] for e in ins] for ins in self.ins]
        bodies = [node.body for node in net.nodes if node.body]
        entries = {b.entry for b in bodies} | {branch.entry for b in bodies for branch in b.branches}
        self.roots = [i for i, node in enumerate(net.nodes) if not self.ins[i] or node.id in entries]
        self.idom = dominators(n, self.succ, self.pred, self.roots)
        self.component = sccs(n, self.succ)
        self.cyclic = cyclic(self.succ, self.component)

    def is_back(self, edge: int) -> bool:
        """A back edge leads to a node that dominates its source."""
        return self.idom.dominates(self.dst[edge], self.src[edge])


def _preorder(n: int, succ: Adjacency, roots: Sequence[int]) -> tuple[list[int], list[int]]:
    """Nodes in depth-first order, and for each the place + 1 of its parent in that order (0: the virtual root)."""
    order: list[int] = []
    parent: list[int] = []
    seen = [False] * n
    for root in roots:
        if seen[root]:
            continue
        todo = [(root, 0)]
        while todo:
            v, above = todo.pop()
            if seen[v]:
                continue
            seen[v] = True
            order.append(v)
            parent.append(above)
            here = len(order)
            todo.extend((w, here) for w in reversed(succ[v]) if not seen[w])
    return order, parent
