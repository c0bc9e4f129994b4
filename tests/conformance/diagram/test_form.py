"""The written forms of a diagram (D-X.14): light YAML, the same as JSON, and the native JSON of the drawing tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.lang.compile import check_document, compile_document
from penstock.net.codec import content_hash
from penstock.net.model import Net
from tests.conformance.diagram.make import END, START, cond, edge, found, job, net_of, node, only, plain, rules, text

EXAMPLES = Path(__file__).parents[3] / "examples" / "diagram"

INLINE = """\
version: light
name: small
description: for a test
persons:
  Bot:
    service: mock
nodes:
  - label: Start
    type: start
    position: {x: 1, y: 2}
  - label: Ask Bot
    type: person_job
    person: Bot
    default_prompt: say {{start}}
    max_iteration: 2
  - label: Check
    type: condition
    condition_type: detect_max_iterations
  - label: End
    type: endpoint
connections:
  - from: Start
    to: Ask Bot
  - from: Ask Bot
    to: Check
    content_type: object
  - from: Check[condfalse]
    to: Ask Bot
  - from: Check[condtrue]
    to: End
    label: answer
"""


def net(document: str, name: str = "d.yaml") -> Net:
    return compile_document(document.encode(), name=name).net


def test_light_yaml_is_read() -> None:
    """D-X.14: labels are ids, persons and nodes and connections are found, and every part knows its line."""
    small = net(INLINE)
    assert (small.name, small.language) == ("small", "diagram")
    assert [(n.id, n.type) for n in small.nodes] == [
        ("Start", "start"), ("Ask Bot", "person_job"), ("Check", "condition"), ("End", "endpoint"),
    ]  # fmt: skip
    assert [(e.src, e.port, e.dst) for e in small.edges] == [
        ("Start", "done", "Ask Bot"),
        ("Ask Bot", "done", "Check"),
        ("Check", "condfalse", "Ask Bot"),
        ("Check", "condtrue", "End"),
    ]
    lines = {name: place.line for name, place in small.source_map.items()}
    assert lines["Ask Bot"] == 11
    assert lines["Check:condtrue>End"] == 29
    assert set(lines) == {n.id for n in small.nodes} | {e.id for e in small.edges}


def test_fields_stand_beside_the_label_or_under_props() -> None:
    """D-X.14: both places mean the same; one field in both is an error."""
    under = INLINE.replace("    person: Bot\n", "    props:\n      person: Bot\n").replace(
        "    default_prompt: say {{start}}\n    max_iteration: 2\n",
        "      default_prompt: say {{start}}\n      max_iteration: 2\n",
    )
    assert content_hash(net(under)) == content_hash(net(INLINE))
    twice = INLINE.replace("    max_iteration: 2\n", "    max_iteration: 2\n    props: {max_iteration: 3}\n")
    _, findings = check_document(twice.encode(), name="d.yaml")
    assert only(findings, "duplicate_field").where.line == 16


def test_older_handles_and_json_mean_the_same() -> None:
    """D-X.14: `_condtrue` is `[condtrue]`, and JSON of the same shape is the same diagram."""
    older = INLINE.replace("Check[condfalse]", "Check_condfalse").replace("Check[condtrue]", "Check_condtrue")
    assert content_hash(net(older)) == content_hash(net(INLINE))
    data = {
        "version": "light",
        "name": "small",
        "persons": {"Bot": {"service": "mock"}},
        "nodes": [
            {"label": "Start", "type": "start"},
            {"label": "Ask Bot", "type": "person_job", "props": {
                "person": "Bot", "default_prompt": "say {{start}}", "max_iteration": 2}},
            {"label": "Check", "type": "condition", "condition_type": "detect_max_iterations"},
            {"label": "End", "type": "endpoint"},
        ],
        "connections": [
            {"from": "Start", "to": "Ask Bot"},
            {"from": "Ask Bot", "to": "Check"},
            {"from": "Check[condfalse]", "to": "Ask Bot"},
            {"from": "Check[condtrue]", "to": "End", "label": "answer"},
        ],
    }  # fmt: skip
    assert content_hash(net(json.dumps(data), "d.json")) == content_hash(net(INLINE))


def test_a_label_that_looks_like_a_handle_is_taken_as_it_stands() -> None:
    """D-X.14: an exact label wins over the older way to write a handle."""
    odd = net_of([START, text("Check_condtrue"), END], ["Start>Check_condtrue", "Check_condtrue>End"])
    assert edge(odd, "Check_condtrue>End").port == "done"


def _native(maps: bool) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = [
        {"id": "node_0", "type": "start", "position": {"x": 0}, "data": {"label": "Start", "custom_data": {}}},
        {"id": "node_1", "type": "person_job", "data": {
            "label": "Ask Bot", "person": "person_0", "default_prompt": "say {{start}}", "max_iteration": 2,
            "tools": None, "flipped": False}},
        {"id": "node_2", "type": "condition", "data": {
            "label": "Check", "condition_type": "detect_max_iterations", "flipped": True}},
        {"id": "node_3", "type": "endpoint", "data": {"label": "End", "save_to_file": False, "file_name": "x.txt"}},
    ]  # fmt: skip
    arrows: list[dict[str, Any]] = [
        {"id": "a0", "source": "node_0_default_output", "target": "node_1_default_input", "content_type": None},
        {"id": "a1", "source": "node_1_default_output", "target": "node_2_default_input", "data": {}},
        {"id": "a2", "source": "handle_x", "target": "node_1_default_input", "label": None},
        {"id": "a3", "source": "node_2_true_output", "target": "node_3_default_input", "label": "answer"},
    ]
    persons: list[dict[str, Any]] = [
        {"id": "person_0", "label": "Bot", "type": "person", "llm_config": {"service": "mock", "system_prompt": None}}
    ]
    handles = [{"id": "handle_x", "node_id": "node_2", "label": "condfalse", "direction": "output"}]
    whole: dict[str, Any] = {"nodes": nodes, "arrows": arrows, "persons": persons, "handles": handles}
    if maps:
        for name, parts in list(whole.items()):
            whole[name] = {part["id"]: {k: v for k, v in part.items() if k != "id"} for part in parts}
    return {**whole, "metadata": {"name": "small", "created": "2025"}}


@pytest.mark.parametrize("maps", [True, False])
def test_native_json_is_the_same_diagram(maps: bool) -> None:
    """D-X.14: nodes and arrows by id, as maps or lists; handle ids are looked up or taken apart."""
    native = net(json.dumps(_native(maps)), "d.native.json")
    assert content_hash(native) == content_hash(net(INLINE))


def test_a_mistake_in_native_json_is_shown_where_it_stands() -> None:
    """D-X.14: findings point into the native document, not into the light form it was brought to."""
    data = _native(False)
    data["nodes"][1]["data"]["default_prompt"] = 5
    data["arrows"][3]["target"] = "node_9_default_input"
    language, findings = check_document(json.dumps(data, indent=1).encode(), name="d.json")
    assert language == "diagram"
    assert {f.where.pointer for f in findings} == {"/nodes/1/data/default_prompt", "/arrows/3/target"}
    assert all(f.where.line for f in findings)


ALIASES = [
    ("code_job", {"code_type": "python", "code": "result = 1"}, {"language": "python", "code": "result = 1"}),
    ("code_job", {"code": "def f(): pass", "functionName": "f"}, {"code": "def f(): pass", "function_name": "f"}),
    ("db", {"source_details": "a.txt"}, {"file": "a.txt"}),
    ("endpoint", {"save_to_file": True, "file_name": "a.txt"}, {"save_to_file": True, "file_path": "a.txt"}),
    ("template_job", {"template": "x", "strict_mode": True}, {"template": "x", "strict": True}),
    ("person_job", {"person": "Bot", "memory_profile": "GOLDFISH"}, {"person": "Bot", "memorize_to": "GOLDFISH"}),
    ("start", {"custom_data": {"a": 1}}, {"data": {"a": 1}}),
]


@pytest.mark.parametrize(("kind", "written", "meant"), ALIASES)
def test_public_aliases_are_read(kind: str, written: dict[str, Any], meant: dict[str, Any]) -> None:
    """D-X.14: the public names of a field are one field."""
    nets = []
    for fields in (written, meant):
        one = {"label": "X", "type": kind, **fields}
        nodes = [one, text("T")] if kind == "start" else [START, one]
        nets.append(net_of(nodes, ["X>T"] if kind == "start" else ["Start>X"]))
    assert content_hash(nets[0]) == content_hash(nets[1])
    (name, value), (other, _) = next(iter(written.items())), next(iter(meant.items()))
    if name != other and kind != "start":
        both = found([START, {"label": "X", "type": kind, **meant, name: value}], ["Start>X"])
        assert "duplicate_field" in {f.rule for f in both}


def test_types_may_be_written_in_capitals() -> None:
    """D-X.14: the public form writes START as well as start; the net has the one word."""
    assert net_of([{"label": "S", "type": "START"}, text("T")], ["S>T"]).nodes[0].type == "start"


def test_variables_at_the_target() -> None:
    """D-X.14: the connection's label, or the source's label in snake case."""
    labels = {"Load Data": "load_data", "PersonJob": "person_job", "HTTPCall~1": "http_call_1", "2nd": "_2nd"}
    for label, var in labels.items():
        assert edge(net_of([START, text(label), END], [f"Start>{label}", f"{label}>End"]), f"{label}>End").var == var
    named = net_of([START, text("T"), END], ["Start>T", ("T>End", {"label": "topic"})])
    assert edge(named, "T>End").var == "topic"
    spaced = found([START, text("T"), END], ["Start>T", ("T>End", {"label": "my topic"})])
    assert "my_topic" in only(spaced, "label_not_a_name").message


def test_labels_are_unique() -> None:
    """D-X.14: a second node of the same label is an error, not renumbered."""
    finding = only(found([START, text("T"), text("T"), END], ["Start>T", "T>End"]), "duplicate_label")
    assert finding.severity == "error"
    assert finding.where.pointer == "/nodes/2/label"


@pytest.mark.parametrize("label", ["", " x", "a\nb", "a'b\"c", "Check[condtrue]", 5, None, "x" * 201])
def test_bad_labels_are_refused(label: Any) -> None:
    """D-X.14: a label must be able to name a node in connections and expressions."""
    assert any(f.severity == "error" for f in found([START, text("T") | {"label": label}], []))


def test_unknown_fields_are_told_with_a_hint_all_at_once() -> None:
    """D-X.14: what nobody reads is an error where it stands; one mistake hides no other."""
    nodes = [START, job("J", max_iterations=3, retry={"max": 1, "backof_ms": 5}, timeout="soon"), END]
    findings = found(nodes, ["Start>J", ("J>End", {"contenttype": "object"})], nmae="x")
    told = {f.where.pointer: (f.rule, f.hint) for f in findings}
    assert told["/nodes/1/max_iterations"] == ("unknown_field", "Did you mean «max_iteration»?")
    assert told["/nodes/1/retry/backof_ms"] == ("unknown_field", "Did you mean «backoff_ms»?")
    assert told["/connections/1/contenttype"] == ("unknown_field", "Did you mean «content_type»?")
    assert told["/nmae"] == ("unknown_field", "Did you mean «name»?")
    assert told["/nodes/1/timeout"][0] == "wrong_type"
    assert len(findings) == 5


@pytest.mark.parametrize(
    ("way", "rule"),
    [
        ("Start>Nowhere", "dangling_edge"),
        ("Nowhere>J", "dangling_edge"),
        ("C>J", "missing_handle"),
        ("C[condmaybe]>J", "unknown_handle"),
        ("J[condtrue]>End", "unknown_handle"),
        ("J>End[last]", "unknown_handle"),
    ],
)
def test_connections_must_join_what_is_there(way: str, rule: str) -> None:
    """D-X.14: ends and handles of connections exist."""
    nodes = [START, job("J"), cond("C"), END]
    findings = found(nodes, ["Start>C", "C[condtrue]>J", "J>End", way])
    finding = only(findings, rule)
    assert finding.severity == "error"
    assert finding.where.pointer.startswith("/connections/3/")
    assert [f.rule for f in findings if f.severity == "error"] == [rule], "its consequences are not told as well"


@pytest.mark.parametrize(
    "broken", [{"nodes": {}}, {"nodes": [1]}, {"connections": [[]]}, {"persons": []}, {"nodes": 1}]
)
def test_wrong_shapes_are_told(broken: dict[str, Any]) -> None:
    """D-X.14: lists are lists and maps are maps."""
    data = json.dumps({"version": "light", "nodes": [START], **broken}).encode()
    _, findings = check_document(data, name="d.json")
    assert "wrong_type" in {f.rule for f in findings}


@pytest.mark.parametrize(
    "file", sorted(f for f in EXAMPLES.iterdir() if ".scenario." not in f.name), ids=lambda file: file.name
)
def test_every_example_is_a_sound_diagram(file: Path) -> None:
    """D-X.14: the examples are read without a finding, and their nets survive their canonical form."""
    result = compile_document(file.read_bytes(), name=file.name)
    assert result.findings == []
    assert msgspec.json.decode(msgspec.json.encode(result.net), type=Net) == result.net


def test_first_handle_counts_only_once() -> None:
    """D-X.14: a way to the public handle `first` is waited for like one from a start, until the node has executed."""
    nodes = [START, text("Topic"), job("J", max_iteration=2), cond("C", condition_type="detect_max_iterations"), END]
    ways = ["Start>Topic", "Topic>J_first", "J>C", "C[condfalse]>J", "C[condtrue]>End"]
    loop = net_of(nodes, ways)
    assert edge(loop, "Topic>J").role == "start"
    assert content_hash(net_of(nodes, [w.replace("J_first", "J[first]") for w in ways])) == content_hash(loop)


def test_idle_public_fields_are_read_with_a_warning() -> None:
    """D-X.14: public fields that change nothing here are told, unless they are empty."""
    nodes, ways = plain(job("J", tools="websearch", memory_config={}))
    assert rules(nodes, ways) == [("warning", "idle_field", "J")]
    assert node(net_of(nodes, ways), "J").kind == "task"
