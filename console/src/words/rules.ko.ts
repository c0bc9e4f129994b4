/** What the console says about rule packs and their test bench, in Korean. */
import { josa } from "./particles";
import { b, done, failed, held } from "./rich";

export const rulesKo = {
  title: "룰 팩", tabs: { packs: "룰 팩", feel: "FEEL" }, tabsLabel: "무엇을 시험할지",
  list: {
    some: (n: string) => `룰 팩 ${b(n)}개가 판정을 내려요`, about: "팩을 열어 입력을 넣어 보세요. 저장하거나 보내는 것은 없어요.",
    none: "등록된 룰 팩이 없어요", noneDo: "룰 팩을 등록하면 여기에서 시험할 수 있어요.",
    columns: { pack: "팩", force: "쓰는 버전", versions: "버전", rules: "룰", tests: "테스트", changed: "바뀐 때" }, noForce: "쓰는 버전 없음", find: "이름이나 id로 찾기", noneMatch: "맞는 룰 팩이 없어요",
  },
  status: { draft: "초안", pending: "승인 대기", pending_approval: "승인 대기", approved: "승인됨", active: "사용 중", deprecated: "물러남" } as Record<string, string>,
  inForce: "사용 중", version: "버전", rulesN: (n: string) => `룰 ${n}개`, testsN: (n: string) => `테스트 ${n}개`,
  headline: (version: string | null) => (version ? `판정은 ${done(version)} 버전을 써요` : `${held("승인된 버전이 없어서")} 판정에 쓰이지 않아요`),
  table: {
    title: "룰", rule: "룰", when: "조건", decision: "판정", confidence: "확신", scope: { dataset: "전체", each: "행마다", latest: "마지막 행" } as Record<string, string>, off: "꺼짐", threshold: "기준", matched: "맞음",
    otherwise: "맞는 룰이 없으면", policy: "여럿이 맞으면", requires: "먼저 필요한 것", result: "결과", model: "DMN 모델이에요. 결정은 모델 전체로 내려요.", line: "줄", none: "이 팩에는 보여 줄 룰이 없어요",
    policies: { first: "첫 룰", priority: "우선순위가 높은 룰", severity_max: "가장 심각한 판정", collect: "모두 모음" } as Record<string, string>,
  },
  bench: {
    title: "시험대", data: "입력 데이터", dataHint: "JSON: 행의 목록이나 값 하나", context: "맥락", contextHint: "판정의 context, 없으면 비워 두세요", run: "판정해 보기", running: "판정하는 중", reset: "처음 입력으로",
    from: { test: (name: string) => `팩의 테스트 ${josa(name, "을/를")} 넣어 두었어요`, judgment: (name: string) => `마지막 판정(${name})의 입력을 넣어 두었어요` }, fromNone: "이 팩에는 테스트도 저장된 판정도 없어요. 입력을 적어 주세요.",
    target: "무엇으로", saved: "저장된 버전", draft: "초안 고쳐 보기", draftLabel: "룰 팩 초안 (JSON)", draftHint: "여기서 고친 것은 저장되지 않아요.", draftReset: "버전 내용으로", badJson: (line: string, why: string) => `${line}번째 줄을 읽지 못해요: ${why}`, notObject: "룰 팩은 { }로 적어요.",
    idle: "아직 판정하지 않았어요", idleDo: "입력을 확인하고 ‘판정해 보기’를 누르세요. 아무것도 저장되지 않아요.", stale: "입력이나 룰이 바뀌었어요. 다시 판정해 보세요.",
  },
  result: {
    title: "결과", decided: (decision: string, confidence: string) => `판정은 ${b(decision)}, 확신은 ${confidence}예요`, failed: `${failed("판정하지 못했어요")}`, inRule: (rule: string) => `룰 ${rule}`, matched: (n: string) => `맞은 룰 ${n}개`, noneMatched: "맞은 룰이 없어서 기본 판정이에요", reason: "이유", recommendations: "권고", outputs: "출력",
    against: (version: string) => `사용 중인 ${version} 버전과 비교`, same: "지금 사용 중인 버전이에요. 비교할 것이 없어요.", noDifference: "사용 중인 버전과 판정이 같아요", differs: (before: string, after: string) => `사용 중인 버전과 판정이 달라요: ${b(before)} → ${b(after)}`, differsElse: "판정은 같고 내용이 달라요", noForce: "사용 중인 버전이 없어서 비교하지 않았어요.", forceFailed: "사용 중인 버전은 이 입력을 판정하지 못해요",
    field: { decision: "판정", confidence: "확신", reasoning: "이유", recommendations: "권고", matched_rules: "맞은 룰", outputs: "출력" } as Record<string, string>, columns: { field: "무엇", before: "사용 중", after: "이것" },
    tests: "팩의 테스트", testsRight: (n: string, of: string) => `${of}개 가운데 ${n}개 통과`, noTests: "이 팩에는 테스트가 없어요.", right: "통과", wrong: "다름", left: (n: string) => `너무 커서 ${n}개는 돌리지 않았어요.`, findings: "알아 둘 것",
  },
  feel: {
    about: "식 하나를 값과 함께 계산해 봐요. 저장하거나 보내는 것은 없어요.", headline: "FEEL 식을 계산해 보세요", expression: "식", unary: "단항 테스트", kind: "종류", text: "FEEL", value: "시험할 값", valueHint: "JSON 값 하나", context: "맥락", contextHint: "이름과 값의 JSON", strict: "엄격하게", strictHint: "값이 없을 곳에서 멈춰요", run: "계산하기", running: "계산하는 중",
    result: "값", json: "JSON", type: "자료형", reads: "읽은 이름", warnings: (n: string) => `값이 없는 곳 ${n}개`, noWarnings: "경고가 없어요", at: (n: string) => `${n}번째 글자`, idle: "아직 계산하지 않았어요", idleDo: "식을 적고 Ctrl+Enter를 누르세요.", needText: "식을 적어 주세요.", notObject: "맥락은 { }로 적어요.", wrong: "계산하지 못했어요",
    types: { number: "수", string: "글", boolean: "참거짓", list: "목록", context: "맥락", range: "범위", function: "함수", date: "날짜", time: "시각", "date and time": "날짜와 시각", "days and time duration": "일과 시간의 길이", "years and months duration": "년과 월의 길이", Null: "null" } as Record<string, string>,
  },
};

export type RulesWords = typeof rulesKo;
