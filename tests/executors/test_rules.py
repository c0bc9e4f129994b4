"""Rule packs and decision tables: reading, findings, scopes, hit policies, and what FEEL tests accept."""

from __future__ import annotations

import json

import pytest

from penstock.errors import DocumentInvalid, ExprSyntaxError
from penstock.executors.parts.rules.evaluate import RuleFailed, check_pack, compile_pack, try_pack
from penstock.executors.parts.rules.feel_texts import compile_test, compile_value, reading
from penstock.feel import from_python, to_json
from penstock.lang.read import read_document

ROWS = [
    {"line_id": "L01", "defect_rate": 0.01, "at": "2024-01-01T08:00:00"},
    {"line_id": "L01", "defect_rate": 0.06, "at": "2024-01-01T14:00:00"},
    {"line_id": "L01", "defect_rate": 0.03, "at": "2024-01-01T09:00:00"},
]


def pack(*rules, **fields):
    return {"id": "p", "version": "1", "rules": [{"id": f"R{n + 1}", **rule} for n, rule in enumerate(rules)], **fields}


def judged(body, data=ROWS, context=None):
    return compile_pack(body).judge(data, context)


def errors(body):
    return [finding for finding in check_pack(body) if finding.severity == "error"]


# ---- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "when", "hit"),
    [
        ("dataset", "fn.avg(fn.map(data, 'defect_rate')) > 0.03", True),
        ("dataset", "fn.length(data) > 3", False),
        ("each", "defect_rate > 0.05", True),
        ("each", "item.defect_rate > 0.07", False),
        ("latest", "defect_rate == 0.03", True),
        ("latest", "defect_rate == 0.06", False),
        ("each", "no_such_field > 1", False),
    ],
)
def test_a_rule_is_asked_over_its_scope(scope, when, hit):
    """C-53: scope dataset, each or latest; a row's fields are names, and one it lacks is null."""
    found = judged(pack({"scope": scope, "when": when, "decision": "warning"}))
    assert found.decision == ("warning" if hit else "normal")
    assert found.matched_rules == (["R1"] if hit else [])


def test_the_latest_row_is_the_last_or_the_greatest_by_a_field():
    """C-53: scope latest."""
    rule = {"scope": "latest", "when": "defect_rate == 0.06", "decision": "critical"}
    assert judged(pack({**rule, "latest_by": "at"})).decision == "critical"
    with pytest.raises(RuleFailed, match="no field «nothing»"):
        judged(pack({**rule, "latest_by": "nothing"}))


def test_what_a_rule_sees():
    """C-53: locals data, item and its fields, context, threshold, params; reasoning is a template."""
    rule = {
        "scope": "each",
        "when": "item.defect_rate > threshold && context.line == params.line && fn.length(data) == 3",
        "threshold": 0.02,
        "params": {"line": "L01"},
        "decision": "warning",
        "confidence": 0.9,
        "reasoning": "${defect_rate} > ${threshold} in ${hits} rows of ${params.line}",
        "recommendations": ["Check ${context.line}"],
    }
    found = judged(pack(rule), context={"line": "L01"})
    assert found.reasoning == "0.06 > 0.02 in 2 rows of L01"
    assert found.recommendations == ["Check L01"]
    assert (found.decision, found.confidence) == ("warning", 0.9)


def test_a_row_changes_no_threshold_of_a_rule():
    """C-53: what the pack says comes before a field of the data; a rule without a threshold reads the row's."""
    own = {"scope": "each", "when": "value > threshold", "decision": "critical"}
    row = {"value": 5, "threshold": 100, "params": {"x": 1}, "data": 1, "context": 2}
    assert judged(pack({**own, "threshold": 1}), [row]).decision == "critical"
    assert judged(pack(own), [row]).decision == "normal"
    assert judged(pack(own, {**own, "threshold": 1}, own), [row]).matched_rules == ["R2"]


A = {"scope": "each", "when": "defect_rate > 0.02", "decision": "warning", "confidence": 0.7, "priority": 1}
B = {"scope": "each", "when": "defect_rate > 0.05", "decision": "critical", "confidence": 0.6, "priority": 5}
C = {"scope": "dataset", "when": "true", "decision": "critical", "confidence": 0.8, "priority": 3}


