/** The words of manuals in Korean. */
import { josa, particle } from "../../words/particles";
import { b, held } from "../../words/rich";

const q = (name: string): string => `‘${name}’`;

export const manualKo = {
  title: "매뉴얼", startTitle: "매뉴얼에서 프로세스 만들기", startText: "업무 매뉴얼을 읽어 프로세스로 그려요. 그림의 요소마다 어느 문장에서 왔는지, 얼마나 확실한지 함께 보여요.",
  drop: "매뉴얼 파일을 여기에 놓으세요", dropHere: "여기에 놓으면 읽어요", kinds: "PDF, DOCX, HTML, 텍스트", pick: "파일 고르기",
  paste: "글로 붙여 넣기", pasteHint: "한국어나 영어", pasteSample: "예: 1. 담당자는 신청서를 접수한다.\n2. 금액이 100만 원을 넘으면 팀장이 승인한다.\n3. 그렇지 않으면 담당자가 바로 처리한다.", readText: "이 글 읽기",
  afterTitle: "이렇게 돼요", after: ["글을 문장으로 나누고 단계, 갈림길, 역할, 기한을 찾아요.", "매뉴얼과 그림을 나란히 놓고, 요소와 문장을 서로 이어 보여요.", "80% 이상 확실하면 저장하고 바로 시작할 수 있어요. 아니면 사람이 먼저 승인해요."],
  keptTitle: "읽다 만 매뉴얼이 있어요", keptOpen: "이어서 보기", keptDrop: "버리기", keptDropped: "읽다 만 매뉴얼을 버렸어요",
  empty: (name: string) => `${josa(q(name), "은/는")} 빈 파일이에요.`, unreadable: (name: string) => `${josa(q(name), "을/를")} 열지 못했어요. 다시 골라 주세요.`,
  reading: (name: string) => (name ? `${josa(q(name), "을/를")} 읽고 있어요` : "글을 읽고 있어요"), readingText: "긴 매뉴얼은 몇 초 걸려요.", readingFor: (d: string) => `${d}째`, stop: "그만두기", failed: (name: string) => (name ? `${josa(q(name), "을/를")} 읽지 못했어요` : "글을 읽지 못했어요"), failedDo: "글자를 고를 수 있는 파일인지 확인하고 다시 올리거나, 글을 붙여 넣어 보세요.", another: "다른 매뉴얼", again: "다시 읽기",
  pastedText: "붙여 넣은 글", none: "매뉴얼에서 읽은 정의가 아니에요", noneDo: "이 정의는 매뉴얼을 읽어 만든 것이 아니라서 나란히 볼 글이 없어요.", gone: "보고 있던 매뉴얼이 없어요", goneDo: "이 브라우저에 남은 매뉴얼이 없어요. 다시 올려 주세요.",
  notSaved: "저장 전", pages: (n: string) => `${n}쪽`, sentences: (n: string) => `문장 ${n}`, chunks: (n: string) => `조각 ${n}`, elements: (n: string) => `요소 ${n}`, droppedN: (n: string) => `버린 것 ${n}`, byModel: (name: string) => `${name} 모델이 읽음`,
  sure: (n: number) => b(`${n}% 확실해요`), sureThen: ".", mayBegin: "저장하면 바로 시작할 수 있어요.", begun: "바로 시작할 수 있어요.", review: (why: string) => `${why} ${held("사람이 먼저 봐야 해요")}.`, approvedAnyway: "사람이 승인해서 시작할 수 있어요.", rejected: "승인하지 않고 돌려보냈어요.",
  and: ", ",
  why: { low: "80%보다 낮아서", /** The particle is heard after the name, not after its percent. */ parts: (what: string, last: string) => `${what}${particle(last, "이/가")} 확실하지 않아서`, error: (what: string) => `${what.replace(/[.\s]+$/, "")}. 그래서`, byTwo: "다른 사람도 확인해야 하는 곳이라서" },
  parts: { activities: "단계", transitions: "흐름", gateways: "갈림길의 조건", schema: "형식", evidence: "근거", roles: "역할", time_limits: "기한" } as Record<string, string>, partIs: (name: string, n: number) => `${name}(${n}%)`,
  doubtful: (n: string) => `확인할 요소 ${n}`, nextDoubtful: "차례로 보기", noDoubtful: "80%보다 낮은 요소가 없어요.",
  save: "저장", saveTitle: (name: string) => `${josa(q(name), "을/를")} 저장할까요?`, saveBegin: "정의의 새 버전이 되고, 바로 시작할 수 있어요.", savePending: (n: number) => `승인을 기다리는 정의가 돼요. ${n}% 확실해서 사람이 승인해야 시작할 수 있어요.`, savePendingTwo: "승인을 기다리는 정의가 돼요. 다른 사람이 승인해야 시작할 수 있어요.", saveKeeps: "매뉴얼의 문장과 근거도 함께 저장해요.", saveId: "아이디", saved: (name: string, n: number) => `${josa(q(name), "을/를")} v${josa(String(n), "으로/로")} 저장했어요`,
  toDraft: "초안으로 열기", drafted: "초안으로 열었어요", draftUndone: "초안을 지웠어요", openDefinition: "정의 열기", needs: (what: string) => `${what} 권한이 필요해요`,
  findings: (n: number) => `살펴볼 것 ${n}`, seeSentence: "문장 보기",
  looks: "보기", drawing: "그림", list: "목록", tables: (n: number) => `결정표 ${n}`, dropped: (n: number) => `버린 것 ${n}`, text: "본문",
  manual: "매뉴얼", canvas: "매뉴얼에서 그린 그림", page: (n: number) => `${n}쪽`, chunk: (n: number, tokens: string) => `조각 ${n} · 토큰 ${tokens}`, from: (n: number) => `요소 ${n}개가 나온 문장`,
  hint: "요소나 문장을 고르면 이어진 곳이 함께 켜져요.", evidence: "고른 것의 근거", evidenceOf: "이 문장에서 왔어요", elementsOf: "이 문장에서 나온 요소", noSentence: "이어진 문장이 없어요. 그래서 확실하지 않아요.",
  confidence: (n: number) => `확신 ${n}%`, doubt: (n: number) => `확신 ${n}%, 확인해 주세요`, doubtWord: "확인해 주세요",
  collection: { activities: "단계", gateways: "갈림길", events: "이벤트", transitions: "흐름", roles: "역할", data: "데이터", decisions: "결정표", messages: "메시지", signals: "신호", errors: "오류", lanes: "레인", rules: "규칙" } as Record<string, string>,
  drawn: { startEvent: "시작", endEvent: "끝", intermediateThrowEvent: "보내는 이벤트", intermediateCatchEvent: "기다리는 이벤트", boundaryEvent: "경계 이벤트", task: "일", userTask: "사람이 할 일", manualTask: "손으로 할 일", serviceTask: "서비스", sendTask: "보내기", receiveTask: "받기", scriptTask: "스크립트", businessRuleTask: "규칙", callActivity: "다른 프로세스", subProcess: "하위 프로세스", exclusiveGateway: "하나를 고르는 갈림길", parallelGateway: "함께 가는 갈림길", inclusiveGateway: "여럿을 고르는 갈림길", eventBasedGateway: "이벤트 갈림길" } as Record<string, string>,
  collections: { steps: "단계와 갈림길", transitions: "흐름", roles: "역할", data: "데이터", decisions: "결정표", messages: "메시지", signals: "신호", errors: "오류", lanes: "레인", rules: "규칙" } as Record<string, string>,
  claims: { activity: "단계", gateway: "갈림길", event: "이벤트", transition: "흐름", condition: "조건", role: "역할", data: "데이터", decision: "결정표", rule: "규칙", agent_mode: "에이전트 모드", name: "이름", instruction: "설명", "data item": "데이터", time_limit: "기한", exception: "예외" } as Record<string, string>,
  droppedAbout: "모델이 있다고 한 것 가운데 매뉴얼에서 찾지 못해 그리지 않은 것이에요.", claimed: "모델이 든 말",
  when: "이럴 때", then: "이렇게", any: "무엇이든", hit: { UNIQUE: "맞는 줄은 하나", FIRST: "먼저 맞는 줄", ANY: "맞으면 모두 같은 답", PRIORITY: "급한 답 먼저", COLLECT: "맞는 줄 모두", "RULE ORDER": "줄 순서대로 모두", "OUTPUT ORDER": "답 순서대로 모두" } as Record<string, string>, noDrawing: "그림을 그리지 못해 목록으로 보여요.", nothing: "이 매뉴얼에서 단계를 찾지 못했어요.",
  seeSide: "매뉴얼과 나란히 보기",
};

export type ManualWords = typeof manualKo;
