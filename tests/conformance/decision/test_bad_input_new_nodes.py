"""BI, DEPLOY, ROLLBACK and SIMULATE with something wrong in each place.

It is a finding with its place and a hint where the document alone shows it, else a failure with a code of its own.
"""

from __future__ import annotations

import copy
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import Finding
from tests.conformance.decision.broken import at as reached
from tests.conformance.decision.make import document, found
from tests.conformance.decision.rollouts import PACK, on_own_api
from tests.conformance.decision.stores import FILES
from tests.conformance.decision.test_tc_wf import play
from tests.conformance.decision.world import HOUR, T0, Door, Wire, World, moment

GONE: Any = object()
LONG_AGO = {"start": "1999-01-01T00:00:00Z", "end": "1999-02-01T00:00:00Z"}
WEEK = {"start": "${fn.date_add(fn.now(), -7, 'day')}", "end": "${fn.now()}"}
ARTIFACT = {"type": "rule_pack", "id": PACK}
BI = {
    "id": "x", "type": "BI",
    "analysis": {"type": "trend", "metrics": ["defect_rate"], "time_grain": "day", "time_range": WEEK,
                 "filters": [{"field": "line_id", "op": "in", "value": ["L01"]}],
                 "aggregation": {"defect_rate": "avg"}},
    "output": {"variable": "v", "format": "table"},
    "visualization": {"chart_type": "line", "title": "t", "x_axis": "date", "y_axis": ["defect_rate"]},
}  # fmt: skip
DEPLOY = {
    "id": "x", "type": "DEPLOY", "artifact": ARTIFACT, "target": {"environment": "production"},
    "strategy": {"type": "canary", "canary": {"initial_percent": 10, "increment_percent": 30, "interval_minutes": 60,
                                              "success_criteria": {"error_rate_max": 0.01, "latency_p99_max_ms": 500}}},
    "rollback": {"auto_rollback": True, "trigger": {"error_rate": 0.05, "latency_p99_ms": 1000, "anomaly_score": 0.8},
                 "to_version": "previous"},
    "notification": {"on_start": True, "on_complete": True, "on_rollback": True, "channels": ["slack"]},
}  # fmt: skip
ROLLBACK = {
    "id": "x", "type": "ROLLBACK", "artifact": ARTIFACT,
    "target_version": {"strategy": "last_stable",
                       "last_stable_criteria": {"min_uptime_hours": 24, "max_error_rate": 0.01}},
    "scope": {"match_deploy": True}, "verification": {"health_check": True, "smoke_test": True, "timeout_ms": 60000},
    "notification": {"channels": ["slack"], "include_reason": True},
}  # fmt: skip
SIMULATE = {
    "id": "x", "type": "SIMULATE", "artifact": ARTIFACT,
    "mode": {"type": "replay", "replay": {"data_source": "historical", "time_range": WEEK, "sample_size": 10,
                                          "sampling": "random"},
             "what_if": {"base_scenario": "current_production",
                         "modifications": [{"type": "rule_change", "rule_id": "over_limit", "new_threshold": 0.04}]}},
    "comparison": {"baseline": "current_production", "metrics": ["accuracy"]},
    "analysis": {"statistical_test": "chi_square", "confidence_level": 0.95, "effect_size": True},
    "report": {"generate": True, "format": "json", "include_visualizations": True},
}  # fmt: skip
RIGHT = {node["type"]: node for node in (BI, DEPLOY, ROLLBACK, SIMULATE)}

