"""A connection to a PostgreSQL server: how it is made, what its errors mean here, how arrays are packed for it."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

import psycopg
from psycopg import pq
from psycopg.abc import RV, Buffer, PQGen
from psycopg.adapt import Dumper
from psycopg.types.numeric import Int8BinaryDumper

from penstock.errors import BadInput, Fenced, StoreAway, StoreBusy, StoreDenied, StoreError, StoreFull

#: RELIABILITY g.2: nobody waits for ever, and a server that has lost its client notices
SETTINGS = (
    "SET statement_timeout='30s'; SET lock_timeout='3s'; SET idle_in_transaction_session_timeout='10s';"
    " SET tcp_keepalives_idle=10; SET tcp_keepalives_interval=5; SET tcp_keepalives_count=3;"
    " SET client_connection_check_interval='1s'; SET jit=off"
)
#: a reader may ask for as long as the server works on a statement; an engine holds up everybody who waits for it
READER_S, ENGINE_S = 35.0, 15.0
#: what the engine writes is a few hundred look-ups by key, planned once while the tables are still empty: never a scan
BY_KEY = "SET enable_seqscan=off; SET enable_hashjoin=off; SET enable_mergejoin=off"
#: no text of the server holds the character 0; what people read instead is the picture of it
NUL, PICTURE = "\0", "\N{SYMBOL FOR NULL}"

_AWAY = ("08", "57P", "53", "58", "40003", "57014", "25006")
_BUSY = ("55P03", "40P01", "40001")
_DENIED = ("28", "3D", "42501", "3F")
#: a connection that cannot be made has no SQLSTATE; libpq gives the server's words
_DENIED_WORDS = (
    "password", "authentication", "does not exist", "pg_hba", "permission denied", "not permitted", "no encryption",
)  # fmt: skip


class Closable(Protocol):
    def close(self) -> None: ...


class ServerAddress(Protocol):
    """Where a server is; as text it is without the password."""

    conninfo: dict[str, str]

    def beside(self, what: str) -> Path:
        """A file that belongs to it, on this machine."""
        ...


class TextDumper(Dumper):
    format, oid = pq.Format.BINARY, 25

    def dump(self, obj: str) -> Buffer:
        return obj.replace(NUL, PICTURE).encode()


class Numbers(list[int]):
    """Many numbers as one parameter."""


class NumbersDumper(Dumper):
    format, oid = pq.Format.BINARY, 1016

    def dump(self, obj: Numbers) -> Buffer:
        return _numbers(obj)


class Patient(psycopg.Connection[tuple[Any, ...]]):
    """R5: a connection that is half open may take what is sent and never answer. Whoever hears nothing for so long
    gives it up; None where a statement may take as long as it likes."""

    patience_s: float | None = None

    def wait(self, gen: PQGen[RV], *how: Any, **more: Any) -> RV:
        return super().wait(self._watched(gen), *how, **more)

    def _watched(self, gen: PQGen[RV]) -> PQGen[RV]:
        heard = time.monotonic()
        try:
            wants = next(gen)
            while True:
                ready = yield wants
                now = time.monotonic()
                if ready:
                    heard = now
                elif self.patience_s is not None and now - heard > self.patience_s:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"it has not answered for {self.patience_s:g} s")
                wants = gen.send(ready)
        except StopIteration as ended:
            result: RV = ended.value
            return result


def connect(server: ServerAddress, patience_s: float = READER_S) -> Patient:
    asked: dict[str, Any] = {
        "connect_timeout": "5", "application_name": "penstock", "keepalives_idle": "10", "keepalives_interval": "5",
        "keepalives_count": "3", "tcp_user_timeout": "15000", **server.conninfo, "client_encoding": "utf8",
    }  # fmt: skip
    try:
        c = Patient.connect(**asked, autocommit=True)
    except psycopg.ProgrammingError as error:
        why = _without(str(error), server)
        raise BadInput(what="the address of the store", why=why.strip().splitlines()[0]) from None
    except psycopg.Error as error:
        _raise_unreachable(error, server)
    with closed_on_failure(c, server):
        encoding = (c.pgconn.parameter_status(b"server_encoding") or b"").decode()
        if encoding != "UTF8":
            raise StoreError(why=f"{server}: its encoding is {encoding}, not UTF8")
        c.patience_s = _patience(server.conninfo.get("tcp_user_timeout"), patience_s)
        c.execute(SETTINGS)
    c.adapters.register_dumper(int, Int8BinaryDumper)
    c.adapters.register_dumper(str, TextDumper)
    c.adapters.register_dumper(Numbers, NumbersDumper)
    return c


def _patience(setting: str | None, usual_s: float) -> float | None:
    """What an address says of the network below (`tcp_user_timeout`, in ms, 0 for ever) holds for answers, too."""
    if setting is None or not setting.isdecimal():
        return usual_s
    return int(setting) / 1000 or None


def _raise_unreachable(error: psycopg.Error, server: ServerAddress) -> NoReturn:
    message = _without(str(error), server)
    lines = [line.strip() for line in message.splitlines() if line.strip()] or ["it does not answer"]
    why = f"{server}: {lines[0].removeprefix('connection failed: ')}"
    if any(word in message for word in _DENIED_WORDS):
        raise StoreDenied(why=why) from None
    hint = "Is the server running, and is it reached from here? Nothing that was acknowledged is lost."
    raise StoreAway(why=why, hint=hint) from None


def _without(message: str, server: ServerAddress) -> str:
    secret = server.conninfo.get("password")
    return message.replace(secret, "…") if secret else message


def lost(error: psycopg.Error, c: psycopg.Connection[Any]) -> bool:
    """Is it the connection that failed, so that nobody knows what has become of what was asked?"""
    return c.closed or (error.sqlstate or "").startswith(("08", "57P"))


@contextlib.contextmanager
def closed_on_failure(opened: Closable, server: ServerAddress) -> Iterator[None]:
    """What was opened is closed again when the rest of opening it fails; errors are in our words."""
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(opened.close)
        try:
            yield
        except psycopg.Error as error:
            raise_for(error, server)
        on_failure.pop_all()


def raise_for(error: psycopg.Error, server: ServerAddress) -> NoReturn:
    """The server's many words, in ours."""
    code = error.sqlstate or ""
    message = _without(str(error).strip(), server).partition("\n")[0]
    if code == "53100":
        raise StoreFull from error
    if code in _BUSY:
        raise StoreBusy from error
    if code == "23505":
        raise Fenced from error  # somebody else has written this turn, or this run
    if code.startswith(_AWAY) or (not code and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)):
        raise StoreAway(why=f"{server}: {message}{f' ({code})' if code else ''}") from error
    if code.startswith(_DENIED):
        raise StoreDenied(why=f"{server}: {message} ({code})") from error
    raise StoreError(why=f"{server}: {message} ({code or 'psycopg'})") from error


