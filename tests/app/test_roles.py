"""Roles: what they allow, and what a tenant may change about that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.app.access.roles import (
    PERMISSIONS,
    ROLES,
    each_user,
    locale_of,
    permissions_of,
    person,
    roles_of,
    target_exists,
    user_of,
    zone_of,
)
from penstock.app.penstock import Penstock
from penstock.app.registry.registry import sample_rows
from penstock.errors import KeyInvalid, ThingInvalid
from tests.app.workflows import opened

NAMED = """
admin quality_manager qa_lead it_manager approver process_owner analyst author operator viewer
""".split()
#: for programs, which nobody is in the sample tenant
PROGRAMS = ["worker"]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Penstock]:
    with opened(tmp_path) as one:
        one.load_sample()
        yield one


def test_the_sample_tenant_has_a_user_per_role(door: Penstock) -> None:
    """C-81: users for quality_manager, qa_lead, it_manager and admin, and one for every other role."""
    held = {role: one["id"] for one in each_user(door) for role in one["roles"]}
    assert held.keys() == {*NAMED}
    assert user_of(door, held["operator"])["name"] == "운영자"  # type: ignore[index]
    assert [row.id for row in sample_rows() if row.type == "user"].count("admin@example.com") == 1


def test_z19_what_roles_allow(door: Penstock) -> None:
    """Z19: the administrator everything; an operator starts and steers and does not decide; a viewer only reads."""
    assert {*NAMED, *PROGRAMS} == ROLES.keys()
    may = {role: permissions_of(door, [role]) for role in NAMED}
    assert may["admin"] == set(PERMISSIONS)
    assert {"run.start", "run.steer"} <= may["operator"] and "inbox.decide" not in may["operator"]
    assert all(one.endswith(".read") for one in may["viewer"]) and "audit.read" not in may["viewer"]
    for role in ("quality_manager", "qa_lead", "it_manager", "approver"):
        assert {"inbox.decide", "inbox.read"} <= may[role] and not may[role] & {"key.write", "secret.write"}
    assert permissions_of(door, ["worker"]) == {"job.work"} and "job.work" in may["operator"] - may["viewer"]
    assert permissions_of(door, ["nobody", "viewer"]) == may["viewer"] and permissions_of(door, []) == frozenset()


def test_a_tenant_may_register_its_own_roles(door: Penstock) -> None:
    """F-6.4, P-X.14: also in the seeds' words. Nobody locks the administrator out, and no other tenant is concerned."""
    door.register("role", "shift_lead", {"permissions": ["run.read", "pipeline.cancel", "process.approve"]})
    door.register("role", "viewer", {"permissions": []})
    door.register("role", "admin", {"permissions": []})
    decides = {"inbox.read", "inbox.decide", "process.approve"}
    assert permissions_of(door, ["shift_lead"]) == {"run.read", "pipeline.cancel"} | decides
    assert permissions_of(door, ["viewer"]) == frozenset() and permissions_of(door, ["admin"]) == set(PERMISSIONS)
    assert permissions_of(door.of("other"), ["shift_lead"]) == frozenset()
    assert roles_of(door).keys() == {*NAMED, *PROGRAMS, "shift_lead"}
    door.unregister("role", "viewer")
    assert permissions_of(door, ["viewer"]) == ROLES["viewer"]
    for wrong in ({}, {"permissions": "run.read"}, {"permissions": ["run.everything", 3]}):
        with pytest.raises(ThingInvalid):
            door.register("role", "x", wrong)


def test_scopes_only_take_away(door: Penstock) -> None:
    """Z11, Z19: a key with scopes for somebody without roles, or not there any more, may nothing."""
    viewer = person(door, "viewer@example.com", scopes=frozenset({"run.read", "key.write"}))
    assert viewer.permissions == {"run.read"} and viewer.name == "참관자"
    assert person(door, "stranger", scopes=frozenset(PERMISSIONS)).permissions == frozenset()
    program = person(door, "line-1", roles=["operator"], scopes=frozenset({"run.start"}))
    assert (program.roles, program.permissions) == (("operator",), {"run.start"})
    door.register("user", "viewer@example.com", {"roles": ["viewer"], "active": False})
    for roles in ((), ("admin",)):  # nor with a key that has roles of its own
        with pytest.raises(KeyInvalid, match="not active") as gone:
            person(door, "viewer@example.com", roles=roles)
        assert gone.value.http == 401
    assert "viewer@example.com" not in [one["id"] for one in each_user(door)]


def test_targets_that_there_are(door: Penstock) -> None:
    there = ["user:qa@example.com", "role:qa_lead", "group:quality"]
    absent = ["user:nobody", "role:nobody", "group:nobody", "qa@example.com", "else:qa_lead", ""]
    assert all(target_exists(door, one) for one in there) and not any(target_exists(door, one) for one in absent)


def test_language_and_zone(door: Penstock) -> None:
    assert (locale_of(door, "qa@example.com"), zone_of(door)) == ("ko", "Asia/Seoul")
    door.register("user", "qa@example.com", {"roles": [], "locale": "en"})
    door.register("config", "tenant", {"zone": "Europe/Berlin"})
    assert (locale_of(door, "qa@example.com"), zone_of(door)) == ("en", "Europe/Berlin")
    assert zone_of(door.of("other")) == "UTC"
