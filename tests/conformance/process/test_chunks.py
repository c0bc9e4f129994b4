"""Chunks of a manual: at most 800 tokens, at the ends of paragraphs, without overlap."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.lang.process.text_import.chunks import Chunk, chunks_of, tokens_of
from penstock.lang.process.text_import.manual_text import manual_of_text


def chunks(text: str) -> list[Chunk]:
    return chunks_of(manual_of_text(text))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("가", 1), ("가나다", 3), ("가 나", 3), ("ab가cd", 2), ("é" * 4, 2),
     ("漢", 1), ("漢字", 2), ("😀", 1), ("가abcd", 2)],
)  # fmt: skip
def test_p_x_41_how_tokens_are_counted_offline(text: str, tokens: int) -> None:
    """P-X.41, P-6.1.2: one per Hangul syllable, and one per four bytes of UTF-8 of all the rest."""
    assert tokens_of(text) == tokens


@pytest.mark.parametrize(("first", "second", "wanted"), [
    (400, 399, [800]), (400, 400, [400, 400]), (800, 1, [800, 1]), (799, 799, [799, 799]), (1, 798, [800]),
])  # fmt: skip
def test_p_x_41_paragraphs_stay_together_to_exactly_800(first: int, second: int, wanted: list[int]) -> None:
    """P-X.41, P-6.1.2: two syllables of paragraphs with an empty line between, which is a token, too."""
    text = "가" * first + "\n\n" + "나" * second
    assert [chunk.tokens for chunk in chunks(text)] == wanted


def test_p_x_41_a_chunk_ends_where_a_paragraph_ends() -> None:
    """P-X.41: no paragraph that fits alone is divided, whatever is left of the chunk before."""
    text = "\n\n".join("가" * 300 for _ in range(5))
    found = chunks(text)
    assert [chunk.text for chunk in found] == ["\n\n".join(["가" * 300] * 2)] * 2 + ["가" * 300]
    assert [(chunk.number, chunk.first, chunk.last) for chunk in found] == [
        (1, "s1", "s2"),
        (2, "s3", "s4"),
        (3, "s5", "s5"),
    ]


def test_p_x_41_a_paragraph_that_is_too_long_is_divided_at_its_sentences() -> None:
    """P-X.41: and a sentence that is too long alone at its words."""
    sentence = "가" * 298 + "다."
    found = chunks(" ".join([sentence] * 4))
    assert [chunk.text for chunk in found] == [f"{sentence} {sentence}"] * 2
    words = chunks(" ".join(["가나다라마"] * 300))
    assert all(chunk.tokens <= 800 for chunk in words)
    assert " ".join(chunk.text.strip() for chunk in words) == " ".join(["가나다라마"] * 300)
    assert [chunk.tokens for chunk in chunks("가" * 2000)] == [800, 800, 400]


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="가나다 ab.\n#-|1", max_size=3000), st.integers(min_value=1, max_value=40))
def test_p_x_41_nothing_is_lost_and_nothing_is_twice(text: str, most: int) -> None:
    """P-X.41: every letter is in one chunk, in its order, and none has more than it may."""
    manual = manual_of_text(text)
    found = chunks_of(manual, most=most)
    assert all(chunk.tokens == tokens_of(chunk.text) <= most for chunk in found)
    joined = "".join("".join(chunk.text.split()) for chunk in found)
    said = "".join("".join(sentence.text.split()) for sentence in manual.sentences)
    position = 0
    for letter in said:
        position = joined.find(letter, position) + 1
        assert position > 0
    ids = [sentence.id for sentence in manual.sentences]
    covered = [id for chunk in found for id in ids[ids.index(chunk.first) : ids.index(chunk.last) + 1]]
    assert list(dict.fromkeys(covered)) == ids


def test_p_x_41_a_tokenizer_of_another_model() -> None:
    """P-X.41: the count may be that of the configured model."""
    found = chunks_of(manual_of_text("one two three\n\nfour five six"), lambda text: len(text.split()), 4)
    assert [chunk.tokens for chunk in found] == [3, 3]
