"""The audit log: who changed what, in one hash chain per tenant, so that later tampering shows."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from penstock.executors.parts.secrets import MASK
from penstock.host.clock import Clock, SystemClock
from penstock.store.audit_chain import FIRST, PRUNED, AuditRow, anchor_of, hash_of, key_id_of
from penstock.store.contract import Store

#: C-29, and what else is nobody's business
_SECRET = re.compile(
    r"(^|_)(password|passwd|passphrase|passcode|pwd|secret|token|cookie|authorization|api_?key|(private|routing|access"
    r"|account|signing|encryption|shared|master)_?key|webhook_?url|credentials?|connection_?string)_?\d*$|_auth$"
)
#: among the headers of a request
_HEADER = re.compile(r"auth|token|secret|cookie|session|signature|password|credential|(^|_)(api_?)?key$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: what begins NAME= keeps its name; of an address the part before @ goes, whatever letters its password has
_LOOKS = re.compile(
    r"(?i)\bps_[0-9a-f]{16}_[A-Za-z0-9_-]{20,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+|\b(?:bearer|basic)\s+[\w.~+/=-]{8,}"
    r"|(?<=://)[^/\s@:]{0,200}:(?!\d{1,5}/)[^\s\"'<>]{0,300}(?=@)|(?<=://)[^/\s@]{1,300}(?=@)"
    r"|(?<![a-z])(?P<name>(?:[a-z]+[_-])?(?:password|passwd|pwd|secret|token|account_?key|access_?key|api[_-]?key)"
    r"\s?=\s?)(?![=\s]|\$\{)(?:\"[^\"]*\"|'[^']*'|[^;&\s]+)"
)
_LONGEST = 16_384  # bytes of a body; what is longer is cut, and says so
_WORDS = 500  # characters of the other columns
_LOOKED = 4096  # values of a body that are looked at: it has room for no more of them, and looking takes its time
PAGE = 250  # rows that are verified before others have their turn: 16 KiB each at most, some 10 µs
_EDGE = 1000  # characters at the end of a text that was cut, for a secret may begin there


class AuditEntry(msgspec.Struct, frozen=True):
    no: int
    at: int
    actor: str
    action: str
    target: str
    body: Any
    hash: str


class ChainBreak(msgspec.Struct, frozen=True):
    """Where a chain does not hold: the first number that is concerned, and why."""

    tenant: str
    no: int
    why: str


class ChainHead(msgspec.Struct, frozen=True):
    """The end of a chain. Noted elsewhere, it shows later whether the end was cut off or made anew."""

    tenant: str
    no: int
    hash: str
    at: int | None = None


class AuditLog:
    def __init__(self, store: Store, clock: Clock | None = None) -> None:
        self.store, self.clock = store, clock or SystemClock()
        self._waiting: list[tuple[AuditRow, asyncio.Future[AuditRow]]] = []
        self._alone = asyncio.Lock()

    def record(self, tenant: str, actor: str, action: str, target: str, body: Any = None) -> AuditEntry:
        """Append an entry in its own commit, with secrets masked; the value of a thing called secret:… is one."""
        (row,) = self.store.append_audit([self.row(tenant, actor, action, target, body)])
        return _entry(row)

    async def recorded(self, tenant: str, actor: str, action: str, target: str, body: Any = None) -> AuditEntry:
        """Append an entry in a server: those of one round of the event loop share a commit. It is kept on return."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[AuditRow] = loop.create_future()
        self._waiting.append((self.row(tenant, actor, action, target, body), future))
        if len(self._waiting) == 1:
            loop.call_soon(self._write)
        return _entry(await future)

    def _write(self) -> None:
        waiting, self._waiting = sorted(self._waiting, key=lambda entry: entry[0].tenant), []  # as they come back
        try:
            rows = self.store.append_audit([row for row, _ in waiting])
        except Exception as error:  # whatever it is, whoever waits hears of it
            for _, future in waiting:
                if not future.done():
                    future.set_exception(error)
            return
        for row, (_, future) in zip(rows, waiting, strict=True):
            if not future.done():
                future.set_result(row)

    def row(self, tenant: str, actor: str, action: str, target: str, body: Any = None) -> AuditRow:
        """An entry for a commit that writes something else with it."""
        left = [_LOOKED]
        begins = masked(_some_of(body, left), of_secret=target.startswith("secret:"))
        kept = _bytes(begins if left[0] >= 0 else {"cut": f"after {_LOOKED} values", "begins": begins})
        return AuditRow(tenant, 0, self.clock.now(), _text(actor), _text(action), _text(target), kept)

    def each(
        self, tenant: str, *, before: int | None = None, limit: int = 100, actor: str | None = None,
        action: str | None = None, target: str | None = None,
    ) -> list[AuditEntry]:  # fmt: skip
        """The rows before a number, newest first."""
        rows = self.store.audit(tenant, before=before, limit=limit, actor=actor, action=action, target=target)
        return [_entry(row) for row in rows]

    def tenants(self) -> list[str]:
        return self.store.audit_tenants()

    def head(self, tenant: str) -> ChainHead:
        last = self.store.audit(tenant, limit=1)
        return ChainHead(tenant, last[0].no, last[0].hash, last[0].at) if last else ChainHead(tenant, 0, FIRST)

    def verify(self, tenant: str, noted: ChainHead | None = None) -> list[ChainBreak]:
        """Every break in the chain; none when no row was changed, removed or inserted. A beginning that was pruned when
        it was old enough is no break: its last hash is in the chain. `noted`: a head that was exported before, which
        must be in the chain still. Raises AuditKeyUnreadable."""
        breaks: list[ChainBreak] = []
        for _ in self._verifying(tenant, noted, breaks):
            pass
        return breaks

    async def verified(self, tenant: str, noted: ChainHead | None = None) -> list[ChainBreak]:
        """The same in a server: others have their turn after every page, and one chain is verified at a time."""
        breaks: list[ChainBreak] = []
        async with self._alone:
            for _ in self._verifying(tenant, noted, breaks):
                await asyncio.sleep(0)
        return breaks

    def _verifying(self, tenant: str, noted: ChainHead | None, breaks: list[ChainBreak]) -> Iterator[None]:
        (last, prev), missing = self._begins(tenant), ""
        while rows := self.store.audit_chain(tenant, after=last, limit=PAGE):
            for row in rows:
                why = _misplaced(row, prev, last + 1) or self._unsealed(row)
                key = _missing_key(why)
                if why and not (key and key == missing):  # a key that is not there is said once
                    breaks.append(ChainBreak(tenant, row.no if row.no == last + 1 else last + 1, why))
                missing = key
                prev, last = row.hash, row.no
            yield
        given = self.store.audit_last(tenant)
        if given != last:
            why = f"rows up to {given} were written, and the last one is {last}"
            breaks.append(ChainBreak(tenant, min(last, given) + 1, why))
        if noted is not None:
            breaks += self._since(noted)

    def _since(self, noted: ChainHead) -> list[ChainBreak]:
        """Whether a head that was noted is still in the chain; of one that was pruned meanwhile nobody knows."""
        begins = self._begins(noted.tenant)
        if noted.no <= begins[0]:
            fits = noted.no < begins[0] or noted.hash == begins[1]
        else:
            rows = self.store.audit_chain(noted.tenant, after=noted.no - 1, limit=1)
            fits = bool(rows) and (rows[0].no, rows[0].hash) == (noted.no, noted.hash)
        why = "it is not the row that was the head when that was noted"
        return [] if fits else [ChainBreak(noted.tenant, noted.no, why)]

    def _begins(self, tenant: str) -> tuple[int, str]:
        """Number and hash of the row before the first. Where old rows were pruned, the chain itself says which; what is
        said is believed only if the first row fits, and is verified with all others."""
        first = self.store.audit_chain(tenant, limit=1)
        if not first or first[0].no == 1:
            return 0, FIRST
        pruned = self.store.audit(tenant, action=PRUNED, limit=1)
        anchor = anchor_of(pruned[0]) if pruned else None
        return anchor if anchor == (first[0].no - 1, first[0].prev) else (0, FIRST)

    def _unsealed(self, row: AuditRow) -> str:
        """Why a row is not what was written; empty where its seal holds."""
        keys, id = self.store.audit_keys, key_id_of(row.hash)
        end = keys.unsealed(row.tenant)
        if id is None:
            if end is not None and row.no > end[0]:
                return "it has no seal of the audit key, as every row of its time has"
            if end is not None and row.no == end[0] and row.hash != end[1]:
                return "it is not the row that was there when the audit got its key"
            return "" if row.hash == hash_of(row.prev, row) else CHANGED
        key = keys.find(id)
        if key is None:
            return f"{_NO_KEY} «{id}», which is not in {keys.path}: put that file back from a copy"
        return "" if hmac.compare_digest(row.hash, hash_of(row.prev, row, key)) else CHANGED


