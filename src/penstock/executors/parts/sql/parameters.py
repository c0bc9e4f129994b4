"""A statement with values: names become the driver's placeholders, and values never become text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.lang.sqltext import SqlToken, Unreadable, check_statement, read_tokens

MAX_VALUES = 10_000


class BadStatement(ValueError):
    """A statement that is not run; `code` and the text say why."""

    def __init__(self, code: str, why: str) -> None:
        self.code = code
        super().__init__(why)


class BoundStatement(msgspec.Struct, frozen=True):
    """What the driver gets, and the names whose value is null."""

    text: str
    values: tuple[Any, ...]
    nulls: tuple[str, ...] = ()


def bind_parameters(sql: Any, params: Any, dialect: str) -> BoundStatement:
    """The statement, checked and ready for the driver. Raises BadStatement."""
    if not isinstance(sql, str):
        raise BadStatement("INPUT_INVALID", "«query» must be a text.")
    if params is not None and not isinstance(params, Mapping):
        raise BadStatement("INPUT_INVALID", "«params» must be an object.")
    problems = check_statement(sql, dialect)
    if problems:
        raise BadStatement(problems[0].code, f"{problems[0].message} (at character {problems[0].at})")
    try:
        return _Binding(sql, params or {}, dialect).bind()
    except Unreadable as error:
        raise BadStatement(error.problem.code, str(error)) from None


class _Binding:
    def __init__(self, sql: str, params: Mapping[str, Any], dialect: str) -> None:
        self.sql, self.params, self.dialect = sql, params, dialect
        self.tokens = read_tokens(sql, dialect)
        self.parts: list[str] = []
        self.values: list[Any] = []
        self.nulls: list[str] = []
        self.done = 0  # up to here the text is taken

    def bind(self) -> BoundStatement:
        names = list(dict.fromkeys(token.text for token in self.tokens if token.kind == "param"))
        missing = [name for name in names if name not in self.params]
        if missing:
            listed = ", ".join(f":{name}" for name in missing)
            raise BadStatement("SQL_PARAMETER_MISSING", f"The statement asks for {listed}, which params does not have.")
        for place, token in enumerate(self.tokens):
            if token.kind == "param":
                self._put(place, token)
        self._text(len(self.sql))
        if len(self.values) > MAX_VALUES:
            raise BadStatement("SQL_PARAMETERS", f"The statement has more than {MAX_VALUES} values.")
        self.nulls = [name for name in names if self.params[name] is None]
        return BoundStatement("".join(self.parts), tuple(self.values), tuple(self.nulls))

    def _put(self, place: int, token: SqlToken) -> None:
        value, mark = self.params[token.text], "?" if self.dialect == "sqlite" else "%s"
        if not isinstance(value, list | tuple):
            self._text(token.at)
            self.parts.append(mark)
            self.values.append(_scalar(value, token.text))
        elif value:
            self._text(token.at)
            self.parts.append(", ".join([mark] * len(value)))
            self.values += [_scalar(item, token.text, inside=True) for item in value]
        else:
            self._empty(place, token)
        self.done = token.at + 1 + len(token.text)

    def _empty(self, place: int, token: SqlToken) -> None:
        """An empty list: nothing is in it, and everything is not in it. PostgreSQL knows no `IN ()`."""
        around = [near.text.upper() for near in self.tokens[max(0, place - 3) : place + 2]]
        negated = around[0] == "NOT"
        if around[-4:-2] != ["IN", "("] or around[-1] != ")":
            raise BadStatement("SQL_PARAMETERS", f"An empty list (:{token.text}) can stand only in IN (:{token.text}).")
        if self.dialect == "sqlite":
            return self._text(token.at)
        start = self.tokens[place - 3 if negated else place - 2].at
        self._text(start)
        self.parts.append("<> ALL (%s" if negated else "= ANY (%s")
        self.values.append([])
        return None

    def _text(self, end: int) -> None:
        text = self.sql[self.done : end]
        self.parts.append(text if self.dialect == "sqlite" else text.replace("%", "%%"))
        self.done = end


def _scalar(value: Any, name: str, inside: bool = False) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        raise BadStatement("SQL_PARAMETERS", f"The value of :{name} needs more than 64 bits.")
    if isinstance(value, str) and "\0" in value:
        raise BadStatement("SQL_PARAMETERS", f"The value of :{name} holds a NUL character.")
    if value is None or isinstance(value, str | int | float | bool | bytes):
        return value
    if inside and isinstance(value, list | tuple):
        raise BadStatement("SQL_PARAMETERS", f"The list :{name} holds a list.")
    return msgspec.json.encode(value).decode()
