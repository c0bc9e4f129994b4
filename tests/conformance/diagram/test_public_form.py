"""Diagrams as the public tool writes them: persons, files, loops, scripts, hooks and services of the public form."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import DocumentInvalid, Finding
from penstock.lang.compile import check_document, compile_document
from tests.conformance.diagram.make import END, START, cond, document, found, job, net_of, node, only, plain, text
from tests.conformance.diagram.running import awaited, door, go, until_settled
from tests.executors.bench import Seen, Server, as_json

BOTH = ["C[condtrue]>End", "C[condfalse]>A", "A>C"]


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server(lambda seen: as_json({"ok": True, "number": 7, "path": seen.path}))
    yield one
    one.close()


def drawn(nodes: list[dict[str, Any]], ways: list[Any], **top: Any) -> bytes:
    return document([*nodes, END], ways, **top)


# ---- persons ---------------------------------------------------------------------------------------------------------


def test_persons_in_one_word_and_at_their_node() -> None:
    """D-X.14, D-X.17: `Name: service/model`, and a person that is written where it is asked."""
    nodes, ways = plain(job("A", person="P"), job("B", person={"service": "echo", "system_prompt": "x"}))
    net = net_of(nodes, ways, persons={"P": "ollama/llama3.2:1b"})
    assert node(net, "A").effect.args["person"] == {"name": "P", "service": "ollama", "model": "llama3.2:1b"}
    assert node(net, "B").effect.args["person"] == {"name": "B", "service": "echo", "system_prompt": "x"}


@pytest.mark.parametrize("service", ["ollama", "claude-code"])
def test_services_of_this_machine_need_no_key(service: str) -> None:
    """D-X.17: the ids of keys that the public tool writes are left aside."""
    nodes, ways = plain(job("A", person="P"))
    persons = {"P": {"service": service, "model": "m", "api_key_id": "APIKEY_DUMMY"}}
    assert found(nodes, ways, persons=persons) == []
    assert node(net_of(nodes, ways, persons=persons), "A").effect.args["person"] == {
        "name": "P", "service": service, "model": "m",
    }  # fmt: skip


def test_max_turns_is_for_claude_code() -> None:
    """D-X.17: elsewhere it has no effect, and is told."""
    nodes, ways = plain(job("A", person="P", max_turns=4))
    net = net_of(nodes, ways, persons={"P": "claude-code"})
    assert node(net, "A").effect.args["max_turns"] == 4
    assert only(found(nodes, ways, persons={"P": "mock"}), "idle_field").severity == "warning"
    for wrong in (0, 1001, "many"):
        assert only(found(*plain(job("A", max_turns=wrong))), "wrong_type").where.pointer == "/nodes/1/max_turns"


# ---- files -----------------------------------------------------------------------------------------------------------


def test_prompts_and_diagrams_are_found_where_the_public_tool_looks(tmp_path: Path) -> None:
    """D-X.14: in `prompts/` beside the diagram or at the root, and with the ending that is left out."""
    for name, content in {
        "files/prompts/judge.md": "J", "work/prompts/write.txt": "W", "tools/add.py": "def add(a):\n    return a + 1",
        "work/child.light.yaml": document([START, END], ["Start>End"]).decode(),
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    nodes = [
        START, job("A", prompt_file="write"), job("B", first_prompt_file="judge.md"),
        {"label": "C", "type": "sub_diagram", "diagram_name": "work/child"},
        {"label": "D", "type": "code_job", "file_path": "tools/add", "function_name": "add"}, END,
    ]  # fmt: skip
    file = tmp_path / "work" / "d.yaml"
    file.write_bytes(document(nodes, ["Start>A", "A>B", "B>C", ("C>D", {"label": "a"}), "D>End"]))
    from penstock.app.releases.documents import compile_source

    net = compile_source(file)[0].net
    assert node(net, "A").effect.args["default_prompt"] == "W"
    assert node(net, "B").effect.args["first_only_prompt"] == "J"
    assert node(net, "D").effect.args["code"].startswith("def add")


# ---- loops, variables, expressions -----------------------------------------------------------------------------------


def test_a_condition_counts_its_loop(tmp_path: Path) -> None:
    """D-X.16: `expose_index_as` is 0 at its first execution, and every node may read it."""
    nodes = [START, cond("C", expression="i >= 2", expose_index_as="i"), text("A", template="round {{i}}")]
    ran = go(tmp_path, drawn(nodes, ["Start>C", *BOTH]))
    assert (ran.status, ran.bodies("A>C")) == ("COMPLETED", ["round 0", "round 1"])


@pytest.mark.parametrize(
    ("expression", "input", "branch"),
    [
        ("len(rows) >= 2", {"rows": [1, 2]}, "condtrue"),
        ("len(rows) >= 2", {"rows": []}, "condfalse"),
        ("rows.get('n', 3) == 3 and not rows.get('x')", {"rows": {}}, "condtrue"),
        ("max(rows) == 4 and sum(rows) == 7 and abs(-1) == 1", {"rows": [3, 4]}, "condtrue"),
        ("str(rows) == '5'", {"rows": 5}, "condtrue"),
        ("'len(' == rows", {"rows": "len("}, "condtrue"),
    ],
)
def test_functions_of_python_in_conditions(expression: str, input: Any, branch: str, tmp_path: Path) -> None:
    """D-X.16: `len()` and its like mean what they mean in Python."""
    nodes = [START, cond("C", expression=expression), text("A"), END]
    ran = go(
        tmp_path, document(nodes, [("Start>C", {"label": "rows"}), "C[condtrue]>A", "C[condfalse]>End", "A>End"]), input
    )
    assert ran.look.branches["C"] == branch


def test_scripts_share_their_variables(tmp_path: Path) -> None:
    """D-X.15: what one script sets another reads, though no connection brings it; an input of that name wins."""
    code = {"type": "code_job"}
    nodes = [
        START, {"label": "A", **code, "code": "n = 1\nm = 5"}, {"label": "B", **code, "code": "n += m\nresult = 'b'"},
        {"label": "C", **code, "code": "result = [n, m]"}, {"label": "D", **code, "code": "result = n"}, END,
    ]  # fmt: skip
    ran = go(tmp_path, document(nodes, ["Start>A", "A>B", "B>C", ("C>D", {"label": "n"}), "D>End"]))
    assert ran.look.outputs == {"End": [6, 5]}
    assert ran.bodies("B>C") == ["b"]


def test_nothing_is_shared_that_nobody_reads() -> None:
    """D-9.2: a diagram whose connections bring everything has no variables of the run."""
    nodes = [START, {"label": "A", "type": "code_job", "code": "n = 1\nresult = n"}, text("B", template="{{a}}")]
    net = net_of([*nodes, END], ["Start>A", "A>B", "B>End"])
    assert net.declares.variables == {} and [n.id for n in net.nodes] == ["Start", "A", "B", "End"]


def test_members_of_what_comes_without_a_name_are_names(tmp_path: Path) -> None:
    """D-X.14: of a start and of a script; a label that is called like a member of the start brings that member."""
    nodes = [
        {**START, "data": {"who": "Kim", "size": {"x": 2}}}, text("A", template="{{who}} {{size.x}}"),
        text("B", template="{{size.x}}"), {"label": "S", "type": "code_job", "code": "result = {'ok': True, 'n': 3}"},
        cond("C", expression="ok and n == 3"), text("D", template="n is {{n}}"), END,
    ]  # fmt: skip
    ways = [
        "Start>A",
        ("Start>B", {"label": "size"}),
        "A>S",
        "B>S",
        "S>C",
        "C[condtrue]>D",
        "C[condfalse]>End",
        "D>End",
    ]
    ran = go(tmp_path, document(nodes, ways))
    assert [ran.bodies(edge) for edge in ("A>S", "B>S", "D>End")] == [["Kim 2"], ["2"], ["n is 3"]]


def test_scripts_of_the_public_form(tmp_path: Path) -> None:
    """D-X.15: a function `main` is called, `inputs` holds everything, and `dir()` looks around."""
    nodes = [
        START, {"label": "A", "type": "code_job", "code": "def main(x=None):\n    return {'x': x or 'none'}"},
        {"label": "B", "type": "code_job", "code": "y = inputs['a']['x'] if 'a' in dir() else '?'\nresult = y"}, END,
    ]  # fmt: skip
    ran = go(tmp_path, document(nodes, ["Start>A", "A>B", "B>End"]))
    assert ran.look.outputs == {"End": "none"}


def test_paths_with_single_braces_and_keys(tmp_path: Path) -> None:
    """D-X.15: `{name}` in a path, and parts of the data by `keys`."""
    nodes = [
        {**START, "data": {"id": "a1", "user": {"name": "Kim"}}},
        {"label": "W", "type": "db", "operation": "write", "file": "u/{id}.json", "format": "json"},
        {"label": "R", "type": "db", "operation": "read", "file": "u/{{id}}.json", "keys": "user.name"}, END,
    ]  # fmt: skip
    ran = go(tmp_path, document(nodes, ["Start>W", "W>R", "R>End"]))
    assert ran.look.outputs == {"End": "Kim"}
    assert (tmp_path / "out" / "u" / "a1.json").exists()


# ---- hooks and services ----------------------------------------------------------------------------------------------


def test_hooks_send_call_write_and_start(tmp_path: Path, server: Server) -> None:
    """D-X.15: webhook, python, file and shell; only a program that the operator lists is started."""
    tool = tmp_path / "tool"
    tool.write_text(f"#!{sys.executable}\nimport sys\nprint('tool', *sys.argv[1:])")
    tool.chmod(0o755)
    args = {"more": "{{w.number}}"}
    script = "def hook(inputs, more):\n    return inputs['w']['number'] + more"
    nodes = [
        {**START, "data": {"id": 7}},
        {"label": "W", "type": "hook", "hook_type": "webhook", "config": {"url": server.url + "/hook"}},
        {"label": "P", "type": "hook", "hook_type": "python", "config": {"script": script, "args": args}},
        {"label": "F", "type": "hook", "hook_type": "file", "file_path": "hooks/f.json"},
        {"label": "S", "type": "hook", "hook_type": "shell", "command": f"{tool} 'a b' {{{{f.path}}}}", "timeout": 20},
        END,
    ]  # fmt: skip
    ways = ["Start>W", "W>P", "P>F", "F>S", "S>End"]
    settings = {"http.allow": ["127.0.0.1"], "hooks.commands": [str(tool)]}
    (tmp_path / "in").mkdir()
    ran = go(tmp_path, document(nodes, ways), settings=settings)
    assert ran.look.outputs == {"End": "tool a b hooks/f.json\n"}, ran.look.failure
    assert server.seen[0].json == {"inputs": {"start": {"id": 7}}, "hook_type": "hook_node", "node_id": "W"}
    assert json.loads((tmp_path / "out/hooks/f.json").read_text()) == {"inputs": {"p": 14}, "node_id": "F"}
    refused = go(tmp_path / "again", document(nodes, ways), settings={"http.allow": ["127.0.0.1"]})
    assert refused.look.failure["code"] == "COMMAND_DISABLED"


@awaited
async def test_a_hook_waits_for_an_event(tmp_path: Path) -> None:
    """D-X.18: `subscribe_to` waits for the provider's event and filters it; without one it says so after its time."""
    asked = {"provider": "github", "event_name": "push", "timeout": 3600, "filters": {"repository": "a/b"}}
    hook = {"label": "H", "type": "hook", "hook_type": "webhook", "config": {"subscribe_to": asked}}
    source = document(*plain(hook))
    async with door(tmp_path) as p:
        ran = await until_settled(p, source)
        assert (ran.status, ran.look.waiting[0].node) == ("WAITING", "H")
        await p.send_event("webhook.github.push", {"repository": "c/d"}, id="1")
        await p.send_event("webhook.github.push", {"repository": "a/b", "n": 3}, id="2")
        await p.wait(ran.id, timeout=60)
        assert p.view(ran.id).outputs["End"]["n"] == 3
    late = node(compile_document(source, name="d").net, "H").triggers[1]
    assert (late.after_ms, late.action, late.value["status"]) == (3_600_000, "value", "timeout")