@pytest.mark.parametrize(
    ("policy", "decision", "confidence", "matched", "wanted"),
    [
        ("first", "warning", 0.7, ["R1"], ["a"]),
        ("priority", "critical", 0.6, ["R2"], ["b"]),
        ("severity_max", "critical", 0.8, ["R1", "R2", "R3"], ["b"]),
        ("collect", "critical", 0.8, ["R1", "R2", "R3"], ["a", "b"]),
    ],
)
def test_hit_policies(policy, decision, confidence, matched, wanted):
    """C-53: first, priority, severity_max (default) and collect; normal < warning < critical."""
    rules = [{**A, "recommendations": ["a"]}, {**B, "recommendations": ["b"]}, {**C, "recommendations": ["b"]}]
    found = judged(pack(*rules, hit_policy=policy))
    assert (found.decision, found.confidence) == (decision, confidence)
    assert (found.matched_rules, found.recommendations) == (matched, wanted)
    if policy == "severity_max":
        assert judged(pack(*rules)) == found


def test_unknown_only_if_nothing_else():
    """C-53: the rank of unknown is below all."""
    unknown = {"when": "true", "decision": "unknown"}
    assert judged(pack(unknown, {"when": "true", "decision": "normal"})).decision == "normal"
    assert judged(pack(unknown)).decision == "unknown"


@pytest.mark.parametrize("nothing", [[], {}, None, ""])
def test_no_data_is_unknown(nothing):
    """C-53: empty data gives unknown with confidence 0."""
    found = judged(pack({"when": "true", "decision": "critical"}), nothing)
    assert (found.decision, found.confidence) == ("unknown", 0.0)


def test_default_and_disabled_rules():
    """C-53: the default is normal with 1.0; a rule that is not enabled does not count."""
    off = {"when": "true", "decision": "critical", "enabled": False}
    assert (judged(pack(off)).decision, judged(pack(off)).confidence) == ("normal", 1.0)
    own = {"decision": "warning", "confidence": 0.4, "reasoning": "nobody looked"}
    found = judged(pack(off, default=own))
    assert (found.decision, found.confidence, found.reasoning) == ("warning", 0.4, "nobody looked")


def test_variables_and_params_are_computed_in_order():
    """C-53: params and variables may read each other, whatever their order."""
    body = pack(
        {
            "when": "worst > params.limit && mean > threshold && params.own >= 0.12",
            "threshold": 0.03,
            "params": {"own": "${params.half + 0.1}", "half": "${params.base}"},
            "decision": "critical",
            "reasoning": "${worst}",
        },
        variables={"worst": "fn.max(fn.map(data, 'defect_rate'))", "mean": "fn.avg(fn.map(data, 'defect_rate'))"},
        params={"limit": "${params.base * 2 + fn.min([mean, 0])}", "base": 0.02},
    )
    assert errors(body) == []
    assert judged(body).reasoning == "0.06"


@pytest.mark.parametrize(
    ("fields", "ring"),
    [
        ({"variables": {"a": "b + 1", "b": "a"}}, "a → b → a"),
        ({"variables": {"a": "params.p"}, "params": {"p": "${a}"}}, "a → params.p → a"),
        ({"params": {"p": "${params.p}"}}, "params.p → params.p"),
        ({"params": {"p": "${fn.length(params)}"}}, "params.p → params.p"),
    ],
)
def test_a_ring_of_variables_is_refused(fields, ring):
    """C-53: a cycle between variables and params is found before anything is judged."""
    found = errors(pack({"when": "true", "decision": "normal"}, **fields))
    assert [finding.rule for finding in found] == ["variable_cycle"]
    assert ring in found[0].message or set(ring.split(" → ")) == set(found[0].message[24:-1].split(" → "))
    assert found[0].where.pointer.startswith(("/variables", "/params"))


def test_a_variable_that_is_wrong_is_told_at_its_place():
    """C-53: of the pack by its name, and of a decision by the decision's."""
    for name, text, rule in (
        ("data", "1", "reserved_name"),
        ("rate", "1 +", "expression"),
        ("fn", "1", "reserved_name"),
    ):
        body = pack({"when": "true", "decision": "normal"}, variables={name: text})
        assert [(f.rule, f.where.pointer) for f in errors(body)] == [(rule, f"/variables/{name}")]


