"""2, the definition: exact words and defaults, the hierarchy, conditions, versions and how they differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import pytest

from penstock.dialects.process import words
from penstock.errors import DocumentInvalid
from penstock.lang.compile import check_document, compile_document
from penstock.lang.contract import Setting
from penstock.lang.document import Document
from penstock.lang.process import dependencies, fields
from penstock.lang.process.diff import difference
from penstock.lang.process.editor_schema import editor_schema, editor_schema_text
from penstock.lang.process.schema import read
from penstock.lang.read import read_document
from penstock.lang.report import Report
from tests.conformance.process.make import (
    EXAMPLES,
    as_bytes,
    compiled,
    findings,
    gateway,
    process,
    rules,
    service,
    task,
)
from tests.conformance.process.running import Office, awaited

FILES = sorted(EXAMPLES.rglob("*.json"))


def definition(document: dict[str, Any]) -> Any:
    source: Document = read_document(as_bytes(document), name="p.json")
    return read(source, Report(source), Setting())


# ---- 2.1 -------------------------------------------------------------------------------------------------------------


def test_the_hierarchy() -> None:
    """P-2.1.1, P-X.4, P-X.6: five types; mega and major hold others by parent_id and need no activity."""
    assert get_args(fields.DefinitionType) == ("mega", "major", "base", "sub", "discovered")
    mega = {"process_definition_id": "m", "process_definition_name": "엔터프라이즈 운영 최적화 전체", "type": "mega"}
    net = compile_document(as_bytes(mega), name="m.json").net
    assert net.declares.policies["process"]["type"] == "mega" and not [n for n in net.nodes if n.work is not None]
    base = compiled(process([task("A")], [], parent_id="m")).net
    assert base.declares.policies["process"]["parent_id"] == "m"
    assert rules(process([], [])) == ["no_start"], "a base process does something"
    assert rules(process([task("A")], [], type="mega"), "warning") == ["container_with_activities"]


def test_the_seeds_fixture() -> None:
    """P-2.1.2: the whole tree, with names in Korean, of which the base process runs."""
    tree = [json.loads(file.read_text("utf-8")) for file in sorted((EXAMPLES / "hierarchy").glob("*.json"))]
    types = [(one["process_definition_name"], one["type"], one.get("parent_id", "")) for one in tree]
    assert types == [
        ("엔터프라이즈 운영 최적화 전체", "mega", ""),
        ("데이터 검증 단계", "major", "enterprise"),
        ("이해관계자 목록 확정", "base", "data_validation"),
        ("최적화 시나리오 수립 단계", "major", "enterprise"),
        ("현금흐름 분석", "base", "scenario"),
        ("최적화 비율 산정", "base", "scenario"),
    ]
    for one in tree:
        assert compile_document(as_bytes(one), name="h.json").net.name == one["process_definition_id"]
    base = json.loads((EXAMPLES / "data_registration.json").read_text("utf-8"))
    assert base["parent_id"] == "data_validation" and base["process_definition_name"] == "데이터 등록 접수"
    shown = [(one["name"], one["type"], one.get("agent_mode", "MANUAL")) for one in base["activities"]]
    assert shown[:4] == [
        ("데이터 등록서 접수", "humanTask", "MANUAL"),
        ("데이터 수치 검증", "serviceTask", "AUTONOMOUS"),
        ("데이터 분류", "serviceTask", "SUPERVISED"),
        ("이슈 처리", "humanTask", "MANUAL"),
    ]
    assert [(one["name"], one["type"]) for one in base["gateways"]] == [("이슈 있는가?", "exclusiveGateway")]


# ---- 2.2 -------------------------------------------------------------------------------------------------------------


def test_the_exact_values() -> None:
    """P-2.2.1, P-2.2.2, P-2.2.3, P-2.2.4: the values of the enums; nothing else is taken."""
    assert get_args(fields.AgentMode) == ("AUTONOMOUS", "SUPERVISED", "MANUAL")
    assert get_args(fields.ActivityType) == ("humanTask", "serviceTask", "scriptTask", "subProcess")
    assert get_args(fields.GatewayType)[:3] == ("exclusiveGateway", "parallelGateway", "inclusiveGateway")
    assert get_args(fields.DataType) == ("sql", "db", "api", "file")
    for wrong in (
        process([task("A", agent_mode="autonomous")], []),
        process([task("A", type="userTask")], []),
        process([task("A", priority="urgent")], []),
        process([task("A")], [], data=[{"name": "d", "type": "csv", "source": "s"}]),
    ):
        (found,) = [one for one in findings(wrong) if one.severity == "error"]
        assert found.rule == "wrong_type" and found.hint


def test_the_fields_and_their_defaults() -> None:
    """P-2.2.5, P-2.2.6, P-2.2.7, P-2.2.8, P-2.2.9: every field of the model, with its default."""
    least = {"process_definition_id": "p", "process_definition_name": "P", "activities": [task("A")],
             "gateways": [gateway("G")], "roles": [{"id": "r", "name": "R"}],
             "transitions": [{"id": "t", "source": "A", "target": "G"}]}  # fmt: skip
    found = definition(least)
    top, activity = found.top, found.elements["A"].fields
    assert (top.description, top.version, top.tenant_id) == ("", 1, "")
    usual = (activity.instruction, activity.input_data, activity.output_data, activity.python_code, activity.agent)
    assert usual == ("", [], [], None, None)
    assert (activity.agent_mode, activity.orchestration, activity.compensation) == ("MANUAL", None, None)
    assert found.elements["G"].fields.conditions == {} and found.flows[0].fields.condition is None
    assert found.roles["r"].assignment_rule is None
    assert not [one for one in findings(least) if one.severity == "error"]


def test_a_whole_definition_in_the_seeds_own_fields() -> None:
    """P-2.2.4, P-2.2.6, P-2.2.9: all fields written out are read without a word."""
    data = [{"name": "d", "type": "sql", "source": "erp#SELECT 1", "fields": ["a"]}]
    whole = {
        "process_definition_id": "p", "process_definition_name": "P", "description": "d", "data": data,
        "roles": [{"name": "R", "id": "r", "assignment_rule": "round_robin"}],
        "activities": [
            {"name": "A", "id": "a", "type": "humanTask", "instruction": "i", "input_data": data, "output_data": data,
             "python_code": None, "agent": None, "agent_mode": "MANUAL", "orchestration": None, "compensation": None},
        ],
        "gateways": [{"id": "g", "name": "G", "type": "exclusiveGateway", "conditions": {}}],
        "transitions": [{"id": "t", "source": "a", "target": "g", "condition": None}],
        "version": 3, "tenant_id": "",
    }  # fmt: skip
    assert findings(whole) == []
    assert compiled(whole).net.declares.version == 3
    assert dependencies(read_document(as_bytes(whole), name="p.json"))[0][:2] == ("connection", "erp")


def test_the_tenant() -> None:
    """P-X.7, P-2.2.9: a slug or a uuid goes along to the host; the default is empty and names nobody."""
    assert compiled(process([task("A")], [])).net.declares.policies.get("tenant") is None
    named = process([task("A")], [], tenant_id="tnt_demo")
    assert compiled(named).net.declares.policies["tenant"] == "tnt_demo"
    assert rules(process([task("A")], [], tenant_id="누구")) == ["wrong_type"]
    assert rules(process([task("A")], [], tenant_id=" ")) == ["wrong_type"]


def test_names_are_unicode() -> None:
    """P-2.1.2: names, ids and labels are Korean as they stand."""
    net = compiled(process([task("접수", name="데이터 등록서 접수"), task("처리")], ["접수>처리"])).net
    assert [one.label for one in net.nodes if one.id == "접수"] == ["데이터 등록서 접수"]


# ---- conditions ------------------------------------------------------------------------------------------------------


def guards(document: dict[str, Any]) -> dict[str, tuple[str | None, bool]]:
    return {one.id: (one.guard, one.default) for one in compiled(document).net.edges if one.src == "G"}


def test_a_condition_has_three_places() -> None:
    """P-X.9, P-6.2.1, P-2.2.7: at the gateway by transition, by its label, by the target's name; at the transition."""
    elements = [task("A"), task("X", name="엑스"), task("Y")]
    ways = ["A>G", ("G>X", {"name": "예"}), "G>Y"]
    for conditions in (
        {"G>X": "n > 1", "G>Y": "n < 1"},
        {"예": "n > 1", "Y": "n < 1"},
        {"엑스": "${n > 1}", "Y": "n < 1"},
    ):
        found = guards(process([*elements, gateway("G", conditions=conditions)], ways))
        assert found == {"G>X": ("n > 1", False), "G>Y": ("n < 1", False)}
    own = process([*elements, gateway("G")], ["A>G", ("G>X", {"condition": "n > 1"}), ("G>Y", {"condition": "n < 1"})])
    assert guards(own) == {"G>X": ("n > 1", False), "G>Y": ("n < 1", False)}


