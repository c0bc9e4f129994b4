"""Takes events of pipelines and keeps what was extracted, each once: however often an event comes, there is one row.

    python examples/pipeline/downstream.py extractions.db 8099

and in `settings.toml` beside the store: `[pipelines.events] url = "http://127.0.0.1:8099/"`, with
`[http] allow = ["127.0.0.1"]`. What comes twice has the same key; what is newer replaces what is there.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

TABLE = """CREATE TABLE IF NOT EXISTS extraction (
    key TEXT PRIMARY KEY, execution_id TEXT NOT NULL, file_id INTEGER NOT NULL, type TEXT NOT NULL,
    method TEXT NOT NULL, confidence REAL NOT NULL, trace_id TEXT NOT NULL
)"""
UPSERT = """INSERT INTO extraction VALUES (:key, :executionId, :fileId, :extractionType, :method, :confidence, :traceId)
ON CONFLICT (key) DO UPDATE SET method = excluded.method, confidence = excluded.confidence"""


def take(database: sqlite3.Connection, event: dict[str, Any]) -> None:
    """One event; other kinds are left to others."""
    if event.get("type") == "extraction.completed":
        with database:
            database.execute(UPSERT, {**event["data"], "key": event["key"]})


class Receiver(BaseHTTPRequestHandler):
    database: sqlite3.Connection

    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        take(self.database, event)
        self.send_response(204)  # only now: what is not answered so comes again
        self.end_headers()


def main(path: str, port: int) -> None:
    Receiver.database = sqlite3.connect(path)
    Receiver.database.execute(TABLE)
    HTTPServer(("127.0.0.1", port), Receiver).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
