"""A net whose expressions are watched: which were evaluated, what they gave, and which could not be resolved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.errors import ExprError
from penstock.expr import Expression, compile_template
from penstock.net.compiled import CNode, Compiled, expression
from penstock.net.model import Net

#: the longest value that a report shows, as JSON
_LONGEST = 300


class ExpressionUse(msgspec.Struct):
    """An expression of the document and how often it was evaluated; `value` and `error` are the last ones."""

    node: str
    field: str
    text: str
    count: int = 0
    value: Any = None
    code: str | None = None
    error: str | None = None


class WatchedExpression:
    """An expression that notes every evaluation."""

    __slots__ = ("expression", "functions", "roots", "source", "tree", "use")

    def __init__(self, read: Expression, use: ExpressionUse) -> None:
        self.expression, self.use = read, use
        self.roots, self.functions, self.source, self.tree = read.roots, read.functions, read.source, read.tree

    def run(self, view: Mapping[str, Any]) -> Any:
        use = self.use
        use.count += 1
        try:
            value = self.expression.run(view)
        except ExprError as error:
            use.code, use.error = error.code, str(error)
            raise
        except KeyError as error:
            use.code, use.error = "EXPR_NAME", f"nothing is called «{error.args[0]}»"
            raise
        use.value = _short(value)
        return value

    __call__ = run


class WatchedNet:
    """A net compiled for one dry run. `uses` are its expressions, evaluated or not."""

    def __init__(self, net: Net) -> None:
        self.net = Compiled(net)
        self.uses: list[ExpressionUse] = []
        for edge in self.net.edges:
            edge.guard = self._watched(edge.guard, edge.src.id, f"condition to {edge.dst.id}")
            edge.transform = self._watched(edge.transform, edge.src.id, f"transform to {edge.dst.id}")
        for node in self.net.nodes:
            self._watch(node)

    def _watch(self, node: CNode) -> None:
        for field in ("only_if", "port", "until", "fail_if", "items", "again", "undo_if", "approve_if"):
            setattr(node, field, self._watched(getattr(node, field), node.id, field))
        spec, work = node.spec, node.spec.work
        if spec.effect is not None and not node.args_static:
            node.args = self._tree(spec.effect.args, node.id, "args")
        if not node.value_static:
            node.value = self._tree(spec.value, node.id, "value")
        if work is not None:
            node.prompt = self._tree(work.prompt, node.id, "prompt")
            node.candidates = self._tree(work.candidates, node.id, "candidates")
        node.sets = tuple(
            (s.name, self._text(s.expr, node.id, s.name) if s.expr else self._tree(s.value, node.id, s.name))
            for s in spec.sets
        )
        triggers = range(len(spec.triggers))
        node.trigger_at = tuple(self._watched(read, node.id, "at") for read in node.trigger_at)
        node.match = tuple(self._watched(read, node.id, "match") for read in node.match)
        node.trigger_value = tuple(self._tree(spec.triggers[i].value, node.id, "value") for i in triggers)
        node.trigger_filter = tuple(self._tree(spec.triggers[i].filter, node.id, "filter") for i in triggers)
        node.branches = tuple((k, n, self._watched(g, node.id, f"branch {k}"), r) for k, n, g, r in node.branches)

    def _watched(self, read: Expression | None, node: str, field: str) -> Any:
        if read is None:
            return None
        use = ExpressionUse(node, field, read.source)
        self.uses.append(use)
        return WatchedExpression(read, use)

    def _text(self, text: str, node: str, field: str) -> Any:
        return self._watched(expression(text), node, field)

    def _tree(self, tree: Any, node: str, field: str) -> Any:
        """A value tree as the kernel resolves it, every expression in it watched."""
        if type(tree) is dict and "$expr" in tree:
            whole = self._text(tree["$expr"], node, field)
            return _some_of(whole, tree["$only"]) if "$only" in tree else whole
        if type(tree) is dict and len(tree) == 1 and "$template" in tree:
            return self._watched(compile_template(tree["$template"]), node, field)
        if type(tree) is dict:
            members = {name: self._tree(part, node, f"{field}.{name}") for name, part in tree.items()}
            return lambda view: {name: part(view) for name, part in members.items()}
        if type(tree) in (list, tuple):
            items = [self._tree(part, node, f"{field}[{i}]") for i, part in enumerate(tree)]
            return lambda view: [part(view) for part in items]
        return lambda view: tree


def _some_of(whole: Any, names: Any) -> Any:
    def some(view: Any) -> Any:
        members = whole(view)
        return {name: members[name] for name in names if name in members} if isinstance(members, dict) else members

    return some


def _short(value: Any) -> Any:
    """The value itself where it is small, else the beginning of its JSON."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return f"<{type(value).__name__}>"
    return value if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
