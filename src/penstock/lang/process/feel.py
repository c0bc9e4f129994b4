"""Translates FEEL of process files into the expression language; what would mean something else there is refused.

A condition of FEEL is true, false or null, and one of the expression language true or false. So every condition has two
translations: when it holds, and when it is false. It is null when neither is the case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn

from penstock.errors import ExprSyntaxError
from penstock.expr.limits import MAX_SOURCE
from penstock.expr.tokenizer import broken
from penstock.lang.process.expression_names import COUNTS, INSTANCE, ROOTS

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+(?:\.\d+)?|\.\d+)(?![\w])
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<name>[^\W\d]\w*)
      | (?P<symbol>//|/\*|\*\*|\.\.|<=|>=|!=|[-+*/=<>()\[\]{},.:?@])
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = frozenset("and or not if then else true false null between in instance for some every function".split())
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_NUMBER = re.compile(r"-?[\d.]+\Z", re.ASCII)
_INDEX = re.compile(r"[1-9]\d{0,5}\Z", re.ASCII)
#: more digits are not kept by a number here
_MOST_DIGITS = 15
_DEEPEST = 40
#: names of other things there: a variable of such a name is read another way
_TAKEN = (ROOTS | {"True", "False", "None"}) - {"true", "false", "null"}
_INTEGERS = frozenset(COUNTS) - {"loopResult"} | frozenset(INSTANCE)
#: what FEEL can say and has no translation, by the word or mark that begins it
_UNTRANSLATED = {
    "between": "A range (between … and …)", "in": "A membership (in)", "..": "A range (..)",
    "instance": "A test of a type (instance of)", "for": "A loop (for … in … return)", "**": "A power (**)",
    "some": "A quantifier (some … satisfies)", "every": "A quantifier (every … satisfies)", "@": "A date (@)",
    "function": "A function of one's own", "//": "A comment", "/*": "A comment", "?": "The mark ?",
}  # fmt: skip
_ARITHMETIC = {"+": "A sum (+)", "-": "A difference (-)", "*": "A product (*)", "/": "A quotient (/)"}


class _Token(NamedTuple):
    kind: str  # number, string, name, end, or the symbol or word itself
    text: str
    start: int


class _TooLong(Exception):
    pass


class _Term:
    """A value; `kind` is what FEEL's type of it is, where the text says so."""

    def __init__(self, value: str, kind: str = "") -> None:
        self.value, self.kind = value, kind
        if len(value) > MAX_SOURCE:  # what a value stands for more than once grows with every level
            raise _TooLong

    def holds(self) -> str:
        return self.value

    def fails(self) -> str:
        return {"true": "false", "false": "true"}.get(self.value) or f"{self.value} == false"


class _Condition(_Term):
    """What gives true, false or null."""

    def __init__(self, holds: Callable[[], str], fails: Callable[[], str], *, never_null: bool = False) -> None:
        self._holds, self._fails = holds, fails
        true, false = holds(), fails()
        super().__init__(f"({true})" if never_null else f"fn.if({true}, true, fn.if({false}, false, null))", "boolean")

    def holds(self) -> str:
        return self._holds()

    def fails(self) -> str:
        return self._fails()


def translated(text: str, *, condition: bool = False) -> str:
    """The expression without its leading `=`; of a `condition` it only matters when it holds. ExprSyntaxError says what
    cannot be translated."""
    try:
        if len(text) > MAX_SOURCE:
            raise _TooLong
        term = _Parser(text).whole()
        return term.holds() if condition else term.value
    except _TooLong:
        raise broken(text[:60], 0, f"It has more than {MAX_SOURCE:,} characters") from None


def refusal(text: str) -> ExprSyntaxError | None:
    """Why a text that begins with `=` has no translation."""
    try:
        translated(text)
    except ExprSyntaxError as error:
        return error
    return None


