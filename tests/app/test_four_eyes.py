"""Four eyes: where it is asked for, another person than the author approves a version."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.app.access.keys import ApiKeys
from penstock.app.access.roles import person
from penstock.app.penstock import Penstock
from penstock.app.releases.releases import Releases
from penstock.errors import BadInput, FourEyes, UserTaken
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


def test_two_spellings_are_one_user(door: Penstock, versions: Releases) -> None:
    """Case, full-width letters, composed letters and letters that nobody sees make nobody another person; an address of
    mail does not either."""
    door.register("config", "tenant", {"release": {"four_eyes": True}})
    door.register("user", "josé", {"roles": ["admin"], "email": "Jose@Example.com"})
    versions.submit(workflow(), by="josé")
    for spelled in ("JOSÉ", "ｊｏｓé", "jose\u0301", "jo\u200bsé", " josé ", "jose@example.COM"):
        refused(versions, 1, spelled)
        if "@" not in spelled:
            with pytest.raises(UserTaken):
                door.register("user", spelled, {"roles": ["admin"]})
    assert person(door, "JOSÉ").user == "josé", "whoever signs in is who is registered"
    assert versions.approve("wf_small", 1, by="lee").status == "approved"


def test_a_document_cannot_be_taken_out_of_force_to_lose_its_four_eyes(versions: Releases) -> None:
    """Z21: what asked for it last still counts when nothing is in force."""
    versions.submit(workflow(metadata={"four_eyes": True}), by="kim")
    versions.approve("wf_small", 1, by="lee")
    versions.activate("wf_small", 1)
    versions.deprecate("wf_small", 1)
    versions.submit(workflow(version=2), by="kim")
    refused(versions, 2, "kim")


def test_what_nobody_signed_is_approved_by_nobody(door: Penstock, versions: Releases) -> None:
    """Its author could be anybody, whoever approves it too."""
    door.register("config", "tenant", {"release": {"four_eyes": True}})
    versions.submit(workflow())
    refused(versions, 1, "lee")


def test_only_one_place_puts_versions_in_force() -> None:
    """Every way asks the gate because there is one door: `Releases.enforce` for versions, `Registry` for the rest."""
    source = Path(__file__).parents[2] / "src/penstock"
    files = {str(file.relative_to(source)): file.read_text("utf-8") for file in source.rglob("*.py")}
    activates = [name for name, text in files.items() if '"activate")' in text and "STATUS.next(" in text]
    assert activates == ["app/releases/releases.py"]
    moves = {name for name, text in files.items() if "store.move_releases(" in text or "store.put_release(" in text}
    drafts = {"app/diagram/releases.py", "app/process/definitions.py", "app/pipeline/definitions.py"}
    assert moves == {"app/releases/releases.py"} | drafts
    writes = {name for name, text in files.items() if "store.put_artifacts(" in text}
    buckets = {"app/kept_buckets.py"}  # a folder of this machine, kept for no tenant
    shells = {"host/deployment_scope.py"}  # which version a line has got stands in its shell; it decides nothing
    assert writes == {"app/registry/registry.py", "app/registry/proposals.py", "host/tenants.py"} | buckets | shells


@pytest.mark.parametrize("name", ["kim\U000e0101", "kim\u180b", "ki\u2800m"])
def test_letters_that_nobody_sees_make_no_other_user(door: Penstock, name: str) -> None:
    """Variation selectors of two planes, and a Braille pattern without dots."""
    door.register("user", "kim", {"roles": []})
    with pytest.raises(UserTaken):
        door.register("user", name, {"roles": []})


def test_nobody_has_a_name_that_nobody_sees(door: Penstock) -> None:
    with pytest.raises(BadInput):
        door.register("user", "\u200b", {"roles": []})
    with pytest.raises(BadInput):
        ApiKeys(door).create("own", user="\u200b", by="kim")


def test_who_made_the_authors_key_is_no_second_person_for_what_was_written_while_it_was_valid(
    door: Penstock, versions: Releases
) -> None:
    door.register("config", "tenant", {"release": {"four_eyes": True}})
    keys = ApiKeys(door)
    lent, _ = keys.create("lent", user="LEE", by="kim")
    versions.submit(workflow(), by="lee")
    keys.revoke(lent.id)
    refused(versions, 1, "kim")
    assert versions.approve("wf_small", 1, by="ria").status == "approved"
    time.sleep(0.002)
    versions.submit(workflow(version=2), by="lee")
    assert versions.approve("wf_small", 2, by="kim").status == "approved"
