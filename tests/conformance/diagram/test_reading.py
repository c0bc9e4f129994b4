"""Bytes to a document: both syntaxes, strictly, with the place of every value."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DocumentTooLarge, DocumentUnreadable, LanguageUnknown, Place
from penstock.lang.compile import check_document, compile_document
from penstock.lang.files import LIMIT
from penstock.lang.read import read_document


def why(data: bytes | str, name: str) -> tuple[str, int, int]:
    with pytest.raises(DocumentUnreadable) as caught:
        read_document(data.encode() if isinstance(data, str) else data, name=name)
    where = caught.value.facts["where"]
    return caught.value.facts["why"], where.line, where.column


def test_yaml_is_read_with_places() -> None:
    document = read_document(b"a: 1\nb:\n  - x: yes\n    y: 2020-01-01\n  - [true, ~, 1.5, 0x1f]\n", name="d.yaml")
    assert document.data == {"a": 1, "b": [{"x": "yes", "y": "2020-01-01"}, [True, None, 1.5, 31]]}
    assert document.place("/b/0/y") == Place("/b/0/y", 4, 8)
    assert document.place("/b/0/y", key=True) == Place("/b/0/y", 4, 5)
    assert document.place("/b/1/0").line == 5
    assert document.place("/b/7/z").line == 3, "what is not there is shown where it would be"


def test_json_is_read_with_places() -> None:
    text = '{"a": [1, {"b/c": 2.5}],\n "x": {"y":\t"\\ud83d\\ude00"}}'
    document = read_document(text.encode(), name="d.json")
    assert document.data == json.loads(text)
    assert document.place("/a/1/b~1c") == Place("/a/1/b~1c", 1, 19)
    assert document.place("/x/y", key=True) == Place("/x/y", 2, 8)


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc/~é한", max_size=4), inner), max_leaves=20,
), st.sampled_from([None, 1, "\t"]))  # fmt: skip
def test_what_json_writes_is_read_back(value: object, indent: int | str | None) -> None:
    for ascii_only in (True, False):
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
        assert read_document(text.encode(), name="d.json").data == value


@pytest.mark.parametrize(
    ("text", "part", "line", "column"),
    [
        ('{"a": 1,\n "a": 2}', "stands twice", 2, 2),
        ('{"a": NaN}', "a value is expected", 1, 7),
        ('{"a": -Infinity}', "a value is expected", 1, 7),
        ('{"a": 1e999}', "too large", 1, 7),
        ('{"a": 99999999999999999999}', "64 bits", 1, 7),
        ('{"a": "\\ud800"}', "surrogate", 1, 7),
        ('{"a": "\\u0000"}', "NUL", 1, 7),
        ('{"a": 1,}', "a key in double quotes", 1, 9),
        ('{"a": 01}', "a comma or }", 1, 8),
        ('{"a" 1}', "a colon", 1, 6),
        ("[1 2]", "a comma or ]", 1, 4),
        ('{"a": "x\ny"}', "control character", 1, 9),
        ('{"a": tru}', "a value is expected", 1, 7),
        ("{} {}", "something follows", 1, 4),
        ('{"a": ', "ends too early", 1, 7),
        ("[" * 101 + "]" * 101, "deeper than 100", 1, 101),
        ("  ", "it is empty", 1, 1),
    ],
)
def test_json_that_means_several_things_is_refused(text: str, part: str, line: int, column: int) -> None:
    reason, *spot = why(text, "d.json")
    assert part in reason
    assert spot == [line, column]


@pytest.mark.parametrize(
    ("text", "part", "line"),
    [
        ("a: 1\na: 2", "stands twice", 2),
        ("a: !!str 1", "tags", 1),
        ("a: !python/object:os.system x", "tags", 1),
        ("a: &x [*x]", "stands inside itself", 1),
        ("a: *x", "has no anchor", 1),
        ("a: 1\n---\nb: 1", "more than one YAML document", 2),
        ("b: &b {c: 1}\na:\n  <<: *b", "merge keys", 3),
        ("a: .nan", "not numbers", 1),
        ("a: .inf", "not numbers", 1),
        ("? [1]\n: 2", "a key must be plain text", 1),
        ("a: {b: c[d]}", "needs quotes", 1),
        ("a:\n\tb: 1", "a tab?", 2),
        ("a: \x07", "a character that YAML does not allow", 1),
        ("- " * 101 + "x", "deeper than 100", 1),
        ("# nothing", "it is empty", 1),
    ],
)
def test_yaml_beyond_plain_data_is_refused(text: str, part: str, line: int) -> None:
    reason, at, _ = why(text, "d.yaml")
    assert part in reason
    assert at == line


def test_aliases_are_handy_but_no_bomb() -> None:
    document = read_document(b"a: &x {k: 1}\nb: *x\nc: *x\n", name="d.yaml")
    assert document.data["c"] == {"k": 1}
    assert document.place("/c").line == 3
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    for before, name in zip("abcdefg", "bcdefgh", strict=True):
        bomb += f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    assert "aliases stand for more than" in why(bomb, "d.yaml")[0]


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"\xef\xbb\xbfa: 1", "byte order mark"),
        ("a: 1".encode("utf-16"), "UTF-16"),
        ("a: 1".encode("utf-16-be"), "UTF-16"),
        (b"a: \xff\xfe", "not UTF-8"),
        (b"a: \xed\xa0\x80", "not UTF-8"),
        (b"long enough: a\x00b", "NUL"),
    ],
)
def test_only_plain_utf8_is_read(data: bytes, part: str) -> None:
    for name in ("d.json", "d.yaml", "d"):
        assert part in why(data, name)[0]


def test_a_large_document_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(DocumentTooLarge) as caught:
        read_document(b"[" * (LIMIT + 1), name="d.json")
    assert caught.value.facts["size"] == LIMIT + 1


def test_the_name_or_the_first_character_tells_the_syntax() -> None:
    assert read_document(b"{a: 1}", name="d.yml").data == {"a": 1}
    assert read_document(b' {"a": 1}', name="stdin").data == {"a": 1}
    assert read_document(b"a: 1", name="stdin").data == {"a": 1}
    with pytest.raises(DocumentUnreadable):
        read_document(b"{a: 1}", name="stdin")


def test_a_document_of_no_language_is_told() -> None:
    with pytest.raises(LanguageUnknown) as caught:
        compile_document(b"a: 1", name="d.yaml")
    assert "diagram" in str(caught.value)
    with pytest.raises(LanguageUnknown):
        compile_document(b"version: light", name="d.yaml", language="nonsense")
    language, findings = check_document(b"a: 1", name="d.yaml")
    assert language is None
    assert [f.rule for f in findings] == ["PS-422-LANGUAGE"]


@pytest.mark.parametrize("data", [b"a: [1", b"\xff", b"", b"x" * (LIMIT + 1), b"[]", b"3", b"version: light"])
def test_check_never_raises_for_a_mistake(data: bytes) -> None:
    _, findings = check_document(data, name="d.yaml")
    assert any(f.severity == "error" for f in findings)