SERVICES = [
    ("github", "create_issue", {"owner": "o", "repo": "{{id}}", "title": "T", "labels": ["x"]},
     "POST", "/repos/o/a%2Fb/issues", {"title": "T", "labels": ["x"]}, "Bearer k"),
    ("github", "add_comment", {"owner": "o", "repo": "r", "issue_number": 3, "body": "B {{id}}"},
     "POST", "/repos/o/r/issues/3/comments", {"body": "B a/b"}, "Bearer k"),
    ("github", "list_issues", {"owner": "o", "repo": "r", "labels": ["a", "b"], "per_page": 5},
     "GET", "/repos/o/r/issues?labels=a%2Cb&per_page=5", None, "Bearer k"),
    ("slack", "post_message", {"channel": "#dev", "text": "hi"},
     "POST", "/chat.postMessage", {"channel": "#dev", "text": "hi"}, "Bearer k"),
    ("discord", "send_embed", {"channel_id": "c", "title": "T", "fields": [{"name": "a"}]},
     "POST", "/channels/c/messages", {"embeds": [{"title": "T", "fields": [{"name": "a"}]}]}, "Bot k"),
    ("discord", "add_reaction", {"channel_id": "c", "message_id": "m", "emoji": "✅"},
     "PUT", "/channels/c/messages/m/reactions/%E2%9C%85/@me", None, "Bot k"),
    ("notion", "create_page", {"database_id": "d", "properties": {"title": "T"}},
     "POST", "/pages", {"parent": {"database_id": "d"}, "properties": {"title": "T"}}, "Bearer k"),
    ("jira", "add_comment", {"issue_key": "P-1", "body": "B", "email": "e@x"},
     "POST", "/rest/api/2/issue/P-1/comment", {"body": "B"}, "Basic ZUB4Oms="),
    ("wikipedia", "search", {"query": "belt", "limit": 2},
     "GET", "?action=query&format=json&formatversion=2&list=search&srsearch=belt&srlimit=2", None, None),
]  # fmt: skip