def test_everything_wrong_is_told_with_rule_place_and_hint():
    """C-53: a bad pack names the rule, the place and what to do; unknown fields are only told."""
    body = pack(
        {"when": "defect_rate >", "decision": "bad", "confidence": 3, "thresold": 1},
        {"when": "secrets.key == 'x'", "decision": "normal"},
        {"when": "defect_rate > 1", "decision": "normal"},
        hit_policy="frist",
    )
    body["rules"].append({"id": "R1", "when": "true", "decision": "normal"})
    body["rules"].insert(0, "no rule")
    found = {(finding.rule, finding.where.pointer): finding for finding in check_pack(body)}
    assert all(finding.hint for finding in found.values())
    assert found["expression", "/rules/1/when"].node == "R1"
    assert found["wrong_type", "/rules/1/decision"].node == "R1"
    assert ("wrong_type", "/rules/1/confidence") in found and ("wrong_type", "/rules/0") in found
    assert found["secret_in_rules", "/rules/2/when"].node == "R2"
    assert found["unknown_name", "/rules/3/when"].severity == "warning"
    assert found["unknown_field", "/rules/1/thresold"].severity == "info"
    assert "threshold" in found["unknown_field", "/rules/1/thresold"].hint
    assert ("duplicate_rule", "/rules/4/id") in found
    assert "first" in found["wrong_type", "/hit_policy"].hint
    with pytest.raises(DocumentInvalid):
        compile_pack(body)


@pytest.mark.parametrize(
    "body", [None, [], "x", {}, {"id": "p"}, {"id": "p", "rules": 3}, {"id": "p", "rules": [None]}]
)
def test_what_is_no_pack_is_refused(body):
    """C-53: nothing that is not a pack is compiled."""
    assert errors(body)
    with pytest.raises(DocumentInvalid):
        compile_pack(body)


def test_two_forms_are_one_too_many():
    """C-53: rules, a table or decisions."""
    body = pack({"when": "true", "decision": "normal"}, table=table("F", [["-", "normal"]]))
    assert [finding.rule for finding in errors(body)] == ["two_forms"]


def test_a_document_gives_lines():
    """C-53: a pack that was read from a file is told about with its lines."""
    text = b'{\n "id": "p",\n "rules": [\n  {"id": "R1", "when": "a >", "decision": "normal"}\n ]\n}'
    finding = next(f for f in check_pack(read_document(text, name="pack.json")) if f.severity == "error")
    assert (finding.where.line, finding.node) == (4, "R1")


def test_a_rule_that_does_not_fit_the_data_names_itself():
    """C-53, C-80: code and category of the expression, and the rule."""
    with pytest.raises(RuleFailed, match="R1") as caught:
        judged(pack({"scope": "each", "when": "line_id > 3", "decision": "normal"}))
    assert (caught.value.code, caught.value.category, caught.value.rule) == ("EXPR_TYPE", "validation", "R1")
    with pytest.raises(RuleFailed) as caught:
        judged(pack({"when": "defect_rate > 3", "decision": "normal"}))
    assert caught.value.code == "UNKNOWN_VARIABLE"
    with pytest.raises(RuleFailed, match="true or false"):
        judged(pack({"scope": "each", "when": "defect_rate", "decision": "normal"}))


def test_a_pack_is_compiled_once_by_id_version_and_content():
    """C-53: the same content is the same judge; another content under the same version is not."""
    body = pack({"when": "true", "decision": "normal"})
    again = json.loads(json.dumps(body))
    assert compile_pack(body) is compile_pack(again)
    again["rules"][0]["decision"] = "critical"
    assert compile_pack(again) is not compile_pack(body)
    assert compile_pack({**body, "version": 7}).version == "7"


def test_a_pack_tries_its_own_tests():
    """C-83: tests[] of a pack, each with what was different."""
    tests = [
        {"name": "bad line", "input": {"data": ROWS}, "expected": {"decision": "critical", "matched_rules": ["R1"]}},
        {"input": {"data": [{"defect_rate": 0}]}, "expected": {"decision": "warning"}},
        {"input": {"data": [{"defect_rate": "x"}]}, "expected": {"decision": "warning"}},
    ]
    good, bad, broken = try_pack(compile_pack(pack(B, tests=tests)))
    assert (good.name, good.wrong) == ("bad line", "")
    assert bad.wrong == "decision is normal, expected warning"
    assert "R1" in broken.wrong and broken.verdict is None


