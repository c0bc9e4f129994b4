"""Names with blanks and signs: DMN 1.5, 10.3.1.2. The longest known name wins."""

from __future__ import annotations

import pytest

from penstock import feel


@pytest.mark.parametrize(
    ("text", "context", "expected"),
    [
        ("loan amount * rate", {"loan amount": 100, "rate": 0.05}, 5),
        ("loan   amount", {"loan amount": 7}, 7),
        ("loan-to-value", {"loan-to-value": 0.8, "loan": 3, "to": 2, "value": 1}, "0.8"),
        ("loan-to-value", {"loan": 3, "to": 2, "value": 1}, 0),
        ("loan - to - value", {"loan-to-value": 9, "loan": 3, "to": 2, "value": 1}, 0),
        ("a+b", {"a+b": 5, "a": 1, "b": 2}, 5),
        ("a+b", {"a": 1, "b": 2}, 3),
        ("profit and loss", {"profit and loss": 3, "profit": True, "loss": True}, 3),
        ("profit and loss", {"profit": True, "loss": True}, True),
        ("a b", {"a b": 1, "a": 2, "a b c": 3}, 1),
        ("a b c", {"a b": 1, "a": 2, "a b c": 3}, 3),
        ("applicant.first name", {"applicant": {"first name": "Kim"}}, "Kim"),
        ('people[first name = "Kim"].age', {"people": [{"first name": "Kim", "age": 5}]}, [5]),
        ("customer's age + 1", {"customer's age": 4}, 5),
        ("date of birth", {"date of birth": 1, "date": 2}, 1),
        ("in stock", {"in stock": True}, True),
        ("for each", {"for each": 1}, 1),
        ('이름 + "!"', {"이름": "김"}, "김!"),
        ("주문 금액 > 10", {"주문 금액": 11}, True),
    ],
)
def test_the_longest_known_name_wins(text: str, context: dict[str, object], expected: object) -> None:
    value = feel.evaluate(text, context)
    assert (str(value) if isinstance(expected, str) else value) == expected


def test_words_that_nobody_knows_are_one_name_and_null() -> None:
    result = feel.compile("unknown words here").evaluate({})
    assert result.value is None and "«unknown words here»" in result.warnings[0].message


def test_an_expression_says_which_names_it_reads() -> None:
    expression = feel.compile("for x in orders return x.total + tax rate + sum(extra)", ["tax rate"])
    assert set(expression.names) == {"orders", "tax rate", "extra"}


def test_a_name_of_the_context_hides_a_function() -> None:
    assert feel.evaluate("count + 1", {"count": 4}) == 5
    assert feel.compile("abs(5)", ["abs"]).evaluate({"abs": 1}).value is None


def test_many_names_are_looked_up_and_not_tried() -> None:
    """Each word of the text asks once, however many names begin with it; scopes do not copy what is known."""
    names = [f"a {number}" for number in range(30_000)]
    assert feel.compile(" +  ".join(["a"] * 2_000), names).names == ("a",)
    found = feel.compile(" +  ".join(f"a  \t{number}" for number in range(2_000)), names)
    assert set(found.names) == set(names[:2_000])
    assert feel.compile(" + ".join(["b[a  1 = 1]"] * 2_000), names, members=["a x"]).names == ("a 1", "b")
    entries = ", ".join(f"a b{number}: a {number}" for number in range(2_000))
    assert feel.compile(f"{{{entries}, a: a  b7}}", names).names == tuple(sorted(names[:2_000]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a \n b", 1), ("a b  c", 2), ("  a    b  c", 2), ("[a  b c , a b]", [2, 1]), ("a" + " " * 3_000 + "b", 1),
        ("a  b - 1", 0), ("a  bc", None),
    ],
)  # fmt: skip
def test_any_run_of_blanks_is_one(text: str, value: object) -> None:
    assert feel.evaluate(text, {"a b": 1, "a b c": 2, "a": 3}) == value
