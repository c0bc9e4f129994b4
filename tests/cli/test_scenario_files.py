"""Scenario files: played, refused with the place of what is wrong, reported as text, JSON and JUnit XML."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from penstock.cli.scenarios import play_files
from penstock.errors import DocumentUnreadable, ScenarioInvalid
from penstock.lang.read import read_document
from penstock.testing.scenario import read_scenarios
from penstock.testing.scenario.schema import schema
from tests.cli.shell import Shell
from tests.house.files import ROOT

EXAMPLES = sorted(ROOT.glob("examples/**/*.scenario.yaml"))
DEFECT = ROOT / "examples/decision/defect_alert.json"
WARNING = "[{line_id: L01, defect_rate: 0.03}]"


def written(folder: Path, steps: str, given: str = "", document: Any = DEFECT, name: str = "a") -> Path:
    """A file with one story; `given` and `steps` are YAML in one line."""
    given = given or f"{{stubs: {{nodes: {{data_defect: {{answer: {WARNING}}}}}}}}}"
    file = folder / f"{name}.scenario.yaml"
    file.write_text(f"document: {document}\ngiven: {given}\nscenario: told\nsteps: {steps}\n", encoding="utf-8")
    return file


def findings(file: Path) -> list[tuple[str, int, int, str]]:
    """The errors: rule, line, column and words."""
    with pytest.raises(ScenarioInvalid) as refused:
        read_scenarios(file)
    assert all(finding.hint for finding in refused.value.findings)
    return [
        (finding.rule, finding.where.line, finding.where.column, f"{finding.message} {finding.hint}")
        for finding in refused.value.findings
        if finding.severity == "error"
    ]


def test_every_example_is_as_it_expects(penstock: Shell) -> None:
    ended = penstock("test", str(ROOT / "examples"), "--json", code=None)
    report = json.loads(ended.out)
    assert report["ok"] and ended.code == 0
    assert {Path(each["file"]).parent.name for each in report["scenarios"]} == {
        "decision", "process", "plan", "pipeline", "diagram",
    }  # fmt: skip
    assert len(report["scenarios"]) >= 20


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_editors_schema_takes_every_example(file: Path) -> None:
    data = read_document(file.read_bytes(), name=file.name).data
    jsonschema_rs.validator_for(schema()).validate(data)


@pytest.mark.parametrize("part", ["{aftr: 2h}", "{when: {begin: {}}}", "{then: {state: completed}}", "[]"])
def test_the_editors_schema_refuses_what_the_reader_refuses(part: str, tmp_path: Path) -> None:
    file = written(tmp_path, f"[{{when: {{start: {{}}}}}}, {part}]")
    assert findings(file)
    data = read_document(file.read_bytes(), name=file.name).data
    assert not jsonschema_rs.validator_for(schema()).is_valid(data)


@pytest.mark.parametrize(
    ("steps", "rule", "column", "said"),
    [
        ("[{when: {start: {}}, aftr: 2h}]", "unknown_field", 29, "after"),
        ("[{when: {start: {}}}, {after: 2 hours}]", "scenario_time", 38, "no duration"),
        ("[{after: 2h, when: {start: {}}}, {at: +1h}]", "scenario_time", 46, "1h before the step"),
        ("[{when: {start: {}}}, {at: 2020-01-01}]", "scenario_time", 35, "before the step"),
        ("[{when: {start: {}}, then: {passes: [data_defekt]}}]", "scenario_node", 45, "data_defect"),
        ("[{when: {start: {}}, then: {waits: {nobody: person}}}]", "scenario_node", 44, "nobody"),
        ("[{when: {start: {}}}, {when: {person: boss, approves: request_approval}}]", "scenario_person", 46, "boss"),
        ("[{when: {start: {}}}, {when: {person: qa@example.com, approves: aproval}}]", "scenario_node", 72, "aproval"),
        ("[{when: {start: {}}}, {when: {approves: request_approval}}]", "scenario_step", 37, "person"),
        ("[{when: {person: qa@example.com, approves: request_approval}}]", "scenario_step", 16, "Nothing has started"),
        ("[{when: {start: {}, event: x}}]", "scenario_step", 16, "One thing"),
        ("[{when: {start: {}}, then: {holds: 'status ='}}]", "scenario_expression", 43, "cannot be read"),
        ("[{when: {start: {}}, then: {}}]", "scenario_step", 35, "expects nothing"),
        ("[{}]", "scenario_step", 9, "does nothing"),
        ("7", "wrong_type", 8, "list"),
    ],
)
def test_what_is_wrong_has_its_place(steps: str, rule: str, column: int, said: str, tmp_path: Path) -> None:
    listed = findings(written(tmp_path, steps))
    assert (rule, 4, column) in [each[:3] for each in listed], listed
    assert said in " ".join(each[3] for each in listed)


@pytest.mark.parametrize(
    ("given", "rule", "said"),
    [
        ("{stubs: {nodes: {data_deffect: {answer: 1}}}}", "scenario_node", "data_defect"),
        ("{stubs: {nodes: {data_defect: {answer: 1, fails: X}}}}", "scenario_stub", "one of"),
        ("{stubs: {nodes: {data_defect: {}}}}", "scenario_stub", "one of"),
        ("{stubs: {nodes: {data_defect: 7}}}", "scenario_stub", "says what it does"),
        ("{stubs: {nodes: {data_defect: {never: true, takes: 2s}}}}", "scenario_stub", "takes"),
        ("{stubs: {executors: {sqll: {answer: 1}}}}", "scenario_stub", "sql"),
        ("{stubs: {effects: {reed: {answer: 1}}}}", "scenario_stub", "read"),
        ("{stubs: {node: {}}}", "unknown_field", "nodes"),
        ("{stubs: {nodes: {data_defect: {fails: {code: X, category: odd}}}}}", "wrong_type", "category"),
        ("{settings: {python.modules: [antigravity]}}", "scenario_setting", "--module"),
        ("{now: yesterday}", "scenario_time", "no moment"),
        ("{real: [telnet]}", "scenario_stub", "telnet"),
        ("{documents: [nowhere.json]}", "scenario_document", "nowhere.json"),
    ],
)
def test_what_is_given_wrongly_has_its_place(given: str, rule: str, said: str, tmp_path: Path) -> None:
    listed = findings(written(tmp_path, "[{when: {start: {}}}]", given))
    assert (rule, 2) in [each[:2] for each in listed], listed
    assert said in " ".join(each[3] for each in listed)


def test_a_document_that_does_not_compile(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"id": "wf_bad", "version": 1, "name": "x", "nodes": [{"id": "a", "type": "ODD"}], "edges": []}')
    ((rule, line, column, said),) = findings(written(tmp_path, "[{when: {start: {}}}]", document="bad.json"))
    assert (rule, line, column) == ("scenario_document", 1, 11) and "bad.json:1:" in said and "ODD" in said


def test_an_alias_bomb_is_refused_before_it_is_built(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    file = tmp_path / "bomb.scenario.yaml"
    file.write_text("\n".join(lines))
    with pytest.raises(DocumentUnreadable, match="aliases"):
        read_scenarios(file)


def test_what_was_expected_and_what_happened(penstock: Shell, tmp_path: Path) -> None:
    file = written(tmp_path, "[{when: {start: {line_id: L01}}}, {after: 5m, then: {status: waiting, took: 1s}}]")
    ended = penstock("test", str(file), code=None)
    assert ended.code == 3
    assert "✗ told" in ended.out and f"{file}:4:" in ended.out.replace("\n", "")
    assert "expected waiting\n" in ended.out and "but was  completed" in ended.out
    assert "wf_defect_alert_v2 starts with" in ended.out, "the timeline"


def test_what_is_never_reached_ends(penstock: Shell, tmp_path: Path) -> None:
    file = written(
        tmp_path, "[{when: {start: {line_id: L01}}},"
        " {when: {person: manager@example.com, approves: request_approval, within: 30d}}]",
    )  # fmt: skip
    ended = penstock("test", str(file), code=None)
    assert ended.code == 3 and "PS-409-NOBODY" in ended.out and "within 30d" in ended.out


def test_nothing_reaches_the_world(penstock: Shell, tmp_path: Path) -> None:
    ended = penstock(
        "test", str(written(tmp_path, "[{when: {start: {line_id: L01}}}]", "{in_force: false}")), code=None
    )
    assert ended.code == 3 and "PS-424-STUB" in ended.out and "«data_defect»" in ended.out
    assert not list(tmp_path.rglob("*.db")) and not (tmp_path / ".penstock").exists()


def test_a_snapshot_is_written_when_it_is_asked_for_and_compared_then(penstock: Shell, tmp_path: Path) -> None:
    file = written(tmp_path, "[{when: {start: {line_id: L01}}, then: {timeline: told.timeline.txt}}]")
    first = penstock("test", str(file), code=None)
    assert first.code == 3 and "there is no snapshot" in first.out and not (tmp_path / "told.timeline.txt").exists()
    assert penstock("test", str(file), "--update", code=None).code == 0
    assert "+0s  data_defect        done\n" in (tmp_path / "told.timeline.txt").read_text("utf-8")
    assert penstock("test", str(file), code=None).code == 0
    kept = (tmp_path / "told.timeline.txt").read_text("utf-8")
    (tmp_path / "told.timeline.txt").write_text(kept.replace("action_warning", "action_other"), "utf-8")
    changed = penstock("test", str(file), code=None)
    assert changed.code == 3 and "action_other" in changed.out


def test_a_snapshot_stays_in_the_folder(penstock: Shell, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    file = written(tmp_path / "inner", "[{when: {start: {line_id: L01}}, then: {timeline: ../told.timeline.txt}}]")
    ended = penstock("test", str(file), "--update", code=None)
    assert ended.code == 3 and "outside the folder" in ended.out and not (tmp_path / "told.timeline.txt").exists()


def test_junit_and_exit_codes(penstock: Shell, tmp_path: Path) -> None:
    written(tmp_path, "[{when: {start: {line_id: L01}}, then: {status: completed}}]", name="good")
    written(tmp_path, "[{when: {start: {line_id: L01}}, then: {status: 'a <b> \\x01'}}]", name="not")
    assert penstock("test", str(tmp_path), "--junit", str(tmp_path / "out.xml"), code=None).code == 3
    suites = ET.parse(tmp_path / "out.xml").getroot()
    assert [(suite.get("tests"), suite.get("failures")) for suite in suites] == [("1", "0"), ("1", "1")]
    failure = suites.find(".//failure")
    assert failure is not None and "completed" in (failure.text or "") and "timeline" not in suites.attrib
    written(tmp_path, "[{then: {odd: 1}}]", name="wrong")
    assert penstock("test", str(tmp_path), "--junit", str(tmp_path / "out.xml"), code=None).code == 2
    suites = ET.parse(tmp_path / "out.xml").getroot()
    assert len(suites.findall(".//error")) == 1


def test_several_stories_and_only_some(penstock: Shell, tmp_path: Path) -> None:
    file = tmp_path / "two.scenario.yaml"
    story = "{{scenario: {name}, steps: [{{when: {{start: {{line_id: L01}}}}, then: {{status: completed}}}}]}}"
    file.write_text(
        f"document: {DEFECT}\ngiven: {{stubs: {{nodes: {{data_defect: {{answer: {WARNING}}}}}}}}}\nscenarios:\n"
        f"  - {story.format(name='first')}\n  - {story.format(name='second')}\n"
    )
    assert "2 as expected" in penstock("test", str(file), code=None).out
    ended = penstock("test", str(file), "--only", "sec", code=None)
    assert "✓ second" in ended.out and "first" not in ended.out
    assert penstock("test", str(file), "--only", "third", code=None).code == 2


@pytest.mark.parametrize("arguments", [[], ["nowhere.scenario.yaml"], ["."]])
def test_calls_that_name_no_scenario(arguments: list[str], penstock: Shell) -> None:
    ended = penstock("test", *arguments, code=None)
    assert ended.code == 2 and "Traceback" not in ended.err + ended.out


def test_messages_are_those_since_they_were_last_looked_at(penstock: Shell, tmp_path: Path) -> None:
    given = "{stubs: {nodes: {data_defect: {answer: [{line_id: L01, defect_rate: 0.08}]}}}}"
    steps = (
        "[{when: {start: {line_id: L01}}, then: {messages: [{channel: slack}, {channel: email}]}},"
        " {after: 1h, then: {messages: []}}, {after: 1h, then: {messages: [{channel: email, node: request_approval}]}},"
        " {then: {messages: [{channel: slack}]}}]"
    )
    ended = penstock("test", str(written(tmp_path, steps, given)), code=None)
    assert ended.code == 3 and "nothing was sent" in ended.out


def test_nothing_is_left_of_its_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even by a process that ends without its finalizers: the command itself clears them away."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    steps = "[{when: {start: {line_id: L01}}, then: {status: completed}}]"
    assert play_files([written(tmp_path, steps)]) == 0
    assert list((tmp_path / "temporary").iterdir()) == []


def test_waits_of_a_run_that_has_ended_are_none(penstock: Shell, tmp_path: Path) -> None:
    steps = "[{when: {start: {line_id: L01}}, then: {waits: {}, runs: 1, visits: {action_warning: 1}}}]"
    assert penstock("test", str(written(tmp_path, steps)), code=None).code == 0


def test_types_of_ones_own_are_imported_by_the_caller(penstock: Shell, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from penstock.diagram import NodeHandler, register_handler\n\n\n"
        "@register_handler('shout')\nclass Shout(NodeHandler):\n"
        "    def execute_with_envelopes(self, request, inputs):\n        raise RuntimeError('it is stubbed')\n"
    )
    (tmp_path / "shout.yaml").write_text(
        "version: light\nname: shout\nnodes:\n  - {label: Start, type: start}\n  - {label: Shout, type: shout}\n"
        "  - {label: End, type: endpoint}\nconnections:\n  - {from: Start, to: Shout}\n  - {from: Shout, to: End}\n"
    )
    steps = "[{when: {start: null}, then: {output: {End: LOUD}}}]"
    file = written(tmp_path, steps, "{stubs: {nodes: {Shout: {answer: LOUD}}}}", "shout.yaml")
    assert penstock("test", str(file), code=None).code == 2
    assert penstock("test", str(file), "--module", str(tmp_path / "own.py"), code=None).code == 0
