"""The node types (D-X.15) and what each is lowered to."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import DocumentInvalid, PenstockError
from penstock.lang.compile import check_document, compile_document
from penstock.lang.diagram import handler_type
from penstock.net.codec import content_hash
from penstock.net.model import OnError, Retry
from tests.conformance.diagram.make import (
    END,
    START,
    compiled,
    document,
    edge,
    found,
    job,
    net_of,
    node,
    only,
    plain,
    rules,
    text,
)  # fmt: skip


def lowered(fields: dict[str, Any]) -> Any:
    nodes, ways = plain({"label": "X", **fields})
    return node(net_of(nodes, ways), "X")


def wrong(fields: dict[str, Any]) -> list[str]:
    nodes, ways = plain({"label": "X", **fields})
    return [f.rule for f in found(nodes, ways) if f.severity == "error"]


def test_start_gives_out_the_input_or_its_data() -> None:
    """D-5.1.1, D-X.15: one firing without inputs; `data` is what a run without input begins with."""
    bare = net_of([START, text("T")], ["Start>T"])
    assert (node(bare, "Start").kind, node(bare, "Start").value) == ("start", None)
    filled = net_of([{**START, "props": {"data": {"a": [1]}}}, text("T")], ["Start>T"])
    assert node(filled, "Start").value == {"$expr": "fn.if(fn.is_empty(input), context.start_data['Start'], input)"}
    assert filled.declares.variables == {"start_data": {"Start": {"a": [1]}}}
    assert edge(filled, "Start>T").role == "start"


def test_nothing_leads_to_a_start() -> None:
    """D-5.1.2: a start executes once, so a connection to it is an error."""
    assert ("error", "start_has_input", "Start") in rules([START, text("T")], ["Start>T", "T>Start"])


def test_person_job() -> None:
    """D-X.15, D-6.1.1: the person and the prompts go to the executor as they are, with the limit on the node."""
    one = lowered({
        "type": "person_job", "person": "Bot", "default_prompt": "a ${b} {{c}}", "first_only_prompt": "first",
        "max_iteration": 3, "memorize_to": "GOLDFISH", "at_most": 5,
    })  # fmt: skip
    assert (one.kind, one.effect.executor, one.max_iter, one.group) == ("task", "person", 3, "diagram")
    assert one.effect.args == {
        "person": {"name": "Bot", "service": "mock"}, "default_prompt": "a ${b} {{c}}", "first_only_prompt": "first",
        "memorize_to": "GOLDFISH", "at_most": 5, "spread": ["start"],
    }  # fmt: skip
    assert lowered({"type": "person_job", "person": "Bot"}).max_iter is None


def test_persons() -> None:
    """D-X.17: built-in persons need nothing; an OpenAI-compatible one has its key as a reference only."""
    persons = {
        "Script": {"service": "script", "answers": ["a", {"b": 1}], "delay_ms": 5},
        "Far": {"service": "openai", "model": "m", "base_url": "http://x", "api_key": "${secrets.KEY}"},
        "Old": {"service": "openai", "model": "m", "api_key_id": "APIKEY_1", "system_prompt": "be brief"},
    }
    nodes, ways = plain(*(job(name, person=name) for name in persons))
    net = net_of(nodes, ways, persons=persons)
    args = {name: node(net, name).effect.args["person"] for name in persons}  # type: ignore[union-attr]
    assert args["Script"] == {"name": "Script", "service": "script", "answers": ["a", {"b": 1}], "delay_ms": 5}
    assert args["Far"]["api_key"] == "${secrets.KEY}"
    assert args["Old"]["api_key"] == "${secrets.APIKEY_1}"


@pytest.mark.parametrize(
    ("person", "rule"),
    [
        ({"service": "skynet"}, "wrong_type"),
        ({}, "missing_field"),
        ({"service": "script"}, "missing_field"),
        ({"service": "openai", "api_key": "sk-123"}, "hardcoded_secret"),
        ({"service": "openai", "api_key_id": "my key"}, "wrong_type"),
        ({"service": "mock", "anwsers": []}, "unknown_field"),
        ({"service": "script", "answers": [{"$expr": "1"}]}, "reserved_key"),
    ],
)
def test_persons_that_cannot_answer(person: dict[str, Any], rule: str) -> None:
    """D-X.17: a person is checked where it is declared; a key written out never gets into a net."""
    nodes, ways = plain(job("J", person="P"))
    assert rule in [f.rule for f in found(nodes, ways, persons={"P": person})]


@pytest.mark.parametrize(
    ("person", "known", "told"),
    [
        ({}, None, ("no_key", "/persons/P", "PENSTOCK_SECRET_OPENAI_API_KEY")),
        ({"base_url": "http://localhost:11434/v1"}, None, None),
        ({"api_key": "${secrets.KEY}"}, None, None),
        ({"api_key": "${secrets.KEY}"}, {"KEY"}, None),
        ({"api_key": "${secrets.KEY}"}, {"OTHER"}, ("secret_not_set", "/persons/P/api_key", "PENSTOCK_SECRET_KEY")),
        ({"api_key_id": "ID"}, set(), ("secret_not_set", "/persons/P/api_key_id", "PENSTOCK_SECRET_ID")),
    ],
)
def test_a_model_without_its_key_is_a_warning(person: dict[str, Any], known: Any, told: Any) -> None:
    """D-X.17: the key may be set where the diagram runs, so a missing one is no error; the hint names the variable."""
    nodes, ways = plain(job("J", person="P"))
    data = document(nodes, ways, persons={"P": {"service": "openai", **person}})
    secret = None if known is None else known.__contains__
    _, findings = check_document(data, name="d.json", secret=secret)
    assert [(f.severity, f.rule, f.where.pointer) for f in findings] == ([("warning", *told[:2])] if told else [])
    assert all(told[2] in f.hint for f in findings)


def test_an_unknown_person_is_told() -> None:
    """D-X.15: the person of a job stands under `persons`."""
    nodes, ways = plain(job("J", person="Bto"))
    finding = only(found(nodes, ways), "unknown_person")
    assert (finding.where.pointer, finding.hint) == ("/nodes/1/person", "Did you mean «Bot»?")


def test_code_job() -> None:
    """D-X.15: code goes to the sandbox; a file is read when the diagram is released."""
    assert lowered({"type": "code_job", "code": "result = 1"}).effect.args == {
        "language": "python", "code": "result = 1",
    }  # fmt: skip
    assert wrong({"type": "code_job", "language": "bash", "code": "rm"}) == ["wrong_type"]
    assert wrong({"type": "code_job"}) == ["missing_field"]
    nodes, ways = plain({"label": "X", "type": "code_job", "code": "files/a.py", "function_name": "f"})
    net = compile_document(
        document(nodes, ways), name="d.json", resolve={"files/a.py": b"def f(): pass"}.__getitem__
    ).net
    effect = node(net, "X").effect
    assert effect is not None
    assert effect.args == {"language": "python", "code": "def f(): pass", "function": "f"}


def test_files_that_cannot_be_read_are_told() -> None:
    """D-X.15: a file that a diagram names is there when it is released, or the diagram is not."""

    def resolve(name: str) -> bytes:
        if name == "latin":
            return b"\xe9"
        raise FileNotFoundError(2, "No such file")

    fields = {"type": "person_job", "person": "Bot"}
    for path, rule in (("latin", "file_unreadable"), ("gone", "file_not_found")):
        nodes, ways = plain({"label": "X", **fields, "prompt_file": path})
        _, findings = check_document(document(nodes, ways), name="d.json", resolve=resolve)
        assert only(findings, rule).where.pointer == "/nodes/1/prompt_file"
    assert wrong({**fields, "prompt_file": "any"}) == ["file_not_found"], "without a way to files there are none"


def test_api_job() -> None:
    """D-X.15: one request; the executor fills its placeholders and its secrets."""
    one = lowered({
        "type": "api_job", "url": "https://x.test/{{id}}", "method": "POST", "timeout": 2.5,
        "headers": {"Authorization": "Bearer ${secrets.T}"}, "params": {"n": 1}, "body": {"a": "{{b}}"},
    })  # fmt: skip
    assert one.effect.executor == "http"
    assert one.effect.args == {
        "url": "https://x.test/{{id}}", "method": "POST", "timeout": 2.5, "params": {"n": 1}, "body": {"a": "{{b}}"},
        "headers": {"Authorization": "Bearer ${secrets.T}"}, "spread": ["start"],
    }  # fmt: skip
    assert one.timeout_ms == 2500
    assert wrong({"type": "api_job", "url": "file:///etc/passwd"}) == ["wrong_url"]
    assert wrong({"type": "api_job"}) == ["missing_field"]
    assert wrong({"type": "api_job", "url": "http://x", "body": {"q": {"$expr": "input"}}}) == ["reserved_key"]
    nodes, ways = plain({"label": "X", "type": "api_job", "url": "http://x", "headers": {"X-Api-Key": "abc"}})
    assert ("warning", "hardcoded_secret", "X") in rules(nodes, ways)


def test_db() -> None:
    """D-X.15: files are read and written below the host's directories."""
    assert lowered({"type": "db", "file": "a/b.json"}).effect.args == {"operation": "read", "file": "a/b.json"}
    assert lowered({"type": "db", "operation": "append", "file": "a", "serialize_json": True}).effect.args == {
        "operation": "append", "file": "a", "format": "json",
    }  # fmt: skip
    assert lowered({"type": "db", "file": ["a", "b/*.txt"], "glob": True}).effect.args["glob"] is True
    assert wrong({"type": "db", "operation": "write", "file": ["a", "b"]}) == ["wrong_type"]
    assert wrong({"type": "db"}) == ["missing_field"]


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "..", "C:\\x", "a\\..\\..\\x", "{{a}}/../../x"])
def test_paths_stay_in_their_directory(path: str) -> None:
    """D-X.19: a path that leaves its directory is refused when the diagram is released."""
    for fields in (
        {"type": "db", "file": path},
        {"type": "endpoint", "save_to_file": True, "file_path": path},
        {"type": "template_job", "template": "x", "output_path": path},
    ):
        assert "path_outside" in [f.rule for f in found([START, {"label": "X", **fields}], ["Start>X"])]


