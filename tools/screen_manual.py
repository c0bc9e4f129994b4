"""A manual that was read, for the console's picture: what is doubtful in it is looked at beside its sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MANUAL = """# 설비 고장 처리

이 매뉴얼은 설비가 멈춘 뒤 누가 무엇을 하는지 정한다.

## 접수와 점검

1. 작업자: 고장을 접수하고 설비를 세운다.
2. 설비 담당자: 30분 안에 설비를 점검하고 점검표를 작성한다.
3. 수리비가 1000000을 넘으면 공장장이 수리를 승인한다. 그렇지 않으면 설비 담당자가 예비품을 꺼낸다.

## 수리와 확인

4. 설비 담당자: 설비를 수리한다.
5. 시운전이 불안하면 품질 담당자가 다시 검사한다. 그렇지 않으면 작업자가 생산을 다시 시작한다.
6. 작업자: 수리 결과를 기록한다.

## 처리 등급

| 긴급도 | 핵심 설비 | 처리 등급 |
|---|---|---|
| 높음 | 예 | 즉시 |
| 높음 | 아니오 | 당일 |
| 낮음 | - | 계획 |
"""


def take(request: Any, base: str, shoot: Callable[[str], None]) -> None:
    """The gateway whose condition the manual does not name is selected."""
    body = {"text": MANUAL, "id": "equipment_fault"}
    url = f"{base}/api/v1/processes/definitions:extract"
    answer = request.post(url, data=body, headers={"X-Penstock": "1"})
    if not answer.ok:
        raise SystemExit(f"{url}: {answer.status} {answer.text()}")
    read = answer.json()
    doubtful = min(
        (each for each in read["elements"] if each["collection"] == "gateways"), key=lambda each: each["confidence"]
    )
    shoot(f"/manuals/{read['id']}/v/{read['version']}?node=gateways.{doubtful['id']}")
