"""Executions that the stories are about: pictures that become thumbnails, a table whose notice is refused."""

from __future__ import annotations

import io
import json
import threading
from typing import Any

from tests.api.pipelines import FileSite
from tests.app.pipelines import a_pipeline, a_stage

PICTURES, ORDERS = "IMG_INSPECT", "XLS_ORDER"


def picture(width: int = 960, height: int = 640) -> bytes:
    """A weld on a plate, drawn."""
    from PIL import Image, ImageDraw, ImageFilter

    image = Image.new("RGB", (width, height), (96, 108, 116))
    draw = ImageDraw.Draw(image)
    for y in range(0, height, 8):
        shade = 88 + (y * 37 % 23)
        draw.line([(0, y), (width, y)], fill=(shade, shade + 10, shade + 16), width=4)
    middle = height // 2
    for x in range(20, width - 20, 26):
        box = [x, middle - 34 + x % 11, x + 44, middle + 34 - x % 7]
        draw.ellipse(box, fill=(176, 128, 84), outline=(108, 70, 40), width=5)
    draw.rectangle([width * 3 // 5, middle - 70, width * 3 // 5 + 130, middle + 70], outline=(230, 60, 40), width=7)
    out = io.BytesIO()
    image.filter(ImageFilter.GaussianBlur(1)).save(out, "PNG")
    return out.getvalue()


def _below(code: str) -> dict[str, Any]:
    return {"field": "key", "op": "glob", "value": f"{code}/*"}


def pictures(site: FileSite) -> str:
    """Five stages, two of them side by side."""
    stages = [
        a_stage("checksum", 1, stage_name="체크섬", processor_type="Checksum"),
        a_stage("small", 2, stage_name="썸네일 200", processor_type="ImageThumbnail",
                processor_config={"width": 200, "height": 200}),
        a_stage("large", 2, stage_name="썸네일 800", processor_type="ImageThumbnail",
                processor_config={"width": 800, "height": 800}),
        a_stage("describe", 3, stage_name="사진 설명", processor_type="MetadataExtractor"),
        site.calls("register", 4, "qms", stage_name="품질 시스템 등록", max_retries=1,
                   processor_config={"retry_delay_seconds": 0}),
    ]  # fmt: skip
    return site.defined(
        a_pipeline(PICTURES, pipeline_name="검사 사진", priority=20, trigger_conditions=_below(PICTURES),
                   parallelism=2, stages=stages)
    )  # fmt: skip


def orders(site: FileSite) -> str:
    """A table becomes rows; what may fail fails, and the execution goes on."""
    stages = [
        a_stage("rows", 1, stage_name="표 읽기", processor_type="CsvToJson"),
        site.calls("notify", 2, "notify", stage_name="알림", is_optional=1),
    ]
    return site.defined(
        a_pipeline(ORDERS, pipeline_name="발주서 표", file_type="ANY", priority=60,
                   trigger_conditions=_below(ORDERS), stages=stages)
    )  # fmt: skip


CSV = "heat,C,Si,Mn,note\n" + "".join(f"K74{n},0.1{n % 9},0.3{n % 7},1.4{n % 5},정상\n" for n in range(12, 30))


class Scene:
    """One of each: completed, completed with a warning, failed, running, cancelled on request, and a dead message."""

    def __init__(self, site: FileSite) -> None:
        self.site, self.data = site, picture()
        pictures(site)
        orders(site)
        self.done = self.picture("L01_cam3_142133.png")
        site.ended(self.done)
        site.answers["notify"] = 503
        self.warned = self.table("발주서_2026-11.csv")
        site.ended(self.warned)
        site.answers["qms"] = 503
        self.failed = self.picture("L03_weld_140736.png")
        site.ended(self.failed)
        site.answers.pop("qms")

    def picture(self, name: str) -> str:
        return self.site.begun(PICTURES, name, self.data, mime="image/png")

    def table(self, name: str) -> str:
        return self.site.begun(ORDERS, name, CSV.encode(), mime="text/csv")

    def hold(self, name: str = "qms") -> threading.Event:
        """What asks there waits until it is let go."""
        self.site.held[name] = event = threading.Event()
        return event

    def dead_message(self) -> None:
        """One that names no bucket lies on the queue of the dead after five tries."""
        store_message = {"key": "scan/주문.png", "size": 10, "occurredAt": "2026-11-16T10:00:00Z"}
        answer = self.site.operator.post("/pipelines/ingest?queue=true", content=json.dumps(store_message))
        assert answer.status_code == 202, answer.text
