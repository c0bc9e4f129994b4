"""Four eyes: where it is asked for, another person than the author approves a version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.app.penstock import Penstock
from penstock.app.releases.releases import Releases
from penstock.errors import FourEyes
from tests.app.workflows import opened, workflow


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Penstock]:
    with opened(tmp_path) as one:
        one.load_sample()
        yield one


@pytest.fixture
def versions(door: Penstock) -> Releases:
    return Releases(door)


def refused(versions: Releases, version: int, by: str | None) -> None:
    with pytest.raises(FourEyes) as error:
        versions.approve("wf_small", version, by=by)
    assert error.value.http == 403 and versions.get("wf_small", version).status == "pending_approval"


def test_unless_it_is_asked_for_one_person_will_do(versions: Releases) -> None:
    versions.submit(workflow(), by="kim")
    assert versions.approve("wf_small", 1, by="kim").approved_by == "kim"


def test_z21_a_tenant_may_ask_for_it(door: Penstock, versions: Releases) -> None:
    """Z21: `release.four_eyes` in the tenant's configuration; nobody without a name approves either."""
    door.register("config", "tenant", {"release": {"four_eyes": True}})
    versions.submit(workflow(), by="kim")
    refused(versions, 1, "kim")
    refused(versions, 1, None)
    assert versions.approve("wf_small", 1, by="lee").status == "approved"


def test_z21_a_document_may_ask_for_it_and_its_next_version_cannot_take_it_back(versions: Releases) -> None:
    """Z21: what is in force still counts when its author leaves it out."""
    versions.submit(workflow(metadata={"four_eyes": True}), by="kim")
    refused(versions, 1, "kim")
    versions.approve("wf_small", 1, by="lee")
    versions.activate("wf_small", 1)
    versions.submit(workflow(version=2), by="kim")
    refused(versions, 2, "kim")
    versions.approve("wf_small", 2, by="lee")
    versions.activate("wf_small", 2)
    versions.submit(workflow(version=3), by="kim")
    versions.approve("wf_small", 3, by="kim")
