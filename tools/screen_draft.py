"""A drawing that somebody has brought, for the console's picture: some of what was missing is answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "examples/process/purchase_request.bpmn"


def take(request: Any, base: str, shoot: Callable[[str], None]) -> None:
    """Its lanes are answered, one of them by hand; the gateway without conditions is looked at."""
    drafts = f"{base}/api/v1/processes/drafts"
    draft = _post(request, drafts, {"name": FILE.name, "text": FILE.read_text(encoding="utf-8")})
    first, *others = (todo["key"] for todo in draft["todos"] if todo["kind"] == "lane_role")
    answers = [{"key": first, "answer": {"who": "role:operator"}}, *({"key": key, "proposal": 0} for key in others)]
    draft = _post(request, f"{drafts}/{draft['id']}:answer", {"number": draft["number"], "answers": answers})
    gateway = next(todo["no"] for todo in draft["todos"] if todo["kind"] == "gateway_conditions")
    shoot(f"/definitions/{draft['definitions'][0]['id']}/v/{draft['version']}?todo={gateway}")


def _post(request: Any, url: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = request.post(url, data=body, headers={"X-Penstock": "1"})
    if not answer.ok:
        raise SystemExit(f"{url}: {answer.status} {answer.text()}")
    return dict(answer.json())
