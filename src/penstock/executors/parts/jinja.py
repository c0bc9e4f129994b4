"""Jinja statements in an author's texts (`{% if %}`, `{% for %}`), in a sandbox with bounds on steps, size and time.

Only statements that cannot run away are read: if, for, set, raw and comments; no macros, no includes, no inheritance.
Methods and filters are those of a list. What a text may call is looked at in its tree before anything is rendered, and
every round of a loop, every filter and every piece of output is counted while it is.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
import types
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from penstock.executors.parts.json_values import as_text
from penstock.executors.parts.templates import MAX_OUTPUT, TemplateError, render
from penstock.executors.parts.threads import in_thread

STEPS, SECONDS = 100_000, 5.0
#: of the text itself: what is compiled is compiled at one go, and nothing can interrupt that
SOURCE_MAX, NODES_MAX = 64 * 1024, 5_000
#: what makes a text one for Jinja; else it is filled in as ever
STATEMENT = "{%"
_STATEMENTS = ("Template", "Output", "TemplateData", "If", "For", "Assign")
_VALUES = (
    "Name", "NSRef", "Const", "TemplateData", "Tuple", "List", "Dict", "Pair", "Keyword", "CondExpr", "Filter", "Test",
    "Getitem", "Getattr", "Slice", "Call", "Concat", "Compare", "Operand", "And", "Or", "Not", "Neg", "Pos", "Add",
    "Sub", "Mul", "Div", "FloorDiv", "Mod",
)  # fmt: skip
_METHODS = (
    "get", "items", "keys", "values", "upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "split",
    "startswith", "endswith", "count", "index", "find",
)  # fmt: skip
_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "groupby", "int", "items", "join",
    "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace", "reverse", "round",
    "select", "selectattr", "sort", "string", "sum", "title", "tojson", "trim", "truncate", "unique", "upper",
    "wordcount", "indent", "e", "escape",
)  # fmt: skip
_RANGE_MAX, _ENTRIES_MAX, _LONGEST_NUMBER, _DIGITS_MAX, _MISSING_MAX = 10_000, 200_000, 4096, 15, 1000
#: what Python raises for an operation, a method or a filter that is not used as it should be
_MISUSES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
_TOO_LONG = f"a text in it is longer than {MAX_OUTPUT} characters"


async def filled_in(
    template: str, variables: Mapping[str, Any], *, missing: list[str] | None = None, jinja: bool = False
) -> str:
    """The text, by Jinja where it has statements or it is asked for, else plainly; beside the loop, where one runs.
    Raises TemplateError."""
    if not jinja and STATEMENT not in template:
        return render(template, variables, missing=missing)
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # a simulation computes it at once
        return render_jinja(template, variables, missing=missing)
    return await in_thread(lambda: render_jinja(template, variables, missing=missing))


class _Budget:
    """What one rendering may still do. Time is the processor's: a busy machine makes no text too long."""

    def __init__(self) -> None:
        self.steps, self.size, self.until = STEPS, MAX_OUTPUT, time.thread_time() + SECONDS

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise TemplateError(f"it takes more than {STEPS} steps")
        if time.thread_time() > self.until:
            raise TemplateError(f"it takes longer than {SECONDS:g} s")

    def sized(self, value: Any) -> Any:
        """A value that an operation has made; one that is too large, all of its parts counted, is no result."""
        self.step()
        size, entries, pending = 0, 0, [value]
        while pending:
            part = pending.pop()
            size += len(part) if isinstance(part, str) else 1
            entries += 1
            if isinstance(part, Mapping):
                pending += part.values()
            elif isinstance(part, list | tuple):
                pending += part
            elif isinstance(part, int) and part.bit_length() > _LONGEST_NUMBER:
                raise TemplateError("a number in it is too large")
            if size > MAX_OUTPUT or entries + len(pending) > _ENTRIES_MAX:
                raise TemplateError(f"a value in it is larger than {MAX_OUTPUT} characters or {_ENTRIES_MAX} entries")
        return value