#: C-69: (type, what is missing); told where it should stand
REQUIRED = [
    ("BI", "analysis"), ("BI", "analysis/type"),
    ("DEPLOY", "artifact"), ("DEPLOY", "artifact/type"), ("DEPLOY", "artifact/id"), ("DEPLOY", "target"),
    ("DEPLOY", "target/environment"), ("DEPLOY", "strategy"), ("DEPLOY", "strategy/type"),
    ("ROLLBACK", "artifact"), ("ROLLBACK", "artifact/type"), ("ROLLBACK", "artifact/id"),
    ("SIMULATE", "mode"), ("SIMULATE", "mode/type"),
]  # fmt: skip
#: W-4.2.2: (what an analysis of this type needs)
NEEDS = [
    ("trend", "time_grain"), ("trend", "time_range"), ("comparison", "compare_periods"),
    ("distribution", "bucket_config"), ("correlation", "correlation_pairs"), ("anomaly", "anomaly_config"),
]  # fmt: skip
#: (type, place, a word that is none of its words)
ENUMS = [
    ("BI", "analysis/type"), ("BI", "analysis/time_grain"), ("BI", "analysis/filters/0/op"),
    ("BI", "analysis/aggregation/defect_rate"), ("BI", "output/format"), ("BI", "visualization/chart_type"),
    ("DEPLOY", "artifact/type"), ("DEPLOY", "target/environment"), ("DEPLOY", "strategy/type"),
    ("DEPLOY", "rollback/to_version"),
    ("ROLLBACK", "artifact/type"), ("ROLLBACK", "target_version/strategy"),
    ("SIMULATE", "artifact/type"), ("SIMULATE", "mode/type"), ("SIMULATE", "mode/replay/sampling"),
    ("SIMULATE", "comparison/metrics/0"), ("SIMULATE", "analysis/statistical_test"), ("SIMULATE", "report/format"),
]  # fmt: skip
#: (type, place, a value beyond its bounds)
BOUNDS: list[tuple[str, str, Any]] = [
    ("DEPLOY", "strategy/canary/initial_percent", 101), ("DEPLOY", "strategy/canary/initial_percent", -1),
    ("DEPLOY", "strategy/canary/increment_percent", 101), ("DEPLOY", "strategy/canary/increment_percent", 0),
    ("DEPLOY", "strategy/canary/interval_minutes", -1),
    ("DEPLOY", "strategy/canary/success_criteria/error_rate_max", 1.5),
    ("DEPLOY", "strategy/canary/success_criteria/latency_p99_max_ms", -1),
    ("DEPLOY", "rollback/trigger/error_rate", 2), ("DEPLOY", "rollback/trigger/latency_p99_ms", -1),
    ("DEPLOY", "rollback/trigger/anomaly_score", 1.1),
    ("ROLLBACK", "target_version/last_stable_criteria/min_uptime_hours", -1),
    ("ROLLBACK", "target_version/last_stable_criteria/max_error_rate", 1.01),
    ("ROLLBACK", "verification/timeout_ms", 0),
    ("SIMULATE", "mode/replay/sample_size", 0), ("SIMULATE", "analysis/confidence_level", 1.5),
    ("SIMULATE", "analysis/confidence_level", 0),
]  # fmt: skip


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    return on_own_api(World(tmp_path, wire, FILES).plant())


def changed(type: str, place: str, value: Any) -> dict[str, Any]:
    """The right node of a type with one thing else."""
    node = copy.deepcopy(RIGHT[type])
    parent, _, name = f"/{place}".rpartition("/")
    holder = reached(node, parent)
    if value is GONE:
        del holder[name]
    else:
        holder[int(name) if isinstance(holder, list) else name] = value
    return node


def errors(node: dict[str, Any]) -> list[Finding]:
    told = [one for one in found(document([node])) if one.severity == "error"]
    assert all(one.hint and one.where.line for one in told)
    return told


@pytest.mark.parametrize("type", RIGHT)
def test_the_nodes_themselves_are_right(type: str) -> None:
    """W-4.14.1: nothing is wrong with what is broken below."""
    assert [str(one) for one in errors(copy.deepcopy(RIGHT[type]))] == []


@pytest.mark.parametrize(("type", "place"), REQUIRED, ids=lambda part: part)
def test_something_required_is_missing(type: str, place: str) -> None:
    """C-69: told at the map that lacks it, by name."""
    above, _, name = f"/nodes/0/{place}".rpartition("/")
    (told,) = errors(changed(type, place, GONE))
    assert (told.rule, told.where.pointer) == ("missing_field", above) and name in told.message


@pytest.mark.parametrize(("analysis", "setting"), NEEDS)
def test_an_analysis_lacks_what_its_type_needs(analysis: str, setting: str) -> None:
    """W-4.2.2, W-9.2.2: every type has its own settings, and each is asked for by name."""
    node = changed("BI", "analysis/type", analysis)
    node["analysis"].pop(setting, None)
    told = [one for one in errors(node) if setting in one.message]
    assert told and told[0].where.pointer.startswith("/nodes/0/analysis")


