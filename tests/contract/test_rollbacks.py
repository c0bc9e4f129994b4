"""Every store: what is rolled back gives way to what lies beneath it now, line by line, and to nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from penstock.errors import (
    DeploymentError,
    NoPreviousVersion,
    NotInForceBefore,
    ScopeEmpty,
    VersionMissing,
)
from penstock.executors.parts.rollout.model import Deployment, DeploymentRequest
from penstock.store.releases import ReleaseRow
from tests.contract.store_suite import Kit
from tests.contract.test_deployments import CANARY, HOUR, MINUTE, PACK, Factory, artifact, watched

SLOW = {"type": "canary", "canary": {"initial_percent": 10, "increment_percent": 10, "interval_minutes": 600}}


@pytest.fixture
def factory(kit: Kit) -> Factory:
    return Factory(kit.open(), ("1", "2", "3"))


def done(factory: Factory, version: str, *lines: str, key: str = "") -> Deployment:
    """Deployed at once, to all lines where none is named."""
    target = {"scope": {"line_ids": list(lines)}} if lines else {}
    begun = factory.begin(key or f"{version}{lines}", version, target=target)
    factory.at += 1
    return factory.advance(begun.id)


def set_status(factory: Factory, version: str, status: str) -> None:
    factory.store.put_artifacts([artifact("rule_pack", PACK, {"id": PACK, "version": version}, version, status)])
    factory.tenant.refresh()


def recorded(factory: Factory, line: str) -> Any:
    shell = factory.tenant.find("aas", f"line.{line}") or {}
    return shell.get("deployed", {}).get("production", {}).get(f"rule_pack/{PACK}", {}).get("version")


def everybody(factory: Factory) -> set[str]:
    return {factory.version(f"run{n}") for n in range(200)}


# ---- versions that are gone ------------------------------------------------------------------------------------------


def test_a_layer_whose_version_is_gone_shows_what_lies_beneath(factory: Factory) -> None:
    """C-82, C-53: and not the newest approved version."""
    done(factory, "1")
    done(factory, "2")
    set_status(factory, "2", "draft")
    assert everybody(factory) == {"1"}


def test_a_rollback_to_a_version_that_was_withdrawn_goes_further_back(factory: Factory) -> None:
    """W-4.11.2: 1 lies beneath 2, which was withdrawn; 3 is taken back by itself."""
    done(factory, "1")
    done(factory, "2")
    begun = factory.begin("c", "3", strategy=CANARY, rollback=watched(error_rate=0.05))
    set_status(factory, "2", "draft")
    factory.at += MINUTE
    factory.use("3", 50, failed=50)
    back = factory.advance(begun.id)
    assert (back.status, back.to_version, everybody(factory)) == ("rolled_back", "1", {"1"})


def test_where_nothing_is_left_a_rollback_has_failed(kit: Kit) -> None:
    """W-4.11.2, C-57: it has no share, and says what applies now; it does not say that it was rolled back."""
    factory = Factory(kit.open(), ("1", "2"))
    done(factory, "1")
    begun = factory.begin("c", "2", strategy=CANARY, rollback=watched(error_rate=0.05))
    set_status(factory, "1", "draft")
    factory.at += MINUTE
    factory.use("2", 50, failed=50)
    failed = factory.advance(begun.id)
    assert (failed.status, failed.percent, failed.to_version) == ("failed", 0, None)
    assert failed.reason is not None and failed.reason.endswith("What applies now is 2.")
    set_status(factory, "1", "approved")
    assert everybody(factory) == {"1"}


@pytest.mark.parametrize("status", ["deprecated", "draft"])
def test_a_version_that_is_withdrawn_in_its_rollout_keeps_no_share(factory: Factory, status: str) -> None:
    """C-53, C-58: and its rollout goes no further."""
    done(factory, "1")
    begun = factory.begin("c", "2", strategy=CANARY)
    set_status(factory, "2", status)
    assert everybody(factory) == {"1"}
    ended = factory.advance(begun.id, 60)
    assert (ended.status, ended.percent) == ("failed", 0)
    assert ended.reason is not None and ended.reason.startswith("withdrawn")


def test_what_is_in_force_may_be_deprecated_and_is_gone_back_to(factory: Factory) -> None:
    """C-53: a deprecated version is deployed no more, but it is what lies beneath."""
    done(factory, "1")
    newer = done(factory, "2")
    set_status(factory, "1", "deprecated")
    assert factory.deployments.roll_back(newer.id, at=factory.at).to_version == "1"
    assert everybody(factory) == {"1"}
    with pytest.raises(VersionMissing):
        factory.begin("again", "1")


def test_a_definition_that_is_put_out_of_force_in_its_rollout_keeps_no_share(factory: Factory) -> None:
    """W-9.4.1, C-58: one that was out of force before may be rolled out again."""
    at = factory.at
    first = ReleaseRow("t", "wf", 1, "wf:1", "active", "h1", 1, b"{}", None, "it", at)
    second = ReleaseRow("t", "wf", 2, "wf:2", "deprecated", "h2", 2, b"{}", None, "it", at, deprecated_at=at)
    for row in (first, second):
        factory.store.put_release(row)
    asked = msgspec.convert({"artifact": {"type": "workflow", "id": "wf", "version": "2"}}, DeploymentRequest)
    factory.deployments.begin(asked, key="wf", at=at)
    versions = []
    for later in (0, 1):
        assert factory.store.move_releases([(replace(second, deprecated_at=at + later), "deprecated")])
        versions.append(factory.deployments.current("workflow", "wf"))
    assert versions == ["2", "1"]


# ---- what lies beneath -----------------------------------------------------------------------------------------------


def test_a_version_that_was_rolled_back_does_not_come_back(factory: Factory) -> None:
    """W-4.11.2: 2 was taken back beneath 3; when 3 is taken back, 1 applies. The AAS registry says what is in force."""
    done(factory, "1")
    second, third = done(factory, "2"), done(factory, "3")
    factory.deployments.roll_back(second.id, at=factory.at, reason="2 is bad")
    assert (factory.version(), recorded(factory, "L01")) == ("3", "3")
    back = factory.deployments.roll_back(third.id, at=factory.at)
    assert (back.to_version, factory.version(), recorded(factory, "L01")) == ("1", "1", "1")


def test_what_came_in_force_meanwhile_lies_beneath(factory: Factory) -> None:
    """W-4.11.2: 3 was begun when 1 was in force; the rollout of 2 has ended since, and is not undone with it."""
    done(factory, "1")
    second = factory.begin("a", "2", strategy=CANARY)
    third = factory.begin("b", "3", strategy=SLOW)
    for _ in range(3):
        factory.advance(second.id, 60)
    assert factory.deployments.roll_back(third.id, at=factory.at).to_version == "2"
    assert everybody(factory) == {"2"}


def test_the_same_version_deployed_twice_is_taken_back_once(factory: Factory) -> None:
    """W-4.11.2: whoever takes 2 back does not want 2."""
    done(factory, "1")
    done(factory, "2")
    again = done(factory, "2", key="again")
    assert factory.deployments.roll_back(again.id, at=factory.at).to_version == "1"
    assert everybody(factory) == {"1"}


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_rollback_brings_nothing_that_was_not_there_before(factory: Factory, version: str) -> None:
    """W-4.12.1: neither its own version, which would be a promotion, nor another new one, which would be a
    deployment."""
    done(factory, "1")
    begun = factory.begin("c", "2", strategy=CANARY)
    with pytest.raises(NotInForceBefore) as refused:
        factory.deployments.roll_back(begun.id, at=factory.at, to_version=version)
    assert (refused.value.code, refused.value.http) == ("ROLLBACK_TARGET", 409)
    assert factory.deployments.get(begun.id).status == "in_progress"


def test_a_rollback_may_name_what_was_there_before(factory: Factory) -> None:
    """W-4.12.1."""
    done(factory, "1")
    done(factory, "2")
    newest = done(factory, "3")
    assert factory.deployments.roll_back(newest.id, at=factory.at, to_version="1").to_version == "1"
    assert everybody(factory) == {"1"}


def test_a_deployment_cannot_name_itself_as_what_it_is_taken_back_to(factory: Factory) -> None:
    """W-4.11.2."""
    with pytest.raises(DeploymentError):
        factory.begin(version="2", rollback={"to_version": "specific", "specific_version": "2"})


# ---- a later deployment ----------------------------------------------------------------------------------------------


def test_an_older_rollout_does_not_undo_a_later_deployment(factory: Factory) -> None:
    """W-4.11.1, W-4.11.5: everybody has 3 by now: the rollout of 2 has ended, and records nothing."""
    done(factory, "1")
    older = factory.begin("a", "2", strategy=CANARY)
    assert factory.deployments.is_top(older)
    later = done(factory, "3")
    assert not factory.deployments.is_top(older) and factory.deployments.is_top(later)
    ended = factory.advance(older.id, 60)
    assert (ended.status, ended.percent, ended.reason) == ("failed", 0, f"superseded by {later.id}")
    assert (factory.version(), recorded(factory, "L01")) == ("3", "3")
    assert factory.deployments.previous("rule_pack", PACK) == "1"


def test_a_promotion_does_not_undo_a_later_deployment_either(factory: Factory) -> None:
    """W-4.11.1."""
    older = factory.begin("a", "2", strategy=CANARY)
    done(factory, "3")
    assert factory.deployments.promote(older.id, at=factory.at).status == "failed"


def test_a_later_deployment_to_some_lines_leaves_the_older_one_the_others(factory: Factory) -> None:
    """C-82: only where all lines of the older one have something later has it ended."""
    older = factory.begin("a", "2", target={"scope": {"line_ids": ["L01", "L02"]}}, strategy=CANARY)
    done(factory, "3", "L01")
    assert factory.advance(older.id).status == "in_progress"
    done(factory, "3", "L02")
    assert factory.advance(older.id).status == "failed"


def test_what_a_crash_has_kept_from_the_aas_registry_is_recorded_later(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W-4.11.5: line by line what is in force; the second time nothing is written."""
    done(factory, "1")
    with monkeypatch.context() as crash:
        crash.setattr("penstock.host.deployments.record_version", lambda *_: None)
        deployment = done(factory, "2")
    done(factory, "3", "L02")
    for _ in range(2):
        factory.deployments.record(deployment, factory.at)
        number = factory.store.registry_number()
    assert [recorded(factory, line) for line in ("L01", "L02", "L03")] == ["2", "3", "2"]
    factory.deployments.record(deployment, factory.at)
    assert factory.store.registry_number() == number