def _tokens(source: str) -> Iterator[_Token]:
    place = 1
    while True:
        match = _TOKEN.match(source, place)
        if match is None or match.lastgroup is None:
            start = place + len(source[place:]) - len(source[place:].lstrip())
            raise broken(source, start, f"«{source[start]}» cannot be read")
        kind, text, place = match.lastgroup, match[match.lastgroup], match.end()
        if kind == "symbol" or (kind == "name" and text in _WORDS):
            kind = text
        yield _Token(kind, text, match.start(match.lastgroup))
        if kind == "end":
            return


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = list(_tokens(source))
        self.at = 0
        self.depth = 0
        self.names: set[str] = set()

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def take(self, kind: str = "") -> _Token:
        token = self.token
        if kind and token.kind != kind:
            self.refuse(token)
        self.at += 1
        return token

    def taken(self, *kinds: str) -> bool:
        if self.token.kind not in kinds:
            return False
        self.at += 1
        return True

    def refuse(self, token: _Token, what: str = "") -> NoReturn:
        what = what or _UNTRANSLATED.get(token.kind) or (f"«{token.text}»" if token.text else "What ends here")
        raise broken(self.source, token.start, f"{what} is not read here")

    # ---- from the outermost to the innermost -------------------------------------------------------------------------

    def whole(self) -> _Term:
        term = self.expression()
        self.take("end")
        return term

    def expression(self) -> _Term:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse(self.token, f"What is nested more than {_DEEPEST} deep")
        term = self.choice() if self.token.kind == "if" else self.logic("or")
        self.depth -= 1
        return term

    def choice(self) -> _Term:
        """A condition that is null takes the second way, like one that is false."""
        self.take("if")
        condition = self.expression()
        self.take("then")
        then = self.expression()
        self.take("else")
        return _Term(f"fn.if({condition.holds()}, {then.value}, {self.expression().value})")

    def logic(self, word: str) -> _Term:
        terms = [self.logic("and") if word == "or" else self.comparison()]
        while self.taken(word):
            terms.append(self.logic("and") if word == "or" else self.comparison())
        if len(terms) == 1:
            return terms[0]
        both, either = (" && ", " || ") if word == "and" else (" || ", " && ")
        return _Condition(
            lambda: both.join(_grouped(term.holds()) for term in terms),
            lambda: either.join(_grouped(term.fails()) for term in terms),
        )

    def comparison(self) -> _Term:
        left = self.arithmetic()
        if self.token.kind not in _OPPOSITE:
            after = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
            if left.kind == "quotient" and not (self.token.kind == ")" and after.kind in _OPPOSITE):
                self.refuse(self.token, "A quotient that is not compared")
            return left
        operator = self.take().kind
        right = self.arithmetic()
        if self.token.kind in _OPPOSITE:
            self.refuse(self.token, "A comparison of a comparison")
        self.check_compared(left, right)
        never_null = operator in ("=", "!=") and "null" in (left.kind, right.kind)
        return _Condition(
            lambda: _compared(left, operator, right), lambda: _compared(left, _OPPOSITE[operator], right),
            never_null=never_null,
        )  # fmt: skip

    def check_compared(self, left: _Term, right: _Term) -> None:
        for term, other in ((left, right), (right, left)):
            if term.kind == "quotient" and not _NUMBER.match(other.value):
                self.refuse(self.token, "A quotient that is compared with anything but a number")

    def arithmetic(self) -> _Term:
        """Numbers here are binary: only with counts, which are whole numbers, is the result that of FEEL."""
        term = self.operand()
        while self.token.kind in _ARITHMETIC:
            operator = self.take()
            other = self.operand()
            if term.kind != "integer" or other.kind != "integer":
                what = _ARITHMETIC[operator.kind] + " of anything but counts of instances and whole numbers"
                self.refuse(operator, what)
            kind = "quotient" if operator.kind == "/" else "integer"
            term = _Term(f"({term.value} {operator.kind} {other.value})", kind)
        return term

    def operand(self) -> _Term:
        if self.taken("-"):
            token = self.token
            term = self.primary()
            if term.kind not in ("number", "integer"):
                self.refuse(token, "The negative of what is no number")
            return _Term(f"-{term.value}", term.kind)
        return self.steps(self.primary())

    def steps(self, term: _Term) -> _Term:
        while True:
            if self.taken("."):
                if term.kind:
                    self.refuse(self.token)
                term = _Term(f"{term.value}.{self.ascii(self.take('name'))}")
            elif self.token.kind == "[":
                term = self.indexed(term)
            else:
                return term

    def indexed(self, term: _Term) -> _Term:
        """FEEL counts from 1, and a single value is a list of one. Anything but a number is a filter, or unknown."""
        opening = self.take("[")
        minus = self.taken("-")
        number = self.token
        if not _INDEX.match(number.text) or self.tokens[self.at + 1].kind != "]":
            self.refuse(opening, "A filter, or an index that is no number,")
        self.at += 2
        index = -int(number.text) if minus else int(number.text) - 1
        alone = term.value if index in (0, -1) else "null"
        return _Term(f"fn.if(fn.type_of({term.value}) == 'array', {term.value}[{index}], {alone})")

    # ---- what stands alone -------------------------------------------------------------------------------------------

    def primary(self) -> _Term:
        token = self.take()
        if token.kind in ("true", "false", "null"):
            return _Term(token.text, "null" if token.kind == "null" else "boolean")
        if token.kind == "number":
            return self.number(token)
        if token.kind == "string":
            return _Term(self.text(token), "string")
        if token.kind == "name":
            return self.name(token)
        if token.kind == "not":
            return self.negation()
        if token.kind == "(":
            term = self.expression()
            self.take(")")
            return term
        if token.kind == "[":
            return self.list()
        if token.kind == "{":
            return self.context()
        self.refuse(token)

    def number(self, token: _Token) -> _Term:
        if len(token.text.replace(".", "").lstrip("0")) > _MOST_DIGITS or not token.text.isascii():
            self.refuse(token, f"A number of more than {_MOST_DIGITS} digits")
        value = f"0{token.text}" if token.text.startswith(".") else token.text
        return _Term(value, "number" if "." in value else "integer")

    def text(self, token: _Token) -> str:
        if "\\" in token.text:
            self.refuse(token, "A text with an escape (\\)")
        return token.text

    def name(self, token: _Token) -> _Term:
        if self.token.kind == "(":
            self.refuse(token, f"The function {token.text}(…)")
        words = [token.text]
        while self.token.kind == "name":
            words.append(self.take().text)
        if len(words) > 1:
            self.refuse(token, f"«{' '.join(words)}», a name of several words or a function,")
        name = self.ascii(token)
        self.names.add(name)
        value = f"context['{name}']" if name in _TAKEN else name
        return _Term(value, "integer" if name in _INTEGERS and self.token.kind not in (".", "[") else "")

    def ascii(self, token: _Token) -> str:
        if not token.text.isascii():
            self.refuse(token, f"The name «{token.text}», in which other letters stand than a to z,")
        return token.text

    def negation(self) -> _Term:
        self.take("(")
        term = self.expression()
        self.take(")")
        return _Condition(term.fails, term.holds)

    def list(self) -> _Term:
        items: list[str] = []
        while not self.taken("]"):
            if items:
                self.take(",")
            items.append(self.expression().value)
        return _Term(f"[{', '.join(items)}]", "array")

    def context(self) -> _Term:
        """Entries of a context may read those before them; here they cannot."""
        entries: dict[str, str] = {}
        outer, self.names = self.names, set()
        while not self.taken("}"):
            if entries:
                self.take(",")
            token = self.take()
            if token.kind not in ("name", "string"):
                self.refuse(token)
            key = self.text(token)[1:-1] if token.kind == "string" else token.text
            self.take(":")
            value = self.expression().value
            if key in entries or '"' in key or self.names & entries.keys():
                self.refuse(token, "A context whose entries read each other")
            entries[key] = value
        self.names |= outer
        return _Term("{" + ", ".join(f'"{key}": {value}' for key, value in entries.items()) + "}", "object")


