"""Every store: deployments are rolled out by stages, split by instance, measured by version and taken back."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from penstock.errors import (
    ArtifactMissing,
    DeploymentNotFound,
    ForeignTenant,
    LineUnknown,
    NoPreviousVersion,
    NoStableVersion,
    StatusConflict,
    VersionMissing,
)
from penstock.executors.parts.rollout.model import Deployment, DeploymentRequest
from penstock.host.secrets import SecretPlaces
from penstock.host.tenants import StoredTenant, Tenants
from penstock.store.artifacts import ArtifactRow
from penstock.store.contract import Store
from penstock.store.run_store import Batch
from tests.contract.store_suite import Kit

HOUR, MINUTE, T0 = 3_600_000, 60_000, 1_700_000_000_000
PACK = "quality_rules_v2"
CANARY = {"type": "canary", "canary": {"initial_percent": 10, "increment_percent": 30, "interval_minutes": 60}}


class Factory:
    """A tenant with two approved versions of a rule pack and two lines, and a clock that the test moves."""

    def __init__(self, store: Store, versions: Sequence[str] = ("2.0.0", "2.1.0")) -> None:
        self.at, self.store, self.used = T0, store, 0
        packs = [artifact("rule_pack", PACK, {"id": PACK, "version": v}, v) for v in versions]
        lines = [artifact("aas", f"line.{line}", {"id": line}) for line in ("L01", "L02", "L03")]
        store.put_artifacts([*packs, *lines])
        self.tenant: StoredTenant = Tenants(store, SecretPlaces(), lambda: self.at).of("t")
        self.deployments = self.tenant.deployments

    def begin(self, key: str = "k", version: str | None = "2.1.0", **blocks: Any) -> Deployment:
        asked = {"artifact": {"type": "rule_pack", "id": PACK, "version": version}, **blocks}
        return self.deployments.begin(msgspec.convert(asked, DeploymentRequest), key=key, at=self.at)

    def advance(self, id: str, minutes: float = 0, **more: Any) -> Deployment:
        self.at += round(minutes * MINUTE)
        return self.deployments.advance(id, at=self.at, **more)

    def version(self, run: str = "", line: str = "", environment: str = "") -> str:
        deployed = self.tenant.deployed("rule_pack", PACK, run=run, line=line, environment=environment)
        assert deployed is not None
        return deployed.version

    def use(self, version: str, number: int = 1, *, failed: int = 0, ms: int = 10, decision: str = "normal") -> None:
        """Uses as the projection writes them, in line L01 of production."""
        batch = Batch()
        for n in range(number):
            self.used += 1
            batch.artifact_use.append((
                f"r{self.used}", 1, "rule_pack", PACK, "t", version, "production", "L01", "", decision, 900,
                int(n < failed), ms, self.at,
            ))  # fmt: skip
        self.store.commit(batch)


def artifact(type: str, id: str, body: dict[str, Any], version: str = "", status: str = "approved") -> ArtifactRow:
    return ArtifactRow("t", type, id, version, status, msgspec.msgpack.encode(body), T0 - 48 * HOUR)


@pytest.fixture
def factory(kit: Kit) -> Factory:
    return Factory(kit.open())


def watched(**trigger: float) -> dict[str, Any]:
    return {"auto_rollback": True, "trigger": trigger}


# ---- stages ----------------------------------------------------------------------------------------------------------


def test_a_canary_goes_up_by_its_increment(factory: Factory) -> None:
    """W-4.11.1, W-11.3.9: 10 → 40 → 70 → 100 % at t0, +60, +120 and +180 minutes; nothing in between moves it."""
    begun = factory.begin(strategy=CANARY)
    seen = [(begun.percent, begun.progress, begun.status)]
    for minutes in (59, 1, 60, 59, 1):
        now = factory.advance(begun.id, minutes)
        seen.append((now.percent, now.progress, now.status))
    assert seen == [
        (10, 10, "in_progress"), (10, 10, "in_progress"), (40, 40, "in_progress"), (70, 70, "in_progress"),
        (70, 70, "in_progress"), (100, 100, "succeeded"),
    ]  # fmt: skip
    events = [(event.what, event.percent, (event.at - T0) // MINUTE) for event in factory.deployments.history(begun.id)]
    assert events == [
        ("begin", 10, 0), ("advance", 40, 60), ("advance", 70, 120), ("advance", 100, 180), ("complete", 100, 180)
    ]  # fmt: skip
    assert factory.advance(begun.id, 60).number == now.number


def test_the_same_key_is_the_same_deployment(factory: Factory) -> None:
    """The effect that begins it may be asked for twice."""
    first = factory.begin(strategy=CANARY)
    factory.advance(first.id, 60)
    again = factory.begin(strategy=CANARY)
    assert (again.id, again.percent) == (first.id, 40)
    assert len(factory.deployments.every()) == 1


def test_immediate_is_for_all_at_once(factory: Factory) -> None:
    """W-4.11.1, W-4.11.6: without a version it is the newest; complete at the first look."""
    begun = factory.begin(version=None)
    assert (begun.version, begun.percent, begun.status, begun.previous_version) == (
        "2.1.0", 100, "in_progress", "2.0.0",
    )  # fmt: skip
    assert factory.advance(begun.id).status == "succeeded"


def test_blue_green_is_checked_and_switched(factory: Factory) -> None:
    """C-58: the new slot stands beside the old one, its health is checked, then everybody is switched."""
    begun = factory.begin(strategy={"type": "blue_green"})
    assert (begun.percent, factory.version("any")) == (0, "2.0.0")
    looked = factory.advance(begun.id)
    assert looked.needs_check and factory.version("any") == "2.0.0"
    done = factory.advance(begun.id, healthy=True)
    assert (done.status, done.percent, factory.version("any")) == ("succeeded", 100, "2.1.0")


def test_an_unhealthy_slot_is_never_switched_to(factory: Factory) -> None:
    """C-58, C-83."""
    begun = factory.begin(strategy={"type": "blue_green"})
    done = factory.advance(begun.id, healthy=False, problems="It does not load.")
    assert (done.status, done.reason, done.percent, factory.version("any")) == (
        "failed", "It does not load.", 0, "2.0.0",
    )  # fmt: skip


def test_rolling_goes_line_by_line(factory: Factory) -> None:
    """C-58: over the lines of the scope, or over those that the AAS registry knows."""
    strategy = {"type": "rolling", "rolling": {"batch_size": 1, "interval_minutes": 5}}
    begun = factory.begin(strategy=strategy)

    def lines() -> list[str]:
        return [line for line in ("L01", "L02", "L03") if factory.version("any", line) == "2.1.0"]

    seen = [(begun.progress, lines())]
    seen += [(factory.advance(begun.id, 5).progress, lines()) for _ in range(2)]
    assert seen == [(33, ["L01"]), (66, ["L01", "L02"]), (100, ["L01", "L02", "L03"])]
    assert factory.deployments.get(begun.id).status == "succeeded"


def test_a_rollout_goes_on_after_an_outage_where_it_stood(factory: Factory) -> None:
    """Nobody has looked for a day: one stage follows and not all of them, and it is waited for in full."""
    begun = factory.begin(strategy=CANARY)
    late = factory.advance(begun.id, 24 * 60)
    assert (late.percent, late.next_at) == (40, factory.at + HOUR)


def test_a_late_look_moves_no_later_stage(factory: Factory) -> None:
    begun = factory.begin(strategy=CANARY)
    late = factory.advance(begun.id, 61)
    assert (late.percent, late.next_at) == (40, T0 + 120 * MINUTE)


def test_a_watched_stage_is_looked_at_often(factory: Factory) -> None:
    """A twentieth of the stage, from 10 s to 5 min."""
    begun = factory.begin(strategy=CANARY, rollback=watched(error_rate=0.05))
    assert begun.next_at == T0 + 3 * MINUTE
    quick = {"type": "canary", "canary": {"interval_minutes": 1, "success_criteria": {}}}
    assert factory.begin("quick", strategy=quick).next_at == T0 + 10_000
    slow = {"type": "canary", "canary": {"interval_minutes": 600, "success_criteria": {}}}
    assert factory.begin("slow", strategy=slow).next_at == T0 + 5 * MINUTE


# ---- which version ---------------------------------------------------------------------------------------------------


def test_ten_percent_of_the_instances_get_the_new_version(factory: Factory) -> None:
    """C-58: hash of the instance id; 10,000 instances, 10 ± 1 %; the same instance always gets the same."""
    factory.begin(strategy=CANARY)
    made = random.Random(14)
    runs = [f"{made.getrandbits(64):016x}" for _ in range(10_000)]
    first = [factory.version(run) for run in runs]
    share = Counter(first)["2.1.0"] / len(runs)
    assert 0.09 <= share <= 0.11
    assert [factory.version(run) for run in runs[:500]] == first[:500]


def test_who_has_the_new_version_keeps_it_when_the_share_grows(factory: Factory) -> None:
    begun = factory.begin(strategy=CANARY)
    runs = [f"run{n}" for n in range(500)]
    early = {run for run in runs if factory.version(run) == "2.1.0"}
    factory.advance(begun.id, 60)
    later = {run for run in runs if factory.version(run) == "2.1.0"}
    assert early < later


def test_a_version_is_for_its_environment_and_its_lines(factory: Factory) -> None:
    """C-82: (tenant, environment, line). What was never deployed is the newest approved (C-53)."""
    target = {"environment": "staging", "scope": {"line_ids": ["L01"]}}
    factory.advance(factory.begin(version="2.0.0", target=target).id)
    where = [("L01", "staging"), ("L02", "staging"), ("L01", "production"), ("", "")]
    assert [factory.version("r", *place) for place in where] == ["2.0.0", "2.1.0", "2.1.0", "2.1.0"]


def test_a_newer_deployment_lies_above_an_older_one(factory: Factory) -> None:
    """Both go on; what the newer one leaves shows what the older one does."""
    lower = factory.begin("lower", "2.1.0", strategy=CANARY)
    factory.advance(lower.id, 60)
    factory.store.put_artifacts([artifact("rule_pack", PACK, {}, "3.0.0")])
    factory.tenant.refresh()
    upper = factory.begin("upper", "3.0.0", strategy=CANARY)
    counts = Counter(factory.version(f"run{n}") for n in range(3000))
    assert {version: round(count / 300) for version, count in counts.items()} == {"3.0.0": 1, "2.1.0": 3, "2.0.0": 6}
    factory.deployments.roll_back(upper.id, at=factory.at)
    counts = Counter(factory.version(f"run{n}") for n in range(3000))
    assert {version: round(count / 300) for version, count in counts.items()} == {"2.1.0": 4, "2.0.0": 6}


def test_another_process_sees_a_move(factory: Factory) -> None:
    """Held in memory, and read again when the number of the registry has changed."""
    other = Tenants(factory.store, SecretPlaces(), lambda: factory.at).of("t")
    assert other.deployments.current("rule_pack", PACK) == "2.1.0"
    begun = factory.begin(version="2.0.0")
    factory.at += 1000
    assert other.deployments.current("rule_pack", PACK) == "2.0.0"
    assert begun.id in [deployment.id for deployment in other.deployments.every()]


# ---- metrics and what they lead to -----------------------------------------------------------------------------------


def test_metrics_are_of_each_version(factory: Factory) -> None:
    """C-58: error rate, p99 (nearest rank), samples, and an anomaly score of the new one."""
    begun = factory.begin(strategy=CANARY)
    factory.use("2.0.0", 60, decision="normal")
    factory.use("2.0.0", 40, decision="warning")
    for ms in range(1, 101):
        factory.use("2.1.0", ms=ms, failed=int(ms <= 3), decision="warning")
    old, new = factory.deployments.metrics(begun.id)
    assert (old.version, old.samples, old.errors, old.error_rate, old.latency_p99_ms) == ("2.0.0", 100, 0, 0.0, 10)
    assert (new.version, new.samples, new.errors, new.error_rate) == ("2.1.0", 100, 3, 0.03)
    assert (new.latency_p50_ms, new.latency_p99_ms) == (50, 99)
    # Jensen-Shannon by hand: shares (0.6, 0.4) and (0, 1), mean (0.3, 0.7)
    by_hand = (0.6 * math.log2(0.6 / 0.3) + 0.4 * math.log2(0.4 / 0.7) + 1 * math.log2(1 / 0.7)) / 2
    assert new.anomaly_score == pytest.approx(math.sqrt(by_hand))
    assert old.anomaly_score is None


def test_few_samples_have_no_anomaly_score(factory: Factory) -> None:
    begun = factory.begin(strategy=CANARY)
    factory.use("2.0.0", 19)
    factory.use("2.1.0", 500, decision="critical")
    assert factory.deployments.metrics(begun.id)[-1].anomaly_score is None


@pytest.mark.parametrize(
    ("limits", "uses", "reason"),
    [
        ({"error_rate": 0.05}, [{"number": 100, "failed": 6}], "error_rate 0.06 is over 0.05."),
        ({"latency_p99_ms": 1000}, [{"number": 10, "ms": 1001}], "latency_p99_ms 1001 is over 1000."),
        ({"anomaly_score": 0.8}, [{"number": 20, "decision": "critical"}], "anomaly_score 1 is over 0.8."),
    ],
)
def test_a_trigger_takes_it_back_at_once(
    factory: Factory, limits: dict[str, float], uses: list[dict[str, Any]], reason: str
) -> None:
    """W-4.11.2: in the middle of a stage; everybody has the version before again."""
    begun = factory.begin(strategy=CANARY, rollback=watched(**limits))
    factory.at += MINUTE
    factory.use("2.0.0", 20)
    for use in uses:
        factory.use("2.1.0", **use)
    done = factory.advance(begun.id)
    assert (done.status, done.reason, done.percent, done.to_version) == ("rolled_back", reason, 0, "2.0.0")
    assert {factory.version(f"run{n}") for n in range(200)} == {"2.0.0"}
    assert factory.deployments.history(begun.id)[-1].metrics[-1].samples == uses[0]["number"]


def test_what_is_not_exceeded_takes_nothing_back(factory: Factory) -> None:
    begun = factory.begin(strategy=CANARY, rollback=watched(error_rate=0.05, latency_p99_ms=1000))
    factory.use("2.1.0", 100, failed=5, ms=1000)
    assert factory.advance(begun.id, 1).status == "in_progress"


def test_missed_criteria_take_it_back_at_the_end_of_the_stage(factory: Factory) -> None:
    """TC-WF-009: criteria missed ⇒ rollback; C-58: what the block leaves out is 0.01 and 500 ms."""
    strategy = {"type": "canary", "canary": {**CANARY["canary"], "success_criteria": {}}}  # type: ignore[dict-item]
    begun = factory.begin(strategy=strategy)
    factory.use("2.1.0", 100, failed=2)
    assert factory.advance(begun.id, 30).status == "in_progress"
    assert factory.advance(begun.id, 30).status == "rolled_back"


def test_missed_criteria_fail_where_nobody_wants_a_rollback(factory: Factory) -> None:
    """C-57: `failed`; the share stays as it is until somebody takes it back."""
    strategy = {"type": "canary", "canary": {**CANARY["canary"], "success_criteria": {"latency_p99_max_ms": 5}}}  # type: ignore[dict-item]
    begun = factory.begin(strategy=strategy, rollback={"auto_rollback": False})
    factory.use("2.1.0", 10)
    done = factory.advance(begun.id, 60)
    assert (done.status, done.percent, done.progress) == ("failed", 10, 10)
    assert factory.deployments.roll_back(begun.id, at=factory.at).status == "rolled_back"


def test_without_samples_a_criterion_passes_with_a_warning(factory: Factory) -> None:
    """C-58."""
    strategy = {"type": "canary", "canary": {**CANARY["canary"], "success_criteria": {}}}  # type: ignore[dict-item]
    begun = factory.begin(strategy=strategy)
    after = factory.advance(begun.id, 60)
    assert (after.percent, after.warnings) == (40, ["no_samples"])


def test_without_a_block_of_criteria_only_time_counts(factory: Factory) -> None:
    """C-58."""
    begun = factory.begin(strategy=CANARY)
    factory.use("2.1.0", 100, failed=100, ms=9999)
    assert factory.advance(begun.id, 60).percent == 40


# ---- by hand ---------------------------------------------------------------------------------------------------------


def test_a_pause_holds_the_share_and_the_rest_of_the_stage(factory: Factory) -> None:
    begun = factory.begin(strategy=CANARY)
    factory.advance(begun.id, 20)
    paused = factory.deployments.pause(begun.id, at=factory.at, by="lee", reason="lunch")
    assert (paused.status, paused.next_at) == ("paused", None)
    assert factory.advance(begun.id, 300).percent == 10
    resumed = factory.deployments.resume(begun.id, at=factory.at, by="lee")
    assert resumed.next_at == factory.at + 40 * MINUTE
    assert factory.advance(begun.id, 40).percent == 40
    said = [(event.what, event.who, event.text) for event in factory.deployments.history(begun.id)[1:3]]
    assert said == [("pause", "lee", "lunch"), ("resume", "lee", "")]


def test_promoting_asks_for_no_criteria(factory: Factory) -> None:
    begun = factory.begin(strategy=CANARY)
    percents = [factory.deployments.promote(begun.id, at=factory.at, by="lee").percent for _ in range(3)]
    assert percents == [40, 70, 100]
    assert factory.deployments.get(begun.id).status == "succeeded"
    with pytest.raises(StatusConflict):
        factory.deployments.promote(begun.id, at=factory.at)


def test_two_who_move_it_at_once_move_it_one_after_the_other(factory: Factory) -> None:
    """A compare-and-set: who comes second decides again by what there is."""
    begun = factory.begin(strategy=CANARY)
    row = factory.store.deployment("t", begun.id)
    assert row is not None
    assert factory.store.move_deployment(replace(row, percent=40, number=2), 1)
    assert not factory.store.move_deployment(replace(row, percent=70, number=2), 1)
    assert factory.deployments.get(begun.id).percent == 40


# ---- back ------------------------------------------------------------------------------------------------------------


def test_a_rollback_is_done_once(factory: Factory) -> None:
    """W-11.3.11: also of one that has succeeded; again it changes nothing."""
    begun = factory.begin()
    factory.advance(begun.id)
    first = factory.deployments.roll_back(begun.id, at=factory.at, by="lee", reason="worse")
    again = factory.deployments.roll_back(begun.id, at=factory.at + 5, by="kim")
    assert (first.status, first.to_version, again) == ("rolled_back", "2.0.0", first)
    assert factory.version("r") == "2.0.0"


def test_back_to_a_specific_version(factory: Factory) -> None:
    """W-4.11.2: `to_version: specific`."""
    factory.store.put_artifacts([artifact("rule_pack", PACK, {}, "1.0.0")])
    rollback = {"to_version": "specific", "specific_version": "1.0.0", "trigger": {"error_rate": 0.5}}
    begun = factory.begin(strategy=CANARY, rollback=rollback)
    factory.use("2.1.0", 1, failed=1)
    assert factory.advance(begun.id).to_version == "1.0.0"
    assert {factory.version(f"run{n}") for n in range(100)} == {"1.0.0"}


def test_a_rollback_without_a_predecessor(kit: Kit) -> None:
    """By hand it is refused; by itself the deployment has failed."""
    factory = Factory(kit.open(), ["2.1.0"])
    begun = factory.begin(strategy=CANARY, rollback=watched(error_rate=0.5))
    with pytest.raises(NoPreviousVersion):
        factory.deployments.roll_back(begun.id, at=factory.at)
    factory.use("2.1.0", 1, failed=1)
    assert factory.advance(begun.id).status == "failed"


def test_a_switch_takes_the_deployment_back_that_it_replaces(factory: Factory) -> None:
    """W-4.12.1: as ROLLBACK does it; done twice it is done once."""
    begun = factory.begin()
    factory.advance(begun.id)
    previous = factory.deployments.previous("rule_pack", PACK)
    for _ in range(2):
        done = factory.deployments.switch("rule_pack", PACK, version=previous, at=factory.at, key="undo")
    assert (done.version, done.status, factory.version("r")) == ("2.0.0", "succeeded", "2.0.0")
    assert factory.deployments.get(begun.id).status == "rolled_back"
    assert len(factory.deployments.every()) == 2


def test_previous_is_what_was_in_force_before(factory: Factory) -> None:
    """W-4.12.1."""
    factory.store.put_artifacts([artifact("rule_pack", PACK, {}, "3.0.0")])
    factory.tenant.refresh()
    for version in ("2.1.0", "3.0.0"):
        factory.at += HOUR
        factory.advance(factory.begin(version, version).id)
    assert factory.deployments.previous("rule_pack", PACK) == "2.1.0"
    with pytest.raises(NoPreviousVersion):
        factory.deployments.previous("rule_pack", PACK, environment="staging")


def test_last_stable_was_long_enough_in_force_with_few_errors(factory: Factory) -> None:
    """W-4.12.1: newest earlier version with uptime ≥ min_uptime_hours and error rate ≤ max_error_rate."""
    for version, hours in (("2.1.0", 30), ("2.2.0", 30), ("3.0.0", 1)):
        factory.store.put_artifacts([artifact("rule_pack", PACK, {}, version)])
        factory.tenant.refresh()
        factory.advance(factory.begin(version, version).id)
        factory.use(version, 100, failed=50 if version == "2.2.0" else 0)
        factory.at += hours * HOUR

    def stable(hours: float, rate: float) -> str:
        return factory.deployments.last_stable(
            "rule_pack", PACK, min_uptime_hours=hours, max_error_rate=rate, at=factory.at
        )

    assert [stable(24, 0.01), stable(24, 0.6), stable(40, 0.01)] == ["2.1.0", "2.2.0", "2.0.0"]
    with pytest.raises(NoStableVersion) as none:
        stable(100, 0.01)
    assert none.value.code == "NO_STABLE_VERSION"


# ---- bad input -------------------------------------------------------------------------------------------------------


def test_what_cannot_be_deployed(factory: Factory) -> None:
    """Nothing is written where anything is wrong."""
    factory.store.put_artifacts([artifact("rule_pack", PACK, {}, "9.0.0", "draft")])
    factory.tenant.refresh()
    with pytest.raises(VersionMissing):
        factory.begin(version="9.0.0")
    with pytest.raises(VersionMissing):
        factory.begin(version="7")
    with pytest.raises(ForeignTenant):
        factory.begin(target={"scope": {"tenant_ids": ["t", "somebody_else"]}})
    with pytest.raises(VersionMissing):
        factory.begin(rollback={"to_version": "specific"})
    asked = msgspec.convert({"artifact": {"type": "prompt", "id": "none"}}, DeploymentRequest)
    with pytest.raises(ArtifactMissing):
        factory.deployments.begin(asked, key="k", at=T0)
    with pytest.raises(DeploymentNotFound):
        factory.deployments.get("dep_none")
    assert factory.deployments.every() == []


# ---- the AAS registry ------------------------------------------------------------------------------------------------


def test_lines_are_checked_in_the_aas_registry(factory: Factory) -> None:
    """W-4.11.5."""
    with pytest.raises(LineUnknown) as wrong:
        factory.begin(target={"scope": {"line_ids": ["L01", "L99"]}})
    assert "L99" in str(wrong.value)
    assert factory.begin(target={"scope": {"line_ids": ["L01"]}}).warnings == []


def test_without_any_line_in_the_registry_nobody_can_say(kit: Kit) -> None:
    """W-4.11.5: it is deployed, with a warning."""
    factory = Factory(kit.open())
    for line in ("L01", "L02", "L03"):
        factory.store.drop_artifact("t", "aas", f"line.{line}")
    assert factory.begin(target={"scope": {"line_ids": ["X"]}}).warnings == ["lines_unchecked"]


def test_the_deployed_version_is_recorded_in_the_aas_registry(factory: Factory) -> None:
    """W-4.11.5: when it is in force, and when it is taken back; of other lines nothing is said."""

    def recorded(line: str) -> Any:
        shell = factory.tenant.find("aas", f"line.{line}") or {}
        return shell.get("deployed", {}).get("production", {}).get(f"rule_pack/{PACK}", {}).get("version")

    begun = factory.begin(target={"scope": {"line_ids": ["L01"]}})
    factory.advance(begun.id)
    assert (recorded("L01"), recorded("L02")) == ("2.1.0", None)
    factory.deployments.roll_back(begun.id, at=factory.at)
    assert recorded("L01") == "2.0.0"


# ---- lists and counts ------------------------------------------------------------------------------------------------


def test_a_list_goes_on_where_it_ended(factory: Factory) -> None:
    ids = [factory.begin(f"k{n}").id for n in range(5)]
    first = factory.deployments.every(limit=2)
    rest = factory.deployments.every(before=first[-1].id)
    assert [item.id for item in (*first, *rest)] == ids[::-1]
    assert factory.deployments.every(status=["succeeded"]) == []
    assert factory.deployments.every(type="prompt") == []


def test_runs_are_counted_by_stage(factory: Factory) -> None:
    begun = factory.begin(strategy=CANARY)
    factory.use("2.0.0", 9)
    factory.use("2.1.0", 1)
    factory.advance(begun.id, 60)
    factory.use("2.1.0", 4)
    assert factory.deployments.counted(begun.id) == [(1, 10), (4, 4)]
    assert factory.deployments.stage_times(begun.id) == [(T0, 0), (T0 + HOUR, 1)]
    assert sum(metrics.samples for _, metrics in factory.deployments.series(begun.id)) == 14


def test_the_output_of_a_node(factory: Factory) -> None:
    """W-4.11.4, C-57: under way it is accepted, and `rollout_status` says how it stands."""
    begun = factory.begin(strategy=CANARY)
    output = factory.deployments.output(begun)
    assert output == {
        "status": "succeeded", "deployed_version": "2.1.0", "deployed_at": "2023-11-14T22:13:20.000Z",
        "affected_scope": {"tenant_ids": ["t"], "line_ids": None}, "deployment_id": begun.id, "artifact_id": PACK,
        "artifact_type": "rule_pack", "environment": "production", "previous_version": "2.0.0", "progress": 10,
        "rollout_status": "in_progress", "percent": 10, "to_version": None, "reason": None, "warnings": [],
    }  # fmt: skip


def test_old_uses_are_forgotten_when_no_rollout_looks_at_them(factory: Factory) -> None:
    """C-58: by age; what is being rolled out keeps the uses that its criteria are about."""
    begun = factory.begin(rollback=watched(error_rate=0.5))
    factory.use("2.1.0", 5)
    later = factory.at + 1
    assert factory.store.forget_uses(later) == 0, "it is under way"
    factory.deployments.roll_back(begun.id, at=factory.at)
    assert factory.store.forget_uses(factory.at) == 0, "they are younger"
    assert factory.store.forget_uses(later) == 5 and factory.store.forget_uses(later) == 0
