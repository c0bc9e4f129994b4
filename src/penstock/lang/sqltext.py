"""Reads the tokens of SQL: its parameters, and whether it is one statement that only reads (C-25).

It is no parser of SQL. It is exact where the two dialects differ in what is a text and what is a comment, because
writes hide there. The database refuses writes, too: this check tells the author before a run, and in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

DIALECTS = ("sqlite", "postgresql")
LONGEST = 100_000
NOT_READONLY, SYNTAX, INTERPOLATION = "SQL_NOT_READONLY", "SQL_SYNTAX", "sql_interpolation"

_BLANKS, _SPACE = " \t\n\r\f", re.compile(r"[ \t\n\r\f]+")
_WORD = re.compile(r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+(?:_\d+)*(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?")
_PARAM = re.compile(r":([A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)")
_DOLLAR = re.compile(r"\$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)?\$")
_LINE, _LINE_SQLITE, _BLOCK = re.compile(r"[^\n\r]*"), re.compile(r"[^\n]*"), re.compile(r"/\*|\*/")
_PLAIN, _ESCAPED = re.compile(r"'(?:[^']|'')*+'"), re.compile(r"'(?:[^'\\]|''|\\.)*+'", re.DOTALL)
_QUOTED = {'"': re.compile(r'"(?:[^"]|"")*"'), "`": re.compile(r"`(?:[^`]|``)*`"), "[": re.compile(r"\[[^\]]*\]")}
#: Words that make a statement write or lock, wherever they stand; a column of that name must be quoted.
_WRITES = frozenset("INTO UPDATE DELETE".split())
_LOCKS = frozenset("UPDATE SHARE KEY NO".split())
#: Functions that reach beyond the rows: files, sessions, other servers.
_FORBIDDEN_FUNCTIONS = re.compile(
    r"(?:set_config|load_extension|readfile|writefile|edit|fts3_tokenizer|lo_\w+|lowrite|loread|dblink\w*|nextval|setval"
    r"|pg_(?:read|ls|stat|write|file|logical|replication|create|drop|terminate|cancel|reload|rotate|switch|promote"
    r"|notify|advisory|try_advisory|sleep|import|export|backup|start|stop|current_logfile|log)\w*"
    r"|query_to_xml\w*|cursor_to_xml\w*|table_to_xml\w*|schema_to_xml\w*|database_to_xml\w*)\Z",
    re.IGNORECASE,
)


class SqlProblem(msgspec.Struct, frozen=True):
    """What is wrong with a statement, and at which character."""

    code: str
    message: str
    at: int = 0


class SqlToken(msgspec.Struct, frozen=True):
    """`kind` is word, number, text, name (quoted), param or sign. Space and comments are none."""

    kind: str
    text: str
    at: int


class Unreadable(ValueError):
    """SQL text that cannot be split into tokens."""

    def __init__(self, message: str, at: int) -> None:
        self.problem = SqlProblem(SYNTAX, message, at)
        super().__init__(message)


def check_statement(sql: str, dialect: str | None = None) -> list[SqlProblem]:
    """The reasons not to run a statement; none if it is one statement that only reads.

    Without a dialect (a document does not say which database it will meet) only what is wrong in both is reported.
    """
    if dialect is not None:
        return _check(sql, dialect)
    problems = [_check(sql, dialect) for dialect in DIALECTS]
    return problems[0] if all(problems) else []


def parameters(sql: str, dialect: str | None = None) -> list[str]:
    """The names after a colon, each once, in the order of the text; none of what cannot be read."""
    try:
        tokens = read_tokens(sql, dialect or DIALECTS[1])
    except Unreadable:
        return []
    return list(dict.fromkeys(token.text for token in tokens if token.kind == "param"))


def read_tokens(sql: str, dialect: str) -> list[SqlToken]:
    """The tokens of a text as the dialect sees them. Raises Unreadable."""
    assert dialect in DIALECTS, f"{dialect} is no dialect"
    if len(sql) > LONGEST:
        raise Unreadable(f"the statement is longer than {LONGEST} characters", LONGEST)
    return list(_cached_tokens(sql, dialect == "postgresql"))


@lru_cache(8)
def _cached_tokens(sql: str, postgres: bool) -> tuple[SqlToken, ...]:
    """The same statement is checked several times in a row."""
    return tuple(_tokens(sql, postgres))


def _tokens(sql: str, postgres: bool) -> Iterator[SqlToken]:
    at, before = 0, SqlToken("sign", "", 0)
    escaping = False  # the last text was E'…': PostgreSQL goes on with escapes in a text that continues it
    while at < len(sql):
        skipped = _skip(sql, at, postgres)
        if skipped > at:
            at = skipped
            continue
        token, end = _next_token(sql, at, postgres, before, escaping)
        if token.kind == "text":
            escaping = (escaping and before.kind == "text") or _is_escape(before, at, postgres)
        yield token
        at, before = end, token


def _skip(sql: str, at: int, postgres: bool) -> int:
    """The end of the space or the comment that begins here."""
    if sql[at] in _BLANKS:
        return _SPACE.match(sql, at).end()  # type: ignore[union-attr]
    if sql.startswith("--", at):
        return (_LINE if postgres else _LINE_SQLITE).match(sql, at).end()  # type: ignore[union-attr]
    if not sql.startswith("/*", at):
        return at
    depth, here = 1, at + 2
    for mark in _BLOCK.finditer(sql, here):
        if mark[0] == "*/":
            depth -= 1
        elif postgres:  # which nests comments
            depth += 1
        if depth == 0:
            return mark.end()
    raise Unreadable("a comment does not end", at)


def _is_escape(before: SqlToken, at: int, postgres: bool) -> bool:
    return postgres and before.kind == "word" and before.text in ("e", "E") and before.at + 1 == at


def _next_token(sql: str, at: int, postgres: bool, before: SqlToken, escaping: bool) -> tuple[SqlToken, int]:
    sign = sql[at]
    if sign == "'":
        escaped = _is_escape(before, at, postgres)
        match = (_ESCAPED if escaped else _PLAIN).match(sql, at)
        if match is None:
            raise Unreadable("a text does not end", at)
        if escaping and before.kind == "text" and "\\" in match[0]:
            raise Unreadable("a text with backslashes continues another one", at)
        return SqlToken("text", match[0], at), match.end()
    if sign == '"' or (sign in "`[" and not postgres):
        match = _QUOTED[sign].match(sql, at)
        if match is None:
            raise Unreadable("a quoted name does not end", at)
        if postgres and before.kind == "sign" and before.text == "&":
            raise Unreadable("names with escapes (U&) are not read", at)
        return SqlToken("name", match[0], at), match.end()
    for kind, pattern in (("word", _WORD), ("number", _NUMBER)):
        if match := pattern.match(sql, at):
            return SqlToken(kind, match[0], at), match.end()
    if sign == "$" and postgres and (match := _DOLLAR.match(sql, at)):
        end = sql.find(match[0], match.end())
        if end < 0:
            raise Unreadable("a text does not end", at)
        return SqlToken("text", sql[at : end + len(match[0])], at), end + len(match[0])
    return _sign_token(sql, at, postgres)


def _sign_token(sql: str, at: int, postgres: bool) -> tuple[SqlToken, int]:
    if sql.startswith("::", at):
        return SqlToken("sign", "::", at), at + 2
    if match := _PARAM.match(sql, at):
        return SqlToken("param", match[1], at), match.end()
    if sql[at] == "$" or (sql[at] in "?@#" and not postgres):
        raise Unreadable(f"«{sql[at]}» cannot stand here; a parameter is written :name", at)
    if not sql[at].isprintable():
        raise Unreadable("a control character cannot stand here", at)
    return SqlToken("sign", sql[at], at), at + 1


def _check(sql: str, dialect: str) -> list[SqlProblem]:
    if (at := sql.find("${")) >= 0:
        message = "${…} does not stand in SQL; write :name and give its value in params."
        return [SqlProblem(INTERPOLATION, message, at)]
    try:
        tokens = read_tokens(sql, dialect)
    except Unreadable as error:
        return [error.problem]
    if tokens and tokens[-1].text == ";":
        tokens.pop()
    first = next((token for token in tokens if token.text != "("), None)
    if first is None:
        return [SqlProblem(SYNTAX, "There is no statement.", 0)]
    problems = []
    if first.kind != "word" or first.text.upper() not in ("SELECT", "WITH"):
        message = f"A statement begins with SELECT or WITH, not with «{first.text[:40]}»."
        problems.append(SqlProblem(NOT_READONLY, message, first.at))
    problems += [problem for place in range(len(tokens)) if (problem := _write_problem(tokens, place))]
    return problems


def _write_problem(tokens: list[SqlToken], place: int) -> SqlProblem | None:
    token = tokens[place]
    before, after = tokens[place - 1].text if place else "", tokens[place + 1].text if place + 1 < len(tokens) else ""
    word = token.text.upper()
    if token.kind == "sign" and word == ";":
        return SqlProblem(NOT_READONLY, "There is more than one statement.", token.at)
    if token.kind == "word" and word in _WRITES and before != ".":
        return SqlProblem(NOT_READONLY, f"A statement may only read: «{token.text}» writes.", token.at)
    if token.kind == "word" and word == "FOR" and after.upper() in _LOCKS - _WRITES:
        return SqlProblem(NOT_READONLY, f"A statement may only read: «FOR {after}» locks rows.", token.at)
    if token.kind in ("word", "name") and after == "(" and _FORBIDDEN_FUNCTIONS.match(token.text.strip('"`[]')):
        return SqlProblem(NOT_READONLY, f"The function «{token.text[:60]}» reaches beyond the rows.", token.at)
    return None