# ---- arrays ----------------------------------------------------------------------------------------------------------

_LENGTH = struct.Struct(">i").pack
_NULL = _LENGTH(-1)
_NUMBER = struct.Struct(">iq").pack


def _numbers(values: Sequence[int | None]) -> bytes:
    n = len(values)
    if None in values:
        head = struct.pack(">iiIii", 1, 1, 20, n, 1)
        return head + b"".join([_NULL if v is None else _NUMBER(8, v) for v in values])
    flat: list[Any] = [8] * (2 * n)
    flat[1::2] = values
    return struct.pack(">iiIii" + "iq" * n, 1, 0, 20, n, 1, *flat)


def _texts(values: Sequence[str | None]) -> bytes:
    return _strings([None if v is None else v.encode() for v in values], 25, NUL.encode(), PICTURE.encode())


def _blobs(values: Sequence[Any]) -> bytes:
    return _strings(values, 17)


def _strings(values: Sequence[Any], oid: int, forbidden: bytes = b"", instead: bytes = b"") -> bytes:
    parts = [struct.pack(">iiIii", 1, 1 if None in values else 0, oid, len(values), 1)]
    for value in values:
        if value is None:
            parts.append(_NULL)
            continue
        if forbidden and forbidden in value:
            value = value.replace(forbidden, instead)
        parts += (_LENGTH(len(value)), value)
    return b"".join(parts)


#: by the type of a column in `tables.py`: how its array is packed, and what the server calls it
ARRAYS: dict[str, tuple[Callable[[Sequence[Any]], bytes], str]] = {
    "int": (_numbers, "bigint[]"),
    "text": (_texts, "text[]"),
    "blob": (_blobs, "bytea[]"),
}