# ---- tables ----------------------------------------------------------------------------------------------------------


def table(policy, lines, **output):
    return {
        "inputs": [{"expression": "x"}],
        "outputs": [{"name": "decision", **output}],
        "hit_policy": policy,
        "rules": [{"id": f"L{n + 1}", "when": [when], "then": [then]} for n, (when, then) in enumerate(lines)],
    }


def decided(policy, lines, x=5, **output):
    return judged({"id": "t", "table": table(policy, lines, **output)}, {"x": x})


OVERLAP = [("< 10", "warning"), ("> 3", "normal"), ("5", "critical"), ("> 100", "unknown")]
WORDS = ["critical", "warning", "normal"]
NUMBERS = [("< 10", 4), ("> 3", 9), ("5", 2), ("> 100", 1)]


@pytest.mark.parametrize(
    ("policy", "lines", "outputs", "matched"),
    [
        ("F", OVERLAP, "warning", ["L1"]),
        ("FIRST", OVERLAP, "warning", ["L1"]),
        ("P", OVERLAP, "critical", ["L3"]),
        ("R", OVERLAP, ["warning", "normal", "critical"], ["L1", "L2", "L3"]),
        ("RULE ORDER", OVERLAP, ["warning", "normal", "critical"], ["L1", "L2", "L3"]),
        ("O", OVERLAP, ["critical", "warning", "normal"], ["L3", "L1", "L2"]),
        ("C", OVERLAP, ["warning", "normal", "critical"], ["L1", "L2", "L3"]),
        ("A", [("< 10", "normal"), ("5", "normal")], "normal", ["L1"]),
        ("U", [("< 3", "normal"), ("5", "warning")], "warning", ["L2"]),
        ("C+", NUMBERS, 15, ["L1", "L2", "L3"]),
        ("C<", NUMBERS, 2, ["L1", "L2", "L3"]),
        ("C>", NUMBERS, 9, ["L1", "L2", "L3"]),
        ("C#", NUMBERS, 3, ["L1", "L2", "L3"]),
    ],
)
def test_every_hit_policy_of_a_table(policy, lines, outputs, matched):
    """C-53: decision tables with U, A, P, F, R, O, C and the aggregations C+, C<, C>, C#."""
    found = decided(policy, lines, values=WORDS)
    assert (found.outputs, found.matched_rules) == (outputs, matched)


@pytest.mark.parametrize(
    ("policy", "lines"), [("U", OVERLAP), ("A", OVERLAP), ("UNIQUE", [("5", "normal"), ("5", "normal")])]
)
def test_lines_that_may_not_hit_together(policy, lines):
    """C-53: U takes one line, A only lines that agree."""
    with pytest.raises(RuleFailed, match="hit together") as caught:
        decided(policy, lines)
    assert caught.value.category == "business"


def test_a_table_that_says_nothing_is_unknown_unless_it_has_a_default():
    """C-53: a hole in a table is not normal."""
    nothing = [("> 100", "critical")]
    assert (decided("U", nothing).decision, decided("U", nothing).confidence) == ("unknown", 0.0)
    assert decided("U", nothing, default="warning").decision == "warning"
    assert decided("C#", nothing).outputs == 0
    assert decided("C", nothing).outputs == []
    own = {"id": "t", "table": table("U", nothing), "default": {"decision": "normal"}}
    assert judged(own, {"x": 1}).decision == "normal"


def test_a_table_judges_every_row_and_the_gravest_counts():
    """C-53: outputs by name; texts are templates, inputs are expressions."""
    body = {
        "id": "t",
        "table": {
            "inputs": [{"expression": "defect_rate"}, {"expression": "fn.upper(line_id)", "values": "'L01','L02'"}],
            "outputs": [{"name": n} for n in ("decision", "confidence", "reasoning", "recommendations")],
            "hit_policy": "F",
            "rules": [
                {"id": "a", "when": ["[0.02..0.05)", "-"], "then": ["warning", 0.8, "${defect_rate}", ["look"]]},
                {"id": "b", "when": [">= 0.05", "'L01'"], "then": ["critical", 0.9, "rate ${defect_rate}", "stop"]},
                {"id": "c", "when": [None, ""], "then": ["normal", 1, None, None]},
            ],
        },
    }
    assert errors(body) == []
    found = judged(body)
    assert (found.decision, found.confidence) == ("critical", 0.9)
    assert found.matched_rules == ["c", "b", "a"]
    assert found.recommendations == ["stop", "look"]
    assert [one["decision"] for one in found.outputs] == ["normal", "critical", "warning"]
    with pytest.raises(RuleFailed, match="not among the values"):
        judged(body, [{"defect_rate": 1, "line_id": "L09"}])
    assert judged({**body, "scope": "latest"}).decision == "warning"