# ---- previous and last stable ----------------------------------------------------------------------------------------


def test_each_line_has_its_own_previous_version(factory: Factory) -> None:
    """W-4.12.1: L01 had 2, L02 had 1."""
    done(factory, "1")
    done(factory, "2", "L01")
    third = done(factory, "3", "L01", "L02")
    before = factory.deployments.previous_by_line("rule_pack", PACK, lines=["L01", "L02"])
    assert before == {"L01": "2", "L02": "1"}
    factory.deployments.roll_back(third.id, at=factory.at)
    assert [factory.version(line=line) for line in ("L01", "L02")] == ["2", "1"]


def test_a_switch_gives_lines_their_own_versions(factory: Factory) -> None:
    """W-4.12.1: done twice it is done once."""
    for _ in range(2):
        factory.deployments.switch(
            "rule_pack", PACK, lines=["L01"], version="2", others={"1": ["L02"]}, at=factory.at, key="undo"
        )
    assert [factory.version(line=line) for line in ("L01", "L02", "L03")] == ["2", "1", "3"]
    assert len(factory.deployments.every()) == 2


def test_what_only_some_lines_had_is_not_previous_to_all(factory: Factory) -> None:
    """W-4.12.1: 3 in L02 alone says nothing of the others: they have had nothing before 1."""
    done(factory, "1")
    done(factory, "3", "L02")
    with pytest.raises(NoPreviousVersion):
        factory.deployments.previous("rule_pack", PACK)
    assert factory.deployments.previous_by_line("rule_pack", PACK) == {"L02": "1"}


