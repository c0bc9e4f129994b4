"""A store that is not there: nothing is acknowledged, the server says so, and goes on when the file is back."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.api.serving import serving, until

ASKED = {"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}


@pytest.mark.parametrize("what", ["penstock.db", "penstock.db-wal"])
def test_a_start_into_a_file_that_was_taken_away_is_refused(tmp_path: Path, what: str) -> None:
    """H13: refused with its own code, `/ready` says 503 and why, `/health` is degraded; then it goes on."""
    with serving(tmp_path, "dev", "--quiet") as server:
        client = server.client("operator@example.com")

        def start(key: str) -> httpx2.Response:
            return client.post("/runs", json={**ASKED, "key": key})

        assert start("before").status_code == 201
        file = Path(server.store).with_name(what)
        file.rename(tmp_path / "away")
        assert client.get("/health").json()["store"] == "PS-503-STORE-GONE"
        refused = start("lost")
        assert (refused.status_code, refused.json()["code"]) == (503, "PS-503-STORE-GONE"), refused.text
        ready = client.get("/ready")
        assert (ready.status_code, ready.json()["code"]) == (503, "PS-503-STORE-GONE")
        assert what in ready.json()["detail"] and ready.json()["hint"] and ready.headers["Retry-After"]
        assert client.get("/health").json()["status"] == "degraded"
        (tmp_path / "away").rename(file)
        until(lambda: client.get("/ready").status_code, lambda status: status == 200)
        assert start("after").status_code == 201
        found = client.get("/runs?q=before").json()["items"] + client.get("/runs?q=after").json()["items"]
        assert {run["key"] for run in found} == {"before", "after"}
