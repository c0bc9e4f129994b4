"""Compiles the tree into closures `f(view)`; frequent forms have closures of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import ExprTypeError, ExprUnknownRoot
from penstock.expr import nodes as N
from penstock.expr.functions import FUNCTIONS
from penstock.expr.functions.contract import Callback, Closure
from penstock.expr.limits import Frame, ItemFrame, View, bounded_text, check_text_size, host_value, meter_of
from penstock.expr.operator_closures import (
    all_of,
    any_of,
    binary,
    condition,
    equals_constant,
    fold_chain,
    minus,
    negation,
    order_constant,
)
from penstock.expr.operators import COMPARE, OPERATORS
from penstock.expr.values import equal, member, text_in

_SHOWN = 60  # characters of an operation in the sentence of an error


class Compiler:
    """Makes the closures for the nodes of one source."""

    __slots__ = ("source",)

    def __init__(self, source: str) -> None:
        self.source = source

    def closure(self, node: N.Node) -> Closure:
        match node:
            case N.Literal():
                return _constant(node.value)
            case N.Name():
                return _root(node.name)
            case N.Path():
                return self.path(node)
            case N.Chain():
                return self.chain(node)
            case N.Logic():
                return self.logic(node)
            case N.Call():
                return self.call(node)
            case N.Not():
                return negation(self.closure(node.children[0]), self.shown(node))
            case N.Negate():
                return minus(self.closure(node.children[0]), self.shown(node))
            case N.Array():
                return _array(self.closures(node))
            case N.Object():
                return _object(node.keys, self.closures(node))
            case N.Lambda():
                return _lambda(node.names, self.closure(node.body), node.body.size)
            case N.Snippet():
                return _snippet(node.names, self.closure(node.body), node.body.size)
            case N.FieldPath():
                return _constant(_field_path(node.keys))
            case N.HostCall():
                return _host_call(node.root, node.member, self.closures(node))
            case N.Template():
                return self.template(node)
        raise AssertionError("every kind of node has its closure")

    def closures(self, node: N.Node) -> list[Closure]:
        return [self.closure(child) for child in node.children]

    def shown(self, node: N.Node) -> str:
        text = " ".join(self.source[node.start : node.end].split())
        return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"

    def path(self, node: N.Path) -> Closure:
        match node.target, node.constant_keys():
            case target, None:
                return _steps(self.closure(target), [self.closure(step) for step in node.steps])
            case N.Name(name=name), (str(key),):
                return _root_key(name, key)
            case N.Name(name=name), (str(first), str(second)):
                return _root_keys(name, first, second)
            case target, keys:
                return _keys(self.closure(target), keys)

    def chain(self, node: N.Chain) -> Closure:
        operands, where = self.closures(node), self.shown(node)
        match node.operators, node.children:
            case ("==" | "!=" as symbol,), (_, N.Literal(value=constant)):
                return equals_constant(symbol, operands[0], constant)
            case (symbol,), (_, N.Literal(value=int() | float() as constant)) if symbol in COMPARE:
                return order_constant(symbol, operands[0], constant, where)
            case (symbol,), _:
                return binary(symbol, operands[0], operands[1], where)
        return fold_chain(operands, [OPERATORS[symbol] for symbol in node.operators], where)

    def logic(self, node: N.Logic) -> Closure:
        operands = [
            self.closure(child) if _is_boolean(child) else condition(self.closure(child), self.shown(child))
            for child in node.children
        ]
        return (all_of if node.operator == "&&" else any_of)(operands)

    def call(self, node: N.Call) -> Closure:
        function = FUNCTIONS[node.function]
        arguments = self.closures(node)
        if function.lazy:
            closure: Closure = function.call(*arguments)
            return closure
        return (_call_with_view if function.sees_view else _call)(function.call, arguments)

    def template(self, node: N.Template) -> Closure:
        return _text(
            [
                part.value if isinstance(part, N.Literal) and isinstance(part.value, str) else self.closure(part)
                for part in node.children
            ]
        )


def _is_boolean(node: N.Node) -> bool:
    """Whether the value is certainly true or false, so that nobody needs to ask at every evaluation."""
    match node:
        case N.Literal():
            return isinstance(node.value, bool)
        case N.Chain():
            return node.operators[-1] in COMPARE or node.operators[-1] in ("==", "!=")
        case N.Call():
            return FUNCTIONS[node.function].returns == "boolean"
    return isinstance(node, N.Logic | N.Not)


# ---- values ----------------------------------------------------------------------------------------------------------


def _constant(value: Any) -> Closure:
    return lambda view: value


def _root(name: str) -> Closure:
    def root(view: View) -> Any:
        try:
            return view[name]
        except KeyError:
            raise ExprUnknownRoot(name=name) from None

    return root


def _root_key(name: str, key: str) -> Closure:
    def root_key(view: View) -> Any:
        try:
            value = view[name]
        except KeyError:
            raise ExprUnknownRoot(name=name) from None
        return value.get(key) if type(value) is dict else member(value, key)

    return root_key


def _root_keys(name: str, first: str, second: str) -> Closure:
    def root_keys(view: View) -> Any:
        try:
            value = view[name]
        except KeyError:
            raise ExprUnknownRoot(name=name) from None
        value = value.get(first) if type(value) is dict else member(value, first)
        return value.get(second) if type(value) is dict else member(value, second)

    return root_keys


def _keys(target: Closure, keys: tuple[str | int, ...]) -> Closure:
    def follow(view: View) -> Any:
        value = target(view)
        for key in keys:
            value = member(value, key)
        return value

    return follow


def _steps(target: Closure, steps: list[Closure]) -> Closure:
    def follow(view: View) -> Any:
        value = target(view)
        for step in steps:
            value = member(value, step(view))
        return value

    return follow


def _array(items: list[Closure]) -> Closure:
    return lambda view: [item(view) for item in items]


def _object(keys: tuple[str, ...], values: list[Closure]) -> Closure:
    pairs = list(zip(keys, values, strict=True))
    return lambda view: {key: value(view) for key, value in pairs}


def _text(parts: list[str | Closure]) -> Closure:
    def text(view: View) -> str:
        texts = [part if isinstance(part, str) else text_in(view, part(view)) for part in parts]
        check_text_size(sum(map(len, texts)))
        return bounded_text(view, "".join(texts))

    return text


# ---- calls -----------------------------------------------------------------------------------------------------------


def _call(function: Callable[..., Any], arguments: list[Closure]) -> Closure:
    match arguments:
        case [only]:
            return lambda view: function(only(view))
        case [first, second]:
            return lambda view: function(first(view), second(view))
    return lambda view: function(*[argument(view) for argument in arguments])


def _call_with_view(function: Callable[..., Any], arguments: list[Closure]) -> Closure:
    match arguments:
        case [only]:
            return lambda view: function(view, only(view))
        case [first, second]:
            return lambda view: function(view, first(view), second(view))
    return lambda view: function(view, *[argument(view) for argument in arguments])


def _host_call(root: str, name: str, arguments: list[Closure]) -> Closure:
    def call(view: View) -> Any:
        try:
            held = host_value(view, root)
        except KeyError:
            raise ExprUnknownRoot(name=root) from None
        given = [argument(view) for argument in arguments]
        function = member(held, name)
        if callable(function):
            return function(*given)
        for asked, answer in member(held, f"{name}()") or ():  # what the host has fetched before
            if equal(asked, given):
                return answer
        raise ExprTypeError(why=f"{root}.{name} cannot be called here")

    return call


# ---- lambdas ---------------------------------------------------------------------------------------------------------
# One frame serves all calls of a loop: a lambda is only an argument, so nothing keeps its frame when a call is over.


def _lambda(params: tuple[str, ...], body: Closure, size: int) -> Closure:
    def bind(view: View) -> Callback:
        frame = Frame(view, meter_of(view))
        if len(params) == 1:
            name = params[0]

            def call_one(value: Any, *_: Any) -> Any:
                frame[name] = value
                return body(frame)

            return Callback(call_one, size)

        def call(*values: Any) -> Any:
            frame.update(zip(params, values, strict=False))
            return body(frame)

        return Callback(call, size)

    return bind


def _snippet(names: tuple[str, ...], body: Closure, size: int) -> Closure:
    def bind(view: View) -> Callback:
        frame = ItemFrame(view, meter_of(view))

        def call(*values: Any) -> Any:
            frame.update(zip(names, values, strict=True))
            return body(frame)

        return Callback(call, size)

    return bind


def _field_path(keys: tuple[str | int, ...]) -> Callback:
    key = keys[0]

    def field(item: Any, index: int) -> Any:
        return item.get(key) if type(item) is dict else member(item, key)

    def path(item: Any, index: int) -> Any:
        for step in keys:
            item = member(item, step)
        return item

    return Callback(field if len(keys) == 1 else path, 1)
