"""Takes the console's pictures for the docs: `python -m tools.screens` writes docs/assets/console-*.png.

It serves a store of its own on a free port, starts runs whose nodes have people's names, and looks with chromium. It
needs playwright and a chromium on the PATH; the console must be built (`python -m tools.console`).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tools import screen_draft, screen_manual, screen_mining, screen_plan, screen_rollout

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "docs" / "assets"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
NAMES = {
    "ko": {
        "title": "불량 경보 워크플로우", "data_defect": "불량 데이터", "judge_quality": "품질 판정",
        "switch_severity": "심각도", "parallel_emergency": "동시 처리", "action_slack_emergency": "슬랙 긴급 알림",
        "action_sms_manager": "관리자 문자", "action_create_ticket": "지라 티켓", "action_warning": "경고 알림",
        "action_log": "정상 기록", "approval_required": "승인 필요?", "request_approval": "검토 승인",
        "asked": "긴급 불량 알람 검토 요청",
    },
    "en": {
        "title": "Defect alarm", "data_defect": "Defect data", "judge_quality": "Judge quality",
        "switch_severity": "Severity", "parallel_emergency": "Parallel", "action_slack_emergency": "Slack alert",
        "action_sms_manager": "SMS to manager", "action_create_ticket": "Jira ticket",
        "action_warning": "Warning alert", "action_log": "Log normal", "approval_required": "Approval?",
        "request_approval": "Review", "asked": "Review request: critical defect alarm",
    },
}  # fmt: skip


#: pictures that lie in the bucket
FILES = ("L01_cam3_142133.jpg", "L02_cam2_142141.jpg", "L03_weld_140736.jpg")
#: and texts, of which two are read at once
CERTIFICATES = tuple(f"mill-cert_H24-09{n}.txt" for n in (17, 18, 21, 22))
#: one that somebody is still writing
UNFINISHED = "batch_0711.tif"


def alarm(locale: str, gateway: str) -> dict[str, Any]:
    """The sample alarm with names on its nodes, four days of data, and a gateway that fails the first time."""
    names = NAMES[locale]
    document: dict[str, Any] = json.loads((ROOT / "examples/decision/defect_alert.json").read_text(encoding="utf-8"))
    document |= {"id": f"defect_alarm_{locale}", "name": names["title"], "version": 1, "trigger": {"type": "manual"}}
    for node in document["nodes"]:
        node["name"] = names[node["id"]]
        if node["id"] == "data_defect":
            node["params"]["start_date"] = "${fn.date_add(fn.now(), -6, 'day')}"
        if node["id"] == "action_sms_manager":
            config = {"url": f"{gateway}/sms", "method": "POST", "body": {"text": "${judgment_result.decision}"}}
            del node["template"]
            node |= {"channel": {"type": "webhook", "config": config}, "retry": {"max": 3, "backoff_ms": 2500}}
        if node["id"] == "request_approval":
            node["request"]["title"] = names["asked"]
    return document


def inspection(locale: str, gateway: str) -> dict[str, Any]:
    """A pipeline of pictures: two thumbnails side by side, and a system at its end that refuses."""
    ko = locale == "ko"
    stages: list[tuple[str, int, str, str, dict[str, Any]]] = [
        ("checksum", 1, "체크섬" if ko else "Checksum", "Checksum", {}),
        ("small", 2, "썸네일 200" if ko else "Thumbnail 200", "ImageThumbnail", {"width": 200, "height": 200}),
        ("large", 2, "썸네일 800" if ko else "Thumbnail 800", "ImageThumbnail", {"width": 800, "height": 800}),
        ("describe", 3, "사진 설명" if ko else "Description", "MetadataExtractor", {"input_stage": "large"}),
        ("register", 4, "품질 시스템 등록" if ko else "Register in QMS", "HttpCall",
         {"url": f"{gateway}/closed", "method": "POST", "retry_delay_seconds": 1}),
    ]  # fmt: skip
    code = f"IMG_INSPECT_{locale.upper()}"
    only = {"field": "key", "op": "glob", "value": f"{locale}/*"}
    return {
        "pipeline_code": code, "pipeline_name": "검사 사진" if ko else "Inspection pictures", "file_type": "IMAGE",
        "priority": 20, "parallelism": 2, "max_retries": 0, "trigger_conditions": only,
        "stages": [
            {"stage_code": stage, "sequence_order": order, "stage_name": name, "processor_type": processor,
             "processor_config": config, "max_retries": 2 if stage == "register" else 0}
            for stage, order, name, processor, config in stages
        ],
    }  # fmt: skip


def certificates(gateway: str) -> dict[str, Any]:
    """Texts that are read and given to a system that takes its time: two at once, and the others wait."""
    stages = (
        ("check", "파일 확인", "Checksum", {}), ("read", "글자 읽기", "TextExtractor", {}),
        ("register", "품질 시스템 등록", "HttpCall", {"url": f"{gateway}/slow", "method": "POST"}),
    )  # fmt: skip
    return {
        "pipeline_code": "PDF_CERT", "pipeline_name": "성적서 읽기", "file_type": "ANY", "priority": 50,
        "configuration": {"max_executions": 2},
        "trigger_conditions": {"field": "key", "op": "glob", "value": "certs/*"},
        "stages": [
            {"stage_code": code, "sequence_order": n, "stage_name": name, "processor_type": processor,
             "processor_config": config}
            for n, (code, name, processor, config) in enumerate(stages, 1)
        ],
    }  # fmt: skip


def weld() -> bytes:
    """A photograph of a weld, drawn."""
    from PIL import Image, ImageDraw, ImageFilter

    image = Image.new("RGB", (1280, 853), (92, 104, 112))
    draw = ImageDraw.Draw(image)
    for y in range(0, 853, 6):
        shade = 84 + y * 37 % 29
        draw.line([(0, y), (1280, y)], fill=(shade, shade + 9, shade + 15), width=3)
    for x in range(-20, 1300, 22):
        high = 400 + (x * x // 900) % 14
        draw.ellipse([x, high, x + 58, high + 92 - x % 9], fill=(182, 134, 92), outline=(112, 74, 44), width=6)
        draw.arc([x + 8, high + 10, x + 46, high + 66], 200, 320, fill=(232, 196, 150), width=5)
    draw.rectangle([760, 360, 930, 530], outline=(226, 58, 40), width=8)
    out = io.BytesIO()
    image.filter(ImageFilter.GaussianBlur(1.4)).save(out, "JPEG", quality=88)
    return out.getvalue()


class Gateway(BaseHTTPRequestHandler):
    """Answers every other request with 504, so that a retry can be seen; what is closed answers 503, and what is slow
    answers late."""

    asked = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        type(self).asked += 1
        time.sleep(20 if self.path == "/slow" else 0.4)
        body = b'{"status": "sent"}'
        self.send_response(
            200 if self.path == "/slow" else 503 if self.path == "/closed" else 504 if type(self).asked % 2 else 200
        )
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def gateway() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()


@contextlib.contextmanager
def served(documents: list[dict[str, Any]], allowed: str) -> Iterator[str]:
    """A dev server over a store of its own, which may call the gateway; its address."""
    with tempfile.TemporaryDirectory() as place:
        inbox = Path(place, "inbox")
        for below in (*NAMES, "certs"):
            (inbox / below).mkdir(parents=True)
        scan = Path(place, "scan-2f")
        scan.mkdir()
        buckets = f'[pipelines.buckets]\ninbox = "file://{inbox}"\nscan-2f = "file://{scan}"\n'
        buckets += '[pipelines.watch]\nscan-2f = "tenant_001"\n'
        for name in CERTIFICATES:
            (inbox / "certs" / name).write_bytes(certificate())
        Path(place, "settings.toml").write_text(f'[http]\nallow = ["{allowed}"]\n{buckets}')
        for locale in NAMES:
            for name in FILES:
                (inbox / locale / name).write_bytes(weld())
        folder = Path(place, "documents")
        folder.mkdir()
        for document in documents:
            Path(folder, f"{document.get('id') or document['pipeline_code']}.json").write_text(
                json.dumps(document, ensure_ascii=False)
            )
        command = [sys.executable, "-m", "penstock", "dev", str(folder), "--port", "0", "--store", f"{place}/store.db"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"}
        log = Path(place, "log.txt")
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(command, cwd=place, env=environment, stdout=out, stderr=out, text=True)
        over = threading.Event()
        threading.Thread(target=_keep_writing, args=(scan / UNFINISHED, over), daemon=True).start()
        try:
            yield _up(process, log)
        finally:
            over.set()
            process.terminate()
            process.wait(20)


def certificate() -> bytes:
    lines = ("INSPECTION CERTIFICATE 3.1", "Certificate H24-0917", "Product SM490A plate 12 t", "Heat no. K7412")
    return "\n".join(lines).encode()


def _keep_writing(file: Path, over: threading.Event) -> None:
    while not over.wait(0.1):
        with contextlib.suppress(FileNotFoundError), file.open("ab") as out:  # its folder may be gone
            out.write(b"II*")


def _up(process: subprocess.Popen[str], log: Path) -> str:
    """Its address, once it answers there."""
    for _ in range(240):
        said = log.read_text(encoding="utf-8")
        found = re.search(r"http://[^\s/]+", said)
        if process.poll() is not None:
            raise SystemExit(f"The server did not start:\n{said}")
        if found is not None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{found.group()}/api/v1/health", timeout=5):
                return found.group()
        time.sleep(0.25)
    raise SystemExit(f"The server does not answer:\n{said}")


class Eyes:
    """A browser that looks as somebody, in a tongue, a theme and a size."""

    def __init__(self, browser: Any, base: str) -> None:
        self.browser, self.base = browser, base

    @contextlib.contextmanager
    def of(self, user: str, locale: str, theme: str, size: tuple[int, int], scale: float = 1) -> Iterator[Any]:
        context = self.browser.new_context(
            viewport={"width": size[0], "height": size[1]}, device_scale_factor=scale, locale=f"{locale}-KR",
            timezone_id="Asia/Seoul", has_touch=size[0] < 700,
        )  # fmt: skip
        chosen = {"ps.theme": theme, "ps.locale": locale}
        for name, value in chosen.items():
            context.add_init_script(f"localStorage.setItem({name!r}, {value!r})")
        self._post(context, "/dev/session", {"user": f"{user}@example.com"})
        page = context.new_page()
        yield page
        context.close()

    def start(self, page: Any, definition: str, **given: Any) -> str:
        return str(self._post(page.context, "/runs", {"definition": definition, "input": given}).json()["id"])

    def begin(self, page: Any, process: str) -> str:
        """An instance of a process of the sample tenant."""
        told = self._post(page.context, f"/processes/definitions/{process}/instances", {}).json()
        return str(told["proc_inst_id"])

    def approve(self, page: Any, path: str) -> None:
        self._post(page.context, path, {})

    def run(self, page: Any, id: str) -> dict[str, Any]:
        return dict(page.context.request.get(f"{self.base}/api/v1/runs/{id}").json())

    def _post(self, context: Any, path: str, body: dict[str, Any]) -> Any:
        answer = context.request.post(f"{self.base}/api/v1{path}", data=body, headers={"X-Penstock": "1"})
        if not answer.ok:
            raise SystemExit(f"{path}: {answer.status} {answer.text()}")
        return answer

    def shoot(self, page: Any, path: str, name: str) -> None:
        page.goto(self.base + path)
        drawn = path.startswith(("/runs/", "/definitions/", "/pipelines/", "/manuals/"))
        page.wait_for_selector(
            "[data-node]" if drawn else ".djs-element" if "/diff/" in path else "h1", state="attached"
        )
        page.wait_for_selector(".skeleton", state="detached")
        page.wait_for_timeout(1500)  # what moves comes to rest
        page.add_style_tag(content=".mono.cut[title^='/'] { visibility: hidden }")  # no folder of this machine
        page.screenshot(path=ASSETS / f"console-{name}.png")
        print(f"docs/assets/console-{name}.png")

    def process(self, page: Any) -> str:
        """The sample process: a person has handed in, one agent has verified, another one's draft waits."""
        source = ROOT / "examples/process/data_registration.json"
        document = {**json.loads(source.read_text(encoding="utf-8")), "parent_id": ""}
        id = self._post(page.context, "/processes/definitions", document).json()["id"]
        told = self._post(page.context, f"/processes/definitions/{id}/instances", {"input_data": {}}).json()
        run = str(told["proc_inst_id"])
        first = self.items(page, run)[0]["id"]
        given = {"result_data": {"document": "11월 데이터 등록서"}}
        self._post(page.context, f"/processes/workitems/{first}:submit", given)
        for _ in range(80):
            if self.items(page, run)[-1]["status"] == "SUBMITTED":
                return run
            time.sleep(0.25)
        raise SystemExit(f"{run} has no draft")

    def files(self, page: Any, locale: str) -> list[str]:
        """The executions of the pictures of the bucket, when all have ended."""
        made = [self._come(page, f"{locale}/{name}", len(weld()), "image/jpeg") for name in FILES]
        for _ in range(160):
            if not any(self.run(page, id)["state"] in ("PENDING", "RUNNING", "WAITING") for id in made):
                return made
            time.sleep(0.25)
        raise SystemExit("the files were not processed")

    def queue(self, page: Any) -> list[str]:
        """Executions of texts, when two work at their last stage and the others wait; and a schedule."""
        daily = {
            "schedule_name": "협력사 파일 수집", "pipeline_code": "PDF_CERT", "schedule_type": "CRON",
            "cron_expression": "0 18 * * *", "timezone": "Asia/Seoul",
        }  # fmt: skip
        self._post(page.context, "/pipelines/schedules", daily)
        made = [self._come(page, f"certs/{name}", len(certificate()), "text/plain") for name in CERTIFICATES]
        for _ in range(80):
            looks = [page.context.request.get(f"{self.base}/api/v1/pipelines/executions/{id}").json() for id in made]
            if sum(look["currentStage"] == "register" for look in looks) == 2:
                return made
            time.sleep(0.1)
        raise SystemExit("the texts are not in work")

    def _come(self, page: Any, key: str, size: int, mime: str) -> str:
        message = {
            "type": "s3.object.created", "bucket": "inbox", "key": key, "size": size, "mime": mime,
            "occurredAt": "2026-11-16T05:07:36Z", "tenantId": "tenant_001",
        }  # fmt: skip
        return str(self._post(page.context, "/pipelines/ingest", message).json()["files"][0]["executionIds"][0])

    def items(self, page: Any, run: str) -> list[dict[str, Any]]:
        answer = page.context.request.get(f"{self.base}/api/v1/processes/instances/{run}")
        return list(answer.json()["workitems"])


