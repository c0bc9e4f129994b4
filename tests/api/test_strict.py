"""What every route has in common: strict requests, ETags, the description and its page, CORS, JWTs, a live folder."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.api.serving import ROOT, Server, serving, until
from tests.api.test_decision_words import waiting

ADMIN, OPERATOR = "admin@example.com", "operator@example.com"


def test_unknown_parameters_are_refused_everywhere(dev: Server) -> None:
    """C-66: a parameter that no route knows is 400 with those that it does know, at every GET of the API."""
    admin, spec = dev.client(ADMIN), httpx2.get(f"{dev.url}/api/v1/openapi.json", timeout=60).json()
    asked = [path.removeprefix("/api/v1") for path, item in spec["paths"].items() if "get" in item]
    assert len(asked) > 60
    for path in asked:
        filled = path.replace("{version}", "1").replace("{", "").replace("}", "")
        answer = admin.get(f"{filled}?nonsense=1")
        assert (answer.status_code, answer.json()["code"]) == (400, "PS-400-QUERY"), f"{path} {answer.text}"
    assert "limit" in admin.get("/runs?nonsense=1").json()["hint"]
    assert admin.post("/runs?nonsense=1", json={"definition": "x"}).status_code == 400


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "PS-400-JSON"), (b"\xff\xfe", 400, "PS-400-JSON"), (b'{"definition": NaN}', 400, "PS-400-JSON"),
        (b'{"definition":"x","input":' + b"[" * 5000 + b"]" * 5000 + b"}", 400, "PS-400-JSON"),
        (b'{"definition":"x","input":' + b'{"a":' * 150 + b"1" + b"}" * 150 + b"}", 400, "PS-400-JSON"),
        (b'{"definition":"x","input":1' + b"0" * 40 + b"}", 400, "PS-400-JSON"),
        (b'{"definition":"\\ud800"}', 400, "PS-400-JSON"), (b'{"definition":"a\\u0000b"}', 400, "PS-400-JSON"),
        (b'{"definition":"x","input":13651432336346816512}', 400, "PS-400-JSON"),
        (b'{"definition":"x","version":2000000001}', 422, "PS-422-REQUEST"),
        (b"[]", 422, "PS-422-REQUEST"), (b'{"definition":"x","nonsense":1}', 422, "PS-422-REQUEST"),
        (b'{"definition":5}', 422, "PS-422-REQUEST"), (b"", 422, "PS-422-REQUEST"),
        (b'{"definition":"nothing"}', 404, "PS-404-RELEASE"),
    ],
)  # fmt: skip
def test_bodies_that_cannot_be_meant(dev: Server, body: bytes, status: int, code: str) -> None:
    """C-66: bombs, half JSON and slips of the pen are refused with a place, and nothing starts."""
    admin = dev.client(ADMIN)
    answer = admin.post("/runs", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json" and answer.json()["trace_id"]


def test_other_media_and_sizes(dev: Server) -> None:
    """C-66: a body that is not JSON is 415, a large one 413, whether it says so or not, and a NUL in the path 400."""
    admin, body = dev.client(ADMIN), json.dumps({"definition": "x"}).encode()
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/xml", ""):
        answer = admin.post("/runs", content=body, headers={"Content-Type": media})
        assert (answer.status_code, answer.json()["code"]) == (415, "PS-415-MEDIA"), media
    assert admin.post("/session", content=b'{"key":"x"}', headers={"Content-Type": "text/plain"}).status_code == 415
    for media in ("application/json; charset=utf-8", "application/vnd.api+json"):
        assert admin.post("/runs", content=body, headers={"Content-Type": media}).status_code == 404
    large = b'{"definition":"' + b"x" * (9 * 1024 * 1024) + b'"}'
    assert admin.post("/runs", content=large, headers={"Content-Type": "application/json"}).status_code == 413
    parts = (large[i : i + 65536] for i in range(0, len(large), 65536))
    answer = admin.post("/runs", content=parts, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413, answer.text
    assert admin.get("/runs/a%00b").status_code == 400 and admin.get("/runs?q=%00").status_code == 400


def test_what_is_known_is_not_sent_again(dev: Server) -> None:
    """C-66: ETags of runs, lists and definitions; If-None-Match is 304, until something has changed."""
    admin = dev.client(ADMIN)
    run = admin.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}).json()["id"]
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    for path in (
        f"/runs/{run}",
        "/definitions/wf_defect_alert_v2/versions/2",
        f"/runs/{run}/graph",
        f"/instances/{run}",
    ):
        first = admin.get(path)
        tag = first.headers["etag"]
        again = admin.get(path, headers={"If-None-Match": f'"other", {tag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag), path
    tag = admin.get(f"/runs/{run}").headers["etag"]
    assert admin.post(f"/runs/{run}/pause").status_code == 200
    assert admin.get(f"/runs/{run}", headers={"If-None-Match": tag}).status_code == 200


def test_a_stolen_etag_changes_nothing(dev: Server) -> None:
    """C-66: who edits what another has changed meanwhile is told so (412), and the other's change stays."""
    admin = dev.client(ADMIN)
    first = admin.put("/templates/note", json={"channel": "slack", "body": "one"})
    assert first.status_code == 200, first.text
    assert admin.put("/templates/note", json={"channel": "slack", "body": "second"}).status_code == 200
    stale = admin.put(
        "/templates/note", json={"channel": "slack", "body": "third"}, headers={"If-Match": first.headers["etag"]}
    )
    assert stale.status_code == 412 and admin.get("/templates/note").json()["body"]["body"] == "second"
    assert admin.delete("/templates/note", headers={"If-Match": first.headers["etag"]}).status_code == 412