def test_what_was_stable_in_some_lines_is_not_stable_in_all(factory: Factory) -> None:
    """W-4.12.1."""
    done(factory, "1")
    factory.at += 30 * HOUR
    done(factory, "2", "L02")
    factory.at += 30 * HOUR
    done(factory, "3")
    factory.at += HOUR
    stable = factory.deployments.last_stable_by_line("rule_pack", PACK, at=factory.at)
    assert stable == {"": "1", "L01": "1", "L02": "2", "L03": "1"}
    assert factory.deployments.last_stable("rule_pack", PACK, at=factory.at) == "1"


def test_a_rollback_is_not_rolled_back_to_the_bad_version(factory: Factory) -> None:
    """W-4.12.1: what was taken back last is previous to nothing."""
    done(factory, "1")
    done(factory, "2")
    factory.deployments.switch("rule_pack", PACK, version="1", at=factory.at, key="undo")
    with pytest.raises(NoPreviousVersion):
        factory.deployments.previous("rule_pack", PACK)


def test_who_has_taken_a_deployment_back_finds_it_again(factory: Factory) -> None:
    """W-4.12.1: by the key of the effect, after a crash."""
    done(factory, "1")
    newer = done(factory, "2")
    factory.deployments.roll_back(newer.id, at=factory.at, key="effect")
    known = factory.deployments.taken_back_by("effect", type="rule_pack", artifact=PACK)
    assert known is not None and known.id == newer.id
    assert factory.deployments.taken_back_by("other", type="rule_pack", artifact=PACK) is None