#: what is said of a row that somebody has changed
CHANGED = "it is not what was written"
_NO_KEY = "it was sealed with the key"


def _missing_key(why: str) -> str:
    return why if why.startswith(_NO_KEY) else ""


def _misplaced(row: AuditRow, prev: str, expected: int) -> str:
    if row.no != expected:
        return f"rows {expected} to {row.no - 1} are missing"
    return "" if row.prev == prev else "it does not follow the row before"


def masked(value: Any, *, of_secret: bool = False) -> Any:
    """The value with its secrets masked, recognised by their names and by their form."""
    return _masked(value, of_secret, headers=False)


def _masked(value: Any, of_secret: bool, *, headers: bool) -> Any:
    if isinstance(value, Mapping):
        return {_text(str(name)): _member(str(name), part, of_secret, headers) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(part, of_secret, headers=headers) for part in value]
    return _LOOKS.sub(_mask, value) if isinstance(value, str) else value


def _member(name: str, part: Any, of_secret: bool, headers: bool) -> Any:
    words = words_of(name)
    if _hidden(words, part, of_secret, headers):
        return MASK
    return _masked(part, of_secret, headers=words.endswith("headers"))


def _mask(match: re.Match[str]) -> str:
    return f"{match['name'] or ''}{MASK}"


def words_of(name: str) -> str:
    """A name in snake case: clientSecret, Client-Secret and client.secret become client_secret."""
    return _CAMEL.sub("_", name).lower().replace("-", "_").replace(".", "_")