@pytest.mark.parametrize(("type", "place"), ENUMS, ids=lambda part: part)
def test_a_word_that_is_none_of_the_words(type: str, place: str) -> None:
    """C-69, W-4.0.5: told at its place, with the words that may stand there."""
    told = errors(changed(type, place, "nothing"))
    assert [one.where.pointer for one in told] == [f"/nodes/0/{place}"]


@pytest.mark.parametrize(("type", "place", "value"), BOUNDS)
def test_a_number_beyond_its_bounds(type: str, place: str, value: Any) -> None:
    """W-4.11.1, C-57: percentages end at 100, rates at 1, times are not negative."""
    (told,) = errors(changed(type, place, value))
    assert told.where.pointer == f"/nodes/0/{place}"


@pytest.mark.parametrize(
    ("type", "block"), [("DEPLOY", "rollback"), ("ROLLBACK", "target_version")], ids=["DEPLOY", "ROLLBACK"]
)
def test_a_specific_version_that_is_not_named(type: str, block: str) -> None:
    """W-4.11.2, W-4.12.1: `specific` needs `specific_version`."""
    node = changed(type, f"{block}/{'to_version' if type == 'DEPLOY' else 'strategy'}", "specific")
    (told,) = errors(node)
    assert told.where.pointer.startswith(f"/nodes/0/{block}") and "specific_version" in told.message


def test_nothing_to_simulate() -> None:
    """C-59: no artifact, no change, no DEPLOY, no pack in sight: an error that says what may be written."""
    (told,) = errors(changed("SIMULATE", "artifact", GONE))
    assert told.where.pointer.startswith("/nodes/0") and "artifact" in f"{told.message} {told.hint}"


# ---- what only a run can see -----------------------------------------------------------------------------------------


def failure(world: World, node: dict[str, Any], before: Callable[[Door], Any] | None = None) -> tuple[str, str]:
    """Code and category with which a run of this node fails."""

    async def scene(door: Door) -> tuple[str, str]:
        if before is not None:
            before(door)
        run = await door.play([node])
        await door.later(60_000)
        look = door.view(run)
        assert look.status == "failed", (look.status, look.variables)
        assert look.failure is not None and look.failure["message"]
        return door.failure(run)

    found: tuple[str, str] = play(world, scene)
    return found


def result(world: World, node: dict[str, Any]) -> Any:
    async def scene(door: Door) -> Any:
        run = await door.play([{**node, "output": {**node.get("output", {}), "variable": "v"}}])
        look = door.view(run)
        assert look.status == "completed", look.failure
        return look.variables["v"]

    return play(world, scene)


@pytest.mark.parametrize("type", ["DEPLOY", "ROLLBACK", "SIMULATE"])
def test_an_artifact_that_is_not_there(world: World, type: str) -> None:
    """W-4.11.6, W-4.12.1, C-59: validation, with its name."""
    code, category = failure(world, changed(type, "artifact/id", "nobody"))
    assert code in ("ARTIFACT_NOT_FOUND", "RULE_PACK_NOT_FOUND") and category == "validation"


def test_a_version_that_was_never_released(world: World) -> None:
    """W-4.11.6, C-53: neither one that nobody knows nor one that nobody has approved."""
    draft = {"id": PACK, "version": "9.0.0", "status": "draft", "rules": []}
    world.register("rule_pack", PACK, **draft)
    for version in ("7.7.7", "9.0.0"):
        node = changed("DEPLOY", "artifact", {**ARTIFACT, "version": version})
        assert failure(world, node) == ("VERSION_NOT_FOUND", "validation")


def test_a_rollback_without_a_predecessor(world: World) -> None:
    """W-4.12.1: nothing was in force before the present version."""
    node = changed("ROLLBACK", "target_version", {"strategy": "previous"})
    node["artifact"] = {"type": "rule_pack", "id": "ccp_rules_v2"}
    code, category = failure(world, node)
    assert code in ("NO_PREVIOUS_VERSION", "NO_STABLE_VERSION") and category == "permanent"


