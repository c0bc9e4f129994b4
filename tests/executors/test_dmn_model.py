"""DMN models: every boxed expression, functions, services, imports, types and what is said where a value is null."""

from __future__ import annotations

from decimal import Decimal

import pytest

from penstock.errors import DecisionNull, DecisionUnknown, DocumentInvalid, ExprNotSupported, FeelLimit
from penstock.executors.parts.rules.dmn import read_model
from penstock.executors.parts.rules.evaluate import RuleFailed, check_pack, compile_pack
from penstock.feel import to_json

pytest.importorskip("lxml")

REQUIRED = {"d": "requiredDecision", "i": "requiredInput"}
MODEL = "https://www.omg.org/spec/DMN/20230324/MODEL/"


def file(*parts, namespace="urn:main", more=""):
    body = "\n".join(parts)
    return (
        f'<definitions xmlns="{MODEL}" id="m" name="M" namespace="{namespace}"{more}>\n{body}\n</definitions>'.encode()
    )


def text(feel, type=""):
    escaped = feel.replace("&", "&amp;").replace("<", "&lt;")
    named = f' typeRef="{type}"' if type else ""
    return f"<literalExpression{named}><text>{escaped}</text></literalExpression>"


def data(name, type="Any"):
    return f'<inputData id="{name}" name="{name}"><variable name="{name}" typeRef="{type}"/></inputData>'


def decision(name, logic, *, type="", needs=(), knows=()):
    arrows = "".join(
        f'<informationRequirement><{REQUIRED[kind]} href="{href}"/></informationRequirement>' for kind, href in needs
    ) + "".join(f'<knowledgeRequirement><requiredKnowledge href="{href}"/></knowledgeRequirement>' for href in knows)
    named = f' typeRef="{type}"' if type else ""
    return f'<decision id="{name}" name="{name}"><variable name="{name}"{named}/>{arrows}{logic}</decision>'


def knowledge(name, parameters, logic, *, type="", knows=()):
    formal = "".join(
        f'<formalParameter name="{each}"{" typeRef=" + repr(of) if of else ""}/>' for each, of in parameters
    )
    arrows = "".join(
        f'<knowledgeRequirement><requiredKnowledge href="{href}"/></knowledgeRequirement>' for href in knows
    )
    named = f' typeRef="{type}"' if type else ""
    return (
        f'<businessKnowledgeModel id="{name}" name="{name}"><variable name="{name}"{named}/>{arrows}'
        f"<encapsulatedLogic>{formal}{logic}</encapsulatedLogic></businessKnowledgeModel>"
    )


def item(name, inside, collection=False):
    return f'<itemDefinition name="{name}" isCollection="{str(collection).lower()}">{inside}</itemDefinition>'


def value(*parts, asked="d", given=None, **options):
    return to_json(read_model(file(*parts), **options).evaluate(asked, given or {}).value)


def warnings(*parts, asked="d", given=None):
    return [str(warning) for warning in read_model(file(*parts)).evaluate(asked, given or {}).warnings]


# ---- boxed expressions -----------------------------------------------------------------------------------------------


def entry(name, logic, type=""):
    named = f'<variable name="{name}"{" typeRef=" + repr(type) if type else ""}/>' if name else ""
    return f"<contextEntry>{named}{logic}</contextEntry>"


CONTEXT = [entry("net price", text("100")), entry("with tax", text("net price * 1.1"))]


def test_a_boxed_context_is_its_entries_and_each_sees_those_above():
    """C-53: DMN 1.5, 10.2.1.4."""
    assert value(decision("d", f"<context>{''.join(CONTEXT)}</context>")) == {"net price": 100, "with tax": 110}


def test_a_result_cell_stands_for_the_whole_context():
    """C-53: DMN 1.5, 10.2.1.4: the last entry without a name."""
    assert value(decision("d", f"<context>{''.join(CONTEXT)}{entry('', text('with tax + 1'))}</context>")) == 111


def test_a_boxed_function_is_called_by_place_and_by_name():
    """C-53: DMN 1.5, 10.2.1.7; a function of a context may call itself."""
    body = '<functionDefinition><formalParameter name="n" typeRef="number"/>{}</functionDefinition>'
    fact = body.format(text("if n < 2 then 1 else n * fact(n - 1)"))
    made = f"<context>{entry('fact', fact)}{entry('', text('[fact(5), fact(n: 3)]'))}</context>"
    assert value(decision("d", made)) == [120, 6]


