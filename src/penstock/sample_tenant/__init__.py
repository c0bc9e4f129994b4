"""The data of the sample tenant (C-81): what it has registered, its database, its documents."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

_FOLDER = files(__name__)


def registered() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Everything it has registered: type, id, body."""
    by_type: dict[str, dict[str, dict[str, Any]]] = msgspec.json.decode((_FOLDER / "tenant.json").read_bytes())
    for type, bodies in by_type.items():
        for id, body in bodies.items():
            yield type, id, body
    for pack in _json_files("rule_packs"):
        body = msgspec.json.decode(pack.read_bytes())
        yield "rule_pack", body["id"], body


def deployed() -> list[dict[str, str]]:
    """What is in force in its environments: type, id, version, environment."""
    rows: list[dict[str, str]] = msgspec.json.decode((_FOLDER / "deployments.json").read_bytes())
    return rows


def database_script() -> str:
    """The SQL that makes its database."""
    return (_FOLDER / "sample.sql").read_text("utf-8")


def documents() -> list[bytes]:
    """Its documents, in the order of their file names."""
    return [file.read_bytes() for file in _json_files("documents")]


def _json_files(folder: str) -> list[Traversable]:
    entries = (_FOLDER / folder).iterdir()
    return sorted((file for file in entries if file.name.endswith(".json")), key=lambda file: file.name)


def past_judgments(now: int) -> Iterator[dict[str, Any]]:
    """Three hundred judgments of the last seven days by quality_rules_v2 2.0.0, each with what a person said later.

    Made, not stored: two lines that are troubled now and then. A rate from 0.04 on was nearly always a real problem,
    one below 0.03 nearly never; so a lower limit catches more of them, at the price of some false alarms."""
    day, chooser = 24 * 3_600_000, random.Random(2_0_0)  # noqa: S311 (sample data)
    for index in range(300):
        line = "L01" if index % 2 == 0 else "L02"
        at = now - 7 * day + 3_600_000 + index * (7 * day - 2 * 3_600_000) // 300
        produced = chooser.randrange(900, 1500)
        troubled = chooser.random() < (0.18 if line == "L01" else 0.26)
        usual, spread = (0.045, 0.008) if troubled else (0.013, 0.007)
        count = round(produced * min(0.095, max(0.002, chooser.gauss(usual, spread))))
        rate = round(count / produced, 4)
        decision = "critical" if rate >= 0.05 else "warning" if rate >= 0.03 else "normal"
        row = {"line_id": line, "defect_rate": rate, "defect_count": count, "produced": produced}
        yield {
            "id": f"sample_{index + 1:03}", "at": at, "line_id": line, "rule_pack_id": "quality_rules_v2",
            "data": [row], "context": {"line_id": line}, "decision": decision,
            "confidence": {"critical": 0.95, "warning": 0.8, "normal": 1.0}[decision],
            "label": _labelled(rate, chooser.random()),
        }  # fmt: skip


def _labelled(rate: float, chance: float) -> str:
    """What a person said of a rate; now and then somebody sees it otherwise."""
    if rate >= 0.04:
        return "critical" if chance < 0.9 else "warning"
    if rate >= 0.03:
        return "warning" if chance < 0.85 else "normal"
    return "normal" if chance < 0.96 else "warning"
