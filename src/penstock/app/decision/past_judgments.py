"""Past judgments from elsewhere, and what people say of judgments: the history that simulations compare with."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from penstock.app.timestamps import moment
from penstock.errors import BadInput, JudgmentNotFound
from penstock.executors.parts.rules.merging import Routing
from penstock.store.simulations import LabelRow, PastJudgmentRow

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

Decision = Literal["normal", "warning", "critical", "unknown"]
MOST = 100_000  # judgments of one file
MOST_IN_A_REQUEST = 10_000  # the smallest that there are, in 1 MiB
_pack = msgspec.msgpack.Encoder().encode


class PastPolicy(msgspec.Struct):
    """How it was judged, as far as a replay reads it."""

    type: Literal["RULE_ONLY", "LLM_ONLY", "HYBRID", "ESCALATE"] = "RULE_ONLY"
    rule_pack_version: str | None = None
    llm_config: dict[str, Any] | None = None
    prompt_id: str | None = None
    routing: Routing | None = None


class PastAnswer(msgspec.Struct):
    """What the model had said of a HYBRID judgment."""

    decision: Decision
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]


class PastJudgmentEntry(msgspec.Struct, kw_only=True):
    """One judgment of an import. `label` is what it should have been, where somebody knows."""

    rule_pack_id: str
    at: str
    data: Any
    decision: Decision
    context: dict[str, Any] = {}
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    label: Decision | None = None
    id: str = ""
    policy: dict[str, Any] | None = None
    llm: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """What a replay will read must be readable; it is kept as it was written."""
        for name, value, type in (("policy", self.policy, PastPolicy), ("llm", self.llm, PastAnswer)):
            try:
                msgspec.convert(value, type | None)
            except msgspec.ValidationError as wrong:
                raise ValueError(f"{name}: {wrong}") from None
        if "/" in self.id:
            raise ValueError(f"id «{self.id}»: RUN/NUMBER names a judgment of a run")


class Imported(msgspec.Struct):
    count: int
    labelled: int


class Label(msgspec.Struct):
    judgment: str
    decision: str
    by: str
    note: str
    at: int


def read_entries(body: bytes, name: str = "") -> list[PastJudgmentEntry]:
    """The entries of a file: a JSON list, JSON lines, or CSV, whose columns beside at, decision, label, confidence,
    id and rule_pack_id are the fields of the judged row. Raises BadInput, with the number of the entry."""
    values = _csv(body) if name.endswith(".csv") else _json(body)
    if len(values) > MOST:
        raise BadInput(what="the file", why=f"it has {len(values):,} judgments, {MOST:,} are the most")
    return checked_entries(values)


def checked_entries(values: Sequence[Any]) -> list[PastJudgmentEntry]:
    """Raises BadInput, with the number of the entry."""
    entries = []
    for index, value in enumerate(values, 1):
        try:
            entry = msgspec.convert(value, PastJudgmentEntry)
        except msgspec.ValidationError as wrong:
            hint = "A judgment has rule_pack_id, at, data, decision; and perhaps label, confidence, context, id."
            raise BadInput(what=f"judgment {index}", why=str(wrong), hint=hint) from None
        entries.append(entry)
    return entries


def permissions_for(entries: Sequence[PastJudgmentEntry]) -> tuple[str, ...]:
    """What somebody needs to import them: a label says what is right, as whoever decides does."""
    labelled = any(entry.label is not None for entry in entries)
    return ("registry.write", "inbox.decide") if labelled else ("registry.write",)


def import_judgments(door: Queries, entries: list[PastJudgmentEntry], by: str, at: int) -> Imported:
    """In two commits; the same judgments again change nothing. `at` is when their labels are given."""
    rows = [_row(door.tenant, entry, index) for index, entry in enumerate(entries, 1)]
    labels = [
        LabelRow(door.tenant, row.id, entry.label, by, "", at)
        for row, entry in zip(rows, entries, strict=True)
        if entry.label is not None
    ]
    door.store.put_past_judgments(rows)
    door.store.put_labels(labels)
    return Imported(len(rows), len(labels))


def label_judgment(door: Queries, judgment: str, decision: Decision, by: str, at: int, note: str = "") -> Label:
    """What a judgment should have been; a later word takes the place of the one before. Raises JudgmentNotFound."""
    run, slash, firing = judgment.rpartition("/")
    own = door.store.judgment(run, int(firing)) if slash and firing.isdecimal() and len(firing) < 10 else None
    known = own is not None and own.tenant == door.tenant
    if not known and door.store.past_judgment(door.tenant, judgment) is None:
        raise JudgmentNotFound(judgment=judgment)
    door.store.put_labels([LabelRow(door.tenant, judgment, decision, by, note, at)])
    return Label(judgment, decision, by, note, at)


def _row(tenant: str, entry: PastJudgmentEntry, index: int) -> PastJudgmentRow:
    at = moment(entry.at, f"at of judgment {index}")
    policy = {"type": "RULE_ONLY", **(entry.policy or {}), "rule_pack_id": entry.rule_pack_id}
    output = {"decision": entry.decision, "confidence": entry.confidence, "decided_by": "rule"}
    body = {"input": {"data": entry.data, "context": entry.context, "policy": policy}, "output": output}
    if entry.llm is not None:
        body["llm"] = entry.llm
    packed = _pack(body)
    id = entry.id or f"past_{hashlib.blake2b(packed + str(at).encode(), digest_size=9).hexdigest()}"
    return PastJudgmentRow(tenant, id, entry.rule_pack_id, entry.decision, packed, at)


def _json(body: bytes) -> list[Any]:
    text = body.strip()
    try:
        if text.startswith(b"["):
            values = msgspec.json.decode(text, type=list[Any])
        else:
            values = [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise BadInput(what="the file", why=f"it is not JSON: {wrong}") from None
    return values


def _csv(body: bytes) -> list[Any]:
    try:
        rows = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig")), strict=True))
    except (csv.Error, UnicodeDecodeError) as wrong:
        raise BadInput(what="the file", why=f"it is not CSV: {wrong}") from None
    return [_csv_entry(row) for row in rows]


def _csv_entry(row: dict[str | Any, Any]) -> dict[str, Any]:
    own = ("rule_pack_id", "at", "decision", "label", "confidence", "id")
    entry: dict[str, Any] = {name: row[name] for name in own if row.get(name)}
    if "confidence" in entry:
        entry["confidence"] = _value(entry["confidence"])
    entry["data"] = [{name: _value(text) for name, text in row.items() if name is not None and name not in own}]
    return entry


def _value(text: Any) -> Any:
    """A number where it is one."""
    try:
        return msgspec.json.decode(text, type=float | bool | None) if isinstance(text, str) and text else text
    except msgspec.DecodeError:
        return text