def test_a_boxed_invocation_binds_by_name():
    """C-53: DMN 1.5, 10.2.1.6: the order of the bindings does not matter."""
    minus = knowledge("minus", [("a", ""), ("b", "")], text("a - b"))
    bound = "".join(
        f'<binding><parameter name="{name}"/>{text(number)}</binding>' for name, number in (("b", "1"), ("a", "5"))
    )
    called = f"<invocation>{text('minus')}{bound}</invocation>"
    assert value(minus, decision("d", called, knows=["#minus"])) == 4
    wrong = f"<invocation>{text('minus')}<binding><parameter name='c'/>{text('1')}</binding></invocation>"
    assert "has no parameter «c»" in warnings(minus, decision("d", wrong, knows=["#minus"]))[0]
    assert "is no function" in warnings(decision("d", f"<invocation>{text('1')}</invocation>"))[0]


def test_a_relation_is_a_list_of_contexts():
    """C-53: DMN 1.5, 10.2.1.5."""
    rows = "".join(f"<row>{text(name)}{text(age)}</row>" for name, age in (('"Ann"', "30"), ('"Bo"', "40")))
    relation = f'<relation><column name="name"/><column name="age" typeRef="number"/>{rows}</relation>'
    assert value(decision("d", relation)) == [{"name": "Ann", "age": 30}, {"name": "Bo", "age": 40}]


def test_a_boxed_list():
    """C-53: DMN 1.5, 10.2.1.8."""
    assert value(decision("d", f"<list>{text('1')}{text('1 + 1')}</list>")) == [1, 2]


@pytest.mark.parametrize(("condition", "chosen"), [("true", "yes"), ("false", "no"), ("null", "no"), ("1", "no")])
def test_a_boxed_conditional(condition, chosen):
    """C-53: DMN 1.5, 10.2.1.9: only true chooses then."""
    yes, no = text('"yes"'), text('"no"')
    logic = f"<conditional><if>{text(condition)}</if><then>{yes}</then><else>{no}</else></conditional>"
    assert value(decision("d", logic)) == chosen


@pytest.mark.parametrize(
    ("source", "match", "kept"),
    [("[1, 2, 3]", "item > 1", [2, 3]), ("[{a: 1}, {a: 2}]", "a = 2", [{"a": 2}]), ("[1]", "item > 5", []),
     ("[1, 2]", '"text"', None), ("null", "true", None)],
)  # fmt: skip
def test_a_boxed_filter(source, match, kept):
    """C-53: DMN 1.5, 10.2.1.10: always a list; a match that is no boolean is null."""
    logic = f"<filter><in>{text(source)}</in><match>{text(match)}</match></filter>"
    assert value(decision("d", logic)) == kept


@pytest.mark.parametrize(
    ("kind", "source", "body", "result"),
    [
        ("for", "[1, 2, 3]", "x * 2", [2, 4, 6]), ("for", "[1..3]", "x", [1, 2, 3]), ("for", "[]", "x", []),
        ("for", "1..3", "x", [1, 2, 3]), ("for", "3..1", "x", [3, 2, 1]), ("for", "count([1])..1 + 1", "x", [1, 2]),
        ("for", '["a..b"]', "x", ["a..b"]), ("some", "1..3", "x > 2", True), ("every", "1..3", "x > 2", False),
        ("for", "]1..3]", "x", [2, 3]),
        ("for", "[1, 2, 3]", "x + count(partial)", [1, 3, 5]), ("for", "null", "x", None), ("for", "5", "x", [5]),
        ("some", "[1, 2]", "x > 1", True), ("some", "[1, 2]", "x > 2", False), ("some", "[]", "true", False),
        ("some", "[1]", '"text"', None), ("some", "[1, null]", "x > 1", None), ("some", "[null, 2]", "x > 1", True),
        ("every", "[1, 2]", "x > 0", True), ("every", "[1, 2]", "x > 1", False), ("every", "[]", "false", True),
        ("every", "[1, 2]", "5", None),
    ],
)  # fmt: skip
def test_boxed_iterators(kind, source, body, result):
    """C-53: DMN 1.5, 10.2.1.11 and 10.2.1.12."""
    word = "return" if kind == "for" else "satisfies"
    logic = f'<{kind} iteratorVariable="x"><in>{text(source)}</in><{word}>{text(body)}</{word}></{kind}>'
    assert value(decision("d", logic)) == result


def test_a_loop_does_not_give_away_its_own_results():
    """`partial` is what there was: a list never holds itself."""
    logic = f'<for iteratorVariable="x"><in>{text("[1, 2]")}</in><return>{text("partial")}</return></for>'
    assert value(decision("d", logic)) == [[], [[]]]


