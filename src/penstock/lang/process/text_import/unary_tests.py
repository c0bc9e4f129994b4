"""A cell of a decision table in a manual as a FEEL test: «100만원 이상 500만원 미만», «over 1,000», «A or B», «yes»."""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.lang.process.text_import.guards import scaled

_NUMBER = (
    r"(?P<{0}>-?\d[\d,]*(?:\.\d+)?)\s*(?P<{0}_unit>천만|백만|십만|천|백|십|만|억|조|(?:k|thousand|million|billion)\b)?"
)
_TAIL = r"\s*(?P<{0}_of>[%％]|[a-z가-힣]{{0,6}}?)"
_MONEY = r"(?:[$€£₩]|USD|EUR|KRW)?\s*"
_ANY = re.compile(r"-|–|—|\*|무관|상관\s*없음|전체|모두|해당\s*없음|any|all|n/?a|irrelevant", re.I)
_OTHERWISE = re.compile(
    r"그\s*외(?:의?\s*(?:경우|금액|전부))?|그\s*밖(?:의?\s*경우)?|기타|나머지|otherwise|else|(?:all\s+)?others?", re.I
)
_YES = re.compile(r"예|네|있음|유|o|○|참|해당|yes|y|true", re.I)
_NO = re.compile(r"아니오|아니요|없음|무|x|×|거짓|비해당|no|n|false", re.I)
_KOREAN_SIGNS = {"이상": ">=", "이하": "<=", "초과": ">", "미만": "<"}
_FIRST = {
    "over": ">", "above": ">", "more than": ">", "greater than": ">", "exceeding": ">", "from": ">=", "at least": ">=",
    "under": "<", "below": "<", "less than": "<", "fewer than": "<", "up to": "<=", "at most": "<=",
    "not more than": "<=",
    "no more than": "<=", ">=": ">=", "<=": "<=", "≥": ">=", "≤": "<=", "=>": ">=", ">": ">", "<": "<", "=": "=",
}  # fmt: skip
_AFTER = {
    "or more": ">=", "or over": ">=", "and above": ">=", "and over": ">=", "or above": ">=", "and more": ">=",
    "or less": "<=", "or fewer": "<=", "or under": "<=", "and below": "<=", "or below": "<=", "+": ">=",
}  # fmt: skip


def _either(words: dict[str, str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _number(name: str) -> str:
    return _MONEY + (_NUMBER + _TAIL).format(name)


_KOREAN = re.compile(
    rf"{_number('a')}\s*(?P<sign_a>이상|이하|초과|미만)(?:\s*[~,이고인면서]*\s*{_number('b')}\s*(?P<sign_b>이상|이하"
    rf"|초과|미만))?", re.I
)  # fmt: skip
_SIGN_FIRST = re.compile(
    rf"(?P<sign_a>{_either(_FIRST)})\s*{_number('a')}(?:\s*(?:,|and|but"
    rf"|to)\s*(?P<sign_b>{_either(_FIRST)})?\s*{_number('b')})?",
    re.I,
)
_SIGN_AFTER = re.compile(rf"{_number('a')}\s*(?P<sign_a>{_either(_AFTER)})", re.I)
_RANGE = re.compile(rf"(?:between\s+)?{_number('a')}\s*(?:[~∼–—-]|to|and)\s*{_number('b')}", re.I)
_EXACT = re.compile(_number("a"), re.I)
_LIST = re.compile(r"\s*(?:,|/|·|또는|혹은|\bor\b)\s*", re.I)


class CellTest(NamedTuple):
    """`kind` is number, boolean, string, any or otherwise; `unit` is that of its numbers."""

    feel: str
    kind: str
    unit: str = ""


def is_otherwise(text: str) -> bool:
    return _OTHERWISE.fullmatch(text.strip()) is not None


def cell_test(text: str) -> CellTest:
    """The test that a cell means."""
    text = text.strip(" .")
    if not text or _ANY.fullmatch(text):
        return CellTest("-", "any")
    if _OTHERWISE.fullmatch(text):
        return CellTest("-", "otherwise")
    if _YES.fullmatch(text) or _NO.fullmatch(text):
        return CellTest("true" if _YES.fullmatch(text) else "false", "boolean")
    if (numeric := _numeric(text)) is not None:
        return numeric
    return CellTest(", ".join(quoted(part) for part in _LIST.split(text) if part), "string")


def _numeric(text: str) -> CellTest | None:
    if (match := _KOREAN.fullmatch(text)) or (match := _SIGN_FIRST.fullmatch(text)):
        signs = {**_KOREAN_SIGNS, **_FIRST}
        first = signs[match["sign_a"].lower()]
        if match["b"] is None:
            return _test(first, match)
        inner = " ".join(text.split()).lower()
        second = signs[(match["sign_b"] or "up to").lower()] if match["sign_b"] or "from" in inner else None
        return _between(first, second, match) if second is not None else None
    if match := _SIGN_AFTER.fullmatch(text):
        return _test(_AFTER[match["sign_a"].lower()], match)
    if match := _RANGE.fullmatch(text):
        return _between(">=", "<=", match)
    if match := _EXACT.fullmatch(text):
        return CellTest(_value(match, "a"), "number", _unit(match))
    return None


def _test(sign: str, match: re.Match[str]) -> CellTest:
    value = _value(match, "a")
    return CellTest(value if sign == "=" else f"{sign} {value}", "number", _unit(match))


def _between(first: str, second: str, match: re.Match[str]) -> CellTest | None:
    low, high = (first, _value(match, "a")), (second, _value(match, "b"))
    if first[0] == "<":
        low, high = high, low
    if low[0][0] != ">" or high[0][0] != "<":
        return None
    if match["a_unit"] is None and match["b_unit"] is not None and match["a_of"] == "" and first[0] == ">":
        low = (low[0], shown(scaled(match["a"], match["b_unit"])))  # «100~500만원»
    begin, end = "[" if low[0] == ">=" else "(", "]" if high[0] == "<=" else ")"
    return CellTest(f"{begin}{low[1]}..{high[1]}{end}", "number", _unit(match))


def _value(match: re.Match[str], name: str) -> str:
    return shown(scaled(match[name], match[f"{name}_unit"]))


def shown(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _unit(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return (groups.get("b_of") or groups.get("a_of") or "").replace("％", "%")


def quoted(text: str) -> str:
    """A text as FEEL writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