# ---- comparisons -----------------------------------------------------------------------------------------------------


def _compared(left: _Term, operator: str, right: _Term) -> str:
    """When the comparison is true. Values of two kinds are neither the same nor different: it is null then."""
    if operator == "=":
        return f"{left.value} == {right.value}"
    text = f"{left.value} {operator} {right.value}"
    if operator != "!=" or "null" in (left.kind, right.kind):
        return text
    for term, other in ((left, right), (right, left)):
        if other.value in ("true", "false") and not term.kind:
            return f"{term.value} == {other.fails()} || {term.value} == null"
    either_null = [f"{term.value} == null" for term in (left, right) if not term.kind]
    plain = {left.kind, right.kind} <= {"", "string", "boolean", "array", "object"} and left.kind != right.kind
    same_kind = f"{_kind(left, plain=plain)} == {_kind(right, plain=plain)}"
    return f"{text} && ({' || '.join([*either_null, same_kind])})"


def _kind(term: _Term, *, plain: bool) -> str:
    """The kind as a text; where numbers may be compared, there is one kind of them."""
    if term.kind:
        return f"'{'integer' if term.kind in ('number', 'quotient') else term.kind}'"
    kind = f"fn.type_of({term.value})"
    return kind if plain else f"fn.replace({kind}, 'float', 'integer')"


def _grouped(text: str) -> str:
    return f"({text})" if " && " in text or " || " in text else text