# ---- decision tables -------------------------------------------------------------------------------------------------


def table(policy, columns, outputs, *rules, **attributes):
    more = "".join(f' {key}="{given}"' for key, given in attributes.items())
    inputs = "".join(
        f"<input><inputExpression>{tag('text', name)}</inputExpression>{rest}</input>" for name, rest in columns
    )
    lines = "".join(
        f'<rule id="r{number}">'
        + "".join(f"<inputEntry>{tag('text', cell)}</inputEntry>" for cell in when)
        + "".join(f"<outputEntry>{tag('text', cell)}</outputEntry>" for cell in then)
        + "</rule>"
        for number, (when, then) in enumerate(rules, 1)
    )
    return f'<decisionTable hitPolicy="{policy}"{more}>{inputs}{"".join(outputs)}{lines}</decisionTable>'


def tag(name, inside):
    return f"<{name}>{inside.replace('&', '&amp;').replace('<', '&lt;')}</{name}>"


def output(name="", values="", default="", type=""):
    listed = f"<outputValues>{tag('text', values)}</outputValues>" if values else ""
    otherwise = f"<defaultOutputEntry>{tag('text', default)}</defaultOutputEntry>" if default else ""
    return f'<output name="{name}"{" typeRef=" + repr(type) if type else ""}>{listed}{otherwise}</output>'


X = [("x", "")]
OVERLAP = [(["< 10"], ['"a"']), (["> 3"], ['"b"']), (["5"], ['"c"'])]
NUMBERS = [(["< 10"], ["4"]), (["> 3"], ["9"]), (["5"], ["2"])]


def decided(x, *arguments, **attributes):
    logic = table(*arguments, **attributes)
    return read_model(file(data("x"), decision("d", logic, needs=[("i", "#x")]))).evaluate("d", {"x": x})


@pytest.mark.parametrize(
    ("policy", "attributes", "rules", "result", "hits"),
    [
        ("FIRST", {}, OVERLAP, "a", ["r1"]), ("PRIORITY", {}, OVERLAP, "c", ["r3"]),
        ("OUTPUT ORDER", {}, OVERLAP, ["c", "b", "a"], ["r3", "r2", "r1"]),
        ("RULE ORDER", {}, OVERLAP, ["a", "b", "c"], ["r1", "r2", "r3"]),
        ("COLLECT", {}, OVERLAP, ["a", "b", "c"], ["r1", "r2", "r3"]),
        ("COLLECT", {"aggregation": "SUM"}, NUMBERS, 15, ["r1", "r2", "r3"]),
        ("COLLECT", {"aggregation": "MIN"}, NUMBERS, 2, ["r1", "r2", "r3"]),
        ("COLLECT", {"aggregation": "MAX"}, NUMBERS, 9, ["r1", "r2", "r3"]),
        ("COLLECT", {"aggregation": "COUNT"}, NUMBERS, 3, ["r1", "r2", "r3"]),
        ("UNIQUE", {}, OVERLAP, None, []), ("ANY", {}, OVERLAP, None, []),
        ("ANY", {}, [(["5"], ['"a"']), (["> 1"], ['"a"'])], "a", ["r1"]),
    ],
)  # fmt: skip
def test_every_hit_policy(policy, attributes, rules, result, hits):
    """C-53: DMN 1.5, 8.2.8 and 8.2.11; rules that may not hit together are null and a warning."""
    values = '"c","b","a"' if '"' in rules[0][1][0] else ""
    answer = decided(5, policy, X, [output("o", values)], *rules, **attributes)
    assert to_json(answer.value) == result
    assert [rule for hit in answer.hits for rule in hit.rules] == hits
    if result is None:
        assert answer.warnings[0].code == "table_conflict" and "r1" in answer.warnings[0].message


def test_several_outputs_are_a_context_and_defaults_stand_in():
    """C-53: DMN 1.5, 8.2.11: outputs by name; the default output entries where no rule hits."""
    outputs = [output("a", default="0"), output("b", default='"none"')]
    assert decided(1, "UNIQUE", X, outputs, (["1"], ["7", '"one"'])).value == {"a": 7, "b": "one"}
    assert decided(2, "UNIQUE", X, outputs, (["1"], ["7", '"one"'])).value == {"a": 0, "b": "none"}
    assert decided(2, "COLLECT", X, [output("a")], (["1"], ["7"])).value == []
    assert decided(2, "UNIQUE", X, [output("a")], (["1"], ["7"])).value is None


