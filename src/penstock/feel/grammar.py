"""The grammar of FEEL: texts become nodes.

One method per construct, and one loop for all operators (levels as in the standard's grammar: or, and, comparison,
sum, product, power, instance of). Chains of one level are one node, so that a long sum is not a deep tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock.feel import nodes as N
from penstock.feel.evaluation import Fault, syntax_error
from penstock.feel.names import PART, START, KnownNames, normal
from penstock.feel.tokens import Token, token_at, unquoted
from penstock.feel.type_grammar import TypeGrammar
from penstock.feel.values.functions import Parameter
from penstock.feel.values.numbers import literal
from penstock.feel.values.temporal import read_temporal

MAX_SOURCE = 100_000
DEEPEST = 60
_LEVELS = {
    "or": 1, "and": 2, "=": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "between": 3, "in": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "**": 6, "instance": 7,
}  # fmt: skip
_COMPARISONS = frozenset(["=", "!=", "<", "<=", ">", ">="])
_CONSTANTS = {"true": True, "false": False, "null": None}
#: a name before a colon: a key of a context, or of a named argument
_KEY = re.compile(rf"([{START}](?:[{PART}\s./'+*-]*[{PART}./'+*-])?)\s*:")
_STARTS = frozenset("number string name ( { [ - @ ? if for some every function true false null".split())


class Grammar(TypeGrammar):
    """Reads one text. `names` are in scope; `members` are names that values have, known behind a dot and in filters."""

    def __init__(self, source: str, names: KnownNames, members: KnownNames, types: Mapping[str, Any]) -> None:
        super().__init__(source, types)
        if len(source) > MAX_SOURCE:
            why = f"It has {len(source):,} characters; at most {MAX_SOURCE:,} are read"
            raise syntax_error(source[:60], 0, why)
        self.names = names
        self.members = KnownNames(inherited=members)
        self.depth = 0
        self.range_end = False  # an opening bracket may end a range: [1..5[
        self.asked = 0  # how often `?` was read

    # ---- whole texts -------------------------------------------------------------------------------------------------

    def whole_expression(self) -> N.Node:
        node = self.expression()
        self.take("end")
        return node

    def whole_tests(self) -> N.Tests:
        """Unary tests: `-`, `not(…)`, or tests with commas between them."""
        if self.token.kind == "-" and token_at(self.source, self.token.end).kind == "end":
            return N.Tests(0, (), any=True)
        if self.token.kind == "end":
            return N.Tests(0, (), any=True)
        if self.token.text == "not" and token_at(self.source, self.token.end).kind == "(":
            start = self.token
            self.take()
            self.take("(")
            tests = self.tests()
            if self.token.kind == ")" and token_at(self.source, self.token.end).kind == "end":
                return N.Tests(start.start, tests, negated=True)
            self.token = start
        tests = self.tests()
        self.take("end")
        return N.Tests(0, tests)

    def tests(self) -> tuple[N.Test, ...]:
        tests = [self.test()]
        while self.taken(","):
            tests.append(self.test())
        return tuple(tests)

    def test(self) -> N.Test:
        token = self.token
        before = self.asked
        if token.kind in _COMPARISONS:
            self.take()
            return N.Test(token.start, token.kind, self.binary(4))
        operand = self.expression()
        return N.Test(token.start, "", operand, self.asked > before)

    # ---- operators ---------------------------------------------------------------------------------------------------

    def expression(self) -> N.Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise syntax_error(self.source, self.token.start, f"It is nested more than {DEEPEST} deep")
        outer, self.range_end = self.range_end, False
        node = self.binary(1)
        self.range_end = outer
        self.depth -= 1
        return node

    def binary(self, level: int, left: N.Node | None = None) -> N.Node:
        """Operators of a level and those that bind closer."""
        left = left or self.unary()
        while True:
            token = self.token
            own = _LEVELS.get(token.kind, 0)
            if own < level or own == 0:
                return left
            if own <= 2:
                left = N.Logic(left.at, token.kind, (left, *self.chain(token.kind, own + 1)))
            elif own == 3:
                left = self.comparison(left)
            elif own == 7:
                left = self.instance_of(left)
            else:
                rest: list[tuple[str, N.Node, int]] = []
                while _LEVELS.get(self.token.kind, 0) == own:
                    operator = self.take()
                    rest.append((operator.kind, self.binary(own + 1), operator.start))
                left = N.Arithmetic(left.at, left, tuple(rest))

    def chain(self, word: str, level: int) -> list[N.Node]:
        operands: list[N.Node] = []
        while self.taken(word):
            operands.append(self.binary(level))
        return operands

    def comparison(self, left: N.Node) -> N.Node:
        token = self.take()
        if token.kind == "between":
            low = self.binary(4)
            self.take("and")
            return N.Between(token.start, left, low, self.binary(4))
        if token.kind == "in":
            return N.In(token.start, left, self.in_tests())
        return N.Comparison(token.start, token.kind, left, self.binary(4))

    def in_tests(self) -> tuple[N.Test, ...]:
        """What follows `in`: one test, or several in parentheses; `(1..5)` is a range, `(1 + 2) * 3` an expression."""
        token = self.token
        if token.kind != "(":
            return (self.in_test(),)
        self.take()
        tests = self.tests()
        first = tests[0]
        if len(tests) == 1 and not first.operator and self.token.kind == "..":
            return (N.Test(first.at, "", self.binary(4, self.postfix(self.range_from(token, first.operand)))),)
        self.take(")")
        if len(tests) == 1 and not first.operator:
            operand = self.binary(4, self.postfix(first.operand))
            return (N.Test(first.at, "", operand, first.asks),)
        return tests

    def in_test(self) -> N.Test:
        token = self.token
        before = self.asked
        if token.kind in _COMPARISONS:
            self.take()
            return N.Test(token.start, token.kind, self.binary(4))
        operand = self.binary(4)
        return N.Test(token.start, "", operand, self.asked > before)

    def instance_of(self, left: N.Node) -> N.Node:
        token = self.take("instance")
        if self.token.text != "of":
            self.refuse(self.token, "«of» and a type are missing")
        self.take()
        return N.InstanceOf(token.start, left, self.type())

    def unary(self) -> N.Node:
        if self.token.kind != "-":
            return self.postfix(self.primary())
        token = self.take()
        self.depth += 1
        if self.depth > DEEPEST:
            raise syntax_error(self.source, token.start, f"It is nested more than {DEEPEST} deep")
        operand = self.unary()
        self.depth -= 1
        return N.Negation(token.start, operand)

    def postfix(self, node: N.Node) -> N.Node:
        while True:
            token = self.token
            if token.kind == ".":
                self.take()
                node = N.Path(token.start, node, self.member_name())
            elif token.kind == "[" and not (self.range_end and self.ends_range()):
                node = self.filter(node)
            elif token.kind == "(":
                node = self.call(node)
            else:
                return node

    def ends_range(self) -> bool:
        """Whether the bracket ends a range: nothing that could be a condition follows it."""
        return token_at(self.source, self.token.end).kind not in _STARTS

    def filter(self, base: N.Node) -> N.Node:
        opening = self.take("[")
        outer = self.names
        self.names = outer.with_all(self.members).plus(["item"])
        condition = self.expression()
        self.names = outer
        self.take("]")
        return N.Filter(opening.start, base, condition)

    def call(self, function: N.Node) -> N.Node:
        opening = self.take("(")
        arguments: list[N.Node] = []
        names: list[str] = []
        while self.token.kind != ")":
            if arguments:
                self.take(",")
            key = _KEY.match(self.source, self.token.start) if self.token.kind == "name" else None
            if key is not None:
                names.append(normal(key[1]))
                self.go_to(key.end())
            arguments.append(self.expression())
        self.take(")")
        if names and len(names) != len(arguments):
            raise syntax_error(self.source, opening.start, "Either all arguments have names or none has")
        at = function.at if isinstance(function, N.Name) else opening.start
        return N.Call(at, function, tuple(arguments), tuple(names))

    # ---- what stands alone -------------------------------------------------------------------------------------------

    def primary(self) -> N.Node:
        token = self.token
        if token.text[:1].isalpha() or token.kind == "name":  # a known name may begin with a reserved word
            name = self.known_name()
            if name is not None:
                return N.Name(token.start, name)
        read = _PRIMARIES.get(token.kind)
        if read is None:
            self.refuse(token)
        return read(self)  # type: ignore[no-any-return]

    def number(self) -> N.Node:
        token = self.take()
        try:
            return N.Literal(token.start, literal(token.text))
        except Fault as fault:
            raise syntax_error(self.source, token.start, str(fault)) from None

    def string(self) -> N.Node:
        token = self.take()
        return N.Literal(token.start, unquoted(self.source, token))

    def constant(self) -> N.Node:
        token = self.take()
        return N.Literal(token.start, _CONSTANTS[token.kind])

    def input(self) -> N.Node:
        self.asked += 1
        return N.Input(self.take().start)

    def at_literal(self) -> N.Node:
        sign = self.take()
        token = self.take("string")
        text = unquoted(self.source, token)
        try:
            value = read_temporal(text)
        except Fault:
            value = None
        if value is None:  # as the functions have it: null, with a warning
            return N.Call(sign.start, N.Name(sign.start, "@"), (N.Literal(token.start, text),))
        return N.Literal(sign.start, value)

    def name(self) -> N.Node:
        """A name that nobody knows: its words up to the next sign, as two words in a row can be nothing else."""
        token = self.take()
        words = [token.text]
        while self.token.kind == "name" and self.known_name_ahead() is None:
            words.append(self.take().text)
        return N.Name(token.start, " ".join(words))

    def known_name_ahead(self) -> tuple[str, int] | None:
        return self.names.match(self.token.text, self.source, self.token.start)

    def known_name(self) -> str | None:
        known = self.known_name_ahead()
        if known is None:
            return None
        self.go_to(known[1])
        return known[0]

    def member_name(self) -> str:
        """The name behind a dot: the longest known member, else its words."""
        token = self.token
        if token.kind == "string":
            return unquoted(self.source, self.take())
        known = self.members.match(token.text, self.source, token.start)
        if known is not None:
            self.go_to(known[1])
            return known[0]
        if token.kind != "name":
            if token.text.isalpha():  # a reserved word is a member like any other
                return self.take().text
            self.refuse(token, "A name is missing behind the dot")
        words = [self.take().text]
        while self.token.kind == "name":
            words.append(self.take().text)
        return " ".join(words)

    # ---- brackets ----------------------------------------------------------------------------------------------------

    def parentheses(self) -> N.Node:
        opening = self.take()
        if self.token.kind in _COMPARISONS - {"!="}:
            operator = self.take().kind
            bound = self.binary(4)
            self.take(")")
            return _half_range(opening.start, operator, bound)
        node = self.expression()
        if self.token.kind == "..":
            return self.range_from(opening, node)
        self.take(")")
        return node

    def brackets(self) -> N.Node:
        opening = self.take()
        items: list[N.Node] = []
        if opening.kind == "]":
            return self.range_from(opening, self.expression())
        while self.token.kind != "]":
            if items:
                self.take(",")
            items.append(self.expression())
            if len(items) == 1 and self.token.kind == "..":
                return self.range_from(opening, items[0])
        self.take("]")
        return N.ListLiteral(opening.start, tuple(items))

    def range_from(self, opening: Token, low: N.Node) -> N.Node:
        self.take("..")
        outer, self.range_end = self.range_end, True
        high = self.binary(4)
        self.range_end = outer
        closing = self.take()
        if closing.kind not in ("]", ")", "["):
            self.refuse(closing, "The range has no end")
        return N.RangeLiteral(opening.start, low, high, opening.kind == "[", closing.kind == "]")

    def context(self) -> N.Node:
        opening = self.take("{")
        entries: list[tuple[str, N.Node, int]] = []
        outer = self.names
        while self.token.kind != "}":
            if entries:
                self.take(",")
            token = self.token
            key = self.key()
            if any(key == other for other, _, _ in entries):
                raise syntax_error(self.source, token.start, f"The context has two entries «{key}»")
            self.members.add([key])
            inside = self.names
            if self.token.kind == "function":  # a function may call itself
                self.names = inside.plus([key])
            entries.append((key, self.expression(), token.start))
            self.names = inside.plus([key])
        self.names = outer
        self.take("}")
        return N.ContextLiteral(opening.start, tuple(entries))

    def key(self) -> str:
        token = self.token
        if token.kind == "string":
            self.take()
            self.take(":")
            return unquoted(self.source, token)
        match = _KEY.match(self.source, token.start)
        if match is None:
            self.refuse(token, "A key and a colon are missing")
        self.go_to(match.end())
        return normal(match[1])

    # ---- words -------------------------------------------------------------------------------------------------------

    def choice(self) -> N.Node:
        start = self.token.start
        branches: list[tuple[N.Node, N.Node]] = []
        while self.taken("if"):
            condition = self.expression()
            self.take("then")
            branches.append((condition, self.expression()))
            self.take("else")
        return N.If(start, tuple(branches), self.expression())

    def loop(self) -> N.Node:
        token = self.take()
        outer = self.names
        iterators = self.iterators()
        if token.kind == "for":
            self.take("return")
            self.names = self.names.plus(["partial"])
            node: N.Node = N.For(token.start, iterators, self.expression())
        else:
            self.take("satisfies")
            node = N.Quantified(token.start, token.kind, iterators, self.expression())
        self.names = outer
        return node

    def iterators(self) -> tuple[N.Iterator, ...]:
        iterators: list[N.Iterator] = []
        while not iterators or self.taken(","):
            start = self.token.start
            name = self.name_before("in")
            domain = self.expression()
            high = self.expression() if self.taken("..") else None
            iterators.append(N.Iterator(start, name, domain, high))
            self.names = self.names.plus([name])
        return tuple(iterators)

    def name_before(self, word: str) -> str:
        """The words up to a reserved one."""
        start = self.token
        match = re.compile(rf"[{START}][{PART}\s./'+*-]*?(?=\s+{word}\b)").match(self.source, start.start)
        if match is None:
            self.refuse(start, f"A name and «{word}» are missing")
        self.go_to(match.end())
        self.take(word)
        return normal(match[0])

    def function(self) -> N.Node:
        start = self.take("function")
        self.take("(")
        parameters: list[Parameter] = []
        while self.token.kind != ")":
            if parameters:
                self.take(",")
            parameters.append(self.parameter())
        self.take(")")
        if self.taken(":"):
            self.type()
        external = self.token.text == "external"
        if external:
            self.take()
        outer = self.names
        self.names = outer.plus([parameter.name for parameter in parameters])
        body = self.expression()
        self.names = outer
        return N.FunctionLiteral(start.start, tuple(parameters), body, external)

    def parameter(self) -> Parameter:
        start = self.token
        match = re.compile(rf"[{START}][{PART}\s./'+*-]*").match(self.source, start.start)
        if match is None:
            self.refuse(start, "A parameter's name is missing")
        self.go_to(match.end())
        return Parameter(normal(match[0]), self.type() if self.taken(":") else None)


def _half_range(at: int, operator: str, bound: N.Node) -> N.Node:
    if operator == "=":
        return N.RangeLiteral(at, bound, bound)
    if operator in ("<", "<="):
        return N.RangeLiteral(at, None, bound, False, operator == "<=")
    return N.RangeLiteral(at, bound, None, operator == ">=", False)


_PRIMARIES: dict[str, Any] = {
    "number": Grammar.number,
    "string": Grammar.string,
    "name": Grammar.name,
    "true": Grammar.constant,
    "false": Grammar.constant,
    "null": Grammar.constant,
    "?": Grammar.input,
    "@": Grammar.at_literal,
    "(": Grammar.parentheses,
    "[": Grammar.brackets,
    "]": Grammar.brackets,
    "{": Grammar.context,
    "if": Grammar.choice,
    "for": Grammar.loop,
    "some": Grammar.loop,
    "every": Grammar.loop,
    "function": Grammar.function,
}
