"""Tries at one account: how often a wrong secret may be given for a key, from whatever addresses.

Where the tries of an account are used up, a login from a strange place is refused before anything is compared. A place
that has been let in before is no strange one: its address, or a browser with the mark that a login leaves. So whoever
tries without end keeps nobody out who has been in. A program's key is compared all the same: of 256 random bits nobody
guesses one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.app.access.keys import RateLimits
from penstock.errors import AccountTooMany, BadInput, TooMany

DEFAULT_TRIES = 20
_MOST = 10_000  # pairs of account and address that are remembered


def tries_of(settings: Mapping[str, Any]) -> int | None:
    """The setting `server.account_tries`: per minute, 0 for no limit. Raises BadInput."""
    tries = settings.get("server.account_tries", DEFAULT_TRIES)
    if isinstance(tries, bool) or not isinstance(tries, int) or tries < 0:
        raise BadInput(what="[server] account_tries", why="it is a whole number of tries per minute, 0 for no limit")
    return tries or None


class AccountTries:
    def __init__(self, tries: int | None, now: Callable[[], int]) -> None:
        self.tries, self.now = tries, now
        self._left = RateLimits()
        self._let_in: dict[tuple[str, str], None] = {}

    def check(self, account: str, address: str, known: bool) -> None:
        """Before a login is compared. Raises AccountTooMany for a strange place where no try is left."""
        if self.tries is None or known or (account, address) in self._let_in:
            return
        if not self._left.left(account, self.tries, self.now()):
            raise AccountTooMany(rate=self.tries, retry_s=-(-60 // self.tries))

    def failed(self, account: str, address: str) -> None:
        """Raises AccountTooMany where there were too many."""
        if self.tries is None or (account, address) in self._let_in:
            return
        try:
            self._left.take(account, account, self.tries, self.now())
        except TooMany as too_many:
            raise AccountTooMany(rate=self.tries, retry_s=too_many.facts["retry_s"]) from None

    def let_in(self, account: str, address: str) -> None:
        if (account, address) not in self._let_in:
            if len(self._let_in) >= _MOST:
                del self._let_in[next(iter(self._let_in))]
            self._let_in[account, address] = None