def render_jinja(template: str, variables: Mapping[str, Any], *, missing: list[str] | None = None) -> str:
    """The text. Raises TemplateError, also where the package is not installed."""
    try:
        from jinja2 import TemplateError as JinjaError
    except ImportError:
        message = "statements need the extra «jinja»: pip install 'penstock[jinja]'"
        raise TemplateError(message) from None
    if len(template) > SOURCE_MAX:
        raise TemplateError(f"the text is longer than {SOURCE_MAX} characters")
    budget = _Budget()
    try:
        made = _compiled(template, budget, missing if missing is not None else [])
        parts = []
        for part in made.generate(dict(variables)):
            budget.size -= len(part)
            if budget.size < 0:
                raise TemplateError(f"the rendered text is longer than {MAX_OUTPUT} characters")
            parts.append(part)
        return "".join(parts)
    except TemplateError:
        raise
    except JinjaError as error:
        line = getattr(error, "lineno", None)
        raise TemplateError(f"{' '.join(str(error).split())[:200]}{f' (line {line})' if line else ''}") from None
    except RecursionError:
        raise TemplateError("it is nested too deeply") from None
    except SyntaxError:  # of the Python that Jinja makes of it
        raise TemplateError("it is nested too deeply") from None
    except _MISUSES as error:
        raise TemplateError(f"{type(error).__name__}: {str(error)[:200]}") from None


