"""Something to look at in a new store of a demo: a pipeline of tables, one that it takes and one that it refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from secrets import token_hex

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import define
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.executors.parts.objects import ARTIFACTS, Buckets
from penstock.lang.pipeline.messages import FileMessage

_FOLDER = "tenants/{tenant}/samples/"
_DOCUMENT = {
    "pipeline_code": "ORDERS_SAMPLE",
    "pipeline_name": "주문 표",
    "description": "표의 체크섬과 행을 나란히 뽑고, 다시 글로 내놓아요.",
    "file_type": "ANY",
    "priority": 60,
    "parallelism": 2,
    "max_retries": 0,
    "trigger_conditions": {"field": "key", "op": "glob", "value": _FOLDER.format(tenant="*") + "*.csv"},
    "stages": [
        {"stage_code": "checksum", "stage_name": "체크섬", "sequence_order": 1, "processor_type": "Checksum"},
        {
            "stage_code": "rows", "stage_name": "표 읽기", "sequence_order": 1, "processor_type": "CsvToJson",
            "max_retries": 0,
            "output_validation": {
                "type": "object",
                "properties": {"columns": {"type": "array", "contains": {"const": "order"}}},
            },
        },
        {
            "stage_code": "text", "stage_name": "글로 보기", "sequence_order": 2, "processor_type": "TextExtractor",
            "is_optional": 1, "max_retries": 0,
        },
    ],
}  # fmt: skip
_FILES = {
    "orders-2026-11.csv": "order,part,amount\nO-1001,SM490A,12\nO-1002,SS400,40\nO-1003,SM490A,7\n",
    "orders-2026-12.csv": "part,amount\nSM490A,12\n",  # it names no order: somebody has to look
}


async def begin(door: Penstock) -> None:
    define(door, json.dumps(_DOCUMENT, ensure_ascii=False).encode())
    store = Buckets(door.host.dispatch.services)[ARTIFACTS]
    now = datetime.fromtimestamp(door.now() / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    messages = []
    for name, text in _FILES.items():
        key, data = _FOLDER.format(tenant=door.tenant) + name, text.encode()
        await store.put(key, data, "text/csv")
        messages.append(FileMessage(ARTIFACTS, key, len(data), "text/csv", door.tenant, None, token_hex(16), now))
    await Ingest(door).take(messages)
