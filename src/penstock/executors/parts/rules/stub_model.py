"""A deterministic stand-in for a model, for development and tests, without any network.

Its rule of thumb, over every object of the data (C-77):
- a text in a field called severity, status, level, grade, decision or result that says critical, fail, NG, 심각 …, or
  warning, caution, 주의 …, says what it says;
- a true flag called deviation, alarm, exceeded, out_of_spec is critical;
- a number in a field that ends in rate or ratio is critical from 0.05 and warning from 0.02 (a field that ends in pct
  or percent: from 5 and 2);
- a `value` beyond upper_limit/max or lower_limit/min is critical, in the outermost tenth of the span a warning.
The gravest sign decides, with confidence 0.9 (a warning 0.8). Data without any sign is unknown with 0.3, no data
unknown with 0. `options.answer` of the connection replaces any of the fields. It speaks Korean, or English where
`options.language` is `en`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from penstock.executors.parts.llm.chat import ChatMessage, ModelAnswer
from penstock.executors.parts.rules.pack import RANK

_WORDS = {
    **dict.fromkeys(
        ("critical", "fatal", "danger", "fail", "failed", "ng", "high", "심각", "위험", "불합격"), "critical"
    ),
    **dict.fromkeys(("warning", "warn", "caution", "medium", "주의", "경고"), "warning"),
    **dict.fromkeys(("normal", "ok", "pass", "passed", "good", "low", "정상", "합격"), "normal"),
}
_SAYING = frozenset({"severity", "status", "level", "grade", "decision", "result"})
_FLAGS = frozenset({"deviation", "alarm", "exceeded", "out_of_spec"})
_SHARES = ("rate", "ratio", "pct", "percent")
_MOST = 10_000  # objects that are looked at
_TEXTS = {
    "ko": {
        "sign": "{place} 값이 {value}입니다.",
        "none": "데이터에 판단할 만한 징후가 없습니다.",
        "nothing": "판단할 데이터가 없습니다.",
        "critical": "즉시 중지하고 점검하십시오.",
        "warning": "다음 기회에 점검하십시오.",
    },
    "en": {
        "sign": "{place} is {value}.",
        "none": "No sign in the data.",
        "nothing": "There is no data to judge.",
        "critical": "Stop and inspect.",
        "warning": "Inspect at the next opportunity.",
    },
}


class StubModel:
    """`complete` as every provider has it; it judges the data it was made with and reads no prompt."""

    def __init__(self, data: Any, options: Mapping[str, Any]) -> None:
        self.data, self.options = data, options

    async def complete(
        self, model: str, messages: list[ChatMessage], temperature: float, max_tokens: int, schema: Mapping[str, Any]
    ) -> ModelAnswer:
        answer = rule_of_thumb(self.data, str(self.options.get("language") or "ko"))
        fixed = self.options.get("answer")
        text = msgspec.json.encode({**answer, **fixed} if isinstance(fixed, Mapping) else answer).decode()
        read, written = sum(len(message["content"]) for message in messages) // 4, len(text) // 4
        return ModelAnswer(text, {"input": read, "output": written, "total": read + written}, "stub")


def rule_of_thumb(data: Any, language: str = "ko") -> dict[str, Any]:
    """The answer by the rule of thumb."""
    texts = _TEXTS.get(language) or _TEXTS["ko"]
    best, why = "", ""
    for place, (path, record) in enumerate(_objects(data, "data")):
        if place == _MOST:
            break
        for sign, reason in _signs(record, path):
            if not best or RANK[sign] > RANK[best]:
                best, why = sign, texts["sign"].format(place=reason[0], value=reason[1])
    if not best:
        confidence, why = (0.3, texts["none"]) if data else (0.0, texts["nothing"])
        return {"decision": "unknown", "confidence": confidence, "reasoning": why, "recommendations": []}
    wanted = [texts[best]] if best in texts else []
    confidence = 0.8 if best == "warning" else 0.9
    return {"decision": best, "confidence": confidence, "reasoning": why, "recommendations": wanted}


def _objects(data: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(data, Mapping):
        yield path, data
    inner = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list | tuple) else ()
    if depth < 6:
        for key, value in inner:
            if isinstance(value, Mapping | list | tuple):
                yield from _objects(value, f"{path}.{key}" if isinstance(key, str) else f"{path}[{key}]", depth + 1)


def _signs(record: Mapping[str, Any], path: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for name, value in record.items():
        key, shown = str(name).lower(), (f"{path}.{name}", f"{value!r:.40}")
        if key in _SAYING and isinstance(value, str) and (sign := _WORDS.get(value.strip().lower())):
            yield sign, shown
        elif value is True and key in _FLAGS:
            yield "critical", shown
        elif _number(value) is not None and key.endswith(_SHARES) and "yield" not in key:
            share = value / 100 if key.endswith(("pct", "percent")) else value
            yield ("critical" if share >= 0.05 else "warning" if share >= 0.02 else "normal"), shown
    yield from _limits(record, path)


def _limits(record: Mapping[str, Any], path: str) -> Iterator[tuple[str, tuple[str, str]]]:
    value = _number(record.get("value"))
    high = _number(record.get("upper_limit", record.get("max")))
    low = _number(record.get("lower_limit", record.get("min")))
    if value is None or (high is None and low is None):
        return
    shown = (f"{path}.value", f"{value!r:.40}")
    edge = (high - low) / 10 if high is not None and low is not None else 0
    if (high is not None and value > high) or (low is not None and value < low):
        yield "critical", shown
    elif (high is not None and value > high - edge) or (low is not None and value < low + edge):
        yield "warning", shown
    else:
        yield "normal", shown


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