def test_inputs_and_outputs_take_only_their_values():
    """C-53: DMN 1.5, 8.3.2: input values and output values."""
    some = [("x", "<inputValues><text>1, 2</text></inputValues>")]
    answer = decided(3, "UNIQUE", some, [output("o")], (["-"], ['"a"']))
    assert (answer.value, answer.warnings[0].code) == (None, "input_not_allowed")
    answer = decided(1, "UNIQUE", some, [output("o", '"b"')], (["-"], ['"a"']))
    assert (answer.value, answer.warnings[0].code) == (None, "output_not_allowed")


def test_what_is_wrong_with_a_table_is_found_when_it_is_checked():
    """C-53: each with its place; asked all the same, it is null."""
    wrong = [
        ("X", [output("o")], [(["1"], ["1"])], "hit_policy"),
        ("PRIORITY", [output("o")], [(["1"], ["1"])], "hit_policy"),
        ("UNIQUE", [output("o")], [(["1", "2"], ["1"])], "table_width"),
        ("UNIQUE", [output(), output()], [(["1"], ["1", "2"])], "missing_field"),
        ("UNIQUE", [output("o")], [(["[1.."], ["1"])], "expression"),
    ]  # fmt: skip
    for policy, outputs, rules, code in wrong:
        model = read_model(file(decision("d", table(policy, X, outputs, *rules))))
        found = [finding for finding in model.check() if finding.severity == "error"]
        assert [finding.rule for finding in found] == [code]
        assert found[0].where.line and found[0].where.pointer.startswith("/decisions/0/table") and found[0].hint
        assert model.evaluate("d", {}).value is None


# ---- types and coercion ----------------------------------------------------------------------------------------------