def test_user_response() -> None:
    """D-X.18: a work item with its question; in time the default, or RESPONSE_TIMEOUT."""
    one = lowered({"type": "user_response", "prompt": "Name?", "timeout": 60})
    assert (one.kind, one.work.prompt, one.group) == ("work", "Name?", "")
    assert one.timeout_ms is None and one.retry.max == 0  # its time is the trigger's, and a person is asked once
    (trigger,) = one.triggers
    assert (trigger.kind, trigger.after_ms, trigger.action, trigger.code) == (
        "timer",
        60_000,
        "fail",
        "RESPONSE_TIMEOUT",
    )
    (trigger,) = lowered({"type": "user_response", "prompt": "?", "timeout": 1, "default": {"a": 1}}).triggers
    assert (trigger.action, trigger.value) == ("value", {"a": 1})
    nodes, ways = plain({"label": "X", "type": "user_response", "prompt": "?", "default": "x"})
    assert rules(nodes, ways) == [("warning", "idle_field", "X")]


def test_a_question_names_inputs() -> None:
    """D-X.18: {{name}} in the question is an input; everything else of the text stays text."""
    prompt = 'it\'s "{{start.a}}" and ${input} {{nobody}}'
    nodes, ways = plain({"label": "X", "type": "user_response", "prompt": prompt})
    work = node(net_of(nodes, ways), "X").work
    assert work is not None
    expression = work.prompt["$expr"]
    from penstock.expr import compile_expression

    assert compile_expression(expression)({"start": {"a": 5}}) == 'it\'s "5" and ${input} {{nobody}}'


