"""The sample tenant: what the catalogue says that it has, and the production profile that has none of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from tests.app.workflows import opened

#: as C-81, C-53 and C-55 list it, by what 11.1 to 11.3 name
LISTED = {
    "connection": "postgres_main default_sql default_api default_llm",
    "channel": "slack sms email webhook",
    "template": "defect_alert_v2 emergency_alert sms_emergency jira_ticket_critical warning_alert log_normal_check"
    " ccp_deviation_alert lab_sample_request ccp_report approval_request_v1",
    "aas": "line.L01 line.L02 equipment.EQ001",
    "secret": "jira_webhook slack_webhook",
}


def bodies(door: Penstock, type: str) -> dict[str, dict[str, Any]]:
    rows = door.store.artifacts("tenant_001", type)
    return {row.id: msgspec.msgpack.decode(row.body) for row in rows}


def test_c_81_the_sample_tenant_has_what_the_catalogue_lists(tmp_path: Path) -> None:
    """C-81: every connection, channel, template, asset and secret; the lab answers with `id` and `sample_id`."""
    with opened(tmp_path) as door:
        door.load_sample()
        for type, ids in LISTED.items():
            assert {*ids.split()} <= bodies(door, type).keys(), type
        for id in ("postgres_main", "default_sql"):
            assert bodies(door, "connection")[id]["type"] == "sqlite"
        lab = bodies(door, "template")["lab_sample_request"]["channel_config"]
        assert {"id", "sample_id"} <= lab["reply"].keys() and lab["reply"]["id"] == lab["reply"]["sample_id"]
        lines = bodies(door, "config")["tenant"]["schedule_inputs"]
        assert lines == {"wf_defect_alert_v2": [{"line_id": "L01"}, {"line_id": "L02"}]}
        for id in ("slack_webhook", "jira_webhook"):
            assert bodies(door, "secret")[id]["value"].startswith("outbox:")
    with closing(sqlite3.connect(tmp_path / "sample.db")) as database:
        for table in ("fact_daily_defect", "fact_ccp"):
            lines = {line for (line,) in database.execute(f"SELECT line_id FROM {table}")}
            assert {"L01", "L02"} <= lines, table


def test_c_81_the_production_profile_has_none_of_it(tmp_path: Path) -> None:
    """C-81: neither when it is asked for nor for another tenant of the dev profile."""
    with opened(tmp_path / "production", profile="production") as door:
        door.load_sample()
        assert door.store.artifacts("tenant_001") == [] and not (tmp_path / "production" / "sample.db").exists()
    with opened(tmp_path / "dev") as door:
        door.of("other").load_sample()
        assert door.store.artifacts("other") == []
