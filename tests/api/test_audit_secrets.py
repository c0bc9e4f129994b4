"""Where a secret comes from (C-63), as whoever is called sees it: a started server with a variable of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.places import ADMIN, MANAGER, OPERATOR, in_force, place, settings
from tests.api.serving import Server, serving, until
from tests.executors.bench import Server as Place


@pytest.fixture(scope="module")
def plant() -> Iterator[Place]:
    one = place()
    yield one
    one.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("secrets")
    settings(folder, '[http]\nallow = ["127.0.0.1"]\n')
    env = {"WF_SECRET_PLANT_TOKEN": "of-the-environment", "WF_SECRET_OTHER": "named-by-the-document"}
    with serving(folder, "dev", "--quiet", env=env) as one:
        yield one


def test_a_secret_is_the_documents_then_the_tenants_then_the_environments(server: Server, plant: Place) -> None:
    """C-63: what the document refers to, else what the tenant has registered, else WF_SECRET_NAME; where there is none
    the run ends with SECRET_NOT_FOUND, a matter of authorization. No answer tells any of them."""
    admin, manager, operator = (server.client(who) for who in (ADMIN, MANAGER, OPERATOR))

    def sent(id: str, name: str = "plant_token", **context: str) -> str:
        """What the place heard, or the code of the failure."""
        channel = {
            "type": "webhook",
            "config": {"url": f"{plant.url}/hook", "headers": {"X-Key": f"${{secrets.{name}}}"}},
        }
        node = {"id": "call", "type": "ACTION", "channel": channel, "message": "hello"}
        document = {"id": id, "version": 1, "edges": [], "nodes": [node], "context": {"secrets": context}}
        in_force(admin, manager, document)
        plant.seen.clear()
        run = operator.post("/runs", json={"definition": id}).json()["id"]
        look = until(lambda: operator.get(f"/runs/{run}"), lambda one: one.json()["state"] in ("COMPLETED", "FAILED"))
        told = look.text + operator.get(f"/runs/{run}/facts").text + operator.get(f"/runs/{run}/trace").text
        assert not any(one in told for one in ("of-the-environment", "of-the-tenant", "named-by-the-document"))
        failure = look.json()["failure"]
        if failure is not None:
            assert failure["category"] == "authorization" and not plant.seen
            return str(failure["code"])
        return str(plant.seen[0].headers["x-key"])

    assert sent("wf_none", "nobody_has_it") == "SECRET_NOT_FOUND"
    assert sent("wf_environment") == "of-the-environment"
    assert admin.put("/secrets/plant_token", json={"value": "of-the-tenant"}).status_code == 204
    assert sent("wf_tenant") == "of-the-tenant"
    assert sent("wf_document", plant_token="env:WF_SECRET_OTHER") == "named-by-the-document"
    literal = {"id": "wf_literal", "version": 1, "edges": [], "context": {"secrets": {"plant_token": "hunter2"}},
               "nodes": [{"id": "w", "type": "WAIT", "condition": {"type": "manual"}}]}  # fmt: skip
    refused = admin.post("/workflows", json={"dsl": literal})
    assert refused.status_code == 422 and "/context/secrets" in refused.text and "hunter2" not in refused.text
