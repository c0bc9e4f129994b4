"""DMN files: decision tables and small DRGs become rule packs; a hostile file becomes nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from penstock.errors import DocumentInvalid, DocumentTooLarge, DocumentUnreadable
from penstock.executors.parts.rules.dmn import MAX_BYTES, import_dmn
from penstock.executors.parts.rules.evaluate import RuleFailed, check_pack, compile_pack

pytest.importorskip("lxml")

MODEL = "https://www.omg.org/spec/DMN/20191111/MODEL/"


def definitions(*parts, model=MODEL):
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<definitions xmlns="{model}" id="quality" name="Quality">\n'
        + "\n".join(parts)
        + "\n</definitions>"
    ).encode()


def decision(id, *parts, name=None, requires=(), variable=None):
    needs = "".join(
        f'<informationRequirement><requiredDecision href="#{one}"/></informationRequirement>' for one in requires
    )
    named = f'<variable name="{variable}"/>' if variable else ""
    return f'<decision id="{id}" name="{name or id}">{named}{needs}{"".join(parts)}</decision>'


def table(policy, inputs, outputs, *rules, **attributes):
    more = "".join(f' {key}="{value}"' for key, value in attributes.items())
    cells = {"<": "&lt;", ">": "&gt;"}

    def text(value):
        return "<text>" + "".join(cells.get(c, c) for c in value) + "</text>"

    lines = "".join(
        f'<rule id="r{n + 1}">'
        + "".join(f"<inputEntry>{text(one)}</inputEntry>" for one in when)
        + "".join(f"<outputEntry>{text(one)}</outputEntry>" for one in then)
        + "</rule>"
        for n, (when, then) in enumerate(rules)
    )
    columns = "".join(f"<input><inputExpression>{text(one)}</inputExpression></input>" for one in inputs)
    return f'<decisionTable hitPolicy="{policy}"{more}>{columns}{"".join(outputs)}{lines}</decisionTable>'


def output(name, values="", default=""):
    listed = f"<outputValues><text>{values}</text></outputValues>" if values else ""
    otherwise = f"<defaultOutputEntry><text>{default}</text></defaultOutputEntry>" if default else ""
    return f'<output name="{name}">{listed}{otherwise}</output>'


def judged(content, data, **options):
    body, _ = import_dmn(content, **options)
    return compile_pack(body).judge(data)


QUALITY = table(
    "FIRST",
    ["defect_rate", "shift", "measured"],
    [output("decision"), output("confidence"), output("reasoning")],
    (['[0.02..0.05)', '"day","night"', "-"], ['"warning"', "0.8", '"rate " + string(defect_rate)']),
    ([">= 0.05", 'not("test")', '>= date("2024-01-01")'], ['"critical"', "0.9", '"too many"']),
    (["-", "", "-"], ['"normal"', "1", '""']),
)  # fmt: skip


@pytest.mark.parametrize(
    ("row", "decision_", "confidence"),
    [
        ({"defect_rate": 0.02, "shift": "day"}, "warning", 0.8),
        ({"defect_rate": 0.05, "shift": "day", "measured": "2024-03-01"}, "critical", 0.9),
        ({"defect_rate": 0.05, "shift": "day", "measured": "2023-03-01"}, "normal", 1.0),
        ({"defect_rate": 0.05, "shift": "test", "measured": "2024-03-01"}, "normal", 1.0),
        ({"defect_rate": 0.019, "shift": "day"}, "normal", 1.0),
    ],
)
def test_a_table_of_a_file_judges(row, decision_, confidence):
    """C-53: DMN 1.3 import: ranges, lists, not(), -, texts, numbers, dates, comparisons."""
    found = judged(definitions(decision("q", QUALITY)), row)
    assert (found.decision, found.confidence) == (decision_, confidence)


def test_the_import_is_a_rule_pack_like_any_other():
    """C-53: the same model: plain JSON that the registry can keep, checked by the same check."""
    body, findings = import_dmn(definitions(decision("q", QUALITY)), id="dmn_pack", version="3.1")
    assert json.loads(json.dumps(body)) == body
    assert (body["id"], body["version"], findings, check_pack(body)) == ("dmn_pack", "3.1", [], [])
    assert judged(definitions(decision("q", QUALITY)), {"defect_rate": 0.03, "shift": "day"}).reasoning == "rate 0.03"


@pytest.mark.parametrize(
    ("policy", "attributes", "then", "outputs"),
    [
        ("UNIQUE", {}, ['"a"', '"b"', '"c"'], RuleFailed),
        ("ANY", {}, ['"a"', '"b"', '"c"'], RuleFailed),
        ("ANY", {}, ['"a"', '"a"', '"c"'], "a"),
        ("FIRST", {}, ['"a"', '"b"', '"c"'], "a"),
        ("PRIORITY", {}, ['"a"', '"b"', '"c"'], "b"),
        ("OUTPUT ORDER", {}, ['"a"', '"b"', '"c"'], ["b", "a"]),
        ("RULE ORDER", {}, ['"a"', '"b"', '"c"'], ["a", "b"]),
        ("COLLECT", {}, ['"a"', '"b"', '"c"'], ["a", "b"]),
        ("COLLECT", {"aggregation": "SUM"}, ["1", "2", "4"], 3),
        ("COLLECT", {"aggregation": "MIN"}, ["1", "2", "4"], 1),
        ("COLLECT", {"aggregation": "MAX"}, ["1", "2", "4"], 2),
        ("COLLECT", {"aggregation": "COUNT"}, ["1", "2", "4"], 2),
    ],
)
def test_every_hit_policy_of_a_file(policy, attributes, then, outputs):
    """C-53: hit policies U, A, P, F, R, O, C and aggregations, as DMN spells them."""
    lines = zip((["> 1"], ["5"], ["> 100"]), ([one] for one in then), strict=True)
    values = '"c","b","a"' if '"' in then[0] else ""
    content = definitions(decision("q", table(policy, ["x"], [output("o", values)], *lines, **attributes)))
    if outputs is RuleFailed:
        with pytest.raises(RuleFailed):
            judged(content, {"x": 5})
    else:
        assert judged(content, {"x": 5}).outputs == outputs


def test_decisions_that_require_each_other():
    """C-53: a small DRG with names that have spaces, an inputData, a literal expression and a default output."""
    points = table("COLLECT", ["Defect Rate"], [output("points")], (["> 0.02"], ["1"]), (["> 0.05"], ["2"]),
                   aggregation="SUM")  # fmt: skip
    verdict = table("UNIQUE", ["risk points", "at night"], [output("decision", default='"normal"')],
                    ([">= 3", "true"], ['"critical"']), ([">= 3", "false"], ['"warning"']))  # fmt: skip
    content = definitions(
        '<inputData id="i" name="Defect Rate"><variable name="Defect Rate" typeRef="number"/></inputData>',
        decision("verdict", verdict, requires=["risk", "night"]),
        decision("risk", points, variable="risk points"),
        decision("night", "<literalExpression><text>Hour &gt; 22 or Hour &lt; 6</text></literalExpression>",
                 variable="at night"),
    )  # fmt: skip
    assert judged(content, {"Defect Rate": 0.06, "Hour": 23}).decision == "critical"
    assert judged(content, {"Defect Rate": 0.06, "Hour": 12}).decision == "warning"
    assert judged(content, {"Defect Rate": 0.03, "Hour": 23}).decision == "normal"
    assert judged(content, {"Defect Rate": 0.06, "Hour": 3}, result="risk").outputs == 3


def test_a_ring_of_decisions_is_refused_with_its_line():
    """C-53: a cycle of requirements is refused."""
    one = table("FIRST", ["b"], [output("o")], (["-"], ["1"]))
    with pytest.raises(DocumentInvalid, match="require each other"):
        import_dmn(definitions(decision("a", one, requires=["b"]), decision("b", one, requires=["a"])))
    with pytest.raises(DocumentInvalid) as caught:
        import_dmn(
            definitions(decision("a", one), decision("b", table("FIRST", ["x"], [output("o")], (["[1.."], ["1"]))))
        )
    broken = next(f for f in caught.value.findings if f.rule == "expression")
    assert (broken.where.line, broken.where.pointer) == (4, "/decisions/1/table/rules/0/when/0")


def test_a_file_without_a_decision_is_no_pack():
    with pytest.raises(DocumentInvalid, match="no decision"):
        import_dmn(definitions())
    model = '<knowledgeSource id="k" name="Law"/><businessKnowledgeModel id="m" name="Sums"/>'
    assert import_dmn(definitions(model, decision("q", QUALITY)))[1] == []


BOMB = b"""<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/">&b;</definitions>"""
FILE = b"""<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]>
<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" name="&x;"/>"""


