"""Where a store is: a SQLite file, or a database of a PostgreSQL server; and opening either."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.errors import BadInput, ExtraMissing

if TYPE_CHECKING:
    from penstock.store.contract import Store
    from penstock.store.postgres.store import Postgres

DEFAULT_STORE = ".penstock/penstock.db"
#: whose runs they are unless somebody says otherwise: the sample tenant of C-81
DEFAULT_TENANT = "tenant_001"
#: what lies beside a store (settings, outputs, keys) lies here when the store is on a server
HOME = Path(".penstock")
#: what a path makes of «://»
_SERVER = re.compile(r"postgres(?:ql)?:/{1,2}")
_FORM = "It has the form postgresql://user@host:port/database; in a password, write @ / ? # % as %40 %2F %3F %23 %25."


class Server(PosixPath):
    """The address of a database, wherever a file could be named. It is shown without its password, always."""

    conninfo: dict[str, str]
    shown: str

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"Server({self.shown!r})"

    def __fspath__(self) -> str:
        return self.shown

    @property
    def parent(self) -> Path:  # type: ignore[override]
        return HOME

    def with_name(self, name: str) -> Path:  # type: ignore[override]
        return HOME / name.replace("/", "_")

    def beside(self, what: str) -> Path:
        """A file that belongs to it, on this machine."""
        return self.with_name(f"{self.name}.{what}")

    def exists(self, *args: Any, **more: Any) -> bool:
        """Is there a store in it? Raises StoreAway, StoreDenied when nobody can know."""
        return _postgres().there(self)

    def driver(self) -> str | None:
        return _postgres().driver(self)


def place(store: str | Path) -> Path:
    """What --store says: a file, or a server. Raises BadInput for an address that is none."""
    if isinstance(store, Server):
        return store
    text = str(store)
    begins = _SERVER.match(text)
    if begins is None:
        return Path(store)
    rest = text[begins.end() :]
    if not begins.group().endswith("//") and "/" not in rest:
        rest = f"/{rest}"  # a path has made postgresql:/base of postgresql:///base
    return _server(rest)


def _server(rest: str) -> Server:
    """Read by hand and not by libpq, whose complaints quote what they do not understand: it may be the password."""
    try:
        parts = urlsplit(f"postgresql://{rest}", allow_fragments=False)
        host, port = parts.hostname or "", parts.port
        asked = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query), errors="strict"))
    except ValueError:
        raise _bad("it cannot be understood") from None
    user, password, base = unquote(parts.username or ""), unquote(parts.password or ""), unquote(parts.path[1:])
    if "@" in host or "/" in base or "\0" in rest:
        raise _bad("it cannot be understood")
    named = {"host": host, "port": str(port or ""), "user": user, "password": password, "dbname": base}
    conninfo = {**asked, **{name: value for name, value in named.items() if value}}
    at = f"{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"
    shown = f"postgresql://{f'{user}@' if user else ''}{at}/{base}"
    server = Server(shown)
    server.conninfo, server.shown = conninfo, shown
    return server


def _bad(why: str) -> BadInput:
    return BadInput(what="the address of the store", why=why, hint=_FORM)


def _postgres() -> type[Postgres]:
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise ExtraMissing(extra="postgresql") from error
    from penstock.store.postgres.store import Postgres

    return Postgres


def open_store(store: str | Path, *, engine: bool = True, grow_mb: int = 0, create: bool = True) -> Store:
    """`engine=True` takes the store for driving: one process at a time. `create=False` makes none where there is
    none."""
    where = place(store)
    if isinstance(where, Server):
        return _postgres()(where, engine=engine, create=create)
    from penstock.store.sqlite import Sqlite

    return Sqlite(where, engine=engine, grow_mb=grow_mb, create=create)


def driver_of(store: Path) -> str | None:
    """The process id of whoever drives a store ("" where it cannot be read); None when nobody does."""
    if isinstance(store, Server):
        return store.driver()
    try:
        lock = os.open(f"{store}.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(lock, 20, 0).decode("ascii", "replace").strip()
    finally:
        os.close(lock)  # and with it what was locked
    return None
