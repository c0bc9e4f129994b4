"""Decision tables in a manual (P-6.1.5): tables of conditions with a result, lists of cases, rules in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from penstock.lang.process.text_import import guards
from penstock.lang.process.text_import import sentence as words
from penstock.lang.process.text_import.manual_text import ManualText, Sentence
from penstock.lang.process.text_import.unary_tests import CellTest, cell_test, is_otherwise, quoted

_ROW = re.compile(r"\s*\|(.+)\|\s*\Z")
_RULE = re.compile(r"[\s|:\-]+\Z")
_RESULT = re.compile(
    r"결과|처리|조치|판정|결정|등급|승인자|결재자|결재|전결|할인|수수료|요금|배송비|한도|이율|금리|점수|우선순위|담당"
    r"|부서|result|outcome|decision"
    r"|action|then|approver|approved by|discount|fee|rate|level|grade|priority|limit|score|price|category|handled by",
    re.I,
)  # fmt: skip
_STEPS = re.compile(r"단계|절차|순서|활동|업무\s*내용|하는\s*일|작업|\bstep\b|activity|\btask\b|^no\.?$|번호", re.I)
_VALUE_IS = re.compile(
    r"(?:the\s+)?(?P<what>[a-z][\w ]{1,40}?)\s+(?:is|are|=|will be|must be)\s+(?P<value>[^,;]{1,60})\Z", re.I
)
_VALUE_IS_KO = re.compile(
    r"(?P<what>[가-힣A-Za-z0-9 ]{1,30}?)(?:은|는|이|가)\s+(?P<value>[^,;]{1,40}?)\s*(?:이다|입니다|다|(?:으로"
    r"|로)\s*(?:한다|합니다|정한다))\Z"
)
_CASE = re.compile(r"(?P<condition>[^:：→]{1,80}?)\s*(?:[:：→]|->|=>)\s*(?P<value>[^:：]{1,60})\Z")
_MARK = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
_TERM = re.compile(r"!?\(?\s*(?P<name>[^\s()!=<>]+)\s*(?P<sign>==|!=|<=|>=|<|>)\s*(?P<value>[^\s()]+)\s*\)?\Z")
_MAX_ROWS = 1000


class TableColumn(msgspec.Struct, frozen=True):
    """`name` is the variable, `label` what the manual calls it; `type` is number, boolean or string."""

    name: str
    label: str
    type: str


class TableRule(msgspec.Struct, frozen=True):
    """FEEL tests of the inputs and FEEL values of the outputs, in the order of the columns."""

    tests: list[str]
    values: list[str]
    sentence: str = ""


class DecisionTable(msgspec.Struct, frozen=True):
    """`lines` are those that it stands in; the hit policy is FIRST where one rule is for all other cases."""

    id: str
    name: str
    inputs: list[TableColumn]
    outputs: list[TableColumn]
    rules: list[TableRule]
    hit_policy: str
    confidence: float
    sentences: list[str]
    lines: list[int]


def tables_of(manual: ManualText) -> list[DecisionTable]:
    """The decision tables, in the order in which they stand in the text."""
    lines = manual.text.split("\n")
    by_line = {sentence.line: sentence for sentence in reversed(manual.sentences)}
    found = [*_written_tables(lines, by_line), *_case_lists(lines, by_line), *_rule_sentences(manual)]
    found.sort(key=lambda table: table.lines[0])
    return [msgspec.structs.replace(table, id=f"decision{number}") for number, table in enumerate(found, 1)]


def without_tables(text: str, tables: Sequence[DecisionTable]) -> str:
    """The text with empty lines where decision tables stand: they are no steps."""
    gone = {line for table in tables for line in table.lines}
    return "\n".join("" if number in gone else line for number, line in enumerate(text.split("\n"), 1))


# ---- written as tables -----------------------------------------------------------------------------------------------


def _written_tables(lines: list[str], by_line: dict[int, Sentence]) -> Iterator[DecisionTable]:
    for is_row, group in groupby(enumerate(lines, 1), key=lambda pair: _ROW.match(pair[1]) is not None):
        if not is_row:
            continue
        numbered = list(group)
        rows = [
            (number, [cell.strip() for cell in match[1].split("|")]) for number, line in numbered
            if (match := _ROW.match(line)) and not _RULE.match(match[1])
        ]  # fmt: skip
        table = _written_table(rows, by_line, _title(lines, numbered[0][0]))
        if table is not None:
            yield msgspec.structs.replace(table, lines=[number for number, _ in numbered])


def _written_table(rows: list[tuple[int, list[str]]], by_line: dict[int, Sentence], name: str) -> DecisionTable | None:
    if len(rows) < 2 or len(rows) > _MAX_ROWS or len(rows[0][1]) < 2:
        return None
    header, body = rows[0][1], [(number, cells) for number, cells in rows[1:] if len(cells) == len(rows[0][1])]
    if not body or any(map(_STEPS.search, header)):
        return None
    tests = [[cell_test(cells[n]) for _, cells in body] for n in range(len(header))]
    conditional = [_is_condition(column) for column in tests]
    results = [bool(_RESULT.search(label)) for label in header]
    first_result = len(header) - 1
    while first_result > 1 and _is_result(header[first_result - 1], tests[first_result - 1]):
        first_result -= 1
    if not (any(conditional[:first_result]) or results[first_result] and len(body) > 1):
        return None
    if not any(conditional[:first_result]) and not _covers(body, first_result):
        return None
    inputs = [_input(header[n], tests[n]) for n in range(first_result)]
    outputs = [_output(header[n], [cells[n] for _, cells in body]) for n in range(first_result, len(header))]
    rules = [
        TableRule(
            [feel[k] for _, feel in inputs],
            [feel[k] for _, feel in outputs],
            by_line[number].id if number in by_line else "",
        )
        for k, (number, _) in enumerate(body)
    ]
    otherwise = any(test.kind == "otherwise" for column in tests[:first_result] for test in column)
    sure = 1.0 if any(conditional[:first_result]) else 0.7
    header_sentence = [by_line[rows[0][0]].id] if rows[0][0] in by_line else []
    return _table(name, [column[0] for column in inputs], [column[0] for column in outputs], rules, otherwise, sure,
                  [*header_sentence, *(rule.sentence for rule in rules)])  # fmt: skip


def _is_result(label: str, tests: list[CellTest]) -> bool:
    """Is a column before the last one a result, too? Grades and the like are asked for as often as they are given."""
    if not _RESULT.search(label) or re.search(
        r"등급|점수|한도|부서|level|grade|score|category|price|rate", label, re.I
    ):
        return False
    return not _is_condition(tests) and not any(test.kind in ("any", "otherwise") for test in tests)


def _covers(body: list[tuple[int, list[str]]], inputs: int) -> bool:
    """Do rows differ in what they ask? A list of things with their properties repeats nothing; two equal rows would
    contradict each other."""
    asked = [tuple(cells[:inputs]) for _, cells in body]
    return len(set(asked)) == len(asked)


def _is_condition(tests: list[CellTest]) -> bool:
    """Is a column one of conditions: comparisons, yes and no, or «otherwise»?"""
    said = [test for test in tests if test.kind != "any"]
    compared = [test for test in said if test.kind in ("boolean", "otherwise") or test.feel[:1] in "<>[("]
    return bool(said) and 2 * len(compared) >= len(said)


def _input(label: str, tests: list[CellTest]) -> tuple[TableColumn, list[str]]:
    kinds = {test.kind for test in tests} - {"any", "otherwise"}
    kind = kinds.pop() if len(kinds) == 1 else "string"
    feel = [
        test.feel if test.kind in (kind, "any", "otherwise") else quoted(test.feel.replace('"', "")) for test in tests
    ]
    return TableColumn(_variable(label), label, kind), feel


def _output(label: str, cells: list[str]) -> tuple[TableColumn, list[str]]:
    tests = [cell_test(cell) for cell in cells]
    units = {test.unit for test in tests}
    kinds = {test.kind for test in tests}
    if kinds == {"number"} and len(units) == 1 and not any(test.feel[:1] in "<>[(" for test in tests):
        unit = units.pop()
        return TableColumn(_variable(label), f"{label} ({unit})" if unit else label, "number"), [t.feel for t in tests]
    if kinds == {"boolean"}:
        return TableColumn(_variable(label), label, "boolean"), [test.feel for test in tests]
    return TableColumn(_variable(label), label, "string"), [quoted(cell) for cell in cells]


def _table(
    name: str, inputs: list[TableColumn], outputs: list[TableColumn], rules: list[TableRule], otherwise: bool,
    confidence: float, sentences: Sequence[str],
) -> DecisionTable:  # fmt: skip
    inputs, outputs = _named_apart(inputs), _named_apart(outputs)
    if otherwise:  # what is for all other cases comes last
        rules = sorted(rules, key=lambda rule: all(test == "-" for test in rule.tests))
    return DecisionTable(
        "", name or outputs[0].label, inputs, outputs, rules, "FIRST" if otherwise else "UNIQUE", confidence,
        list(dict.fromkeys(id for id in sentences if id)), [],
    )  # fmt: skip


def _named_apart(columns: list[TableColumn]) -> list[TableColumn]:
    taken: dict[str, int] = {}
    apart = []
    for column in columns:
        taken[column.name] = count = taken.get(column.name, 0) + 1
        apart.append(msgspec.structs.replace(column, name=f"{column.name}_{count}") if count > 1 else column)
    return apart


def _variable(label: str) -> str:
    """The variable as the conditions of the process call it."""
    name = guards.variable(re.sub(r"[(（\[].*", "", label) or label, measured=True)
    bare = re.sub(r"\W+", "_", name.removeprefix("context['").removesuffix("']")).strip("_")
    return bare if bare and not bare[0].isdigit() else f"value_{bare}".rstrip("_")


def _title(lines: list[str], first: int) -> str:
    """What stands above a table: its caption or heading."""
    for line in reversed(lines[: first - 1]):
        if _ROW.match(line):
            return ""
        if line.strip():
            text = re.sub(r"\A\s*(?:#+\s*|[-*•]\s+|\d{1,3}[.)]\s+)", "", line).strip(" :：.")
            return text if len(text) <= 80 else words.shortened(text)
    return ""


# ---- written as lists and sentences ----------------------------------------------------------------------------------


def _case_lists(lines: list[str], by_line: dict[int, Sentence]) -> Iterator[DecisionTable]:
    """Lists of two cases or more, each of a condition and a value that is no work: «- under 100: team lead»."""
    for is_case, group in groupby(enumerate(lines, 1), key=lambda pair: _is_case(pair[1])):
        numbered = list(group)
        if not is_case or len(numbered) < 2:
            continue
        pairs = [(number, _CASE.match(_MARK.sub("", line, count=1).strip(" ."))) for number, line in numbered]
        cases = [(number, match["condition"], match["value"]) for number, match in pairs if match is not None]
        head = _title(lines, numbered[0][0])
        subject = next((found for _, condition, _ in cases if (found := _subject(condition))), "")
        tests = [cell_test(_bound(condition)) for _, condition, _ in cases]
        if not _is_condition(tests) or {test.kind for test in tests} - {"number", "otherwise"}:
            continue
        column, feel = _input(subject or _measured(head), tests)
        output, values = _output(_result_label(head), [value for _, _, value in cases])
        rules = [
            TableRule([test], [value], by_line[number].id if number in by_line else "")
            for (number, _, _), test, value in zip(cases, feel, values, strict=True)
        ]
        otherwise = any(test.kind == "otherwise" for test in tests)
        table = _table(head, [column], [output], rules, otherwise, 0.9, [rule.sentence for rule in rules])
        yield msgspec.structs.replace(table, lines=[number for number, _ in numbered])


def _is_case(line: str) -> bool:
    mark = _MARK.match(line)
    match = _CASE.match(line[mark.end() :].strip(" .")) if mark is not None and len(line) <= 200 else None
    if match is None or words.ends_as_action(match["value"]) or re.match(r"[a-z]+s?\s", match["value"]):
        return False
    return is_otherwise(match["condition"]) or cell_test(_bound(match["condition"])).feel[:1] in ("<", ">", "[", "(")


def _subject(condition: str) -> str:
    """What a condition names before its bound: «금액이 100만원 이상»."""
    match = re.match(r"(?P<what>[^\d<>≥≤]{1,40}?)(?:이|가|은|는)?\s*(?=(?:over|above|under|below|up to|at least"
    r"|more than|less than"
                     r"|[$€£₩<>≥≤]|\d))", condition, re.I)  # fmt: skip
    text = match["what"].strip(" :") if match is not None else ""
    return re.sub(r"\s+(?:is|are|of)\Z", "", text)


def _bound(condition: str) -> str:
    """The bound of a condition, without what it is about and without «인 경우»."""
    text = re.sub(r"\s*(?:인|일|의)?\s*(?:경우|때|건|시)(?:에는|에|는)?\Z", "", condition.strip())
    subject = _subject(text)
    text = text[len(subject) :] if subject and text.startswith(subject) else text
    return re.sub(r"\A(?:이|가|은|는|is|are)?\s*(?=\d|[^\s])", "", text.strip(), count=1).strip()


def _measured(head: str) -> str:
    """What the cases below a heading compare: «금액별 결재권자», «Approver by amount»."""
    if match := re.search(r"(\S+?)(?:별|에\s*따(?:라|른))", head):
        return match[1]
    if match := re.search(r"\b(?:by|per|depending on|according to)\s+(?:the\s+)?([\w ]{1,30})", head, re.I):
        return match[1].strip()
    return "value"


def _result_label(head: str) -> str:
    match = _RESULT.search(head)
    korean = re.search(r"(?:별|에\s*따른)\s*(\S+)", head)
    return korean[1] if korean else match[0] if match is not None else "result"


def _rule_sentences(manual: ManualText) -> Iterator[DecisionTable]:
    """Two sentences or more that give the same thing a value: «If …, the discount is 10%»."""
    by_result: dict[str, list[tuple[Sentence, dict[str, str], str]]] = {}
    labels: dict[str, str] = {}
    for sentence in manual.sentences:
        branches = words.branches(sentence.text)
        values = [_value_of(branch.action) for branch in branches]
        if not branches or any(value is None for value in values):
            continue
        for branch, given in zip(branches, values, strict=True):
            assert given is not None, "every branch gives a value"
            tests = _tests_of(branch)
            if tests is None:
                continue
            name = _variable(given[0])
            labels.setdefault(name, given[0])
            by_result.setdefault(name, []).append((sentence, tests, given[1]))
    for name, cases in by_result.items():
        names = list(dict.fromkeys(input for _, tests, _ in cases for input in tests))
        if len(cases) < 2 or not names:
            continue
        kinds = {input: next(_kind(tests[input]) for _, tests, _ in cases if input in tests) for input in names}
        inputs = [TableColumn(input, input, kinds[input]) for input in names]
        output, values_of_rules = _output(labels[name], [value for _, _, value in cases])
        rules = [
            TableRule([tests.get(input, "-") for input in names], [value], sentence.id)
            for (sentence, tests, _), value in zip(cases, values_of_rules, strict=True)
        ]
        table = _table(labels[name], inputs, [output], rules, True, 0.9, [rule.sentence for rule in rules])
        yield msgspec.structs.replace(table, lines=sorted({sentence.line for sentence, _, _ in cases}))


def _value_of(action: str) -> tuple[str, str] | None:
    match = _VALUE_IS.match(action.strip(" .")) or _VALUE_IS_KO.match(action.strip(" ."))
    if match is None or not (_RESULT.search(match["what"]) or cell_test(match["value"]).kind in ("number", "boolean")):
        return None
    return match["what"].strip(), match["value"].strip()


def _tests_of(branch: words.Branch) -> dict[str, str] | None:
    """The tests of a branch by variable; none for «otherwise», None where the condition says more than a table can."""
    if branch.condition is None:
        return {}
    tests: dict[str, str] = {}
    for term in guards.guard_of(branch.condition, branch.negated).expression.split(" && "):
        match = _TERM.match(term)
        if match is None or term.startswith("!") or "||" in term:
            return None
        name = re.sub(r"\W+", "_", match["name"].removeprefix("context['").removesuffix("']")).strip("_")
        sign, value = match["sign"], match["value"]
        test = value if sign == "==" else f"not({value})" if sign == "!=" else f"{sign} {value}"
        if name in tests:
            return None
        tests[name] = test
    return tests


def _kind(test: str) -> str:
    return "boolean" if test in ("true", "false") else "number"