def test_two_conditions_must_agree() -> None:
    """P-X.9: a contradiction is an error, the same text twice is not."""
    for there, expected in (("n>1", []), ("n > 2", ["condition_conflict"])):
        document = process(
            [task("A"), gateway("G", conditions={"G>X": "n > 1", "default": "G>Y"}), task("X"), task("Y")],
            ["A>G", ("G>X", {"condition": there}), "G>Y"],
        )
        assert rules(document) == expected


def test_the_default() -> None:
    """P-X.10: named at the gateway, among its conditions, or the one way without a condition."""
    elements = [task("A"), task("X"), task("Y")]
    ways = ["A>G", ("G>X", {"condition": "n > 1"}), "G>Y"]
    for how in ({}, {"default": "G>Y"}, {"conditions": {"default": "G>Y"}}):
        found = guards(process([*elements, gateway("G", **how)], ways))
        assert found == {"G>X": ("n > 1", False), "G>Y": (None, True)}


def test_a_condition_that_cannot_be_read_is_shown_where() -> None:
    """P-X.9: the place in the document, the character in the condition, and what to do."""
    text = json.dumps(process([task("A"), gateway("G", conditions={"G>X": "n >>> 1", "default": "G>Y"}), task("X"),
                               task("Y")], ["A>G", "G>X", "G>Y"]), indent=1)  # fmt: skip
    (found,) = [one for one in findings(text.encode()) if one.severity == "error"]
    assert found.rule == "expression_syntax" and found.where.pointer == "/gateways/0/conditions/G>X"
    assert text.splitlines()[found.where.line - 1].strip().startswith('"G>X"')
    assert "character 4" in found.message and found.hint


