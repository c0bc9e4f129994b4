"""Batches spoken to libpq directly: prepared statements in one pipeline, without the driver's own layers.

Every wait is for the socket, so other threads run meanwhile, and none is for ever.
"""

from __future__ import annotations

import select
from typing import NoReturn

import psycopg
from psycopg import pq
from psycopg.errors import error_from_result

from penstock.store.postgres.batch import FENCE, SQL, Ready
from penstock.store.postgres.connection import Patient

FENCED = b"penstock_fence"

#: which statement went wrong first, and what it was
Wrong = tuple[int, psycopg.Error] | None
_WELL = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


class Pipe:
    """One connection. Each statement is parsed and planned once, when it is needed first."""

    def __init__(self, c: Patient) -> None:
        self.c, self.pg = c, c.pgconn
        self._prepared: set[bytes] = set()
        self._readable, self._either = select.poll(), select.poll()
        self._readable.register(self.pg.socket, select.POLLIN)
        self._either.register(self.pg.socket, select.POLLIN | select.POLLOUT)

    @property
    def _patience_ms(self) -> float | None:
        return None if self.c.patience_s is None else self.c.patience_s * 1000

    def send(self, held: list[bytes], ready: list[Ready]) -> Wrong:
        """One round trip: everything up to the sync is one transaction, and the first error undoes all of it."""
        pg = self.pg
        self._prepare(FENCED, *[name for name, _ in ready])
        try:
            pg.enter_pipeline_mode()
            pg.send_query_prepared(FENCED, held, [1] * len(held), 1)
            for name, values in ready:
                pg.send_query_prepared(name, values, [1] * len(values), 1)
            pg.pipeline_sync()
            self._flush()
            return self._results(len(ready) + 1)
        except BaseException:  # Ctrl-C, too: nobody could go on with a connection that is half-way through a batch
            self.c.close()
            raise

    def now(self, ready: list[Ready]) -> None:
        """One after the other, inside a transaction of somebody else's."""
        self._prepare(*[name for name, _ in ready])
        for name, values in ready:
            self.pg.send_query_prepared(name, values, [1] * len(values), 1)
            self._only()

    def _results(self, statements: int) -> Wrong:
        """Every result is followed by nothing, the last by a sync; what comes otherwise comes from a connection that is
        lost, which may go on telling so for ever."""
        wrong: Wrong = None
        for at in range(statements):
            result = self._next()
            if result is None or self.pg.status != pq.ConnStatus.OK:
                self._give_up(wrong)
            elif wrong is None and result.status not in _WELL:
                wrong = at, error_from_result(result)
            if self._next() is not None:
                self._give_up(wrong)
        synced = self._next()
        if synced is None or synced.status != pq.ExecStatus.PIPELINE_SYNC:
            self._give_up(wrong)
        self.pg.exit_pipeline_mode()
        return wrong

    def _prepare(self, *names: bytes) -> None:
        for name in names:
            if name not in self._prepared:
                self.pg.send_prepare(name, SQL.get(name) or FENCE.encode())
                self._only()
                self._prepared.add(name)

    def _only(self) -> None:
        self._flush()
        result = self._next()
        if result is None:
            self._give_up()
        if result.status not in _WELL:
            error = error_from_result(result)
            if self._next() is not None:
                self._give_up((0, error))
            raise error
        if self._next() is not None:
            self._give_up()

    def _flush(self) -> None:
        while self.pg.flush():
            if not (events := self._either.poll(self._patience_ms)):
                self._give_up()
            if events[0][1] & ~select.POLLOUT:
                self.pg.consume_input()

    def _next(self) -> pq.abc.PGresult | None:
        pg = self.pg
        while pg.is_busy():
            if not self._readable.poll(self._patience_ms):
                self._give_up()
            pg.consume_input()
        return pg.get_result()

    def _give_up(self, wrong: Wrong = None) -> NoReturn:
        message = self.pg.get_error_message().strip()
        self.c.close()
        raise psycopg.OperationalError(message or "the connection is lost") from wrong and wrong[1]