def test_a_decision_nobody_knows_is_unknown():
    """C-77, C-53: a table's word outside the enum is unknown."""
    assert decided("F", [("-", "catastrophic")]).decision == "unknown"


def test_a_broken_table_is_told():
    """C-53: wrong cell, width, policy, priorities and aggregation, each with its place."""
    body = table("P", [("[1..", "normal")])
    body["rules"].append({"id": "L2", "when": ["-", "-"], "then": []})
    body["inputs"].append({})
    found = {(f.rule, f.where.pointer): f for f in errors({"id": "t", "table": body})}
    assert found["expression", "/table/rules/0/when/0"].node == "L1"
    assert {("table_width", "/table/rules/1/then"), ("hit_policy", "/table/hit_policy")} <= set(found)
    assert ("missing_field", "/table/inputs/1/expression") in found
    assert errors({"id": "t", "table": {**table("X", []), "outputs": []}})[0].rule == "hit_policy"
    several = {**table("C+", []), "outputs": [{"name": "a"}, {"name": "b"}]}
    assert "one output" in errors({"id": "t", "table": several})[0].message


# ---- decisions that need each other ----------------------------------------------------------------------------------


def test_decisions_are_made_in_the_order_they_need():
    """C-53: a small DRG; a decision nobody needs is not made."""
    verdict = {
        "id": "verdict",
        "requires": ["points", "night"],
        "table": table("F", [(">= 3", "critical"), ("-", "normal")]),
    }
    verdict["table"]["inputs"][0]["expression"] = "points + fn.if(night, 1, 0)"
    body = {
        "id": "d",
        "decisions": [
            verdict,
            {"id": "night", "expression": "hour > 22 || hour < 6"},
            {"id": "points", "requires": ["night"], "table": table("C+", [("> 1", 1), ("> 2", 1)])},
            {"id": "unused", "expression": "1 / 0"},
        ],
        "result": "verdict",
    }
    assert errors(body) == []
    assert judged(body, {"x": 5, "hour": 23}).decision == "critical"
    assert judged(body, {"x": 5, "hour": 12}).decision == "normal"
    assert judged(body, {"x": 5, "hour": 23}).matched_rules == ["points.L1", "points.L2", "verdict.L1"]


@pytest.mark.parametrize(
    ("requires", "rule"),
    [({"a": ["b"], "b": ["a"]}, "decision_cycle"), ({"a": ["a"]}, "decision_cycle"),
     ({"a": ["nobody"]}, "decision_unknown"), ({"a": [], "b": []}, "decision_unknown")],
)  # fmt: skip
def test_decisions_in_a_ring_or_without_an_end_are_refused(requires, rule):
    """C-53: a cycle of required decisions is refused, and so is a result that is not clear."""
    body = {"id": "d", "decisions": [{"id": id, "requires": need, "expression": "1"} for id, need in requires.items()]}
    assert [finding.rule for finding in errors(body)] == [rule]


@pytest.mark.parametrize("parts", [{}, {"expression": "1", "table": table("FIRST", [])}], ids=["neither", "both"])
def test_a_decision_is_a_table_or_an_expression(parts):
    """C-53: one of them, told at its place."""
    (finding,) = errors({"id": "d", "decisions": [{"id": "a", **parts}]})
    assert (finding.rule, finding.where.pointer, finding.node) == ("missing_field", "/decisions/0", "a")


# ---- FEEL ------------------------------------------------------------------------------------------------------------

NAMES = {"limit": 5, "Max Load": 4, "xs": [1, 2, 3], "o": {"a": [7, 8]}}