def test_no_condition_is_ever_python() -> None:
    """P-X.9: never eval: what is Python and not an expression is refused."""
    document = process(
        [task("A"), gateway("G", conditions={"G>X": "__import__('os').system('x')", "default": "G>Y"}), task("X"),
         task("Y")],
        ["A>G", "G>X", "G>Y"],
    )  # fmt: skip
    assert rules(document) == ["expression_syntax"]


# ---- versions and words ----------------------------------------------------------------------------------------------


def test_what_a_new_version_changes() -> None:
    """P-X.8: added, removed, changed, per collection by id; where it is drawn is no change."""
    before = process([task("A"), task("B"), gateway("G")], ["A>B"])
    after = process([task("A", instruction="now"), task("C"), gateway("G")], ["A>C"], description="d", version=2)
    after["diagram"] = {"shapes": {}}
    found = difference(before, after)
    assert set(found) == {"definition", "activities", "transitions"}
    assert found["activities"]["added"] == {"C": task("C")} and found["activities"]["removed"] == {"B": task("B")}
    assert found["activities"]["changed"] == {"A": {"instruction": [None, "now"]}}
    assert list(found["transitions"]["added"]) == ["A>C"]
    assert found["definition"]["changed"] == {"description": [None, "d"]}
    assert difference(before, before) == {}


def test_the_words() -> None:
    """P-X.30, P-X.32, P-4.1.12, P-5.3.1, P-5.5.6: the house's words in those of a process."""
    assert set(words.RUN.values()) == {"RUNNING", "COMPLETED", "TERMINATED"}
    assert (words.RUN["COMPENSATING"], words.RUN["COMPENSATED"], words.RUN["FAILED"]) == (
        "RUNNING", "TERMINATED", "TERMINATED",
    )  # fmt: skip
    assert set(words.UNIT.values()) <= set(words.ITEMS)
    assert words.STEPS == ("PENDING", "EXECUTED", "FAILED", "SKIPPED", "CANCELLED")
    assert words.CANCELLED_BRANCH == "Saga compensation - parallel branch cancellation"
    assert [words.step_status(one) for one in ("open", "EXECUTED", "FAILED", "withdrawn")] == [
        "PENDING", "EXECUTED", "FAILED", "SKIPPED",
    ]  # fmt: skip
    told = [words.compensation_status(run, steps) for run, steps in (
        ("COMPLETED", []), ("FAILED", []), ("COMPENSATED", ["EXECUTED"]), ("FAILED", ["EXECUTED", "open"]),
    )]  # fmt: skip
    assert told == ["NONE", "NONE", "COMPLETE", "PARTIAL"]


