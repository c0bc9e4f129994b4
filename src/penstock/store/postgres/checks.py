"""What PostgreSQL itself says of the tables: every row can be read, and each index leads to as many as there are."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import StoreAway, StoreError
from penstock.store.postgres.sql import PostgresSql
from penstock.store.tables import SERVER_TABLES, TABLES

_AMCHECK = "SELECT 1 FROM pg_extension WHERE extname='amcheck'"
_INDEXES = (
    "SELECT c.relname, bt_index_check(c.oid, true)::text FROM pg_index i JOIN pg_class c ON c.oid=i.indexrelid"
    " JOIN pg_am a ON a.oid=c.relam AND a.amname='btree' WHERE c.relnamespace=current_schema()::regnamespace"
    " AND i.indrelid=to_regclass(%s)"
)


class PostgresChecks(PostgresSql):
    def damage(self, *, quick: bool = False) -> Iterator[str]:
        """All that is wrong; `quick` asks the server only whether the tables are there."""
        for table in (*TABLES, *SERVER_TABLES):
            try:
                if quick:
                    self._one(f'SELECT 1 FROM "{table.name}" LIMIT 1')
                    continue
                yield from self._compared(table.name)
            except StoreAway:
                raise
            except StoreError as error:
                yield f"table {table.name}: {error.facts.get('why') or error}"

    def _compared(self, table: str) -> list[str]:
        with self._unhurried(), self.transaction():
            self._execute("SET LOCAL statement_timeout=0")
            self._execute("SET LOCAL enable_indexscan=off")
            self._execute("SET LOCAL enable_indexonlyscan=off")
            self._execute("SET LOCAL enable_bitmapscan=off")
            ((rows,),) = self._execute(f'SELECT count(t::text) FROM "{table}" t').fetchall()
            self._execute("SET LOCAL enable_indexscan=on")
            self._execute("SET LOCAL enable_indexonlyscan=on")
            self._execute("SET LOCAL enable_seqscan=off")
            ((by_index,),) = self._execute(f'SELECT count(*) FROM "{table}"').fetchall()
            if self._execute(_AMCHECK).fetchall():
                self._execute(_INDEXES, (table,)).fetchall()
        return [] if rows == by_index else [f"table {table}: it has {rows} rows, and its index leads to {by_index}"]