def test_template_job() -> None:
    """D-X.15: a text with names in double braces."""
    one = lowered({"type": "template_job", "template": "Hi {{a}}", "variables": {"b": "{{c}}"}, "strict": True})
    assert one.effect.executor == "template"
    assert one.effect.args == {
        "template": "Hi {{a}}", "variables": {"b": "{{c}}"}, "strict": True, "spread": ["start"],
    }  # fmt: skip
    assert wrong({"type": "template_job", "template": "{% for x in y %}"}) == ["template_logic"]
    assert wrong({"type": "template_job"}) == ["missing_field"]


def test_endpoint() -> None:
    """D-X.19: the result is always kept under the label, and saved to a file when told so."""
    end = net_of([START, END], ["Start>End"])
    assert (node(end, "End").kind, node(end, "End").result) == ("end", "End")
    fields = {"save_to_file": True, "file_path": "a/b.md", "file_format": "md"}
    saving = node(net_of([START, {**END, **fields}], ["Start>End"]), "End")
    assert (saving.kind, saving.result) == ("task", "End")
    assert saving.effect is not None
    assert saving.effect.executor == "file"
    assert saving.effect.args == {"operation": "save", "file": "a/b.md", "format": "md"}


def test_endpoint_mistakes() -> None:
    """D-X.19: saving needs a path, a path alone is no order to save, and nothing leaves an endpoint."""
    assert rules([START, {**END, "save_to_file": True}], ["Start>End"]) == [("error", "missing_field", "End")]
    assert rules([START, {**END, "file_path": "x"}], ["Start>End"]) == [("warning", "file_not_saved", "End")]
    assert ("error", "endpoint_has_output", "End") in rules([START, END, text("T")], ["Start>End", "End>T"])