@pytest.mark.parametrize("case", SERVICES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_services_get_the_request_that_their_documentation_asks_for(case: Any, tmp_path: Path, server: Server) -> None:
    """D-X.15: over the real client, to a server in the place of the provider's."""
    provider, operation, config, method, path, body, authorization = case
    fields = {"provider": provider, "operation": operation, "config": config, "base_url": server.url}
    fields["api_key_id"] = f"{provider.upper()}_API_KEY"
    nodes, ways = plain({"label": "X", "type": "integrated_api", **fields})
    settings = {"http.allow": ["127.0.0.1"], "secrets": {f"{provider.upper()}_API_KEY": "k"}}
    ways = [("Start>X", {"label": "id"}), *ways[1:]]
    ran = go(tmp_path, document(nodes, ways), "a/b", settings=settings)
    assert ran.status == "COMPLETED", ran.look.failure
    seen: Seen = server.seen[0]
    assert (seen.method, seen.path.lstrip("/")) == (method, path.lstrip("/"))
    assert (seen.json if seen.body else None) == body
    assert seen.headers.get("authorization") == authorization


def test_a_key_of_its_own_name(tmp_path: Path, server: Server) -> None:
    """D-X.15: `api_key_id` names the secret; the key stands in no net."""
    fields = {"provider": "github", "operation": "get_user", "resource_id": "kim", "base_url": server.url}
    source = document(
        *plain({"label": "X", "type": "integrated_api", **fields, "api_key_id": "MINE", "max_retries": 2})
    )
    ran = go(tmp_path, source, settings={"http.allow": ["127.0.0.1"], "secrets": {"MINE": "sk-own"}})
    assert server.seen[0].headers["authorization"] == "Bearer sk-own"
    assert "sk-own" not in ran.trace()
    net = compile_document(source, name="d").net
    assert node(net, "X").retry.max == 2
    assert node(net, "X").effect.args["headers"]["Authorization"] == "Bearer ${secrets.MINE}"


def service(provider: str = "github", **fields: Any) -> list[Finding]:
    known = {"github": ("get_user", {"username": "kim"}), "wikipedia": ("search", {"query": "belt"})}
    operation, config = known[provider]
    node = {"label": "X", "type": "integrated_api", "provider": provider, "operation": operation, "config": config}
    nodes, ways = plain({**node, **fields})
    return found(nodes, [("Start>X", {"label": "host"}), *ways[1:]])


@pytest.mark.parametrize(
    "address", ["http://{{host}}", "https://{{host}}", "https://{{ host }}.example.org", "{{host}}"]
)
def test_data_does_not_choose_where_a_key_goes(address: str) -> None:
    """D-X.15: the document names the host, also where it names the key."""
    finding = only(service(base_url=address, api_key_id="MINE"), "address_outside")
    assert (finding.severity, finding.where.pointer) == ("error", "/nodes/1/base_url")


@pytest.mark.parametrize(
    "address", ["http://example.org", "http://127.0.0.1.example.org", "HTTP://10.0.0.1", "http://[x"]
)
def test_a_key_goes_over_https(address: str) -> None:
    """D-X.15: only this machine may be asked without."""
    rules = [finding.rule for finding in service(base_url=address, api_key_id="MINE")]
    assert rules == ["insecure_url"] or rules == ["wrong_url"]
    for own in ("http://localhost:8080", "http://127.0.0.1:9", "http://[::1]:9/api", "https://git.example.org/api/v3"):
        assert service(base_url=own, api_key_id="MINE") == []


def test_the_usual_key_goes_to_the_usual_place_only() -> None:
    """D-X.15: at an address of the document's, the document names the key, too."""
    finding = only(service(base_url="https://git.example.org"), "missing_field")
    assert ("api_key_id" in finding.message, finding.where.pointer) == (True, "/nodes/1/base_url")
    assert service() == service(base_url="https://api.github.com/") == []
    assert service(base_url="https://git.example.org", api_key="${secrets.MINE}") == []
    assert service("wikipedia", base_url="https://ko.wikipedia.org/w/api.php") == []


HOOKS = [
    ({"hook_type": "shell", "command": "a", "args": {"a": "b"}}, "hook_command", "/nodes/1/args"),
    ({"hook_type": "shell", "config": {"command": "a | b"}}, "hook_command", "/nodes/1/config/command"),
    ({"hook_type": "shell", "command": "a 'b"}, "hook_command", "/nodes/1/command"),
    ({"hook_type": "webhook", "url": "https://x.example", "method": "G ET"}, "wrong_method", "/nodes/1/method"),
    ({"hook_type": "webhook", "config": {"url": "ftp://x"}}, "wrong_url", "/nodes/1/config/url"),
    ({"hook_type": "file", "config": {"file_path": "../x"}}, "path_outside", "/nodes/1/config/file_path"),
    ({"hook_type": "python", "config": {"script": "gone.py"}}, "file_not_found", "/nodes/1/config/script"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "rule", "place"), HOOKS)
def test_what_is_wrong_with_a_hook_is_told_at_its_field(fields: dict[str, Any], rule: str, place: str) -> None:
    """D-X.15: under `config` or beside the label."""
    findings = found(*plain({"label": "X", "type": "hook", **fields}))
    assert only(findings, rule).where.pointer == place


@pytest.mark.parametrize(("kind", "word"), [("ir_builder", "code_job"), ("typescript_ast", "shell")])
def test_what_is_not_run_here_is_refused_by_name(kind: str, word: str) -> None:
    """D-X.15: with what to use instead."""
    finding = only(found([START, {"label": "X", "type": kind}, END], ["Start>X", "X>End"]), "refused_type")
    assert (finding.node, finding.where.pointer, kind in finding.message) == ("X", "/nodes/1/type", True)
    assert word in finding.hint


def test_the_public_forms_are_recognised() -> None:
    """D-X.14: by their version, or by what holds their connections."""
    for source in (
        b"version: readable\nnodes: [{S: {type: start}}]",
        b"nodes: [{S: {type: start}}]\nflow: []",
        b"version: light\nnodes: [{label: S, type: Start}]",
    ):
        assert check_document(source, name="d") == ("diagram", [])
    with pytest.raises(DocumentInvalid):
        compile_document(b"version: readable\nnodes: []", name="d")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{#" * 200_000 + "{% if a %}", "«if» is not closed (line 1)"),
        ("{% raw %}" * 50_000, "there is no statement «raw»"),
        ("{% if a %}{% endif %}" + "{%" * 200_000, "a statement does not end with %}"),
        ("{% raw %}\n{% x %}{% endraw %}{# {% y %}\n #}{% if %}", "«if» says nothing (line 3)"),
        ("{#- a -#}{%- if a -%}{%+ endif %}{# b", None),
    ],
    ids=["comments", "raw", "open", "lines", "right"],
)
def test_statements_are_checked_in_one_pass(template: str, said: str | None) -> None:
    """D-X.15: what is never closed is not looked for again and again."""
    findings = [f.message for f in found(*plain(text("T", template=template))) if f.rule == "template_logic"]
    assert findings == [] if said is None else said in findings[0]