def test_the_description_names_everything_once(dev: Server) -> None:
    """C-66: OpenAPI 3.1 with short and unique operation ids, described groups and an example of every body."""
    spec = httpx2.get(f"{dev.url}/api/v1/openapi.json", timeout=60).json()
    routes = [(path, method, one) for path, item in spec["paths"].items() for method, one in item.items()]
    ids = [one["operationId"] for _, _, one in routes]
    assert spec["openapi"].startswith("3.1") and len(set(ids)) == len(ids) > 150
    assert max(map(len, ids)) <= 40
    about = {one["name"]: one["description"] for one in spec["tags"]}
    assert all(about[one["tags"][0]] and one["summary"] for _, _, one in routes)
    assert all(path.startswith("/api/v1/") for path, _, _ in routes)
    for path, method, one in routes:
        assert "4XX" in one["responses"] and "422" not in one["responses"], f"{method} {path}"
        media = one.get("requestBody", {}).get("content", {}).get("application/json", {"example": 1})
        assert media["example"] is not None, f"{method} {path}"
    assert spec["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_the_page_of_the_description_needs_no_other_host(dev: Server) -> None:
    """C-66: the rendered page and its script come from here and obey the policy that the server sends."""
    page = httpx2.get(f"{dev.url}/api/docs", timeout=60)
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "http://" not in page.text and "https://" not in page.text and "<script>" not in page.text
    for name, media in (("page.js", "text/javascript"), ("page.css", "text/css")):
        part = httpx2.get(f"{dev.url}/api/docs/{name}", timeout=60)
        assert part.status_code == 200 and part.headers["content-type"].startswith(media)
        assert f"/api/docs/{name}" in page.text and "://" not in part.text
    assert httpx2.get(f"{dev.url}/api/docs/../server.py", timeout=60).status_code == 404


def test_other_sites_are_kept_out_unless_they_are_named(tmp_path: Path, dev: Server) -> None:
    """C-66: CORS is off by default; the setting names those who may, and their pages never get the cookie."""
    asked = {"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"}
    closed = httpx2.options(f"{dev.url}/api/v1/runs", headers=asked, timeout=60)
    assert "access-control-allow-origin" not in closed.headers
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "settings.toml").write_text('[server]\norigins = ["https://app.example.com"]\n')
    with serving(tmp_path, "dev", "--quiet") as server:
        opened = httpx2.options(f"{server.url}/api/v1/runs", headers=asked, timeout=60)
        assert opened.headers["access-control-allow-origin"] == "https://app.example.com"
        assert "access-control-allow-credentials" not in opened.headers
        other = httpx2.get(f"{server.url}/api/v1/health", headers={"Origin": "https://evil.example.com"}, timeout=60)
        assert "access-control-allow-origin" not in other.headers


def test_people_come_in_with_the_companys_own_tokens(tmp_path: Path) -> None:
    """C-66: [jwt] in the settings: issuer, audience, keys and roles; anything else about a token is 401."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "keys.json").write_text(json.dumps({"keys": [{**public, "kid": "k1", "use": "sig"}]}))
    (tmp_path / "s" / "settings.toml").write_text(
        '[jwt]\nissuer = "https://id.example.com"\naudience = "penstock"\njwks = "keys.json"\n'
    )
    claims: dict[str, Any] = {
        "iss": "https://id.example.com", "aud": "penstock", "sub": "kim", "tenant": "tenant_001",
        "roles": ["operator"], "exp": int(time.time()) + 600,
    }  # fmt: skip
    with serving(tmp_path, "serve") as server:

        def asked(**more: Any) -> httpx2.Response:
            token = jwt.encode({**claims, **more}, key, algorithm="ES256", headers={"kid": "k1"})
            return server.client(key=token).get("/me")

        me = asked().json()
        assert (me["user"], me["tenant"], me["roles"]) == ("kim", "tenant_001", ["operator"])
        for wrong in ({"iss": "x"}, {"aud": "x"}, {"exp": 1}, {"tenant": ""}, {"sub": None}):
            refused = asked(**wrong)
            assert refused.status_code == 401 and refused.json()["code"] == "PS-401-TOKEN", wrong
        forged = jwt.encode(claims, "secret-secret-secret-secret-secret", algorithm="HS256", headers={"kid": "k1"})
        assert server.client(key=forged).get("/me").status_code == 401


def test_a_folder_is_released_as_it_changes(tmp_path: Path) -> None:
    """C-66, D-X.29: documents of a folder are in force at once and again when they change; a wrong one is told, with
    its place, and stops nothing."""
    folder = tmp_path / "documents"
    folder.mkdir()
    path = folder / "wf.json"
    path.write_text(json.dumps(waiting("wf_folder")))
    (folder / "ask.yaml").write_text((ROOT / "examples" / "diagram" / "ask.yaml").read_text())
    with serving(tmp_path, "dev", str(folder), "--quiet") as server:
        admin = server.client(ADMIN)

        def active() -> dict[str, Any]:
            return {one["name"]: one["active"] for one in admin.get("/definitions").json()["items"]}

        until(active, lambda found: found.get("wf_folder") == 1 and found.get("ask") == 1)
        path.write_text(json.dumps({**waiting("wf_folder"), "name": "changed"}))
        until(active, lambda found: found["wf_folder"] == 2)
        path.write_text(json.dumps({**waiting("wf_folder"), "nodes": [{"id": "x", "type": "NOPE"}]}))
        (folder / "half.json").write_text("{")
        assert server.process is not None and server.process.stdout is not None
        told = ""
        while "half.json" not in told or "/nodes/0/type" not in told:
            told += server.process.stdout.readline()
        assert active()["wf_folder"] == 2 and admin.get("/ready").status_code == 200
        path.write_text(json.dumps({**waiting("wf_folder"), "name": "third"}))
        until(active, lambda found: found["wf_folder"] == 3)