def test_unknown_types_are_errors() -> None:
    """D-X.15: an unknown type is told where it stands, with the nearest known one."""
    nodes, ways = plain({"label": "X", "type": "person_jab"})
    finding = only(found(nodes, ways), "unknown_type")
    assert (finding.where.pointer, finding.hint, finding.node) == ("/nodes/1/type", "Did you mean «person_job»?", "X")


def test_types_from_outside() -> None:
    """D-X.15, D-X.30: a type that others bring takes its fields to its handler, with limits and retries as usual."""
    nodes, ways = plain({"label": "X", "type": "shout", "volume": 11, "retry": {"max": 1}, "join_policy": "any"})
    net = compile_document(document(nodes, ways), name="d.json", extra={"shout": handler_type("shout")}).net
    one = node(net, "X")
    assert (one.type, one.retry.max, one.join.mode) == ("shout", 1, "k")
    assert one.effect is not None
    assert (one.effect.executor, one.effect.args) == ("handler", {"type": "shout", "props": {"volume": 11}})
    with pytest.raises(DocumentInvalid):
        compile_document(document(nodes, ways), name="d.json")


def test_failure_settings() -> None:
    """D-X.10: on_error, retry and timeout of any node that works."""
    one = lowered({
        "type": "code_job", "code": "1", "on_error": "continue", "timeout": 1.5,
        "retry": {"max": 3, "backoff_ms": 10, "backoff_type": "exponential", "jitter": True},
    })  # fmt: skip
    assert one.on_error == (OnError(match="*", action="error_env"),)
    assert one.retry == Retry(max=3, base_ms=10, kind="exponential", jitter=True)
    assert set(one.retry.on) == {"transient", "timeout", "external", "resource"}
    assert one.timeout_ms == 1500
    plain_one = lowered({"type": "code_job", "code": "1"})
    assert (plain_one.on_error, plain_one.retry.max, plain_one.timeout_ms) == ((), 0, None)


SUB = {
    "version": "light",
    "name": "child",
    "nodes": [START, text("T"), END],
    "connections": [{"from": "Start", "to": "T"}, {"from": "T", "to": "End"}],
}


def test_sub_diagram_inline() -> None:
    """D-X.15: an inline diagram becomes a net of its own that the call names by its hash."""
    nodes, ways = plain({"label": "X", "type": "sub_diagram", "diagram": SUB})
    result = compiled(nodes, ways)
    call = node(result.net, "X")
    ((digest, child),) = result.children.items()
    assert content_hash(child) == digest
    assert (child.name, call.kind) == ("child", "call")
    assert call.effect is not None
    assert call.effect.args == {"net": digest, "name": "child", "output": "End", "input": {"$expr": "default"}}


