"""database: rows written into a table of a registered connection. Names are checked, values are bound, never pasted.

The connection's options say what may be written: `tables` (a list; nothing is writable without it) and `allow_delete`.
A repeated attempt writes nothing twice:

- insert into a table that has the column `idempotency_key` (or the one that `options.idempotency_column` names) writes
  the key of the firing into it, and does nothing when a row has it already;
- everything else leaves a row in the table `penstock_deliveries` of the same database, in the same transaction. It is
  made when it is first needed; `options.deliveries: false` does without it, and then a repetition writes again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.channels.contract import OUTBOX, ChannelContext, OutgoingMessage, Sent, as_list
from penstock.executors.channels.row_changes import Change, WriteResult, limits, write
from penstock.executors.parts.notification import NotificationMessage, Unsendable

DEFAULT_CONNECTION = "default_sql"
OPERATIONS = ("insert", "update", "upsert", "delete")
CONFLICTS = ("ignore", "update", "fail")
_MOST_ROWS = 1000


class DatabaseChannel:
    """Settings: table, operation, values (an object or a list of them), where (an object: columns that must be equal),
    conflict_action, conflict_columns (else the primary key), connection.

    Without `values` a template whose body is an object gives them, else its parameters. `conflict_action` is for rows
    that are there already: insert fails unless told otherwise, upsert updates.
    """

    name = "database"
    required = ("table", "operation")

    def complete(self, config: dict[str, Any], message: NotificationMessage) -> None:
        if "values" not in config:
            body = message.body
            config["values"] = body if isinstance(body, Mapping | list) else dict(message.params)

    def target(self, outgoing: OutgoingMessage, context: ChannelContext) -> str:
        table = str(outgoing.config["table"])
        return table if table.startswith(OUTBOX) else ""

    def content(self, outgoing: OutgoingMessage, context: ChannelContext) -> dict[str, Any]:
        """The change, checked as far as it can be without the database."""
        config = outgoing.config
        operation = str(config["operation"])
        if operation not in OPERATIONS:
            raise Unsendable("INPUT_INVALID", "validation", f"«operation» must be one of {', '.join(OPERATIONS)}.")
        rows = [_row(item, "values") for item in as_list(config.get("values"))] if operation != "delete" else []
        if operation != "delete" and (not rows or not all(rows)):
            detail = {"channel": self.name, "missing": ["values"]}
            raise Unsendable("CHANNEL_CONFIG_MISSING", "validation", f"{operation} needs «values».", detail)
        if len(rows) > _MOST_ROWS or (operation == "update" and len(rows) > 1):
            most = 1 if operation == "update" else _MOST_ROWS
            raise Unsendable("INPUT_INVALID", "validation", f"{operation} takes at most {most} rows at once.")
        where = _row(config.get("where") or {}, "where")
        if operation in ("update", "delete") and not where:
            detail = {"channel": self.name, "missing": ["where"]}
            why = f"{operation} needs «where»: the columns that must be equal. A whole table is never meant."
            raise Unsendable("CHANNEL_CONFIG_MISSING", "validation", why, detail)
        return {
            "table": str(config["table"]),
            "operation": operation,
            "values": rows,
            "where": where,
            "conflict_action": _conflict(config, operation),
            "conflict_columns": [str(item) for item in as_list(config.get("conflict_columns"))],
        }

    async def send(self, outgoing: OutgoingMessage, content: Any, context: ChannelContext) -> Sent:
        id = str(outgoing.config.get("connection") or DEFAULT_CONNECTION)
        connection = context.connection(id, "sqlite", "postgresql")
        options = connection["options"]
        allowed = options.get("tables")
        if not isinstance(allowed, list | tuple | Mapping) or content["table"] not in allowed:
            why = f"The connection «{id[:100]}» does not let anybody write to that table; its options list the tables."
            raise Unsendable("DATABASE_DENIED", "authorization", why, {"connection": id})
        if content["operation"] == "delete" and options.get("allow_delete") is not True:
            why = f"The connection «{id[:100]}» does not allow deleting; its option allow_delete says so."
            raise Unsendable("DATABASE_DENIED", "authorization", why, {"connection": id})
        change = Change(
            **content,
            key=outgoing.key,
            at=outgoing.at,
            key_column=str(options.get("idempotency_column") or "idempotency_key"),
            deliveries=options.get("deliveries") is not False,
        )
        if connection["type"] == "sqlite":
            connection["path"] = context.sqlite_path(connection)
        else:
            connection["reached"] = await context.postgres(connection, **limits(outgoing.timeout_s))
        written: WriteResult = await write(connection, change, outgoing.timeout_s)
        status = "duplicate" if written.again else "sent"
        return Sent(status=status, message_id=outgoing.id, response={"rows": written.rows, "keys": written.keys})


def _row(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Unsendable("INPUT_INVALID", "validation", f"«{name}» must be an object from column to value.")
    return {str(column): item for column, item in value.items()}


def _conflict(config: Mapping[str, Any], operation: str) -> str:
    given = config.get("conflict_action")
    if given is None:
        return "update" if operation == "upsert" else "fail"
    if given not in CONFLICTS:
        raise Unsendable("INPUT_INVALID", "validation", f"«conflict_action» must be one of {', '.join(CONFLICTS)}.")
    if operation in ("update", "delete") and given == "update":
        raise Unsendable("INPUT_INVALID", "validation", f"{operation} has no row to update in case of a conflict.")
    return str(given)
