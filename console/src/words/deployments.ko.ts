/** What the console says about deployments and simulation reports, in Korean. */
import { josa, particle } from "./particles";
import { b, done, failed, held, moving, undone } from "./rich";

export const deploymentsKo = {
  title: "배포", reports: "모의 실행 보고서",
  artifact: { rule_pack: "룰", model: "모델", prompt: "프롬프트", config: "설정", workflow: "워크플로" } as Record<string, string>,
  environment: { production: "운영", staging: "준비 환경" } as Record<string, string>, allLines: "모든 라인",
  strategy: { immediate: "한 번에", canary: "조금씩", blue_green: "나란히 두고 바꾸기", rolling: "라인마다 차례로" } as Record<string, string>,
  status: { in_progress: "나가는 중", paused: "멈춤", rolled_back: "되돌림", succeeded: "모두에게 나감", failed: "실패" } as Record<string, string>,
  metric: { error_rate: "오류율", latency_p99_ms: "p99", anomaly_score: "이상 점수" } as Record<string, string>,
  headline: {
    within: (what: string, percent: string) => `새 ${josa(what, "이/가")} ${moving(percent)}에서 ${done("기준 안")}에 있어요`,
    over: (what: string, percent: string, metric: string) => `새 ${josa(what, "이/가")} ${moving(percent)}에서 ${held(`${metric} 올림 기준을 넘었어요`)}`,
    back: (what: string, percent: string, metric: string) => `새 ${josa(what, "이/가")} ${moving(percent)}에서 ${failed(`${metric} 되돌림 기준을 넘었어요`)}`,
    few: (what: string, percent: string) => `새 ${josa(what, "이/가")} ${moving(percent)}에 있지만 ${held("아직 표본이 없어요")}`,
    unlimited: (what: string, percent: string) => `새 ${josa(what, "이/가")} ${moving(percent)}에 있어요`,
    paused: (what: string, percent: string) => `새 ${josa(what, "이/가")} ${moving(percent)}에서 ${held("멈춰 있어요")}`,
    tookItselfBack: (metric: string, value: string, limit: string, to: string | null) => `${failed(`${metric} ${value}`)}${particle(value, "이/가")} 기준 ${limit}${particle(limit, "을/를")} 넘어 ${to ? josa(to, "으로/로") : "앞 버전으로"} ${failed("스스로 되돌아갔어요")}`,
    takenBack: (who: string | null, to: string | null) => `${who ? `${who} 님이 ` : ""}${to ? josa(to, "으로/로") : "앞 버전으로"} ${undone(who ? "되돌렸어요" : "되돌아갔어요")}`,
    succeeded: (what: string, id: string) => `새 ${josa(what, "이/가")} ${done("모든 실행")}에 쓰여요: ${id}`,
    failed: (what: string) => `새 ${josa(what, "을/를")} ${failed("내보내지 못했어요")}`,
    missed: (what: string, metric: string, value: string, limit: string) => `${failed(`${metric} ${value}`)}${particle(value, "이/가")} 기준 ${limit}${particle(limit, "을/를")} 넘어 새 ${josa(what, "을/를")} ${failed("더 내보내지 않았어요")}`,
  },
  timeOnly: "아직 표본이 없어서 시간만 보고 올려요.", noLimits: "기준이 없어서 시간만 보고 올려요.", startedAt: (at: string) => `${at} 시작`, endedAt: (at: string) => `${at} 끝`, run: "실행", rollout: "배포 실행",
  move: { pause: "일시 정지", resume: "다시 진행", promote: (to: string) => `지금 ${to}로`, finish: "지금 끝내기", rollback: (to: string | null) => (to ? `${josa(to, "으로/로")} 되돌리기` : "되돌리기") },
  mayNot: "없음", askFor: "부탁하기", asked: "부탁하는 글을 복사했어요. 메신저에 붙여 넣으세요.", askText: (what: string, permission: string, address: string) => `배포 "${what}"을(를) 부탁해요. ${permission} 권한이 필요해요: ${address}`,
  askMove: { pause: "배포를 멈출까요?", resume: "배포를 다시 진행할까요?", promote: (to: string) => `지금 ${to}로 올릴까요?`, rollback: (to: string | null) => (to ? `${josa(to, "으로/로")} 되돌릴까요?` : "되돌릴까요?") },
  effect: {
    pause: (percent: string) => [`${percent}에 그대로 머물러요. 시계가 멈춰요.`, "다시 진행하면 남은 시간부터 이어 가요."],
    resume: (percent: string) => [`${percent}에서 남은 시간부터 이어 가요.`, "올림 기준과 되돌림 기준을 다시 봐요."],
    promote: (to: string) => [`남은 시간을 기다리지 않고 새 실행의 ${josa(to, "을/를")} 새 버전이 맡아요.`, "이미 판정한 실행은 그대로예요.", "이름이 기록에 남아요."],
  },
  rollbackEffects: (to: string, counted: string, scope: string) => [`다음 판정부터 ${b(scope)}에서 모두 ${josa(to, "을/를")} 써요.`, `새 버전이 이미 판정한 ${b(`${counted}건`)}은 그대로 남아요. 다시 판정하지 않아요.`, "이 배포는 끝나요. 다시 하려면 새로 배포해요. 이름이 기록에 남아요."],
  rollbackReason: "이유", typeVersion: (to: string) => `확인하려면 ${josa(to, "을/를")} 입력하세요`, didMove: { pause: "멈췄어요", resume: "다시 진행해요", promote: "올렸어요", rollback: "되돌렸어요" },
  stages: "단계", now: "지금", stopped: "멈춤", taken: "되돌림", broken: "실패", stageLines: (lines: string) => lines,
  stagePassed: (from: string, to: string) => `${from}–${to}`, counted: (counted: string, total: string) => `${total}건 가운데 ${b(`${counted}건`)}`, passedWith: (rate: string, p99: string) => `오류율 ${rate}, p99 ${p99}로 통과`, passedTime: "시간만 보고 통과", passedByHand: "사람이 올렸어요", endedWith: (rate: string, p99: string) => `오류율 ${rate}, p99 ${p99}`,
  sinceNow: (from: string, d: string) => `${from}부터 ${d}째`, passedOf: (all: string, d: string) => `${all} 가운데 ${d} 지남`, stoppedClock: "시계가 멈췄어요", risesIn: (d: string, at: string) => `${b(`${d} 뒤`)} ${at}에 올라가요`, risesAt: (at: string) => `${at}에 올라가요`, risesSoon: "곧 올라가요", waitsForResume: "다시 진행하면 올라가요", neverCame: "오지 않았어요",
  risesIf: "그때 기준 안이면 스스로", risesByTime: "시간이 되면 스스로", endsAt: (at: string) => `${at}에 끝나요`, isLast: "여기까지 오면 끝나요", keepsOld: (version: string) => `${josa(version, "은/는")} 되돌릴 수 있게 남아요`, stageSays: (n: number, of: number, what: string, word: string) => `${of}단계 가운데 ${n}, ${what}, ${word}`, stageWord: { done: "지남", now: "지금", next: "아직", stopped: "멈춤" } as Record<string, string>,
  metrics: "버전별 지표", window: "기간", thisStage: "이 단계", sinceStart: "처음부터", columns: { metric: "지표", limits: "기준", flow: "흐름", verdict: "판단" }, isNew: (what: string) => `새 ${what}`,
  about: { error_rate: "실패한 판정", latency_p99_ms: "판정 시간", anomaly_score: "0–1" } as Record<string, string>, ofSamples: (n: string, of: string) => `${n} / ${of}`, median: (ms: string) => `중앙값 ${ms}`, usual: (n: string) => `평소 ${n}`, most: (n: string) => `최고 ${n}`,
  promoteAt: "올림", rollBackAt: "되돌림", noPromote: "올림 기준 없음", noRollBack: "되돌림 기준 없음",
  verdict: { within: "기준 안", over: "올림 기준 넘음", back: "되돌림 기준 넘음", few: "표본 없음", unlimited: "기준 없음" }, tooFew: "표본이 적어요",
  samples: "표본", samplesOf: (n: string) => `이 단계 ${n}`, samplesAll: (n: string) => `모두 ${n}`, target: (percent: string) => `목표 ${percent}`, splitBy: "실행 번호로 나눔", splitByLine: "라인으로 나눔", even: "고르게", uneven: "치우침", noSamples: "아직 없음", chartSays: (metric: string, before: string, after: string, limit: string | null) => `${metric} 흐름: 앞 버전 ${before}, 새 버전 ${after}${limit ? `, 기준 ${limit}` : ""}`,
  itself: "스스로 하는 일", willRise: (at: string, to: string, checked: boolean) => (checked ? `${at}에 기준 안이면 ${b(to)}로 올려요` : `${at}에 ${b(to)}로 올려요. 시간만 봐요`), willEnd: (at: string, checked: boolean) => (checked ? `${at}에 기준 안이면 끝나요` : `${at}에 끝나요`), willGoBack: (to: string | null) => `되돌림 기준을 ${b("하나라도")} 넘으면 바로 ${to ? `${b(to)}${particle(to, "으로/로")}` : "앞 버전으로"} 돌아가요`, wontGoBack: "스스로 되돌리지 않아요. 사람이 되돌려요", willTell: (what: string, how: string) => `${josa(what, "을/를")} ${how}${particle(how, "으로/로")} 알려요`, tells: { start: "시작", complete: "끝", rollback: "되돌림" }, nothingItself: "끝난 배포예요. 더 일어나는 일이 없어요", pausedItself: "멈춰 있는 동안에는 올라가지 않아요", channel: { slack: "슬랙", email: "이메일", sms: "문자", teams: "팀즈", pagerduty: "페이저듀티", webhook: "웹훅" } as Record<string, string>,
  history: "기록", historyAll: (n: string) => `모두 ${n}`, historyLess: "줄이기", by: (who: string) => `${who} 님이`,
  event: {
    begin: (percent: string, _who: string | null) => `${b(percent)}로 시작`, advance: (percent: string, _who: string | null) => `${b(percent)}로 올림`, promote: (percent: string, who: string | null) => `${who ? `${who} 님이 ` : ""}${b(percent)}로 올림`, pause: (_percent: string, who: string | null) => `${who ? `${who} 님이 ` : ""}멈춤`, resume: (_percent: string, who: string | null) => `${who ? `${who} 님이 ` : ""}다시 진행`, complete: (_percent: string, _who: string | null) => "모두에게 나가고 끝남", roll_back: (_percent: string, who: string | null) => (who ? `${who} 님이 되돌림` : "스스로 되돌림"), fail: (_percent: string, _who: string | null) => "실패",
  } as Record<string, (percent: string, who: string | null) => string>, withNumbers: (rate: string, p99: string) => `오류율 ${rate}, p99 ${p99}`,
  list: {
    some: (going: string, stopped: string) => (stopped === "0" ? `배포 ${moving(`${going}개`)}가 나가는 중이에요` : going === "0" ? `배포 ${held(`${stopped}개`)}가 멈춰 있어요` : `배포 ${moving(`${going}개`)}가 나가는 중이고, ${held(`${stopped}개`)}가 멈춰 있어요`), quiet: "지금 나가는 배포가 없어요", about: "새 버전이 얼마나 나갔고, 다음에 언제 올라가는지 보여요.", none: "아직 배포가 없어요", noneDo: "룰, 모델, 프롬프트, 설정을 내보내면 여기에 나와요.", noneMatch: "조건에 맞는 배포가 없어요", filter: "상태로 거르기",
    columns: { what: "무엇", status: "상태", progress: "얼마나", where: "어디에", next: "다음 또는 이유", started: "시작" }, nextAt: (d: string) => `${d} 뒤에 다음 단계`, nextSoon: "곧 다음 단계", endsIn: (d: string) => `${d} 뒤에 끝나요`,
  },
  simulation: {
    title: "모의 실행 보고서", none: "이 버전의 모의 실행이 없어요", noneDo: "SIMULATE 노드나 명령으로 지난 판정을 다시 해 보면 여기에 나와요.", recommendation: { deploy: "배포 권함", review: "살펴보기 권함", reject: "배포하지 않기를 권함", insufficient_data: "자료가 모자람" } as Record<string, string>,
    mode: { replay: "다시 해 보기", what_if: "바꿔 보기", monte_carlo: "무작위로 해 보기", dry_run: "한 번 해 보기" } as Record<string, string>, lastDays: (d: string) => `지난 ${d} 재생`, judgments: (n: string) => `판정 ${n}건`, against: (version: string) => `${josa(version, "과/와")} 비교`,
    chance: "차이가 우연일 수 있어요.", real: { negligible: "차이는 우연이 아니지만 아주 작아요.", small: "차이는 우연이 아니지만 작아요.", medium: "차이는 우연이 아니고 작지 않아요.", large: "차이는 우연이 아니고 커요." } as Record<string, string>, realPlain: "차이는 우연이 아니에요.", unchanged: "바뀐 판정이 없어요.", empty: "이 기간에 저장된 판정이 없어서 견줄 수 없어요.", untested: "견줄 검정 결과가 없어요.",
    misses: { less: "놓친 불량은 줄어요.", half: "놓친 불량은 절반 넘게 줄어요.", more: "놓친 불량이 늘어요.", same: "놓친 불량은 그대로예요." }, alarms: { less: "헛경보는 줄어요.", more: "헛경보는 조금 늘어요.", same: "헛경보는 그대로예요." },
    changed: "바뀐 판정", changedN: (n: string) => `${n}건`, pValue: "p-값", effect: "효과 크기", significant: "유의", notSignificant: "우연일 수 있음", magnitude: { negligible: "아주 작음", small: "작음", medium: "중간", large: "큼" } as Record<string, string>, effectName: { cramers_v: "Cramér’s V", cohens_d: "Cohen’s d", ks_d: "D" } as Record<string, string>, test: { chi_square: "χ²", t_test: "t", ks_test: "D" } as Record<string, string>, noTest: "검정 없음",
    matrix: "무엇이 무엇으로 바뀌나요", matrixAxes: (before: string, after: string) => `세로 ${before} · 가로 ${after}`, cell: (before: string, after: string) => `건, ${before}에서 ${after}${particle(after, "으로/로")}`, cellTitle: (before: string, after: string) => `${before} → ${after}`, noMatrix: "견준 판정이 없어요.",
    labels: "사람이 매긴 답과 견주면", noLabels: "사람이 매긴 답이 없어서 정확도를 말할 수 없어요. 판정에 답을 매기면 여기에 나와요.", compared: { accuracy: "정확도", false_negative_rate: "놓친 불량", false_positive_rate: "헛경보", precision: "정밀도", recall: "재현율", f1_score: "F1", processing_time: "판정 시간" } as Record<string, string>, moved: (before: string, after: string) => `${before}에서 ${after}로`,
    newMisses: (n: string) => `새로 놓친 불량 ${b(`${n}건`)}`, noNewMisses: "새로 놓친 불량이 없어요", see: "보기", open: "크게 보기", judgmentsTitle: "바뀐 판정", missesTitle: "새로 놓친 불량", label: "사람의 답", when: "언제", line: "라인", run: "실행", moreJudgments: (n: string) => `처음 ${n}건만 보여요`, noJudgments: "저장된 판정이 없어요.", all: "모든 지표", distribution: "판정 나뉨", before: "앞 버전", after: "새 버전", difference: "차이", points: "%p", notFound: "보고서를 찾을 수 없어요",
  },
};

export type DeploymentWords = typeof deploymentsKo;