# ---- watching --------------------------------------------------------------------------------------------------------


def test_a_paused_rollout_is_still_taken_back(factory: Factory) -> None:
    """W-4.11.2: the share stays in a pause, and so does what watches it."""
    done(factory, "1")
    begun = factory.begin("c", "2", strategy=CANARY, rollback=watched(error_rate=0.5))
    paused = factory.deployments.pause(begun.id, at=factory.at)
    assert paused.next_at == factory.at + 3 * MINUTE
    assert factory.advance(begun.id, 3).next_at == factory.at + 3 * MINUTE
    factory.use("2", 100, failed=90)
    assert factory.advance(begun.id, 3).status == "rolled_back"


def test_a_pause_does_not_erase_what_was_measured(factory: Factory) -> None:
    """C-58: the stage ends later by the pause, and is measured from its beginning."""
    done(factory, "1")
    strategy = {"type": "canary", "canary": {**CANARY["canary"], "success_criteria": {}}}  # type: ignore[dict-item]
    begun = factory.begin("c", "2", strategy=strategy)
    factory.at += 5 * MINUTE
    factory.use("2", 100, failed=40)
    factory.deployments.pause(begun.id, at=factory.at)
    factory.at += 60 * MINUTE
    factory.deployments.resume(begun.id, at=factory.at)
    assert factory.advance(begun.id, 54).status == "in_progress"
    assert factory.advance(begun.id, 1).status == "rolled_back"


def test_auto_rollback_without_triggers_has_the_usual_ones(factory: Factory) -> None:
    """W-4.11.2: those of the seed: 0.05, 1000 ms, 0.8; without a sample nothing happens."""
    done(factory, "1")
    begun = factory.begin("c", "2", strategy=CANARY, rollback={"auto_rollback": True})
    assert factory.advance(begun.id, 1).status == "in_progress"
    factory.use("2", 100, failed=6)
    back = factory.advance(begun.id, 1)
    assert (back.status, back.reason) == ("rolled_back", "error_rate 0.06 is over 0.05.")
    assert [(check.name, check.limit) for check in back.checks] == [
        ("error_rate", 0.05), ("latency_p99_ms", 1000), ("anomaly_score", 0.8),
    ]  # fmt: skip


def test_promoting_ends_the_warm_up_but_not_the_check(factory: Factory) -> None:
    """C-58, C-83: nobody is switched to a slot whose health nobody has looked at."""
    done(factory, "1")
    begun = factory.begin("b", "2", strategy={"type": "blue_green", "blue_green": {"warm_up_minutes": 10}})
    promoted = factory.deployments.promote(begun.id, at=factory.at)
    assert (promoted.needs_check, promoted.percent, factory.version("any")) == (True, 0, "1")
    assert factory.advance(begun.id).needs_check
    assert factory.advance(begun.id, healthy=False, problems="It does not load.").status == "failed"


def test_a_scope_without_a_line_is_refused(factory: Factory) -> None:
    """W-4.11.5, C-69: it is not for all of them."""
    with pytest.raises(ScopeEmpty) as refused:
        factory.begin(version="2", target={"scope": {"line_ids": []}})
    assert (refused.value.code, refused.value.http) == ("INPUT_INVALID", 422)
    assert factory.deployments.every() == []
