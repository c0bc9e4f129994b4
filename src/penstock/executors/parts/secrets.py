"""Secrets: references become values at the last moment, and values never get out again.

A reference is `${secrets.NAME}` in the author's text; where the kernel has evaluated that text, it is the name inside
the run's own mark, which nobody outside can write. It is filled here, just before the call; only the reference is
ever stored. What comes back (answers, errors) is scrubbed of every value that was filled, in the spellings in which a
receiver might echo it.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

REFERENCE = re.compile(r"\$\{secrets\.([A-Za-z_][A-Za-z0-9_.-]*)\}")
MASK = "***"
_SHORTEST = 4  # a shorter text is no secret, and masking it would eat innocent words
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_USERINFO = re.compile(r"(?<=://)[^/\s@]+@")

Source = Mapping[str, str] | Callable[[str], str | None] | None


class SecretMissing(LookupError):
    """A document refers to a secret that nobody has given."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"There is no secret «{name}».")


class Secrets:
    """The secrets of one attempt. It remembers what it has handed out, so that it can take it back."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._used: set[str] = set()
        if isinstance(source, Mapping):
            self._used.update(str(value) for value in source.values())

    def get(self, name: str) -> str:
        source = self._source
        value = source.get(name) if isinstance(source, Mapping) else source(name) if source is not None else None
        if value is None:
            raise SecretMissing(name)
        self._used.add(value)
        return value

    def fill(self, text: str) -> str:
        return REFERENCE.sub(lambda match: self.get(match[1]), text) if "${secrets." in text else text

    def fill_marked(self, value: Any, mark: str) -> Any:
        """A value that the kernel has made: every marked name in every text of it becomes its secret."""
        if not mark:
            return value
        if isinstance(value, str):
            if mark not in value:
                return value
            return re.sub(f"{re.escape(mark)}([A-Za-z0-9_.:/#-]+){re.escape(mark)}", lambda m: self.get(m[1]), value)
        if isinstance(value, Mapping):
            return {key: self.fill_marked(item, mark) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.fill_marked(item, mark) for item in value]
        return value

    def scrub(self, value: Any) -> Any:
        """The same value without any secret in any text of it."""
        spellings = sorted({s for secret in self._used for s in _spellings(secret)}, key=len, reverse=True)
        if not spellings:
            return value
        in_text = re.compile("|".join(map(re.escape, spellings)))
        in_bytes = re.compile(b"|".join(re.escape(s.encode(errors="surrogatepass")) for s in spellings))
        return _walk(value, in_text, in_bytes)

    def scrub_message(self, text: str) -> str:
        """A message for people: besides known values, whatever looks like credentials goes."""
        cleaned: str = self.scrub(text)
        return _USERINFO.sub(MASK + "@", _BEARER.sub(rf"\1 {MASK}", cleaned))


def _spellings(value: str) -> set[str]:
    if len(value) < _SHORTEST:
        return set()
    raw = value.encode(errors="surrogatepass")
    spellings = {value, quote(raw), quote(raw, safe=""), quote_plus(raw), raw.hex(), raw.hex().upper()}
    spellings |= {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    for shift in range(3):  # base64 of a text that merely contains the secret depends on where it begins
        inner = base64.b64encode(b"\0" * shift + raw)[(0, 2, 3)[shift] :]
        whole = inner.rstrip(b"=")
        core = whole[: len(whole) - (1 if inner != whole else 0)].decode()
        if len(core) >= _SHORTEST:
            spellings |= {core, core.replace("+", "-").replace("/", "_")}
    return spellings


def _walk(value: Any, in_text: re.Pattern[str], in_bytes: re.Pattern[bytes]) -> Any:
    if isinstance(value, str):
        return in_text.sub(MASK, value)
    if isinstance(value, bytes):
        return in_bytes.sub(MASK.encode(), value)
    if isinstance(value, Mapping):
        return {_walk(key, in_text, in_bytes): _walk(item, in_text, in_bytes) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(item, in_text, in_bytes) for item in value]
    return value
