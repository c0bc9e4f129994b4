"""Finds similar judgments and documents by the letters of their words.

Korean has no spaces where a search needs them, so words are cut into pairs of letters: a word of two letters is found
inside a longer one. Two opinions are put together: BM25 over those pairs (rare ones count more; SQLite's FTS5), and the
cosine between hashed counts of one, two and three letters (nearly the same word counts too). The same contents and the
same question give the same answer on every machine.
"""

from __future__ import annotations

import math
import re
import sqlite3
import threading
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_WORD = re.compile(r"[^\W_]+")
_MOST_TEXT = 20_000  # characters of one thing that are looked at
_MOST_PAIRS = 256  # of a question
_MOST_DEPTH = 32
_CANDIDATES = 400  # so many of BM25's best are looked at more closely
_WEIGHT = {1: 0.25, 2: 1.0, 3: 1.0}  # a single letter says little


class SimilarityIndex:
    """A collection in memory. Adding an id again replaces what it had. Calls from several threads take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        # `ascii` takes every letter beyond ASCII as part of a token, so pairs stay what they were cut to.
        self._db.execute("CREATE VIRTUAL TABLE pairs USING fts5(cut, tokenize='ascii')")
        self._rows: dict[str, int] = {}  # id -> row; rows are numbered as they come
        self._things: dict[int, tuple[dict[str, Any], dict[int, float]]] = {}
        self._next = 1

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, id: str) -> bool:
        return id in self._rows

    def add(self, id: str, text: Any, payload: Mapping[str, Any] | None = None) -> None:
        """A text or an object, found by its words. A hit carries the payload; without one the text or the object."""
        words = _words(text)
        if payload is None:
            payload = text if isinstance(text, Mapping) else {"text": text}
        cut = " ".join(pair for word in words for pair in (*_pairs(word), word[-1]))
        with self._lock:
            self._remove(id)
            row, self._next = self._next, self._next + 1
            self._rows[id] = row
            self._things[row] = ({**payload, "id": id}, _vector(words))
            self._db.execute("INSERT INTO pairs (rowid, cut) VALUES (?, ?)", (row, cut))

    def remove(self, id: str) -> None:
        with self._lock:
            self._remove(id)

    def search(self, query: Any, k: int = 5) -> list[dict[str, Any]]:
        """The k most similar, best first: `{id, score, …payload}`; the score is from 0 to 1, and 1 for the same words.
        What has no pair of letters in common with the question is not found at all."""
        words = _words(query)
        question = _vector(words)
        with self._lock:
            ranks = self._ranks(words)
            cosines = {row: _cosine(question, self._things[row][1]) for row in ranks}
            scores = _fused(cosines, ranks)
            best = sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[: max(0, k)]
            return [{**self._things[row][0], "score": score} for row, score in best]

    def _remove(self, id: str) -> None:
        row = self._rows.pop(id, None)
        if row is not None:
            del self._things[row]
            self._db.execute("DELETE FROM pairs WHERE rowid = ?", (row,))

    def _ranks(self, words: list[str]) -> dict[int, float]:
        """BM25 of the rows that share a pair, the best of them; greater is better."""
        pairs = dict.fromkeys(pair for word in words for pair in (_pairs(word) if len(word) > 1 else [word]))
        # A word of one letter is the beginning of a pair, or the last letter of a word.
        asked = [f'"{pair}"' if len(pair) > 1 else f'"{pair}" *' for pair in list(pairs)[:_MOST_PAIRS]]
        if not asked:
            return {}
        rows = self._db.execute(
            "SELECT rowid, -bm25(pairs) AS rank FROM pairs WHERE pairs MATCH ? ORDER BY rank DESC, rowid LIMIT ?",
            (" OR ".join(asked), _CANDIDATES),
        )
        return dict(rows.fetchall())


def _cosine(left: Mapping[int, float], right: Mapping[int, float]) -> float:
    if len(right) < len(left):
        left, right = right, left
    return math.fsum(weight * right[gram] for gram, weight in left.items() if gram in right)


def _fused(cosines: Mapping[int, float], ranks: Mapping[int, float]) -> dict[int, float]:
    """The middle of both opinions on the scale of the cosine: BM25 tells who is better, but not how good."""
    best = max(ranks.values(), default=0.0)
    scale = max(cosines.values(), default=0.0) / best if best > 0 else 0.0
    return {row: min(1.0, round((cosines[row] + rank * scale) / 2, 6)) for row, rank in ranks.items()}


# ---- words -----------------------------------------------------------------------------------------------------------


def _words(value: Any) -> list[str]:
    text = value if isinstance(value, str) else " ".join(_texts(value, "", 0))
    return _WORD.findall(unicodedata.normalize("NFKC", text[:_MOST_TEXT]).casefold())


def _texts(value: Any, name: str, depth: int) -> Iterator[str]:
    """The texts of an object. A number or a truth value says something only together with its name."""
    if depth > _MOST_DEPTH:
        raise ValueError(f"the object is nested more than {_MOST_DEPTH} deep, or contains itself")
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, f"{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, name, depth + 1)
    elif value is not None:
        yield f"{name} {value}"


def _pairs(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word) - 1)]


def _vector(words: list[str]) -> dict[int, float]:
    """Hashed counts of one, two and three letters, of length 1; where a word begins and ends is a letter too."""
    counts: Counter[str] = Counter()
    for word in words:
        edged = f" {word} "
        counts.update(word)
        for size in (2, 3):
            counts.update(edged[at : at + size] for at in range(len(edged) - size + 1))
    weights: dict[int, float] = {}
    for gram, count in sorted(counts.items()):
        number = zlib.crc32(gram.encode("utf-8", "surrogatepass"))
        weights[number] = weights.get(number, 0.0) + _WEIGHT[len(gram)] * (1.0 + math.log(count))
    length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
    return {gram: weight / length for gram, weight in weights.items()} if length else {}
