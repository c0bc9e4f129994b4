"""A server that is watched: scraped, logged, traced; and one that is asked to stop."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import httpx2

from tests.api.places import ADMIN, MANAGER, OPERATOR, calling, in_force, place, settings
from tests.api.serving import Server, serving, until
from tests.executors.bench import as_json

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TOKEN = "scrape-me-7c1e"


def lines(server: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.logged().splitlines() if line.startswith("{")]


def test_who_may_scrape(tmp_path: Path) -> None:
    """W-10.1.2, C-62, C-66: a tenant sees its own, the token all, nobody nothing; production has no long form."""
    settings(tmp_path, f'[metrics]\ntoken = "{TOKEN}"\n')
    with serving(tmp_path, "serve", "--profile", "production") as server:
        assert httpx2.get(f"{server.url}/metrics", timeout=60).status_code == 401
        assert (
            httpx2.get(f"{server.url}/metrics", headers={"Authorization": "Bearer wrong"}, timeout=60).status_code
            == 401
        )
        told = server.said + server.logged()
        said = re.search(r"key is in (\S+);", told)
        key = ""
        for file in tmp_path.rglob("*"):
            if file.is_file() and file.stat().st_size < 500 and b"ps_" in file.read_bytes():
                key = file.read_text().strip().split()[-1]
        assert key, f"{said} {told}"
        mine = httpx2.get(f"{server.url}/metrics", headers={"Authorization": f"Bearer {key}"}, timeout=60)
        assert mine.status_code == 200 and mine.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert "workflow_success_total 0" in mine.text and "penstock_turns_total" not in mine.text
        for path in ("/metrics", "/api/v1/metrics", "/api/metrics"):
            all_ = httpx2.get(server.url + path, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
            assert all_.status_code == 200 and "penstock_turns_total" in all_.text
        assert 'penstock_http_requests_total{method="GET",route="/metrics",status="401"} 2' in all_.text
        long = httpx2.get(f"{server.url}/metrics/detail", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
        assert long.status_code == 404
        refused = httpx2.get(f"{server.url}/api/v1/runs", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
        assert refused.status_code == 401, "the token opens nothing else"


def test_alarms_and_dashboard_over_http(tmp_path: Path) -> None:
    """W-10.1.1, W-10.1.2, W-10.3.1, C-66: a failed run raises the success rate's alarm, which a stream tells."""
    hook = place({"/hook": lambda seen: as_json({"no": 1}, 400)})
    settings(tmp_path, '[http]\nallow = ["127.0.0.1"]\n')
    with serving(tmp_path, "dev", "--quiet") as server:
        admin, manager = server.client(ADMIN), server.client(MANAGER)
        in_force(admin, manager, calling(hook.url))
        assert admin.get("/alarms").json() == {"items": [], "next": None}
        heard: list[str] = []

        def listen() -> None:
            with admin.stream("GET", "/stream", timeout=60) as answer:
                for line in answer.iter_lines():
                    heard.append(line)
                    if '"metric"' in line:
                        return

        reader = threading.Thread(target=listen, daemon=True)
        reader.start()
        until(lambda: heard, bool)  # it listens
        run = admin.post("/runs", json={"definition": "wf_calling"}).json()["id"]
        until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "FAILED")
        found = until(lambda: admin.get("/alarms?state=open").json()["items"], lambda items: len(items) >= 2)
        raised = {one["metric"]: one for one in found}
        assert raised["workflow_success_rate"]["state"] == "open" and raised["workflow_success_rate"]["value"] == 0
        assert "node_error_rate" in raised and raised["node_error_rate"]["raised_at"].endswith("Z")
        reader.join(60)
        assert "event: alarm" in heard
        shown = {one["id"]: one for one in admin.get("/dashboard").json()["panels"]}
        assert len(shown) == 9 and shown["success_rate"]["value"] == 0
        known = admin.get("/definitions", params={"limit": 200}).json()["items"]
        active = [one for one in known if one["status"] == "active"]
        assert shown["active_workflows"]["value"] == len(active) > 4
        assert shown["node_error_rate"]["values"]["ACTION"] > 0
        assert server.client(OPERATOR).get("/alarms").status_code in (200, 403)
    hook.close()


