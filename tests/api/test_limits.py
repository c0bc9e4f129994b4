"""Limits over HTTP: refused with 429, a code and when to come again; shown with what is used of them."""

from __future__ import annotations

from pathlib import Path

from tests.api.serving import serving

ASKED = {"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}


def test_h_starts_beyond_the_open_runs_are_refused_and_nothing_is_made(tmp_path: Path) -> None:
    """RELIABILITY (h): start refused with 429 and Retry-After; what is there goes on."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "settings.toml").write_text("[limits]\nopen_runs = 2\nfan_items = 7\n")
    with serving(tmp_path, "dev", "--quiet") as server:
        client = server.client("admin@example.com")
        shown = {limit["name"]: limit for limit in client.get("/limits").json()["items"]}
        assert shown["open_runs"]["limit"] == 2 and shown["open_runs"]["default"] == 200_000
        assert shown["open_runs"]["beyond"] == "refused" and shown["open_runs"]["code"] == "PS-429-RUNS"
        assert (shown["fan_items"]["limit"], shown["fan_items"]["used"]) == (7, None)
        house = {limit["name"]: limit for limit in client.get("/limits").json()["house"]}
        assert (house["sizes.document_bytes"]["limit"], house["sizes.document_bytes"]["code"]) == (
            5 * 1024 * 1024, "PS-413-DOCUMENT",
        )  # fmt: skip
        assert house["reads.loop_facts"]["limit"] == 2000
        answers = [client.post("/runs", json={**ASKED, "key": f"k{i}"}) for i in range(6)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused and {answer.status_code for answer in answers} <= {201, 429}
        problem = refused[0].json()
        assert problem["code"] == "PS-429-RUNS" and problem["hint"] and refused[0].headers["Retry-After"] == "5"
        keys = {run["key"] for run in client.get("/runs?limit=200").json()["items"]}
        assert not keys & {f"k{i}" for i, answer in enumerate(answers) if answer.status_code == 429}
