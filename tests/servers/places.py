"""Addresses of stores by the name of their database: an empty address is a file in the test's folder."""

from __future__ import annotations

import pytest


def store_of(database: str) -> str:
    """The test is skipped, with the reason, where there is no server."""
    if database == "sqlite":
        return ""
    pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    from tests.servers.postgres import database as made

    return made()