@pytest.mark.parametrize(
    "content",
    [BOMB, FILE, BOMB.decode().encode("utf-16"), b"\xef\xbb\xbf" + FILE, b"<?xml version='1.0' encoding='utf-7'?><a/>",
     b"", b"\0", b"not xml", b"<definitions/>", b"<a><b></a>", b"<definitions xmlns='urn:x'/>", b"<a>" * 100_000],
)  # fmt: skip
def test_a_hostile_file_is_refused(content):
    """C-53: DOCTYPE and entities never reach the parser; what is no DMN is said to be none."""
    with pytest.raises(DocumentUnreadable):
        import_dmn(content)


def test_the_size_is_capped_before_anything_reads_it():
    """C-53: the cap comes before parsing, and before lxml is even imported."""
    with pytest.raises(DocumentTooLarge):
        import_dmn(b"<" * (MAX_BYTES + 1))
    code = (
        "import sys; from penstock.executors.parts.rules.dmn import *\n"
        "try: import_dmn(b'<!DOCTYPE x>')\n"
        "except DocumentUnreadable: sys.exit('lxml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_other_versions_of_dmn_are_read_alike():
    """C-53: the namespaces of DMN 1.1 to 1.5."""
    for model in (
        "http://www.omg.org/spec/DMN/20151101/dmn.xsd",
        "http://www.omg.org/spec/DMN/20180521/MODEL/",
        "https://www.omg.org/spec/DMN/20230324/MODEL/",
    ):
        content = definitions(decision("q", QUALITY), model=model)
        assert judged(content, {"defect_rate": 0.03, "shift": "day"}).decision == "warning"


# ---- what is refused by its name -------------------------------------------------------------------------------------


def literal(id, text, type=""):
    named = f'<variable name="{id}" typeRef="{type}"/>' if type else ""
    expression = f"<literalExpression>\n<text>{text}</text></literalExpression>"
    return f'<decision id="{id}" name="{id}">{named}\n{expression}</decision>'


def input_data(name, type):
    return f'<inputData id="i_{name}" name="{name}"><variable name="{name}" typeRef="{type}"/></inputData>'


def refusal(*parts):
    with pytest.raises(DocumentInvalid) as caught:
        import_dmn(definitions(*parts))
    return caught.value.findings[0]


def test_a_refusal_has_code_line_and_hint():
    """C-53: what cannot be read is refused at import, with the line of the expression itself."""
    finding = refusal(literal("a", "for x in [1]"))
    assert (finding.rule, finding.severity, finding.where.line) == ("expression", "error", 4)
    assert "return" in finding.message
    assert "docs/reference/feel.md" in finding.hint


@pytest.mark.parametrize(
    ("parts", "rule", "named"),
    [
        ([literal("a", "1", "tMoney")], "dmn_type", "«tMoney»"),
        (['<import name="other" namespace="urn:o" importType="dmn"/>', literal("a", "1")], "dmn_part", "«other»"),
        ([literal("a", "1").replace("<literalE", '<literalExpression expressionLanguage="urn:js"', 1)
          .replace('"urn:js"xpression', '"urn:js"')], "dmn_part", "«urn:js»"),
        (['<decision id="a" name="a"><functionDefinition kind="Java"/></decision>'], "dmn_part", "in Java"),
        ([literal("a", "shape(1)")], "expression", "no function «shape»"),
    ],
)  # fmt: skip
def test_a_part_that_is_not_read_is_named(parts, rule, named):
    """C-53: types without a definition, missing imports, functions of Java, other languages, unknown functions."""
    finding = refusal(*parts)
    assert (finding.rule, finding.where.line > 0, bool(finding.hint)) == (rule, True, True)
    assert named in finding.message


def test_a_text_in_a_column_of_dates_is_refused():
    """C-53: it would hit nothing, without a word."""
    rows = table("FIRST", ["born"], [output("o")], (['>= "2024-01-01"'], ['"a"']))
    rows = rows.replace("<inputExpression>", '<inputExpression typeRef="date">')
    finding = refusal(f'<decision id="a" name="a">{rows}</decision>')
    assert 'The column is a date, and this is a text: write date("…")' in finding.message


def test_an_input_that_is_not_of_its_type_fails_by_its_name():
    content = definitions(input_data("born", "date"), literal("a", "born.year"))
    assert judged(content, {"born": "2006-05-06"}).outputs == 2006
    with pytest.raises(RuleFailed, match="«born»: 'soon' is a string, not a date") as caught:
        judged(content, {"born": "soon"})
    assert caught.value.code == "INPUT_INVALID"


def test_an_input_is_one_of_the_values_that_its_type_allows():
    """C-53: allowed values of a type are tests: a range of numbers, or texts."""
    grade = '<itemDefinition name="tGrade"><typeRef>number</typeRef><allowedValues><text>[1..5]</text></allowedValues>'
    content = definitions(f"{grade}</itemDefinition>", input_data("grade", "tGrade"), literal("a", "grade + 1"))
    assert judged(content, {"grade": 5}).outputs == 6
    with pytest.raises(RuleFailed, match="«grade»") as caught:
        judged(content, {"grade": 6})
    assert caught.value.code == "INPUT_INVALID"


def test_a_result_keeps_its_kind_for_the_next_decision():
    """C-53: a date that one decision works out is a date for the next, and decimals stay exact between them."""
    need = '<informationRequirement><requiredDecision href="#a"/></informationRequirement>'
    content = definitions(
        literal("a", "born + duration(&quot;P18Y&quot;)"),
        f'<decision id="b" name="b">{need}<literalExpression><text>a.year</text></literalExpression></decision>',
    )
    assert judged(content, {"born": "2006-05-06"}, result="b").outputs == 2024
    content = definitions(
        literal("a", "0.1 + 0.2"),
        f'<decision id="b" name="b">{need}<literalExpression><text>a * 10 = 3</text></literalExpression></decision>',
    )
    assert judged(content, {"x": 1}, result="b").outputs is True


def test_texts_of_the_data_are_moments_where_they_stand_beside_one():
    """C-53: JSON has no dates; where the file does not say what an input is, a text is read as the moment it says."""
    content = definitions(literal("a", 'time(at) &lt; time("12:00:00@Asia/Seoul")'))
    assert judged(content, {"at": "10:00:00@Asia/Seoul"}).outputs is True
    cells = definitions(decision("q", table("FIRST", ["at"], [output("o")], (['> time("09:00:00Z")'], ['"a"']))))
    assert judged(cells, {"at": "10:00:00Z"}).outputs == "a"
    assert judged(cells, {"at": "08:00:00Z"}).outputs is None


def test_a_name_that_is_no_input_is_told():
    """C-53: where a file says what its inputs are, another name is warned of; it may still be a field of the data."""
    content = definitions(input_data("hour", "number"), literal("a", "huor > 6"))
    _, findings = import_dmn(content)
    assert [(f.rule, f.severity, f.where.line, f.hint) for f in findings] == [
        ("unknown_name", "warning", 5, "Did you mean «hour»?")
    ]
    assert import_dmn(definitions(literal("a", "huor > 6")))[1] == []


def test_a_date_becomes_a_moment_of_utc():
    """C-53: DMN 1.4, implicit conversions: a date where a date and time is declared is midnight of UTC."""
    content = definitions(literal("a", 'date("2024-01-02")', "date and time"))
    assert judged(content, {"x": 1}).outputs == "2024-01-02T00:00:00Z"


def test_the_halves_of_a_character_are_one():
    content = definitions(literal("a", 'string length("\\uD83D\\uDC0E")'))
    assert judged(content, {"x": 1}).outputs == 1
    assert "Half of a character" in refusal(literal("a", '"\\uD83D"')).message


@pytest.mark.parametrize(
    ("day", "cell"),
    [
        ("2020-01-01", 'not(list contains(["2020-01-01", "2020-12-25"], ?))'), ("2020-01-01", 'not(["2020-01-01"])'),
        ("2020-01-01", 'not(? in ["2020-01-01"])'), ("2020-01-01", 'count(index of(["2020-01-01"], ?)) = 0'),
        ("2020-01-01", "not(? instance of string)"), ("P1D", 'not("P1D")'), ("P1D", 'not(["P1D"])'),
        ("P1D", '? instance of days and time duration'), ("P1D", 'missing or not(? in ["P1D"])'),
    ],
)  # fmt: skip
def test_a_text_that_has_a_meaning_as_a_text_stays_one(day, cell):
    """C-53: DMN 1.5, 10.3.2.7: a cell that is plainly false is not asked again with a date in the text's place."""
    logic = table("FIRST", ["x"], [output("o")], ([cell], ['"no"']), (["-"], ['"yes"']))
    assert judged(definitions(decision("q", logic)), {"x": day, "missing": None}).outputs == "yes"


@pytest.mark.parametrize(
    ("cell", "at", "hit"),
    [
        ('[date("2024-01-01")..date("2024-12-31")]', "2024-05-06", True),
        ('not([date("2024-01-01")..date("2024-12-31")])', "2024-05-06", False),
        ('not([date("2024-01-01")..date("2024-12-31")])', "2025-05-06", True),
        ('? in [date("2024-01-01")..date("2024-12-31")]', "2024-05-06", True),
        ('date("2024-01-01"), date("2024-05-06")', "2024-05-06", True),
        ('day of week(?) = "Monday"', "2024-05-06", True), ('?.year = 2024', "2024-05-06", True),
        ('[date("2024-01-01"), @"2024-05-06"]', "2024-05-06", True),
        ('not([date("2024-01-01"), @"2024-05-06"])', "2024-05-06", False),
        ('[duration("P1D")]', "P1D", True), ('[duration("P1D")]', "P2D", False),
        ('> duration("PT1H")', "P1D", True), ('!= date("2024-05-06")', "2024-05-06", False),
    ],
)  # fmt: skip
def test_a_text_beside_a_moment_is_one_only_where_nobody_declares_it_a_text(cell, at, hit):
    """C-53: JSON has no dates; an input whose type is string has texts, whatever they look like."""
    logic = table("FIRST", ["x"], [output("o")], ([cell], ['"hit"']), (["-"], ['"none"']))
    content = definitions(decision("q", logic))
    assert judged(content, {"x": at}).outputs == ("hit" if hit else "none")
    typed = definitions(input_data("x", "string"), decision("q", logic))
    assert judged(typed, {"x": at}).outputs == "none"
    column = content.replace(b"<inputExpression>", b'<inputExpression typeRef="string">')
    assert judged(column, {"x": at}).outputs == "none"


def test_a_declared_text_is_no_moment_in_an_expression_either():
    content = literal("a", 'if x > date("2020-01-01") then "later" else "no"')
    assert judged(definitions(content), {"x": "2024-05-06"}).outputs == "later"
    assert judged(definitions(input_data("x", "string"), content), {"x": "2024-05-06"}).outputs == "no"


def test_many_notes_do_not_change_what_a_text_is():
    """C-53: only the first 100 notes are kept; a text is read as a moment behind them too."""
    rules = [(["> 5"], ['"number"'])] * 150 + [(['> date("2020-01-01")'], ['"later"'])]
    content = definitions(decision("q", table("FIRST", ["x"], [output("o")], *rules)))
    assert judged(content, {"x": "2024-05-06"}).outputs == "later"


def test_a_text_in_a_table_of_a_pack_stays_one_too():
    """C-53: the same for tables that a pack writes itself, with a column that is declared or not."""
    column = {"name": "x", "expression": "x"}
    body = {"hit_policy": "F", "inputs": [column], "outputs": [{"name": "o"}], "language": "feel"}
    plain = {**body, "rules": [{"when": ['not(["2020-01-01"])'], "then": ['"no"']}, {"when": ["-"], "then": ['"yes"']}]}
    assert compile_pack({"id": "t", "table": plain}).judge({"x": "2020-01-01"}).outputs == "yes"
    rules = [
        {"when": ['[date("2020-01-01")..date("2020-12-31")]'], "then": ['"in"']},
        {"when": ["-"], "then": ['"out"']},
    ]
    dates = {**body, "rules": rules}
    assert compile_pack({"id": "t", "table": dates}).judge({"x": "2020-05-01"}).outputs == "in"
    typed = {**dates, "inputs": [{**column, "type": "string"}]}
    assert compile_pack({"id": "t", "table": typed}).judge({"x": "2020-05-01"}).outputs == "out"