def test_sub_diagram_inputs() -> None:
    """D-X.15: several connections go by name; a mapping says itself what goes."""
    sub = {"label": "X", "type": "sub_diagram", "diagram": SUB}
    two = [START, text("A"), text("B"), sub]
    ways = ["Start>A", "Start>B", "A>X", ("B>X", {"label": "more"})]
    effect = node(net_of(two, ways), "X").effect
    assert effect is not None
    assert effect.args["input"] == {"a": {"$expr": "a"}, "more": {"$expr": "more"}}
    mapped = [*two[:3], {**sub, "input_mapping": {"who": "more.name"}, "output_mapping": {"End": "said"}}]
    effect = node(net_of(mapped, ways), "X").effect
    assert effect is not None
    assert effect.args["input"] == {"who": {"$expr": "more.name"}}
    assert effect.args["outputs"] == {"End": "said"}
    bad = [*two[:3], {**sub, "input_mapping": {"who": "nobody"}, "output_mapping": {"Ende": "x"}}]
    assert {f.rule for f in found(bad, ways)} == {"unresolved_reference", "unknown_node"}


def test_sub_diagram_for_every_item() -> None:
    """D-X.15: a batch is a scope with one call per item."""
    nodes, ways = plain({"label": "X", "type": "sub_diagram", "diagram": SUB, "batch": True, "batch_parallel": False})
    net = net_of(nodes, ways)
    scope, call = node(net, "X"), node(net, "X.item")
    assert scope.body is not None
    assert (scope.kind, scope.body.mode, scope.body.entry, scope.body.collect) == (
        "scope",
        "each_seq",
        "X.item",
        "outputs",
    )
    assert (call.kind, call.scope, call.origin) == ("call", "X", "X")
    assert net.source_map["X.item"] == net.source_map["X"]


def test_sub_diagram_by_file() -> None:
    """D-X.15: a file is compiled once, however often it is called; its mistakes are told at the call."""
    files = {"child": document(SUB["nodes"], ["Start>T", "T>End"]), "bad": b"version: light\nnodes: [{label: x}]\n"}
    calls = [{"label": name, "type": "sub_diagram", "diagram_name": "child"} for name in ("X", "Y")]
    nodes, ways = plain(*calls)
    result = compile_document(document(nodes, ways), name="d.json", resolve=files.__getitem__)
    assert len(result.children) == 1
    nodes, ways = plain({"label": "X", "type": "sub_diagram", "diagram_name": "bad"})
    _, findings = check_document(document(nodes, ways), name="d.json", resolve=files.__getitem__)
    finding = findings[0]
    assert (finding.rule, finding.where.pointer, finding.node) == ("missing_field", "/nodes/1/diagram_name", "X")
    assert "In «bad» at /nodes/0" in finding.message


def test_sub_diagrams_do_not_call_themselves() -> None:
    """D-X.15: a diagram that calls itself, at once or by way of others, is an error."""
    files = {
        name: document(*plain({"label": "X", "type": "sub_diagram", "diagram_name": other}), name=name)
        for name, other in (("a", "b"), ("b", "a"))
    }
    _, findings = check_document(files["a"], name="a", resolve=files.__getitem__)
    assert [f.rule for f in findings] == ["recursive_diagram"]


def test_sub_diagram_mistakes() -> None:
    """D-X.15: either a file or an inline diagram, and one that can be found."""

    def resolve(name: str) -> bytes:
        raise (OSError(2, "No such file") if name == "gone" else PenstockError())

    for fields, rule in (
        ({}, "missing_field"),
        ({"diagram": SUB, "diagram_name": "x"}, "missing_field"),
        ({"diagram_name": "gone"}, "file_not_found"),
        ({"diagram": {"a": 1}}, "PS-422-LANGUAGE"),
    ):
        nodes, ways = plain({"label": "X", "type": "sub_diagram", **fields})
        _, findings = check_document(document(nodes, ways), name="d.json", resolve=resolve)
        assert [f.rule for f in findings] == [rule]