def _compiled(template: str, budget: _Budget, missing: list[str]) -> Any:
    from jinja2 import nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        """Operators whose result grows are measured, and attributes are members of data only."""

        intercepted_binops = frozenset(("*", "+", "%"))

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            budget.step()
            if operator == "*":
                _check_product(left, right)
            if operator == "%" and isinstance(left, str):
                raise TemplateError("texts are joined with ~, not formatted with %")
            return budget.sized(super().call_binop(context, operator, left, right))

        def getattr(self, obj: Any, attribute: str) -> Any:
            """Members of data first, so that `x.items` is the member of that name, as everywhere else."""
            if isinstance(obj, Mapping) and attribute in obj:
                return obj[attribute]
            return _Method.of(super().getattr(obj, attribute), attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            return _Method.of(super().getitem(obj, argument), argument)

        def call(self, context: Any, called: Any, *arguments: Any, **named: Any) -> Any:
            return budget.sized(super().call(context, called, *arguments, **named))

    optional: set[str] = set()
    environment = Sandbox(
        autoescape=False, undefined=_absent(missing, optional), finalize=_shown(budget), keep_trailing_newline=True,
        optimized=False, cache_size=0,
    )  # fmt: skip
    environment.filters = {name: _counted(environment.filters[name], budget) for name in _FILTERS}
    environment.filters |= _own_filters(budget)
    tests: dict[str, Any] = environment.tests
    environment.tests = {name: _counted(test, budget) for name, test in tests.items()}
    environment.globals = {"range": _range, "len": len}
    tree = environment.parse(template)
    _check(tree)
    optional |= _optional(tree)
    for loop in tree.find_all(nodes.For):
        loop.iter = nodes.Filter(loop.iter, "_rounds", [], [], None, None, lineno=loop.lineno)
    for kept in tree.find_all(nodes.Assign):
        kept.node = nodes.Filter(kept.node, "_sized", [], [], None, None, lineno=kept.lineno)
    for joined in tree.find_all(nodes.Concat):
        parts = nodes.List(list(joined.nodes), lineno=joined.lineno)
        joined.nodes = [nodes.Filter(parts, "join", [], [], None, None, lineno=joined.lineno)]
    environment.filters |= {"_rounds": lambda items: _rounds(items, budget), "_sized": budget.sized}
    return environment.from_string(tree)


def _optional(tree: Any) -> set[str]:
    """The names that a text asks about before it uses them: `x is defined`, `x|default("y")`."""
    from jinja2 import nodes

    asked = [test for test in tree.find_all(nodes.Test) if test.name in ("defined", "undefined")]
    asked += [filter for filter in tree.find_all(nodes.Filter) if filter.name in ("default", "d")]
    parts = [part for node in asked for part in (node.node, *node.node.find_all(nodes.Name))]
    return {part.name for part in parts if isinstance(part, nodes.Name)}


def _check(tree: Any) -> None:
    """Refuses what may run away, by name."""
    for number, node in enumerate([tree, *tree.find_all(_node_types())]):
        if number >= NODES_MAX:
            raise TemplateError(f"it has more than {NODES_MAX} parts")
        kind = type(node).__name__
        if kind not in (*_STATEMENTS, *_VALUES):
            raise TemplateError(f"«{kind.lower()}» is not read here (line {node.lineno}); known are if, for and set")
        if kind == "Filter" and node.name not in _FILTERS:
            raise TemplateError(f"there is no filter «{node.name}» (line {node.lineno})")
        if kind == "Call":
            _check_call(node)
        if kind in ("Getattr", "Name") and str(getattr(node, "attr", None) or node.name).startswith("_"):
            raise TemplateError(f"a name that begins with _ is not read here (line {node.lineno})")
        if kind == "For" and node.recursive:
            raise TemplateError(f"a loop cannot call itself (line {node.lineno})")


def _node_types() -> Any:
    from jinja2 import nodes

    return nodes.Node


def _check_call(node: Any) -> None:
    called = node.node
    name = getattr(called, "attr", None) if type(called).__name__ == "Getattr" else None
    plain = getattr(called, "name", None) if type(called).__name__ == "Name" else None
    if name not in _METHODS and plain not in ("range", "len"):
        raise TemplateError(f"«{name or plain or 'this'}()» cannot be called here (line {node.lineno})")


def _rounds(items: Any, budget: _Budget) -> Iterator[Any]:
    for item in items if items is not None else ():
        budget.step()
        yield item


class _Method:
    """A method of a value, which can only be called: it is no text, and its address is nobody's business."""

    __slots__ = ("method", "name")

    def __init__(self, method: Callable[..., Any], name: str) -> None:
        self.method, self.name = method, name

    @classmethod
    def of(cls, value: Any, name: Any) -> Any:
        """The value, as a method where it is one of Python's."""
        return cls(value, str(name)) if isinstance(value, _CODE) else value

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.method(*arguments, **named)

    def __str__(self) -> str:
        raise TemplateError(f"«{self.name}» is a method, and is called: {self.name}()")

    __repr__ = __str__


_CODE = (types.BuiltinMethodType, types.MethodType, types.FunctionType, types.MethodWrapperType)


def _check_product(left: Any, right: Any) -> None:
    """Refuses what would be too large before it is made."""
    for repeated, times in ((left, right), (right, left)):
        if isinstance(times, int) and hasattr(repeated, "__len__") and len(repeated) * times > MAX_OUTPUT:
            raise TemplateError(_TOO_LONG)
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > _LONGEST_NUMBER:
        raise TemplateError("a number in it is too large")


def _range(*bounds: int) -> range:
    made = range(*bounds)
    if len(made) > _RANGE_MAX:
        raise TemplateError(f"a range has at most {_RANGE_MAX} numbers")
    return made


def _counted(filter: Callable[..., Any], budget: _Budget) -> Callable[..., Any]:
    """The filter, counted; what Jinja has marked it with stays, so that it is given its context."""

    def counted(*arguments: Any, **named: Any) -> Any:
        budget.step()
        return budget.sized(filter(*arguments, **named))

    counted.__dict__.update(getattr(filter, "__dict__", {}))
    return counted


def _own_filters(budget: _Budget) -> dict[str, Callable[..., Any]]:
    """Those that could make something large out of little, measured before they do."""
    from jinja2 import pass_environment
    from jinja2.filters import make_attrgetter

    def join(items: Iterable[Any], between: str = "") -> str:
        parts, size = [], 0
        for item in _rounds(items, budget):
            parts.append(_text(item))
            size += len(parts[-1]) + len(between)
            if size > MAX_OUTPUT:
                raise TemplateError(_TOO_LONG)
        return str(between).join(parts)

    @pass_environment
    def total(environment: Any, items: Iterable[Any], attribute: str | int | None = None, start: Any = 0) -> Any:
        value_of = make_attrgetter(environment, attribute) if attribute is not None else lambda item: item
        values = [start, *(value_of(item) for item in _rounds(items, budget))]
        if not all(isinstance(value, int | float) for value in values):
            raise TemplateError("sum adds numbers; lists and texts are put together with + and join")
        return sum(values)

    def tojson(value: Any, indent: int | None = None) -> str:
        return _json(budget.sized(value), indent)

    own: dict[str, Callable[..., Any]] = {
        "replace": _replace, "join": join, "indent": _indent, "tojson": tojson, "round": _round, "sum": total,
    }  # fmt: skip
    return {name: _counted(function, budget) for name, function in own.items()}


def _replace(text: Any, old: str, new: str) -> str:
    value = _text(text)
    if len(value) + value.count(old) * max(0, len(new) - len(old)) > MAX_OUTPUT:
        raise TemplateError(_TOO_LONG)
    return value.replace(old, new)


def _indent(text: Any, width: int = 4, first: bool = False) -> str:
    before, value = " " * min(max(0, width), 80), _text(text)
    if len(value) + value.count("\n") * len(before) > MAX_OUTPUT:
        raise TemplateError(_TOO_LONG)
    value = value.replace("\n", f"\n{before}")
    return f"{before}{value}" if first else value


def _json(value: Any, indent: int | None) -> str:
    """JSON, piece by piece: what is nested deeply and indented is far longer than its parts."""
    pieces, size = [], 0
    encoder = json.JSONEncoder(ensure_ascii=False, indent=None if indent is None else min(indent, 8))
    for piece in encoder.iterencode(value):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_OUTPUT:
            raise TemplateError(_TOO_LONG)
    return "".join(pieces)


def _round(value: Any, precision: int = 0, method: str = "common") -> Any:
    """As Jinja rounds; a power of ten with millions of digits would be computed in one piece."""
    if not isinstance(precision, int) or abs(precision) > _DIGITS_MAX:
        raise TemplateError(f"round takes a number of digits from -{_DIGITS_MAX} to {_DIGITS_MAX}")
    if method == "common":
        return round(value, precision)
    if method not in ("ceil", "floor"):
        raise TemplateError("round is common, ceil or floor")
    power = 10**precision
    return (math.ceil if method == "ceil" else math.floor)(value * power) / power


def _text(value: Any) -> str:
    """A value as a text; nothing for a name that nobody has given."""
    from jinja2 import Undefined

    if isinstance(value, _Method):
        return str(value)
    return "" if isinstance(value, Undefined) else as_text(value)


def _shown(budget: _Budget) -> Callable[[Any], Any]:
    """What `{{ }}` shows: a text as it is, data as JSON, nothing for null."""

    def shown(value: Any) -> Any:
        budget.step()
        if isinstance(value, Iterator | KeysView | ValuesView | ItemsView):
            value = list(_rounds(value, budget))
        if isinstance(value, Mapping | list | tuple | bool) or value is None:
            return as_text(budget.sized(value))
        return str(_Method.of(value, "this")) if isinstance(value, _CODE) else value

    return shown


def _absent(missing: list[str], optional: set[str]) -> Any:
    """What stands for a name that nobody has given: nothing, member by member, and told."""
    from jinja2 import ChainableUndefined

    class Absent(ChainableUndefined):
        __slots__ = ()

        def __init__(self, hint: Any = None, obj: Any = None, name: Any = None, exc: Any = None) -> None:
            super().__init__(hint=hint, name=name)
            if name is not None and name not in optional and len(missing) < _MISSING_MAX:
                missing.append(str(name))

    return Absent