def test_the_editor_schema_is_made_from_the_types() -> None:
    """P-2.2.9: the file is what the types say; `python -m penstock.lang.process.editor_schema` prints it."""
    file = Path(fields.__file__).with_name("process.schema.json")
    assert file.read_text("utf-8") == editor_schema_text(), "make it again with the module's own command"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_editor_marks_nothing_in_the_examples(file: Path) -> None:
    """P-2.2.9: every example fits the schema, and the checker has nothing to say either."""
    jsonschema_rs.validate(editor_schema(), json.loads(file.read_text("utf-8")))
    assert check_document(file.read_bytes(), name=file.name) == ("process", [])


def test_an_editor_marks_what_is_wrong() -> None:
    """P-2.2.1, P-2.2.6: a mode and a field that do not exist."""
    for wrong in (task("A", agent_mode="AUTO"), task("A", agentmode="MANUAL"), {"id": "A", "type": "humanTask"}):
        assert not jsonschema_rs.is_valid(editor_schema(), process([wrong], []))
        with pytest.raises(DocumentInvalid):
            compiled(process([wrong], []))


def test_yaml_reads_the_same() -> None:
    """P-2.2.9: the same definition in YAML is the same net."""
    pytest.importorskip("yaml")
    text = "process_definition_id: p\nprocess_definition_name: P\nactivities:\n- {id: A, name: A, type: humanTask}\n"
    one = compile_document(text.encode(), name="p.yaml").net
    assert one.nodes == compiled({**process([task("A")], [])}).net.nodes


def test_service_is_used() -> None:
    """P-2.2.6: `agent` is the agent's id."""
    net = compiled(process([service("A", agent="writer")], [])).net
    assert [n.effect.args["agent"] for n in net.nodes if n.id == "A" and n.effect is not None] == ["writer"]


@awaited
async def test_a_running_instance_stays_on_its_version(tmp_path: Path) -> None:
    """P-A.18, P-X.8: a changed definition is for instances that are started from then on."""
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A"), task("B")], ["A>B"]))
        new = await office.start(process([task("A"), task("C")], ["A>C"], version=2))
        await run.submit("A")
        await new.submit("A")
        assert (run.open(), new.open()) == (["B"], ["C"])


def test_two_joins_and_no_other() -> None:
    """P-X.33, P-X.10: AND, and the branches that were taken; all else takes each token by itself."""
    kinds = {"exclusive": "k", "parallel": "all", "inclusive": "inclusive"}
    for kind, mode in kinds.items():
        conditions = {} if kind == "parallel" else {"conditions": {"F>B": "x", "default": "F>C"}}
        document = process(
            [gateway("F", kind, **conditions), task("B"), task("C"), gateway("G", kind), task("D")],
            ["F>B", "F>C", "B>G", "C>G", "G>D"],
        )
        joins = {one.id: one.join.mode for one in compiled(document).net.nodes}
        assert joins["G"] == mode and joins["D"] == "k"


def test_modes_are_the_definitions_own() -> None:
    """P-X.29: «데이터 수치 검증» may be AUTONOMOUS here and SUPERVISED there; no rule follows from either example."""
    for one, other in (("AUTONOMOUS", "SUPERVISED"), ("SUPERVISED", "AUTONOMOUS")):
        document = process(
            [service("V", one, name="데이터 수치 검증"), service("C", other, name="데이터 분류")], ["V>C"]
        )
        works = {node.id: node.work for node in compiled(document).net.nodes if node.work is not None}
        assert works["V"].approve == (one == "SUPERVISED") and works["C"].approve == (other == "SUPERVISED")
