"""Chunks of a manual, as a model reads it: at most 800 tokens, split at the ends of paragraphs, without overlap."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import msgspec

from penstock.lang.process.text_import.manual_text import ManualText, Sentence

MAX_TOKENS = 800
_SYLLABLE = re.compile("[\uac00-\ud7a3]")
Tokenizer = Callable[[str], int]


class Chunk(msgspec.Struct, frozen=True):
    """`first` and `last` are the ids of its first and last sentence."""

    number: int
    tokens: int
    first: str
    last: str
    text: str


def tokens_of(text: str) -> int:
    """P-X.41, offline: one token per Hangul syllable, and per four bytes of UTF-8 of everything else."""
    syllables = 0 if text.isascii() else len(_SYLLABLE.findall(text))
    return syllables + math.ceil((len(text.encode(errors="replace")) - 3 * syllables) / 4)


def chunks_of(manual: ManualText, count: Tokenizer = tokens_of, most: int = MAX_TOKENS) -> list[Chunk]:
    """Paragraphs together while they fit. One that is too long alone is split at its sentences, a sentence that is too
    long alone at its words."""
    spans: list[tuple[int, int, Sentence, Sentence]] = []
    for part in _parts(manual, count, most):
        _, end, first, last = part
        if spans and first.paragraph != spans[-1][3].paragraph and count(manual.text[spans[-1][0] : end]) <= most:
            spans[-1] = (spans[-1][0], end, spans[-1][2], last)
        else:
            spans.append(part)
    return [
        Chunk(number, count(manual.text[start:end]), first.id, last.id, manual.text[start:end])
        for number, (start, end, first, last) in enumerate(spans, 1)
    ]


def _parts(manual: ManualText, count: Tokenizer, most: int) -> list[tuple[int, int, Sentence, Sentence]]:
    """Paragraphs that fit, and pieces of those that do not."""
    paragraphs: dict[int, list[Sentence]] = {}
    for sentence in manual.sentences:
        paragraphs.setdefault(sentence.paragraph, []).append(sentence)
    parts: list[tuple[int, int, Sentence, Sentence]] = []
    for group in paragraphs.values():
        start, end = _line_start(manual.text, group[0].start), group[-1].end
        if count(manual.text[start:end]) <= most:
            parts.append((start, end, group[0], group[-1]))
            continue
        piece: tuple[int, int, Sentence, Sentence] | None = None
        for sentence in group:
            begin = start if sentence is group[0] else sentence.start
            if piece is not None and count(manual.text[piece[0] : sentence.end]) <= most:
                piece = (piece[0], sentence.end, piece[2], sentence)
                continue
            parts += [piece] if piece is not None else []
            *full, (begin, finish) = _cut(manual.text, begin, sentence.end, count, most)
            parts += [(first, last, sentence, sentence) for first, last in full]
            piece = (begin, finish, sentence, sentence)
        parts += [piece] if piece is not None else []
    return parts


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _cut(text: str, start: int, end: int, count: Tokenizer, most: int) -> list[tuple[int, int]]:
    """A sentence in pieces that fit, cut after a word where there is one."""
    pieces: list[tuple[int, int]] = []
    while (far := _too_far(text, start, end, count, most)) is not None:
        low, high = start + 1, far
        while low < high:  # the longest beginning that fits
            middle = (low + high + 1) // 2
            low, high = (middle, high) if count(text[start:middle]) <= most else (low, middle - 1)
        space = text.rfind(" ", start + 1, low + 1)
        cut = space if space > start else low
        pieces.append((start, cut))
        start = cut
    return [*pieces, (start, end)]


def _too_far(text: str, start: int, end: int, count: Tokenizer, most: int) -> int | None:
    """An end with which a piece is too long, and not by far: the rest may be the whole manual; None: the rest fits."""
    length = most
    while count(text[start : min(start + length, end)]) <= most:
        if start + length >= end:
            return None
        length *= 2
    return min(start + length, end)