def value_of(text, names):
    compiled = compile_value(text, names)
    return to_json(compiled.value(reading(names, compiled.names)))


@pytest.mark.parametrize(
    ("test", "value", "taken"),
    [
        ("[0.02..0.05)", 0.02, True), ("[0.02..0.05)", 0.05, False), ("(0.02..0.05]", 0.02, False),
        ("]1..5[", 5, False), ("]1..5[, 7", 7, True), ("[1..5]", "3", None), ("[1..5]", None, None),
        ("[1..limit]", 5, True), ("< 5, > 10", 11, True), ("< -5", -6, True), ("-5", -5, True), ("= 5", 5.0, True),
        ("!= 5", 5, False), ("!= 5", None, True), ("1,2,3", 2, True), ("'a', \"b\"", "b", True),
        ("not('a','b')", "c", True), ("not('a','b')", "a", False), ("not([1..2])", 5, True), ("not(< 3)", None, None),
        ("true", True, True), ("true", 1, False), ("1", True, False), ("null", None, True), ("null", 0, False),
        ('"a\\"b"', 'a"b', True), ("limit", 5, True), ("< limit * 2 - 1", 8.5, True), ("Max Load", 4, True),
        ("< Max Load + 1", 4.5, True), ("xs", 3, True), ("[1, [5..6]]", 5.5, True), ("? > 3 and ? < 5", 4, True),
        ('contains(?, "x")', "axb", True), ("? in (1, [5..6])", 5.5, True), ("? between 1 and 3", 2, True),
        ('>= date("2024-01-01")', "2024-02-01", True),
        ('[date("2024-01-01")..date("2024-12-31")]', "2025-01-01", False),
        ('@"2024-01-01"', "2024-01-01", True),
        ('date and time("2024-01-01T00:00:00Z")', "2024-01-01T09:00:00+09:00", True),
        ('> duration("PT90M")', "PT2H", True), ('< time("12:00:00")', "08:30:00", True), ("< 5", "text", None),
    ],
)  # fmt: skip
def test_unary_tests(test, value, taken):
    """C-53: ranges with open and closed ends, lists, not(), comparisons, texts, numbers, dates; null takes nothing."""
    compiled = compile_test(test, NAMES)
    assert (compiled.test(reading(NAMES, compiled.names), from_python(value)) is True) is (taken is True)


def test_a_name_is_a_name():
    """C-53: what is empty or begins as something else is no name, and stops no reader."""
    names = {"": 1, " ": 2, "5": 3, "-": 4, "a b": 5}
    assert value_of("5 - a b", names) == 0


@pytest.mark.parametrize("test", ["-", "", "  - "])
def test_a_dash_takes_everything(test):
    """C-53: an empty cell is no test at all."""
    assert compile_test(test) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 ** 2", 19), ("(1 + 2) * 3", 9), ("-limit", -5), ("o.a[1]", 7), ("o.a[-1]", 8), ("xs[9]", None),
        ('if limit > 3 then "big" else "small"', "big"),
        ("string length('한국')", 2), ("mean(xs)", 2), ("max(1, 5, 3)", 5),
        ("1 / 0", None), ("'a' + 1", None), ("nobody.knows", None), ("Max Load / 2", 2.0),
        ("count([])", 0), ("[]", []),
        ("limit > 3 and nobody", None), ("limit < 3 and nobody", False), ("not(limit = 5)", False), ("count(xs)", 3),
        ("substring('abc', -2, 1)", "b"), ("number('1.5')", 1.5), ("starts with('abc', 'ab') or nobody", True),
    ],
)  # fmt: skip
def test_simple_expressions(text, value):
    """C-53: what input expressions and output entries of DMN hold."""
    assert value_of(text, NAMES) == value


@pytest.mark.parametrize(
    "text",
    ["[1..", "in (1,2)", "#", '"a', "foo(1)", "1 2", "not(", "[1..2", "for x in xs",
     "(" * 60 + "1" + ")" * 60, "1," * 3000, "1 +", "if 1 then 2", "a..b"],
)  # fmt: skip
def test_what_feel_cannot_read_is_told_with_its_place(text):
    """C-53: a sentence with the character, and no traceback, whatever the cell holds."""
    with pytest.raises(ExprSyntaxError, match="character"):
        compile_test(text)
