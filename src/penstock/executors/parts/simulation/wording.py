"""The sentences of a simulation's result, in Korean and in English."""

from __future__ import annotations

from typing import Any

from penstock.executors.parts.simulation.assessment import Evidence

Sentence = dict[str, str]

_RECOMMENDED: dict[str, Sentence] = {
    "few_samples": {
        "ko": "표본이 {total}건뿐이라 판단할 수 없습니다. 30건 이상이 모이면 다시 시뮬레이션하십시오.",
        "en": "With {total} samples nothing can be said. Simulate again when there are 30 or more.",
    },
    "no_baseline": {
        "ko": "운영 환경에 배포된 버전이 없어 비교할 수 없습니다. 결과를 검토한 뒤 결정하십시오.",
        "en": "No version is deployed to production, so there is nothing to compare with. Review the result.",
    },
    "nothing_changes": {
        "ko": "{total}건 모두 판정이 그대로입니다. 배포해도 됩니다.",
        "en": "All {total} decisions stay as they are. It can be deployed.",
    },
    "no_labels": {
        "ko": "{changed}건의 판정이 바뀌지만, 무엇이 맞는지 사람이 표시한 표본이 없습니다. 바뀐 판정을 검토하십시오.",
        "en": "{changed} decisions change, but nobody has said which are right. Review the changed ones.",
    },
    "few_labels": {
        "ko": "{changed}건의 판정이 바뀌지만, 사람이 정답을 표시한 표본이 {labelled}건뿐입니다. "
        "바뀐 판정을 검토하십시오.",
        "en": "{changed} decisions change, but only {labelled} samples are labelled. Review the changed ones.",
    },
    "many_failed": {
        "ko": "표본 {total}건 중 {failed}건을 판정하지 못해 결론을 낼 수 없습니다. "
        "원인을 고친 뒤 다시 시뮬레이션하십시오.",
        "en": "{failed} of {total} samples could not be judged, so nothing can be said. Mend that and simulate again.",
    },
    "worse": {
        "ko": "정답이 표시된 {labelled}건에서 정확도가 {points}%p 떨어집니다. 배포하지 마십시오.",
        "en": "Accuracy of the {labelled} labelled samples falls by {points} points. Do not deploy it.",
    },
    "better": {
        "ko": "정답이 표시된 {labelled}건에서 정확도가 {points}%p 오르고 새로 놓치는 불량이 없습니다. 배포해도 됩니다.",
        "en": "Accuracy of the {labelled} labelled samples rises by {points} points and nothing new is missed. "
        "It can be deployed.",
    },
    "better_with_misses": {
        "ko": "정답이 표시된 {labelled}건에서 정확도는 {points}%p 오르지만 {misses}건을 새로 놓칩니다. "
        "그 표본을 먼저 검토하십시오.",
        "en": "Accuracy of the {labelled} labelled samples rises by {points} points, but {misses} cases are newly "
        "missed. Review those first.",
    },
    "not_better": {
        "ko": "정답이 표시된 {labelled}건에서 정확도가 나아지지 않습니다({points}%p). 바뀐 판정을 검토하십시오.",
        "en": "Accuracy of the {labelled} labelled samples is not better ({points} points). "
        "Review the changed decisions.",
    },
}
_MAGNITUDE: dict[str, Sentence] = {
    "negligible": {"ko": "거의 없습니다", "en": "negligible"},
    "small": {"ko": "작습니다", "en": "small"},
    "medium": {"ko": "중간입니다", "en": "medium"},
    "large": {"ko": "큽니다", "en": "large"},
}
_EFFECT = {"cramers_v": "Cramér's V", "cohens_d": "Cohen's d", "ks_d": "D"}
#: what a warning says, by its code
WARNINGS: dict[str, Sentence] = {
    "no_history": {
        "ko": "이 기간에는 재현할 판정이 없습니다.",
        "en": "There are no judgments in this time to replay.",
    },
    "no_baseline": {
        "ko": "운영 환경에 배포된 버전이 없어 기준 값이 비어 있습니다.",
        "en": "No version is deployed to production: the baseline's fields are empty.",
    },
    "base_not_deployed": {
        "ko": "배포된 버전이 없어 최신 승인 버전 {version}을(를) 바탕으로 바꾸었습니다.",
        "en": "Nothing is deployed: the newest approved version {version} was changed instead.",
    },
    "candidate_not_approved": {
        "ko": "후보 버전 {version}은(는) 아직 승인되지 않았습니다({status}).",
        "en": "The candidate {version} is not approved yet ({status}).",
    },
    "history_cut": {
        "ko": "기간 안에 이 대상의 판정이 {most}건보다 많아 최신 {most}건만 보았습니다.",
        "en": "There are more than {most} judgments by it in this time; the newest {most} were looked at.",
    },
    "judging_failed": {
        "ko": "판정하지 못한 표본이 있습니다: 기준 {baseline}건, 후보 {simulated}건 ({codes}).",
        "en": "Some samples could not be judged: baseline {baseline}, candidate {simulated} ({codes}).",
    },
    "extra_missing": {"ko": "{text}", "en": "{text}"},
    "test_impossible": {
        "ko": "비교할 값이 적어 통계 검정을 할 수 없습니다.",
        "en": "There are too few values for a test of significance.",
    },
    "no_labels": {
        "ko": "사람이 표시한 정답이 없어 기준 버전의 판정을 정답으로 삼았습니다.",
        "en": "Nobody has labelled these judgments: the baseline's own decisions count as right.",
    },
    "model_samples": {
        "ko": "모델에 묻는 시뮬레이션이라 표본을 {size}건으로 줄였습니다.",
        "en": "The model is asked for every sample, so only {size} were taken.",
    },
    "not_replayable": {
        "ko": "모델의 답이 기록되지 않은 판정 {count}건은 뺐습니다.",
        "en": "{count} judgments were left out: what the model had answered is not recorded.",
    },
    "refused": {
        "ko": "시뮬레이션이 보내거나 쓰려던 {count}건을 막았습니다.",
        "en": "{count} attempts to send or write were refused.",
    },
}


