"""A plan for the console's pictures: agents at work, a doubtful result, a failure."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: what a person would wait for at most, in seconds
PATIENCE = 60
_CODES = [f"{part} 코드를 옮겼다" for part in "축 판 관 볼트 너트 베어링 밸브 펌프 모터 벨트".split()]
#: id, title, what it waits for, success criteria, what its agent does (one that ends in `hold` works on)
_TASKS: tuple[tuple[str, str, list[str], list[str], str], ...] = (
    ("T-011", "사용자 옮기기", [], [], "edit users.sql; result '사용자 4,318명을 옮겼습니다.'"),
    ("T-012", "거래처 표 옮기기", [], [], "edit suppliers.sql; result '거래처 표를 옮겼습니다.'"),
    ("T-013", "결제 옮기기", ["T-011"], [],
     "say '중복된 결제가 있습니다.'; echo 'UniqueViolation: payments_pkey' >&2; exit 1"),
    ("T-014", "부품 코드 맞추기", ["T-012"], _CODES, "edit codes.csv; doubt"),
    ("T-015", "주문 옮기는 프로그램", ["T-011"], ["migrate/orders.py가 있다", "합계가 맞는다"],
     "edit orders.py; progress 64; say '합계가 2 차이 나요. 2019년에 취소된 주문을 다시 세어 봅니다.'; hold"),
    ("T-016", "겹치는 고객 합치기", ["T-011"], ["겹치는 고객이 없다"],
     "progress 22; say '겹칠 만한 고객 4,318쌍을 찾았습니다.'; tool 'psql -f pairs.sql'; hold"),
    ("T-017", "재고 맞추기", ["T-012"], [], "progress 41; tool 'select sum(amount) from stock_2019'; hold"),
    ("T-018", "옮긴 결과 보고서", ["T-015", "T-016"], [], "hold"),
    ("T-019", "옛 표 치우기", ["T-018"], [], "hold"),
    ("T-020", "색인 다시 만들기", ["T-017"], [], "hold"),
)  # fmt: skip
_AGENT = """#!/bin/sh
cat > /dev/null
say() { printf '{"type":"message","content":"%s"}\\n' "$1"; }
tool() { printf '{"type":"tool_use","name":"bash","input":{"command":"%s"}}\\n' "$1"; }
progress() { printf '{"type":"progress","percent":%s}\\n' "$1"; }
result() { printf '{"type":"result","result":"%s","matched_criteria":[]}\\n' "$1"; }
edit() {
	mkdir -p migrate && printf 'begin;\\n-- moved by the plan\\ncommit;\\n' > "migrate/$1"
	printf '{"type":"tool_use","name":"edit","input":{"file":"migrate/%s"}}\\n' "$1"
}
doubt() { printf '{"type":"result","result":"열 가운데 일곱을 맞췄습니다.","matched_criteria":[MATCHED]}\\n'; }
hold() { sleep 120; }
printf '{"type":"system","subtype":"init"}\\n'
case $PENSTOCK_TASK in
CASES
esac
"""


def write_plan(folder: Path) -> Path:
    """A project in a git repository of its own."""
    for part in ("tasks", "agents"):
        (folder / part).mkdir(parents=True)
    settings = {
        "name": "migration", "title": "자료 옮기기", "max_concurrent": 3, "max_retries": 1, "retry_delays_s": [0],
        "merge": "review", "preset": "shell", "command": "sh agent.sh", "term_s": 1, "kill_s": 1, "critical_files": [],
    }  # fmt: skip
    (folder / "plan.yaml").write_text(json.dumps({"plan": settings}, ensure_ascii=False))
    for name in ("bora", "cedar", "dune"):
        (folder / "agents" / f"{name}.md").write_text(f"---\nname: {name}\n---\n")
    for id, title, after, criteria, _ in _TASKS:
        front = {"id": id, "title": title, "depends_on": after, "success_criteria": criteria}
        text = json.dumps(front, ensure_ascii=False)
        (folder / "tasks" / f"{id}.md").write_text(f"---\n{text}\n---\n{title}. 합계가 그대로여야 해요.\n")
    cases = "\n".join(f"{id})\n\t{does}\n\t;;" for id, _, _, _, does in _TASKS)
    matched = ",".join(json.dumps(each, ensure_ascii=False) for each in _CODES[:7])
    (folder / "agent.sh").write_text(_AGENT.replace("CASES", cases).replace("MATCHED", matched))
    for words in (
        ["init", "-q", "-b", "main"], ["add", "-A"],
        ["-c", "user.name=Penstock", "-c", "user.email=docs@example.com", "commit", "-qm", "A plan"],
    ):  # fmt: skip
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return folder


def take(request: Any, base: str, shoot: Callable[[str], None]) -> None:
    """A project of its own: it is looked at while agents work, and stopped again."""

    def post(path: str, body: dict[str, Any]) -> Any:
        answer = request.post(f"{base}/api/v1{path}", data=body, headers={"X-Penstock": "1"})
        if not answer.ok:
            raise SystemExit(f"{path}: {answer.status} {answer.text()}")
        return answer.json()

    with tempfile.TemporaryDirectory() as place:
        id = str(post("/projects", {"path": str(write_plan(Path(place, "migration")))})["id"])
        post(f"/projects/{id}/workflow:start", {})
        _wait(lambda: request.get(f"{base}/api/v1/projects/{id}/tasks").json()["items"])
        shoot(f"/plans/{id}?task=T-015")
        post(f"/projects/{id}/workflow:stop", {"now": True})


def _wait(tasks: Callable[[], list[dict[str, Any]]]) -> None:
    """Until one task is doubtful and three are in work, and have said something."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        now = tasks()
        working = [task for task in now if task["status"] == "in_progress" and not task["reviewRequired"]]
        if any(task["reviewRequired"] for task in now) and [bool(each["lastLine"]) for each in working] == [True] * 3:
            return
        time.sleep(0.25)
    raise SystemExit(f"the plan did not come as far as its picture: {[(task['id'], task['status']) for task in now]}")
