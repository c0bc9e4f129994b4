"""Tokens one after the other, and the types that are written in expressions: `list<number>`, `function<a> -> b`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from penstock.feel.evaluation import syntax_error
from penstock.feel.names import KnownNames, normal
from penstock.feel.tokens import Token, token_at
from penstock.feel.types import ANY, BUILT_IN, ContextType, FunctionType, ListType, RangeType, Type, Unknown

_DEEPEST = 20


class TypeGrammar:
    """The place in a text, and the rule `type`."""

    def __init__(self, source: str, types: Mapping[str, Any]) -> None:
        self.source = source
        self.types = types
        self.type_names = KnownNames([*BUILT_IN, *types])
        self.type_depth = 0
        self.token = token_at(source, 0)

    def take(self, kind: str = "") -> Token:
        token = self.token
        if kind and token.kind != kind:
            why = f"«{kind}» is missing" if kind != "end" else ""
            self.refuse(token, why if not token.text else f"«{kind}» is missing before «{token.text}»" if why else "")
        self.token = token_at(self.source, token.end)
        return token

    def taken(self, kind: str) -> bool:
        if self.token.kind != kind:
            return False
        self.take()
        return True

    def go_to(self, place: int) -> None:
        self.token = token_at(self.source, place)

    def refuse(self, token: Token, why: str = "") -> NoReturn:
        shown = f"«{token.text}» is not read here" if token.text else "The expression ends too early"
        raise syntax_error(self.source, token.start, why or shown)

    def type(self) -> Type:
        self.type_depth += 1
        if self.type_depth > _DEEPEST:
            self.refuse(self.token, f"The type is nested more than {_DEEPEST} deep")
        token = self.token
        name = self.type_name()
        generic = self.token.kind == "<" and name in ("list", "range", "context", "function")
        if generic:
            self.take("<")
            read = getattr(self, f"{name}_type")
            result: Type = read()
        else:
            result = self.types.get(name) or BUILT_IN.get(name) or Unknown(name)
        if isinstance(result, Unknown) and not token.text:
            self.refuse(token, "A type is missing")
        self.type_depth -= 1
        return result

    def type_name(self) -> str:
        token = self.token
        known = self.type_names.match(token.text, self.source, token.start)
        if known is not None:
            self.go_to(known[1])
            return normal(known[0])
        if token.kind not in ("name", "function", "null"):
            self.refuse(token, "A type is missing")
        name = self.take().text
        while self.token.kind == ".":
            self.take()
            name += "." + self.take("name").text
        return name

    def list_type(self) -> Type:
        item = self.type()
        self.take(">")
        return ListType(item)

    def range_type(self) -> Type:
        item = self.type()
        self.take(">")
        return RangeType(item)

    def context_type(self) -> Type:
        fields: dict[str, Type] = {}
        while self.token.kind != ">":
            if fields:
                self.take(",")
            words = [self.take("name").text]
            while self.token.kind == "name":
                words.append(self.take().text)
            self.take(":")
            fields[" ".join(words)] = self.type()
        self.take(">")
        return ContextType(fields)

    def function_type(self) -> Type:
        parameters: list[Type] = []
        while self.token.kind != ">":
            if parameters:
                self.take(",")
            parameters.append(self.type())
        self.take(">")
        result = self.type() if self.taken("->") else ANY
        return FunctionType(tuple(parameters), result)