def warning(code: str, **values: Any) -> dict[str, Any]:
    return {"code": code, "text": {lang: text.format(**values) for lang, text in WARNINGS[code].items()}}


def recommendation(key: str, evidence: Evidence) -> Sentence:
    improvement, risk = evidence.improvement, evidence.risk
    points = f"{abs(improvement) * 100:.1f}" if improvement is not None else ""
    values = {
        "total": evidence.total, "failed": evidence.failed, "labelled": evidence.labelled,
        "changed": risk["changed_decisions"], "misses": risk["new_false_negatives"], "points": points,
    }  # fmt: skip
    return {lang: text.format(**values) for lang, text in _RECOMMENDED[key].items()}


def difference(test: dict[str, Any] | None) -> Sentence:
    """The sentence that separates «real» from «large»: the p-value says the one, the effect size the other."""
    if test is None:
        return {
            "ko": "통계 검정을 하지 않았으므로 차이가 우연인지 말할 수 없습니다.",
            "en": "No test was made, so nobody can say whether the difference is chance.",
        }
    p, level = test["p_value"], f"{test['confidence_level'] * 100:g}"
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    if test["significant"]:
        ko, en = (
            f"차이는 우연이 아닙니다({shown}, 신뢰 수준 {level}%)",
            f"The difference is real ({shown} at {level} %)",
        )
    else:
        ko = f"차이가 우연일 수 있습니다({shown}, 신뢰 수준 {level}%)"
        en = f"The difference may be chance ({shown} at {level} %)"
    size = test["effect_size"]
    if size is None:
        return {"ko": f"{ko}.", "en": f"{en}."}
    shown_size = "∞" if size["value"] is None else f"{abs(size['value']):.2f}"
    word, value = _MAGNITUDE[size["magnitude"]], f"{_EFFECT[size['name']]} {shown_size}"
    and_ko, and_en = (". 크기는", ", and its size is")
    if test["significant"] and size["magnitude"] in ("negligible", "small"):
        and_ko, and_en = (". 그러나 크기는", ", but its size is")
    return {"ko": f"{ko}{and_ko} {word['ko']}({value}).", "en": f"{en}{and_en} {word['en']} ({value})."}
