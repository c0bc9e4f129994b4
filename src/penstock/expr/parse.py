"""Parses the source into a tree by precedence climbing; every mistake is named at its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.errors import ExprLimit
from penstock.expr.functions import FUNCTIONS
from penstock.expr.functions.contract import Function, LambdaShape
from penstock.expr.limits import MAX_DEPTH, MAX_INTEGER, MAX_SOURCE
from penstock.expr.nodes import (
    Array,
    Call,
    Chain,
    FieldPath,
    HostCall,
    Lambda,
    Literal,
    Logic,
    Name,
    Negate,
    Node,
    Not,
    Object,
    Path,
    Snippet,
)
from penstock.expr.root_names import DATA_ROOTS, RESERVED_ROOTS
from penstock.expr.token_cursor import TokenCursor, foreign_word
from penstock.expr.tokenizer import END, NAME, NUMBER, STRING, SourceToken, nearest, tokenize

T = TypeVar("T")
_LONGEST_INTEGER = 400  # digits, zeros in front too
_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
}
_NOT_WORD = 3  # `not a == b` is read as in Python: looser than a comparison, tighter than `and`
_CONSTANTS = {"true": True, "false": False, "null": None}
_HOST_ROOT = "rag"


def parse(source: str, start: int = 0, end: int | None = None, *, words: bool = False) -> Node:
    """The tree of the expression `source[start:end]`."""
    stop = len(source) if end is None else end
    if stop - start > MAX_SOURCE:
        raise ExprLimit(why=f"the source has {stop - start:,} characters, at most {MAX_SOURCE:,} are read")
    return _Parser(source, start, stop, words, 0).whole()


class _Parser(TokenCursor):
    """One reading of one source; `depth` counts what is open around the present token."""

    __slots__ = ("depth", "words")

    def __init__(self, source: str, start: int, end: int, words: bool, depth: int) -> None:
        super().__init__(source, tokenize(source, start, end, words=words))
        self.words = words
        self.depth = depth

    def whole(self) -> Node:
        if self.token.kind == END:
            self.fail("The expression is empty")
        node = self.expression()
        if self.token.kind != END:
            self.unexpected("an operator or the end")
        return node

    # ---- operators ---------------------------------------------------------------------------------------------------

    def expression(self, least: int = 1) -> Node:
        """An expression whose operators bind at least that tightly."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExprLimit(why=f"nested more than {MAX_DEPTH} deep")
        left = self.unary()
        while (power := _PRECEDENCE.get(self.token.kind, 0)) >= least:
            left = self.chain(left, power)
        self.depth -= 1
        return left

    def chain(self, first: Node, power: int) -> Node:
        """All operators of one precedence in a row, as one node, so that a long sum is not a deep tree."""
        operands, operators = [first], []
        while _PRECEDENCE.get(self.token.kind) == power:
            operators.append(self.token.kind)
            self.advance()
            operands.append(self.expression(power + 1))
        start, end = first.start, operands[-1].end
        if power <= _PRECEDENCE["&&"]:
            return Logic(start, end, operators[0], operands)
        return Chain(start, end, tuple(operators), operands)

    def unary(self) -> Node:
        if self.token.kind == "not":
            start = self.token.start
            self.advance()
            operand = self.expression(_NOT_WORD)
            return Not(start, operand.end, (operand,))
        signs: list[SourceToken] = []
        while self.token.kind in ("!", "-"):
            signs.append(self.token)
            self.advance()
        has_members = self.token.kind != NUMBER and self.token.text not in _CONSTANTS
        node = self.primary()
        if has_members:
            node = self.postfix(node)
        for sign in reversed(signs):
            if sign.kind == "!":
                node = Not(sign.start, node.end, (node,))
            elif isinstance(node, Literal) and type(node.value) in (int, float):
                node = Literal(sign.start, node.end, -node.value)
            else:
                node = Negate(sign.start, node.end, (node,))
        return node

    # ---- primaries ---------------------------------------------------------------------------------------------------

    def primary(self) -> Node:
        token = self.token
        match token.kind:
            case "number":
                self.advance()
                return Literal(token.start, token.end, self.number(token))
            case "string":
                self.advance()
                return Literal(token.start, token.end, token.text[1:-1])
            case "name":
                return self.name()
            case "(":
                self.advance()
                node = self.expression()
                node.start, node.end = token.start, self.expect(")", token)  # its text is whole only with them
                return node
            case "${":
                return self.reference()
            case "[":
                return self.array()
            case "{":
                return self.object()
        self.unexpected("a value")

    def number(self, token: SourceToken) -> int | float:
        if token.text.isdecimal():
            if len(token.text) > _LONGEST_INTEGER or int(token.text) > MAX_INTEGER:
                self.fail("The number is too large: an integer has at most 64 bits", token)
            return int(token.text)
        value = float(token.text)
        if value - value != 0.0:
            self.fail("The number is too large", token)
        return value

    def name(self) -> Node:
        token = self.token
        self.advance()
        if token.text in _CONSTANTS:
            return Literal(token.start, token.end, _CONSTANTS[token.text])
        if token.text == "fn":
            return self.function(token)
        if self.token.kind == "(":
            if foreign := foreign_word(token.text):
                self.fail(f"«{token.text}» is not a function ({foreign})", token)
            known = nearest(token.text, FUNCTIONS)
            hint = f"did you mean fn.{known}?" if known else "functions are called as fn.name(…)"
            self.fail(f"«{token.text}» is not a function ({hint})", token)
        return Name(token.start, token.end, token.text)

    def reference(self) -> Node:
        """`${ expression }`."""
        opening = self.token
        self.advance()
        if self.token.kind == "}":
            self.fail("There is nothing between ${ and }", opening)
        node = self.expression()
        node.start, node.end = opening.start, self.expect("}", opening)
        return node

    def array(self) -> Node:
        opening = self.token
        self.advance()
        items = self.listed(self.expression, "]")
        return Array(opening.start, self.expect("]", opening), items)

    def listed(self, item: Callable[[], T], close: str) -> list[T]:
        """What stands between commas, up to the closing bracket."""
        items: list[T] = []
        while self.token.kind != close or items:
            items.append(item())
            if self.token.kind != ",":
                break
            self.advance()
        return items

    def object(self) -> Node:
        opening = self.token
        self.advance()
        keys: list[str] = []
        values: list[Node] = []
        while self.token.kind != "}" or keys:
            key = self.token
            if key.kind != STRING:
                self.unexpected("a key in quotes")
            if key.text[1:-1] in keys:
                self.fail(f"The key {key.text} stands twice in the object")
            self.advance()
            self.expect(":")
            keys.append(key.text[1:-1])
            values.append(self.expression())
            if self.token.kind != ",":
                break
            self.advance()
        return Object(opening.start, self.expect("}", opening), tuple(keys), values)

    # ---- what may follow a primary -----------------------------------------------------------------------------------

    def postfix(self, node: Node) -> Node:
        steps: list[Node] = []
        end = node.end
        while True:
            if self.token.kind == ".":
                self.advance()
                step = self.segment()
                if self.token.kind == "(" and isinstance(step, Literal):
                    node = self.method(_path(node, steps, end), step)
                    steps = []
                    continue
                end = step.end
            elif self.token.kind == "[":
                step, end = self.index()
            else:
                return _path(node, steps, end)
            steps.append(step)

    def segment(self) -> Node:
        """What stands after a dot: a name, or `${…}` whose value is the name."""
        token = self.token
        if token.kind == "${":
            return self.reference()
        if not (token.text[:1].isalpha() or token.text[:1] == "_"):
            hint = " (write an index as [0])" if token.kind == NUMBER else ""
            self.unexpected("a name after the dot", hint)
        self.advance()
        return Literal(token.start, token.end, self.source[token.start : token.end])

    def index(self) -> tuple[Node, int]:
        """What stands in the brackets, and where they end."""
        opening = self.token
        self.advance()
        step = self.expression()
        end = self.expect("]", opening)
        if isinstance(step, Literal) and type(step.value) not in (str, int):
            self.fail("An index is an integer or a string", opening)
        return step, end

    # ---- calls -------------------------------------------------------------------------------------------------------

    def function(self, start: SourceToken) -> Node:
        """`fn.name(args)`, after the word fn."""
        if self.token.kind != ".":
            self.unexpected("'.' and a function's name after fn")
        self.advance()
        token = self.token
        name = self.source[token.start : token.end]
        if not (name[:1].isalpha() or name[:1] == "_"):
            self.unexpected("a function's name after fn.")
        function = FUNCTIONS.get(name)
        if function is None:
            known = nearest(name, FUNCTIONS)
            self.fail(f"Unknown function fn.{name}" + (f" (did you mean fn.{known}?)" if known else ""), start)
        self.advance()
        if self.token.kind != "(":
            self.unexpected(f"'(' after fn.{name}")
        return self.call(function, start.start, start, [])

    def method(self, target: Node, step: Literal) -> Node:
        """`x.name(args)`: a function of the table on x, or a search of the host on `rag`."""
        name: str = step.value
        if isinstance(target, Name) and target.name == _HOST_ROOT:
            arguments, end = self.arguments(None, 0)
            return HostCall(target.start, end, target.name, name, arguments)
        function = FUNCTIONS.get(name)
        if function is None or not function.is_method:
            if function is not None:
                hint = f" (write fn.{name}(…))"
            else:
                known = nearest(name, [each.name for each in FUNCTIONS.values() if each.is_method])
                hint = f" (did you mean .{known}()?)" if known else ""
            self.fail(f"Unknown method .{name}(){hint}", step)
        return self.call(function, target.start, step, [target])

    def call(self, function: Function, start: int, place: SourceToken | Node, before: list[Node]) -> Node:
        arguments, end = self.arguments(function, len(before))
        arguments = [*before, *arguments]
        count = len(arguments)
        if count < function.least or (function.most is not None and count > function.most):
            written = f"fn.{function.name}{function.arguments}"
            self.fail(f"{written} takes {function.arity()}, not {count}", place)
        return Call(start, end, function.name, arguments)

    def arguments(self, function: Function | None, position: int) -> tuple[list[Node], int]:
        """The arguments in brackets, and where they end; `position` is the first one's place in the function."""
        opening = self.token
        self.advance()
        arguments: list[Node] = []
        while self.token.kind != ")" or arguments:
            shape = function.lambdas.get(position + len(arguments)) if function else None
            arguments.append(self.argument(function, shape))
            if self.token.kind != ",":
                break
            self.advance()
        return arguments, self.expect(")", opening)

    def argument(self, function: Function | None, shape: LambdaShape | None) -> Node:
        if self.is_lambda():
            if function is None or shape is None:
                self.fail("A lambda cannot stand here")
            return self.lambda_(function, shape)
        node = self.expression()
        if shape is not None and isinstance(node, Literal) and isinstance(node.value, str):
            return self.snippet(node, shape)
        return node

    # ---- lambdas -----------------------------------------------------------------------------------------------------

    def is_lambda(self) -> bool:
        """Whether a lambda begins here: `x =>` or `(a, b) =>`."""
        place = self.at
        if self.token.kind == "(":
            place += 1
            while self.tokens[place].kind in (NAME, ","):
                place += 1
            if self.tokens[place].kind != ")":
                return False
        return self.tokens[min(place + 1, len(self.tokens) - 1)].kind == "=>"

    def lambda_(self, function: Function, shape: LambdaShape) -> Node:
        opening = self.token
        params = self.parameters()
        if len(set(params)) < len(params):
            self.fail("Two parameters have the same name", opening)
        if not shape.least <= len(params) <= len(shape.locals):
            wanted = " or ".join(f"{count}" for count in range(shape.least, len(shape.locals) + 1))
            self.fail(f"The lambda of fn.{function.name} has {wanted} parameters, not {len(params)}", opening)
        self.expect("=>")
        body = self.expression()
        return Lambda(opening.start, body.end, params, body)

    def parameters(self) -> tuple[str, ...]:
        if self.token.kind != "(":
            return (self.parameter(),)
        opening = self.token
        self.advance()
        names = self.listed(self.parameter, ")")
        self.expect(")", opening)
        return tuple(names)

    def parameter(self) -> str:
        name = self.token.text
        if self.token.kind != NAME or name in RESERVED_ROOTS:
            self.fail(f"A parameter cannot be called «{name}»")
        self.advance()
        return name

    def snippet(self, literal: Literal, shape: LambdaShape) -> Node:
        """A string where a lambda may stand; strings have no escapes, so its places are places of the source."""
        if literal.value in shape.words:
            return literal
        inside = _Parser(self.source, literal.start + 1, literal.end - 1, self.words, self.depth)
        body = inside.whole()
        if shape.field and (keys := _field_keys(body)) and keys[0] not in (*shape.locals, *DATA_ROOTS):
            return FieldPath(literal.start, literal.end, keys)
        return Snippet(literal.start, literal.end, shape.locals, body)


def _path(node: Node, steps: list[Node], end: int) -> Node:
    if not steps:
        return node
    before = node.children if isinstance(node, Path) else (node,)
    return Path(node.start, end, (*before, *steps))


def _field_keys(body: Node) -> tuple[str | int, ...] | None:
    """The steps of an expression that is nothing but a path of written names and numbers."""
    if isinstance(body, Name):
        return (body.name,)
    if isinstance(body, Path) and isinstance(body.target, Name) and (keys := body.constant_keys()):
        return (body.target.name, *keys)
    return None