def waiting(eyes: Eyes, page: Any, id: str) -> None:
    for _ in range(80):
        if eyes.run(page, id)["state"] not in ("PENDING", "RUNNING"):
            return
        time.sleep(0.25)
    raise SystemExit(f"{id} did not come to rest")


def pictures(eyes: Eyes) -> None:
    wide, phone = (1440, 900), (390, 844)
    with eyes.of("admin", "ko", "light", wide) as page:
        runs = [eyes.start(page, f"defect_alarm_{locale}", line_id="L01") for locale in ("ko", "en", "ko")]
        for id in runs:
            waiting(eyes, page, id)
        eyes.shoot(page, f"/runs/{runs[0]}", "run-light-ko")
        process = eyes.process(page)
        eyes.shoot(page, f"/runs/{process}", "process-light-ko")
        eyes.shoot(page, "/definitions/data_registration?node=classify", "definition-light-ko")
        undone = eyes.begin(page, "order_settlement")  # its last step fails, and all of it is undone
        waiting(eyes, page, undone)
        eyes.shoot(page, f"/runs/{undone}", "process-undone-light-ko")
        execution = eyes.files(page, "ko")[-1]
        eyes.shoot(page, f"/pipelines/{execution}", "execution-light-ko")
        eyes.queue(page)
        eyes.shoot(page, "/pipelines", "pipelines-light-ko")
        eyes.shoot(page, "/ops/dead-letters?cause=IMG_INSPECT_KO/register/HTTP_5XX", "dead-letters-light-ko")
        screen_plan.take(page.context.request, eyes.base, lambda path: eyes.shoot(page, path, "plan-light-ko"))
        mined = screen_mining.discovered(page.context.request, eyes.base)
        screen_mining.take_map(lambda path: eyes.shoot(page, path, "mining-light-ko"))
        screen_draft.take(page.context.request, eyes.base, lambda path: eyes.shoot(page, path, "draft-light-ko"))
        screen_manual.take(page.context.request, eyes.base, lambda path: eyes.shoot(page, path, "manual-light-ko"))
        with eyes.of("manager", "ko", "light", wide) as other:
            screen_rollout.take(
                page.context.request, eyes.base, lambda path: eyes.approve(other, path),
                lambda path, name: eyes.shoot(page, path, f"{name}-light-ko"),
            )  # fmt: skip
        # the moment in which the first try has failed and the next one is not due
        facts = page.context.request.get(f"{eyes.base}/api/v1/runs/{runs[1]}/facts?limit=500").json()["items"]
        failed = next((fact["seq"] for fact in facts if fact["fact"] == "attempt.failed"), 1)
    with eyes.of("manager", "ko", "light", wide) as page:
        eyes.shoot(page, "/", "home-light-ko")
        eyes.shoot(page, f"/inbox/{runs[0]}/request_approval", "inbox-light-ko")
        eyes.shoot(page, "/runs", "runs-light-ko")
        eyes.shoot(page, f"/inbox/{process}/classify", "inbox-work-light-ko")
    with eyes.of("admin", "en", "dark", wide) as page:
        eyes.shoot(page, f"/runs/{runs[1]}?at={failed}&tab=attempts", "run-dark-en")
        eyes.shoot(page, f"/pipelines/{eyes.files(page, 'en')[-1]}", "execution-dark-en")
        screen_mining.take_diff(mined, lambda path: eyes.shoot(page, path, "mining-diff-dark-en"))
    with eyes.of("manager", "ko", "light", phone, 2) as page:
        eyes.shoot(page, f"/inbox/{runs[0]}/request_approval", "inbox-phone-light-ko")


def main() -> int:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("This needs playwright: pip install playwright", file=sys.stderr)
        return 1
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    ASSETS.mkdir(parents=True, exist_ok=True)
    with (
        gateway() as url,
        served(
            [*(make(locale, url) for make in (alarm, inspection) for locale in NAMES), certificates(url)],
            url.removeprefix("http://"),
        ) as base,
        sync_playwright() as play,
    ):
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        pictures(Eyes(browser, base))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