def test_one_trace_from_the_request_to_every_call(tmp_path: Path) -> None:
    """W-10.2.1, W-10.2.2: traceparent in, the same trace in the run, in calls, log lines, problems and spans."""
    hook, collector = place(), place()
    told = f'[http]\nallow = ["127.0.0.1"]\n[otel]\nendpoint = "{collector.url}"\n'
    settings(tmp_path, told)
    with serving(tmp_path, "dev", "--quiet", env={"PENSTOCK_LOG": "json"}) as server:
        admin, manager = server.client(ADMIN), server.client(MANAGER)
        in_force(admin, manager, calling(hook.url))
        header = {"traceparent": f"00-{TRACE}-{SPAN}-01", "X-Request-Id": "mine-1"}
        body = {"definition": "wf_calling", "input": {"private": "never-in-a-log"}}
        made = admin.post("/runs", json=body, headers=header)
        assert made.headers["x-trace-id"] == TRACE and made.headers["x-request-id"] == "mine-1"
        odd = admin.get("/me", headers={"X-Request-Id": "a b\tc", "traceparent": "00-zz-01"})
        assert "x-request-id" not in odd.headers and re.fullmatch("[0-9a-f]{32}", odd.headers["x-trace-id"])
        run = made.json()["id"]
        ended = until(lambda: admin.get(f"/runs/{run}").json(), lambda one: one["state"] == "COMPLETED")
        assert ended["trace_id"] == TRACE and admin.get(f"/runs/{run}/trace").json()["trace_id"] == TRACE
        (seen,) = hook.seen
        version, trace, span, flags = seen.headers["traceparent"].split("-")
        assert (version, trace, flags) == ("00", TRACE, "01") and re.fullmatch("[0-9a-f]{16}", span)
        refused = admin.get("/runs/nobody", headers=header)
        assert refused.status_code == 404 and refused.json()["trace_id"] == TRACE
        spans = until(lambda: _spans(collector.seen), lambda found: len(found) >= 2)
        by_name = {one["name"]: one for one in spans if one["traceId"] == TRACE}
        root, node = by_name["wf_calling"], by_name["call"]
        assert node["parentSpanId"] == root["spanId"] and node["spanId"] == span, "the call hangs below its node"
        assert root["status"]["code"] == 1 and "parentSpanId" not in root
        assert root["spanId"] == admin.get(f"/runs/{run}/trace").json()["span_id"]
        said = lines(server)
        request = next(one for one in said if one.get("event") == "request" and one["route"] == "/api/v1/runs"
                       and one["method"] == "POST")  # fmt: skip
        assert (request["status"], request["trace"], request["user"]) == (201, TRACE, ADMIN) and request["ms"] >= 0
        end = next(one for one in said if one.get("event") == "run" and one["run"] == run)
        assert (end["status"], end["trace"], end["name"]) == ("completed", TRACE, "wf_calling")
        assert "never-in-a-log" not in server.logged()
        assert any(one.get("route") == "/api/v1/runs/{run}" for one in said), "routes, and not what was typed"
    hook.close()
    collector.close()


def _spans(seen: list[Any]) -> list[dict[str, Any]]:
    found = []
    for one in seen:
        assert one.path == "/v1/traces" and one.headers["content-type"] == "application/json"
        for resource in one.json["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                found += scope["spans"]
    return found


def _answers(server: Server) -> bool:
    try:
        return httpx2.get(f"{server.url}/api/v1/health", timeout=60).status_code == 200
    except httpx2.HTTPError:
        return False


def test_it_stops_in_peace(tmp_path: Path) -> None:
    """H8, C-66: after SIGTERM it says that it takes no more, streams end, a call on its way is finished and
    its answer kept, and it ends well."""
    going, closed = threading.Event(), threading.Event()

    def slow(seen: Any) -> Any:
        going.set()
        closed.wait(60)
        return as_json({"ok": True})

    hook = place({"/hook": slow})
    settings(tmp_path, '[http]\nallow = ["127.0.0.1"]\n[serve]\ndrain_s = 4\n')
    server = Server(tmp_path, "dev", "--quiet").start()
    admin, manager = server.client(ADMIN), server.client(MANAGER)
    in_force(admin, manager, calling(hook.url))
    run = admin.post("/runs", json={"definition": "wf_calling"}).json()["id"]
    heard: set[str] = set()
    ended: list[str] = []

    def listen(path: str) -> None:
        with admin.stream("GET", path, timeout=60) as answer:
            for _ in answer.iter_lines():
                heard.add(path)
        ended.append(path)

    readers = [
        threading.Thread(target=listen, args=(path,), daemon=True) for path in ("/stream", f"/runs/{run}/events")
    ]
    for one in readers:
        one.start()
    assert going.wait(60)
    until(lambda: heard, lambda paths: len(paths) == 2)
    assert server.process is not None
    server.process.terminate()
    refused = until(lambda: httpx2.get(f"{server.url}/api/v1/ready", timeout=60), lambda one: one.status_code == 503)
    assert refused.json()["code"] == "PS-503-DRAINING" and refused.headers["retry-after"]
    assert httpx2.get(f"{server.url}/api/v1/health", timeout=60).status_code == 200, "it is still there"
    for one in readers:
        one.join(60)
    assert len(ended) == 2, "streams end, so that nobody waits for them"
    until(lambda: _answers(server), lambda there: not there)
    closed.set()
    assert server.process.wait(60) == 0
    assert len(hook.seen) == 1
    server.start()
    stands = server.client(ADMIN).get(f"/runs/{run}").json()
    assert stands["state"] == "COMPLETED" and len(hook.seen) == 1, "nothing was done twice"
    assert server.stop() == 0
    hook.close()