def test_a_rollback_without_a_stable_version(world: World) -> None:
    """W-4.12.1, C-80: NO_STABLE_VERSION is permanent."""
    node = changed("ROLLBACK", "artifact", {"type": "rule_pack", "id": "ccp_rules_v2"})
    assert failure(world, node) == ("NO_STABLE_VERSION", "permanent")


def test_a_line_that_nobody_knows(world: World) -> None:
    """W-4.11.5: the AAS registry has no such line."""
    node = changed("DEPLOY", "target", {"environment": "production", "scope": {"line_ids": ["L01", "L99"]}})
    assert failure(world, node)[0] == "LINE_UNKNOWN"


def test_lines_of_another_tenant(world: World) -> None:
    """W-4.11.5, C-04: nobody deploys for somebody else."""
    node = changed("DEPLOY", "target", {"environment": "production", "scope": {"tenant_ids": ["other"]}})
    assert failure(world, node)[0] == "TENANT_DENIED"


def test_a_metric_that_does_not_exist(world: World) -> None:
    """W-4.2.4, C-50: validation, with the names that there are."""
    node = changed("BI", "analysis/metrics", ["no_such_metric"])
    node["analysis"].pop("aggregation")
    code, category = failure(world, node)
    assert code == "METRIC_NOT_FOUND" and category == "validation"


def test_a_window_without_data(world: World) -> None:
    """W-4.2.1: an empty result is a result: no rows, and nothing is divided by them."""
    node = changed("BI", "analysis/time_range", LONG_AGO)
    assert result(world, node)["rows"] == []


@pytest.mark.parametrize("lines", [[], None])
def test_a_filter_without_values(world: World, lines: Any) -> None:
    """W-4.2.4: `in` with nothing in it has no rows."""
    assert result(world, changed("BI", "analysis/filters/0/value", lines))["rows"] == []


def test_numbers_that_are_none(world: World) -> None:
    """W-4.2.1: rows with NaN, infinity, nothing or a text in them are left out, and the rest is right."""
    path = world.folder / "plant.db"
    with closing(sqlite3.connect(path)) as c:
        c.execute("DELETE FROM fact_daily_defect")
        for value in (0.02, 0.04, float("nan"), float("inf"), None, "many"):
            c.execute("INSERT INTO fact_daily_defect VALUES ('L01', ?, 1, ?)", (moment(T0 - HOUR), value))
        c.commit()
    rows = result(world, BI)["rows"]
    assert len(rows) == 1 and "nan" not in repr(rows).lower() and "0.03" in repr(rows)


def test_no_samples(world: World) -> None:
    """C-59: nothing to replay in the window: zero samples, nothing is significant, and it says so."""
    node = changed(
        "SIMULATE", "mode/replay/time_range", {"start": "1999-01-01T00:00:00Z", "end": "1999-02-01T00:00:00Z"}
    )
    found = result(world, node)
    assert found["summary"]["total_samples"] == 0 and not found["summary"]["statistical_significance"]
    assert found["recommendation"].startswith("insufficient_data")


def test_a_window_that_ends_before_it_begins(world: World) -> None:
    """W-4.13.4, W-4.2.1: neither node takes it for an empty one."""
    turned = {"start": "${fn.now()}", "end": "${fn.date_add(fn.now(), -7, 'day')}"}
    for node in (changed("SIMULATE", "mode/replay/time_range", turned), changed("BI", "analysis/time_range", turned)):
        assert failure(world, node)[1] == "validation"


@pytest.mark.parametrize("moment", [10**18, "tomorrow", "2026-13-01"])
def test_a_moment_that_is_none(world: World, moment: Any) -> None:
    """W-4.13.4: neither beyond all years nor a word; told when the document is checked, or when the run comes to it."""
    node = changed("SIMULATE", "mode/replay/time_range", {"start": moment, "end": "${fn.now()}"})
    assert errors(node) or failure(world, node)[1] == "validation"


def test_a_rule_that_is_not_in_the_pack(world: World) -> None:
    """C-59: what_if changes a rule that there is."""
    node = changed("SIMULATE", "mode/type", "what_if")
    node["mode"]["what_if"]["modifications"][0]["rule_id"] = "nobody"
    assert failure(world, node)[1] == "validation"
