"""The words of simulation reports, in English and Korean."""

from __future__ import annotations

from collections.abc import Mapping

_EN = {
    "title": "Simulation of {name}", "replay_title": "Replay of {name}: version {version} against {against}",
    "subtitle": "{language} · version {version} · {runs} virtual runs · {at}",
    "no_effect": "Nothing was sent, written, deployed or started for this report.",
    "rest": "Forecast of the rest of run {run}, which is {status} and has taken {elapsed} so far.",
    "headline_due": "{odds} of all runs are completed within {limit} (between {low} and {high}).",
    "headline": "Half of all runs take less than {p50}; 9 of 10 take less than {p90}.",
    "completed": "completed", "p50": "in the middle", "p90": "9 of 10 are faster", "in_time": "in time",
    "durations": "How long runs take", "share_of_runs": "share of the runs", "due": "due",
    "time": "Where the time goes",
    "time_note": "Middle and 90th percentile of each node, and its share of all the time.",
    "node": "node", "reached": "reached", "middle": "middle", "p90_short": "90 %", "share": "share", "source": "source",
    "loads": "Who has how much to do", "role": "role", "items": "items per run", "per_day": "items per day",
    "open": "open for (middle)", "open90": "open for (90 %)", "nobody": "nobody in particular",
    "paths": "The most likely ways", "dry_run": "Dry run", "dry_ok": "Everything that the document names was resolved.",
    "dry_bad": "{count} references could not be resolved.", "unreached": "Never reached", "refused": "Refused",
    "refused_none": "It would only have read and computed.", "unresolved": "Unresolved references",
    "missing": "Not there",
    "expressions": "{count} expressions were evaluated in {variations} variations.",
    "assumptions": "What was assumed", "assumed_none": "Nothing: all durations and decisions come from earlier runs.",
    "history": "{runs} earlier runs were read.", "no_history": "No earlier run was found: everything is assumed.",
    "effect": "{executor} takes about {middle} and succeeds", "person": "a person decides after about {middle}",
    "approved": ", approved in {share} of all cases",
    "rollout": "every stage takes the time that the document gives it, and succeeds",
    "news": "what it waits for comes after about {middle}",
    "given": "given", "computed": "computed", "from_history": "history", "assumed": "assumed",
    "send": "to send", "write": "to write", "deploy": "to deploy", "run": "to run", "ask": "to ask",
    "outcomes": "How runs end", "same": "the same", "different": "different", "skipped": "left out",
    "replay_headline": "{same} of {runs} real runs would have gone the same way.",
    "replay_none": "No ended run of version {against} can be replayed.",
    "removed": "no longer", "added": "new", "result": "results that differ", "status": "status",
    "unanswered": "No recorded run had an answer for these nodes; theirs was assumed", "unknown": "not comparable",
    "not_comparable": "These nodes ask something else in this version, so no recorded answer is one to it",
    "scope": "Runs are simulated one by one: that they wait for each other's people and machines is not part of it.",
}  # fmt: skip
_KO = {
    "title": "{name} 시뮬레이션", "replay_title": "{name} 재실행 비교: 버전 {version} 대 {against}",
    "subtitle": "{language} · 버전 {version} · 가상 실행 {runs}회 · {at}",
    "no_effect": "이 보고서를 만들면서 전송, 저장, 배포, 시작된 것은 없습니다.",
    "rest": "실행 {run}의 남은 부분 예측입니다. 현재 {status}이며 지금까지 {elapsed} 걸렸습니다.",
    "headline_due": "전체 실행의 {odds}가 {limit} 안에 완료됩니다 ({low}–{high}).",
    "headline": "실행의 절반은 {p50} 안에, 10건 중 9건은 {p90} 안에 끝납니다.",
    "completed": "완료", "p50": "중앙값", "p90": "10건 중 9건", "in_time": "기한 준수",
    "durations": "소요 시간 분포", "share_of_runs": "실행 비율", "due": "기한",
    "time": "시간이 걸리는 곳", "time_note": "노드별 중앙값, 90 백분위수, 전체 시간에서 차지하는 비율입니다.",
    "node": "노드", "reached": "도달", "middle": "중앙값", "p90_short": "90 %", "share": "비율", "source": "근거",
    "loads": "역할별 업무량", "role": "역할", "items": "실행당 건수", "per_day": "하루 건수",
    "open": "대기 시간 (중앙값)", "open90": "대기 시간 (90 %)", "nobody": "담당 미지정",
    "paths": "가장 가능성 높은 경로", "dry_run": "모의 실행", "dry_ok": "문서가 가리키는 모든 것이 확인되었습니다.",
    "dry_bad": "확인할 수 없는 참조가 {count}개 있습니다.", "unreached": "도달하지 않은 노드", "refused": "거부됨",
    "refused_none": "읽기와 계산만 했을 것입니다.", "unresolved": "확인할 수 없는 참조", "missing": "없는 것",
    "expressions": "변형 {variations}회에서 표현식 {count}개를 평가했습니다.",
    "assumptions": "가정한 것", "assumed_none": "없음: 모든 시간과 결정은 이전 실행에서 가져왔습니다.",
    "history": "이전 실행 {runs}건을 읽었습니다.", "no_history": "이전 실행이 없어 모두 가정했습니다.",
    "effect": "{executor}: 약 {middle} 걸리고 성공", "person": "사람이 약 {middle} 뒤에 결정",
    "approved": ", {share} 승인", "rollout": "모든 단계가 문서에 적힌 시간만큼 걸리고 성공",
    "news": "기다리는 것이 약 {middle} 뒤에 도착",
    "given": "지정값", "computed": "계산", "from_history": "이력", "assumed": "가정",
    "send": "전송", "write": "저장", "deploy": "배포", "run": "프로그램 실행", "ask": "모델·사람에게 질의",
    "outcomes": "실행 결과", "same": "같음", "different": "다름", "skipped": "제외",
    "replay_headline": "실제 실행 {runs}건 중 {same}건은 같은 길로 갔을 것입니다.",
    "replay_none": "버전 {against}에서 끝난 실행 중 다시 실행할 수 있는 것이 없습니다.",
    "removed": "없어짐", "added": "새로 생김", "result": "달라진 결과", "status": "상태",
    "unanswered": "기록된 답이 없어 가정한 노드", "unknown": "비교 불가",
    "not_comparable": "이 버전에서 다른 것을 묻기 때문에 기록된 답과 비교할 수 없는 노드",
    "scope": "실행은 하나씩 따로 시뮬레이션합니다. 서로의 사람과 설비를 기다리는 시간은 들어 있지 않습니다.",
}  # fmt: skip
_UNITS = {
    "en": (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)),
    "ko": (("일", 86_400_000), ("시간", 3_600_000), ("분", 60_000), ("초", 1_000)),
}


def words_of(locale: str) -> Mapping[str, str]:
    return _KO if locale.startswith("ko") else _EN


def duration_text(ms: float, locale: str = "en") -> str:
    """As people say it: 250 ms, 3.2 s, 5 min, 2.5 h, 3 d."""
    for unit, size in _UNITS["ko" if locale.startswith("ko") else "en"]:
        if ms >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms:.0f} ms"