TYPES = [
    item("tNumbers", "<typeRef>number</typeRef>", collection=True),
    item("tGrade", "<typeRef>number</typeRef><allowedValues><text>[1..5]</text></allowedValues>"),
    item("tGrades", "<typeRef>number</typeRef><allowedValues><text>[1..5]</text></allowedValues>", collection=True),
    item("tPair", "<typeRef>number</typeRef><typeConstraint><text>count(?) = 2</text></typeConstraint>", True),
    item("tPerson", '<itemComponent name="name"><typeRef>string</typeRef></itemComponent>'
                    '<itemComponent name="born"><typeRef>date</typeRef></itemComponent>'),
    item("tFunction", '<functionItem outputTypeRef="number"><parameters name="a" typeRef="number"/></functionItem>'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("type", "feel", "result"),
    [
        ("number", "[1]", 1), ("number", "[1, 2]", None), ("number", "[[1]]", None), ("number", '"1"', None),
        ("number", "null", None), ("tNumbers", "1", [1]), ("tNumbers", "[1, 2]", [1, 2]), ("tNumbers", '"a"', None),
        ("tNumbers", '[1, "a"]', None), ("tNumbers", "null", None), ("tGrade", "5", 5), ("tGrade", "6", None),
        ("tGrades", "[5, 6]", None), ("tGrades", "[1, 2]", [1, 2]), ("tPair", "[1, 2]", [1, 2]), ("tPair", "[1]", None),
        ("tPerson", '{name: "A", born: date("2000-01-02"), more: 1}', {"name": "A", "born": "2000-01-02", "more": 1}),
        ("tPerson", '{name: "A"}', None), ("date and time", 'date("2000-01-02")', "2000-01-02T00:00:00Z"),
        ("Any", "1", 1), ("string", "1", None),
    ],
)  # fmt: skip
def test_a_result_becomes_what_its_type_wants(type, feel, result):
    """C-53: DMN 1.5, 10.3.2.9.4: to and from a list of one, a date as a date and time, conforming, else null."""
    assert value(*TYPES, decision("d", text(feel), type=type)) == result
    assert value(*TYPES, decision("d", text(feel, type))) == result


def test_instance_of_asks_for_the_kind_alone():
    """C-53: the item definitions of the file are types of FEEL; allowed values are no part of the question."""
    assert value(*TYPES, decision("d", text("[9 instance of tGrade, 1 instance of tPerson]"))) == [True, False]


def test_inputs_of_json_are_read_as_their_types():
    """C-53: JSON has no dates: a text is read as what is declared, inside structures too; a field left out is null."""
    model = read_model(
        file(*TYPES, data("p", "tPerson"), decision("d", text("[p.born.year, p.name]"), needs=[("i", "#p")]))
    )
    assert to_json(model.evaluate("d", {"p": {"born": "2000-01-02"}}).value) == [2000, None]
    answer = model.evaluate("d", {"p": 5})
    assert answer.warnings[0].code == "input_type" and "«p»" in str(answer.warnings[0])


def test_a_function_takes_only_what_conforms():
    """C-53: DMN 1.5, 10.3.2.9.4: an argument that does not conform makes the call null, the result likewise."""
    add = knowledge("add", [("a", "number")], text("a + 1", "number"))
    assert value(add, decision("d", text("add([1])"), knows=["#add"])) == 2
    assert value(add, decision("d", text('add("x")'), knows=["#add"])) is None
    say = knowledge("say", [("a", "")], text("a"), type="string")
    assert value(say, decision("d", text('[say(1), say("x")]'), knows=["#say"])) == [None, "x"]


def test_functions_are_values_of_their_types():
    """C-53: function items: a knowledge model is handed to another."""
    twice = knowledge("twice", [("f", "tFunction"), ("x", "number")], text("f(f(x))"))
    add = knowledge("add", [("a", "number")], text("a + 1"))
    logic = decision("d", text("[twice(add, 1), twice(function(n) n * 10, 1)]"), knows=["#twice", "#add"])
    assert value(*TYPES, twice, add, logic) == [3, 100]
    assert value(*TYPES, twice, decision("d", text("twice(5, 1)"), knows=["#twice"])) is None


# ---- the graph -------------------------------------------------------------------------------------------------------


def test_decisions_see_what_they_require_and_nothing_else():
    """C-53: DMN 1.5, 10.4: information requirements are the scope."""
    base, other = decision("base", text("10")), decision("other", text("1"))
    assert value(base, other, decision("d", text("base * 2"), needs=[("d", "#base")])) == 20
    assert "There is no «other» here" in warnings(base, other, decision("d", text("other"), needs=[("d", "#base")]))[0]


def test_only_what_is_asked_is_compiled():
    """C-53: an expression that cannot be read elsewhere in the file disturbs nobody, and is found by the check."""
    model = read_model(file(decision("d", text("1")), decision("broken", text("1 +"))))
    assert model.evaluate("d", {}).value == 1
    assert model._logic.keys() == {("urn:main", "d")}
    assert [finding.node for finding in model.check()] == ["broken"]
    answer = model.evaluate("broken", {})
    assert (answer.value, answer.warnings[0].code) == (None, "expression")


def test_knowledge_models_use_each_other():
    """C-53: knowledge requirements; a name with blanks, as FEEL reads it."""
    tax = knowledge("tax rate", [("country", "string")], text('if country = "KR" then 0.1 else 0.2'))
    gross = knowledge("gross", [("net", ""), ("c", "")], text("net * (1 + tax rate(c))"), knows=["#tax rate"])
    assert value(tax, gross, decision("d", text('gross(100, "KR")'), knows=["#gross"])) == 110


def test_a_knowledge_model_may_need_itself():
    """C-53: DMN 1.5, 6.3.9: it is called by its own name, by place and by parameter, and ends at a limit."""
    fact = knowledge("fact of", [("n", "number")], text("if n < 2 then 1 else n * fact of(n - 1)"), knows=["#fact of"])
    asked = decision("d", text("[fact of(5), fact of(n: 3)]"), knows=["#fact of"])
    assert value(fact, asked) == [120, 6]
    assert read_model(file(fact)).evaluate("fact of", {"n": 4}).value == 24
    assert read_model(file(fact, asked)).check() == []
    endless = knowledge("f", [("n", "")], text("f(n + 1)"), knows=["#f"])
    with pytest.raises(FeelLimit):
        value(endless, decision("d", text("f(1)"), knows=["#f"]))


def test_knowledge_models_that_need_each_other_are_refused():
    ring = [knowledge(a, [("n", "")], text(f"{b}(n)"), knows=[f"#{a}", f"#{b}"]) for a, b in (("f", "g"), ("g", "f"))]
    (finding,) = refused(*ring, decision("d", text("f(1)"), knows=["#f"]))
    assert finding.rule == "decision_cycle" and "f → g → f" in finding.message


SERVICE = [
    data("amount", "number"), decision("fee", text("amount * rate"), needs=[("i", "#amount"), ("d", "#rate")]),
    decision("rate", text("0.5")), decision("total", text("amount + fee"), needs=[("i", "#amount"), ("d", "#fee")]),
]  # fmt: skip


def service(*inside, name="s", type=""):
    named = f'<variable name="{name}"{" typeRef=" + repr(type) if type else ""}/>'
    return f'<decisionService id="{name}" name="{name}">{named}{"".join(inside)}</decisionService>'


ENDS = ['<outputDecision href="#total"/>', '<encapsulatedDecision href="#fee"/>', '<inputData href="#amount"/>']


def test_a_decision_service_is_a_function_of_its_inputs():
    """C-53: DMN 1.5, 10.4: called from FEEL by place (input data, then input decisions) and by name, and asked."""
    one = service(*ENDS, '<inputDecision href="#rate"/>')
    called = decision("d", text("[s(100, 0.1), s(rate: 0.2, amount: 100)]"), knows=["#s"])
    assert value(*SERVICE, one, called) == [110, 120]
    assert value(*SERVICE, one, asked="s", given={"amount": 100, "rate": 0.3}) == 130
    assert value(*SERVICE, service(*ENDS), asked="s", given={"amount": 100}) == 150


def test_several_outputs_of_a_service_are_a_context():
    """C-53: DMN 1.5, 10.4: output decisions by their names; the type of the result is that of the function."""
    both = service('<outputDecision href="#fee"/>', *ENDS[:1], ENDS[2])
    assert value(*SERVICE, both, asked="s", given={"amount": 10}) == {"fee": 5, "total": 15}
    typed = item("tText", '<functionItem outputTypeRef="string"/>')
    assert value(typed, *SERVICE, service(*ENDS, type="tText"), asked="s", given={"amount": 10}) is None


def test_a_knowledge_model_is_asked_by_its_parameters():
    assert (
        value(knowledge("add", [("a", "number"), ("b", "")], text("a + b")), asked="add", given={"a": 1, "b": 2}) == 3
    )


def imports(name, namespace, type=MODEL):
    return f'<import name="{name}" namespace="{namespace}" importType="{type}"/>'


def test_imported_models_are_read_under_the_name_of_the_import():
    """C-53: DMN 1.5, 6.3.3: decisions, functions and types of another file, and of one that it imports itself."""
    base = file(TYPES[1], data("who", "string"), decision("greeting", text('"Hello " + who'), needs=[("i", "#who")]),
                knowledge("up", [("a", "")], text("a + 1")), namespace="urn:base")  # fmt: skip
    middle = file(imports("base", "urn:base"), namespace="urn:middle").replace(
        b"\n</definitions>",
        decision("loud", text("upper case(base.greeting)"), needs=[("d", "urn:base#greeting")]).encode()
        + b"\n</definitions>",
    )
    main = [
        imports("the middle", "urn:middle"), imports("lib", "urn:base"),
        decision("d", text("the middle.loud + string(lib.up(1))"), needs=[("d", "urn:middle#loud")],
                 knows=["urn:base#up"]),
        decision("g", text("9"), type="lib.tGrade"),
    ]  # fmt: skip
    model = read_model(file(*main), [base, middle])
    assert model.evaluate("d", {"who": "Kim"}).value == "HELLO KIM2"
    assert model.evaluate("d", {"lib": {"who": "Lee"}}).value == "HELLO LEE2"
    assert model.evaluate("g", {}).value is None


# ---- bad input -------------------------------------------------------------------------------------------------------


def refused(*parts, more=()):
    with pytest.raises(DocumentInvalid) as caught:
        read_model(file(*parts), more)
    return caught.value.findings


@pytest.mark.parametrize(
    ("parts", "rule", "named"),
    [
        ([imports("other", "urn:other"), decision("d", text("1"))], "dmn_part", "«urn:other»"),
        ([decision("d", text("1"), needs=[("d", "#nobody")])], "dmn_reference", "«#nobody»"),
        ([decision("d", text("1"), needs=[("d", "urn:else#x")])], "dmn_reference", "«urn:else#x»"),
        ([decision("d", text("1")), decision("d", text("2"))], "duplicate_id", "«d»"),
        ([decision("d", text("1")), decision("d", text("2")).replace('id="d"', 'id="e"')], "duplicate_name", "«d»"),
        ([decision("a", text("b"), needs=[("d", "#b")]), decision("b", text("a"), needs=[("d", "#a")])],
         "decision_cycle", "a → b → a"),
        ([decision("a", text("a"), needs=[("d", "#a")])], "decision_cycle", "a → a"),
        ([service()], "dmn_service", "«s»"),
    ],
)  # fmt: skip
def test_a_graph_that_is_wrong_is_refused_with_place_and_hint(parts, rule, named):
    """C-53: cycles, missing imports, references to nothing, two elements of one name."""
    (finding,) = refused(*parts)
    assert (finding.rule, finding.severity) == (rule, "error")
    assert named in finding.message and finding.where.line and finding.where.pointer and finding.hint


def test_long_chains_and_many_rings_end():
    """C-53: a chain of 3,000 decisions is no deep recursion; rings are counted, not walked for ever."""
    chain = [decision("d0", text("0"))]
    chain += [decision(f"d{n}", text(f"d{n - 1} + 1"), needs=[("d", f"#d{n - 1}")]) for n in range(1, 3_000)]
    assert value(*chain, asked="d2999") == 2999
    ring = [decision(f"d{n}", text("1"), needs=[("d", f"#d{m}") for m in range(40)]) for n in range(40)]
    assert 1 <= len(refused(*ring)) <= 20


def test_functions_without_end_and_endless_lists_are_limits():
    """C-53: bounded in depth and steps, through boxed functions as well."""
    body = f'<functionDefinition><formalParameter name="n"/>{text("f(n + 1)")}</functionDefinition>'
    logic = f"<context>{entry('f', body)}{entry('', text('f(1)'))}</context>"
    with pytest.raises(FeelLimit):
        value(decision("d", logic))
    loop = f'<for iteratorVariable="x"><in>{text("[1..1000000000000]")}</in><return>{text("x")}</return></for>'
    with pytest.raises(FeelLimit):
        value(decision("d", loop))


def test_types_that_are_made_of_themselves_or_of_many_parts():
    """C-53: a ring of types is found; 60 types that each have the one before twice make no long message."""
    ring = [item("a", "<typeRef>b</typeRef>"), item("b", "<typeRef>a</typeRef>"), decision("d", text("1"), type="a")]
    model = read_model(file(*ring))
    assert model.evaluate("d", {}).value == 1
    assert "made of itself" in model.check()[0].message
    part = '<itemComponent name="{0}"><typeRef>t{1}</typeRef></itemComponent>'
    many = [item("t0", "<typeRef>number</typeRef>")]
    many += [item(f"t{n}", part.format("a", n - 1) + part.format("b", n - 1)) for n in range(1, 40)]
    assert len(warnings(*many, decision("d", text("1"), type="t39"))[0]) < 500


def test_a_function_of_java_is_refused_by_its_name():
    java = '<functionDefinition kind="Java"><formalParameter name="a"/></functionDefinition>'
    with pytest.raises(ExprNotSupported, match="Java"):
        value(decision("d", java))


def test_another_expression_language_is_not_read_as_feel():
    logic = '<literalExpression expressionLanguage="urn:js"><text>1</text></literalExpression>'
    assert value(decision("d", logic)) is None
    assert "«urn:js»" in warnings(decision("d", logic))[0]


def test_what_a_vendor_adds_is_left_out():
    """C-53: elements of other namespaces, whatever they are called, and rule annotations."""
    added = '<x:list xmlns:x="urn:vendor"><x:literalExpression/></x:list><extensionElements/>'
    assert value(decision("d", f"{added}{text('1')}")) == 1


def test_an_unknown_decision_is_told():
    with pytest.raises(DecisionUnknown, match="«nobody»"):
        value(decision("d", text("1")), asked="nobody")


def test_warnings_say_where():
    """C-53: the element, the part of it, the line, and the expression."""
    wrong = '1 + "a"'
    logic = f"<context>{entry('a', text(wrong))}</context>"
    (warning,) = read_model(file(decision("d", logic))).evaluate("d", {}).warnings
    assert (warning.spot.element, warning.spot.part, warning.spot.id) == ("decision «d»", "entry «a»", "d")
    assert (warning.spot.line, warning.expression) == (2, wrong)


def test_warnings_of_a_table_say_which_cell():
    """C-53: the rule and the column, and where a value is checked the input or the output."""
    answer = decided("text", "FIRST", X, [output("o")], (["> 7"], ["1"]), (["[1..5]"], ["2"]), (["-"], ["3"]))
    assert [(str(warning.spot), warning.expression) for warning in answer.warnings] == [
        ("decision «d», decision table, rule «r1», input «x»", "> 7"),
        ("decision «d», decision table, rule «r2», input «x»", "[1..5]"),
    ]
    some = [("x", "<inputValues><text>&gt; 1</text></inputValues>")]
    answer = decided("text", "FIRST", some, [output("o")], (["-"], ["1"]))
    assert {str(warning.spot) for warning in answer.warnings} == {"decision «d», decision table, input «x»"}
    answer = decided(1, "FIRST", X, [output("o", "> 1")], (["-"], ['"text"']))
    assert {str(warning.spot) for warning in answer.warnings} == {"decision «d», decision table, output «o»"}


def test_strict_mode_fails_where_the_standard_gives_null():
    """C-53: with the same place."""
    model = read_model(file(data("x", "number"), decision("d", text("x + 1"), type="string", needs=[("i", "#x")])))
    assert model.evaluate("d", {}).value is None
    for given in ({}, {"x": "a"}, {"x": 1}):
        with pytest.raises(DecisionNull, match=r"«x»|decision «d»"):
            model.evaluate("d", given, strict=True)


@pytest.mark.parametrize(
    ("attributes", "rules", "said"),
    [
        ({"aggregation": "AVG"}, NUMBERS, "«C AVG»"), ({}, [(["1", "2"], ["1"])], "«r1» has 2 input entries"),
        ({"aggregation": "SUM"}, [(["-"], ["1"]), (["-"], ['"a"'])], "r1, r2 have no sum"),
        ({"aggregation": "MIN"}, [(["-"], ["1"]), (["-"], ['"a"'])], "r1, r2 have no least"),
        ({"aggregation": "MIN"}, [(["-"], ["true"])], "r1 have no least"),
        ({"aggregation": "MAX"}, [(["-"], ["{}"])], "r1 have no greatest"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_decide_says_so(attributes, rules, said):
    """C-53: DMN 1.5, 8.2.11: SUM, MIN, MAX and COUNT, of values that can be added or have an order; null with a
    warning, and an error in strict mode."""
    model = read_model(file(data("x"), decision("d", table("COLLECT", X, [output("o")], *rules, **attributes),
                                                needs=[("i", "#x")])))  # fmt: skip
    answer = model.evaluate("d", {"x": 5})
    assert answer.value is None and [said in str(warning) for warning in answer.warnings] == [True]
    with pytest.raises(DecisionNull, match="decision «d», decision table"):
        model.evaluate("d", {"x": 5}, strict=True)
    assert len(model.check()) == ("have no" not in said)


# ---- rule packs ------------------------------------------------------------------------------------------------------


def test_a_pack_carries_the_model_and_its_imports():
    """C-53: judged as any other pack; what is wrong in the model is in the findings."""
    base = file(decision("limit", text("0.05")), namespace="urn:base").decode()
    logic = table(
        "FIRST", [("rate > b.limit", "")], [output("decision")], (["true"], ['"critical"']), (["-"], ['"normal"'])
    )
    main = file(imports("b", "urn:base"), data("rate", "number"),
                decision("d", logic, needs=[("i", "#rate"), ("d", "urn:base#limit")])).decode()  # fmt: skip
    body = {"id": "p", "dmn": {"model": main, "imports": [base]}}
    assert check_pack(body) == []
    verdict = compile_pack(body).judge([{"rate": 0.01}, {"rate": 0.06}])
    assert (verdict.decision, verdict.matched_rules) == ("critical", ["d.r2", "d.r1"])
    with pytest.raises(RuleFailed, match="«rate»"):
        compile_pack(body).judge({"rate": "much"})
    assert [finding.rule for finding in check_pack({"id": "p", "dmn": {"model": main}})] == ["dmn_part"]
    assert [finding.rule for finding in check_pack({"id": "p", "dmn": {"model": "<a/>"}})] == ["dmn_model"]
    assert [finding.rule for finding in check_pack({"id": "p", "dmn": {"model": 5}})] == ["wrong_type"]


def test_a_pack_brings_the_time_where_an_import_reads_it():
    """C-53: today() in an imported model is the run's day, as in the model itself."""
    base = file(decision("day", text("string(today())")), namespace="urn:base").decode()
    main = file(imports("b", "urn:base"), decision("d", text("b.day"), needs=[("d", "urn:base#day")])).decode()
    pack = compile_pack({"id": "p", "dmn": {"model": main, "imports": [base]}})
    assert "$now" in pack.reads
    assert pack.judge({"$now": 1_577_880_000_000}).outputs == "2020-01-01"


def test_decimals_stay_exact_through_a_model():
    answer = read_model(file(decision("a", text("0.1 + 0.2")), decision("d", text("a"), needs=[("d", "#a")])))
    assert answer.evaluate("d", {}).value == Decimal("0.3")