def _hidden(name: str, part: Any, of_secret: bool, headers: bool) -> bool:
    """Whether a member must be masked. A reference to a secret, a number and a list of names need not be."""
    if not isinstance(part, str) or not part:
        return False
    secret = bool(_SECRET.search(name)) or headers and bool(_HEADER.search(name))
    return secret and not part.startswith("${secrets.") or of_secret and name == "value"


def _cut(text: str) -> str:
    """The beginning of a long text, masked before it is cut: half a secret does not look like one."""
    return f"{_LOOKS.sub(_mask, text[: 2 * _LONGEST])[:-_EDGE]}…"


def _some_of(value: Any, left: list[int]) -> Any:
    """The first `left` values in their order, with long texts cut; `left` ends below zero where there were more."""
    left[0] -= 1
    if isinstance(value, str):
        return value if len(value) <= 2 * _LONGEST else _cut(value)
    if isinstance(value, Mapping):
        members: dict[Any, Any] = {}
        for name, part in value.items():
            if left[0] <= 0:
                left[0] = -1
                break
            members[name] = _some_of(part, left)
        return members
    if isinstance(value, list | tuple | set | frozenset):
        some = []
        for part in value:
            if left[0] <= 0:
                left[0] = -1
                break
            some.append(_some_of(part, left))
        return some
    return value


def _bytes(body: Any) -> bytes:
    """Canonical JSON: equal bodies have equal bytes."""
    try:
        encoded = msgspec.json.encode(body, order="deterministic", enc_hook=str)
    except (TypeError, ValueError, RecursionError) as error:
        encoded = msgspec.json.encode({"unreadable": _text(str(error))})
    if len(encoded) <= _LONGEST:
        return encoded
    return msgspec.json.encode({"cut": len(encoded), "begins": encoded[: _LONGEST // 2].decode("utf-8", "replace")})


def _text(text: str) -> str:
    """A text that every database can store."""
    return text[:_WORDS].replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _entry(row: AuditRow) -> AuditEntry:
    return AuditEntry(row.no, row.at, row.actor, row.action, row.target, _body(row.body), row.hash)


def _body(body: bytes) -> Any:
    """The decoded body; one that was tampered with is still shown."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body.decode("utf-8", "replace")
