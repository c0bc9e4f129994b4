"""Checks of an installation and its store that change nothing."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

import penstock
from penstock.app.access.audit import AuditLog
from penstock.app.access.connection_limits import connection_limits, handles, total_of
from penstock.app.maintenance.tenant_limits import house_limits, limit_uses, nearly_full
from penstock.app.maintenance.verify import verify
from penstock.errors import AuditKeyUnreadable, PenstockError
from penstock.host.limits import LIMITS, Limits
from penstock.host.secrets import places_of
from penstock.host.tenants import StoredTenant
from penstock.store import schema
from penstock.store.address import Server, driver_of
from penstock.store.contract import Store

GIB = 1024**3
NEWEST = 500  # runs that a quick look folds again
REACH_S = 3.0
FEW_HANDLES = 256
_BEYOND = {"refused": "is refused", "fails": "fails", "waits": "waits", "pauses": "is paused", "warns": "is warned of"}
#: extra → a module that it brings
EXTRAS = {
    "aas": "basyx", "bi": "duckdb", "checkpoint": "cryptography", "decision": "jq", "documents": "openpyxl",
    "images": "PIL", "jinja": "jinja2", "mcp": "mcp", "mqtt": "aiomqtt", "notify": "aiosmtplib", "parquet": "duckdb",
    "postgresql": "psycopg", "redis": "redis", "reports": "vl_convert", "s3": "obstore", "script": "pydantic_monty",
    "server": "fastapi", "sqs": "boto3", "statistics": "scipy",
}  # fmt: skip
_PORTS = {"postgresql": 5432, "smtp": 25, "mqtt": 1883, "http": 80, "https": 443, "openai": 443}


class Check(msgspec.Struct, frozen=True):
    """`state` is ok, note (nothing is wrong, but somebody may want to know) or wrong."""

    name: str
    state: str
    says: str
    hint: str = ""


class DoctorOptions(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    store: Store
    settings: Mapping[str, Any]
    now: int
    all_runs: bool = False
    reach: bool = False
    port: int | None = None


def examine(asked: DoctorOptions) -> Iterator[Check]:
    """Run every check in turn; one that raises is reported as wrong."""
    for look in LOOKS:
        try:
            yield from look(asked)
        except (PenstockError, OSError, sqlite3.DatabaseError, msgspec.MsgspecError) as error:
            hint = error.hint if isinstance(error, PenstockError) else ""
            yield Check(look.__name__.strip("_"), "wrong", f"It could not be looked at: {error}", hint)


# ---- the machine -----------------------------------------------------------------------------------------------------


def _disk(asked: DoctorOptions) -> Iterator[Check]:
    folder = asked.path.parent
    free = shutil.disk_usage(folder if folder.exists() else Path()).free
    says = f"{free / GIB:.1f} GiB are free where the store is."
    state = "ok" if free >= GIB else "note" if free >= GIB // 10 else "wrong"
    yield Check("disk", state, says, "" if state == "ok" else "Make room before the store stops taking turns.")


def _clock(asked: DoctorOptions) -> Iterator[Check]:
    last = max((row.updated_at for row in asked.store.runs(limit=50)), default=0)
    ahead = last - asked.now
    if ahead > 60_000:
        hint = "Set the clock. Less than a day behind, a server goes on from that run's time; else timers would wait."
        yield Check("clock", "wrong", f"The newest run is {ahead // 1000} s ahead of this machine's clock.", hint)
    else:
        yield Check("clock", "ok", f"It is {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(asked.now / 1000))}.")


def _extras(asked: DoctorOptions) -> Iterator[Check]:
    absent = [name for name, module in EXTRAS.items() if find_spec(module) is None]
    there = [name for name in EXTRAS if name not in absent]
    yield Check("extras", "ok", f"Installed: {', '.join(there) or 'none'}.")
    if absent:
        hint = f"pip install 'penstock[{','.join(absent)}]' where a document needs one of them."
        yield Check("extras", "note", f"Not installed: {', '.join(absent)}.", hint)


def _console(asked: DoctorOptions) -> Iterator[Check]:
    built = (Path(penstock.__file__).parent / "api" / "console" / "index.html").is_file()
    if built:
        yield Check("console", "ok", "The console is built.")
    else:
        yield Check("console", "note", "The console is not built.", "python -m tools.console, in the checkout.")


def _port(asked: DoctorOptions) -> Iterator[Check]:
    if asked.port is None:
        return
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", asked.port))
        except OSError as error:
            hint = "Choose another one with --port, unless it is Penstock itself that has it."
            yield Check("port", "note", f"Port {asked.port} is taken: {error.strerror}.", hint)
        else:
            yield Check("port", "ok", f"Port {asked.port} is free.")


def _limits(asked: DoctorOptions) -> Iterator[Check]:
    """What a tenant may have at once, and who has nearly all of it."""
    limits = Limits(asked.settings)
    all_limits = ", ".join(f"{limit.name} {limits.of('')[limit.name]:,}" for limit in LIMITS)
    yield Check("limits", "ok", f"Of each tenant: {all_limits}.")
    for tenant in asked.store.tenants():
        for use in nearly_full(limit_uses(asked.store, asked.settings, tenant)):
            beyond = _BEYOND[use.beyond]
            says = f"Tenant {tenant} has {use.used:,} of {use.limit:,} {use.what}; what is beyond it {beyond}."
            hint = f"End or finish some, or raise tenants.{tenant}.limits.{use.name}."
            yield Check("limits", "wrong" if use.used == use.limit else "note", says, hint)


def _sizes(asked: DoctorOptions) -> Iterator[Check]:
    """What holds for the whole house: a body is read before it is known whose it is."""
    says = ", ".join(f"{limit.name} {limit.limit:,}" for limit in house_limits(asked.settings))
    yield Check("sizes", "ok", f"Of everybody: {says}.")


def _server(asked: DoctorOptions) -> Iterator[Check]:
    """What a server here would take."""
    limits, available = connection_limits(asked.settings), handles()
    says = (
        f"Connections: {limits.per_address} per address, {total_of(limits, available)} in all ({available} handles, "
        f"{limits.reserve} kept for the engine); head within {limits.header_s:g} s, body rests "
        f"{limits.body_idle_s:g} s and takes {limits.body_s:g} s at most, answers are read within "
        f"{limits.write_idle_s:g} s; kept open for "
        f"{limits.keep_alive_s:g} s and {limits.keep_alive_requests} requests."
    )
    few = available - limits.reserve < FEW_HANDLES
    hint = "Raise the limit of open files (ulimit -n, LimitNOFILE)." if few else ""
    yield Check("server", "note" if few else "ok", says, hint)
    proxies = ", ".join(limits.proxies) or "nobody"
    yield Check("server", "ok", f"X-Forwarded-For is believed of {proxies}.")


# ---- the store -------------------------------------------------------------------------------------------------------


def _store(asked: DoctorOptions) -> Iterator[Check]:
    kind = "PostgreSQL" if isinstance(asked.path, Server) else "SQLite"
    yield Check(
        "store", "ok", f"{kind}, schema {schema.VERSION}, {asked.store.size() / 1024**2:.1f} MiB, "
        f"profile {asked.store.profile() or 'not said'}.",
    )  # fmt: skip
    damage = list(asked.store.damage(quick=True))
    if damage:
        yield Check("store", "wrong", f"It is damaged: {damage[0]}", "Keep it as it is and restore a copy.")
    report = verify(asked.store, None if asked.all_runs else NEWEST)
    if report.violations:
        first = report.violations[0]
        says = f"{len(report.violations)} violations; the first: {first.check} {first.run} {first.detail}"
        yield Check("journal", "wrong", says, "penstock verify lists them all.")
    else:
        yield Check("journal", "ok", f"{report.runs} runs fold to what is saved of them, {report.facts} facts.")


def _driver(asked: DoctorOptions) -> Iterator[Check]:
    driver = driver_of(asked.path)
    if driver is not None:
        yield Check("driver", "ok", f"Process {driver or '?'} drives the store.")
    elif asked.store.unfinished():
        yield Check("driver", "note", "Runs could go on, and nobody drives them.", "penstock serve, or penstock work.")
    else:
        yield Check("driver", "ok", "Nobody drives the store, and nothing waits for it.")


def _audit(asked: DoctorOptions) -> Iterator[Check]:
    asked.store.audit_keys.use(asked.settings.get("audit.key_file"))
    audit = AuditLog(asked.store)
    tenants = audit.tenants()
    try:
        broken = [chain_break for name in tenants for chain_break in audit.verify(name)]
    except AuditKeyUnreadable as error:
        yield Check("audit", "wrong", str(error), error.hint)
        return
    if broken:
        says = f"The chain does not hold: {broken[0].tenant} {broken[0].no} {broken[0].why}"
        yield Check("audit", "wrong", says, "Keep the store as it is, and compare it with a copy.")
    else:
        yield Check("audit", "ok", f"The chain holds for {len(tenants)} tenants.")


# ---- what tenants have -----------------------------------------------------------------------------------------------


def _kept(asked: DoctorOptions, tenant: str) -> StoredTenant:
    return StoredTenant(tenant, asked.store, places_of(asked.settings), lambda: asked.now)


def _secrets(asked: DoctorOptions) -> Iterator[Check]:
    count, plain = 0, 0
    for tenant in asked.store.tenants():
        kept = _kept(asked, tenant)
        for name, body in kept.each("secret").items():
            count, plain = count + 1, plain + ("value" in body)
            try:
                value = kept.secret(name)
            except PenstockError as error:
                yield Check("secrets", "wrong", f"{tenant}: {error}", error.hint)
                continue
            if value is None:
                where = f" at {body['ref']}" if "ref" in body else ""
                hint = "Set what it refers to, or give the secret anew."
                yield Check("secrets", "wrong", f"{tenant}: nothing is found for «{name}»{where}.", hint)
    if plain:
        hint = "Give them again, with penstock[checkpoint] installed: they are encrypted then."
        yield Check("secrets", "note", f"{plain} secrets are kept as they were given.", hint)
    yield Check("secrets", "ok", f"{count} secrets were looked for.")
    yield from _key_files(asked)


def _key_files(asked: DoctorOptions) -> Iterator[Check]:
    for word in ("secret-key", "session-key", "checkpoint-key", "audit-key"):
        file = asked.path.with_name(f"{asked.path.name}.{word}")
        if file.is_file() and stat.S_IMODE(file.stat().st_mode) & 0o077:
            yield Check("secrets", "wrong", f"Others can read {file}.", f"chmod 600 {file}")


def _connections(asked: DoctorOptions) -> Iterator[Check]:
    if not asked.reach:
        return
    for tenant in asked.store.tenants():
        for name, body in _kept(asked, tenant).each("connection").items():
            at = _address(body)
            if at is None:
                continue
            try:
                with closing(socket.create_connection(at, REACH_S)):
                    yield Check("connections", "ok", f"{tenant}: «{name}» answers at {at[0]}:{at[1]}.")
            except OSError as error:
                says = f"{tenant}: «{name}» does not answer at {at[0]}:{at[1]} ({type(error).__name__})."
                yield Check("connections", "wrong", says, "Is it running, and may this machine reach it?")


def _address(body: Mapping[str, Any]) -> tuple[str, int] | None:
    """The host and port that a connection leads to, if it has them."""
    kind = str(body.get("type", ""))
    url = next((str(body[word]) for word in ("base_url", "url", "dsn") if isinstance(body.get(word), str)), "")
    if url:
        try:
            parts = urlsplit(url)
            port = parts.port or _PORTS.get(parts.scheme, _PORTS.get(kind, 0))
        except ValueError:
            return None
        return (parts.hostname, port) if parts.hostname and port else None
    host = body.get("host")
    return (str(host), int(body.get("port") or _PORTS.get(kind, 0))) if host and kind in _PORTS else None


LOOKS: tuple[Callable[[DoctorOptions], Iterator[Check]], ...] = (
    _store, _driver, _audit, _disk, _clock, _secrets, _connections, _limits, _sizes, _server, _extras, _console, _port,
)  # fmt: skip
