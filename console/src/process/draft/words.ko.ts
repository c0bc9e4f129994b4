/** The words of drafts in Korean. */
import { josa, particle } from "../../words/particles";
import { b } from "../../words/rich";

const q = (name: string): string => `‘${name}’`;

export const draftKo = {
  draft: {
    title: "초안", badge: "초안", finishedBadge: "릴리스할 수 있음", releasedBadge: "릴리스함", language: "프로세스",
    importFile: "BPMN 파일 가져오기", dropHere: "여기에 놓으면 초안이 돼요", importing: "파일을 읽고 있어요", imported: "가져왔어요", importedAgain: "같은 파일의 초안이 이미 있어서 그것을 열었어요", importFailed: "가져오지 못했어요",
    listTitle: (n: number) => `초안 ${n}`, listAbout: "가져온 그림이에요. 할 일을 마치면 릴리스할 수 있어요.", listLine: (open: number, all: number) => (open === 0 ? `할 일 ${all}개를 모두 마쳤어요` : `할 일 ${all}개 가운데 ${open}개 남음`), becomes: (n: number) => `v${josa(String(n), "이/가")} 돼요`, moreDefinitions: (n: number) => `정의 ${n}개`,
    importedAt: (when: string) => `${when} 가져옴`, lost: (n: number) => `잃은 요소 ${n}`, pools: (n: number) => `풀 ${n}`, steps: (n: number) => `단계 ${n}`, flows: (n: number) => `흐름 ${n}`, messages: (n: number) => `메시지 ${n}`,
    stepper: "여기까지 왔어요", stages: { draft: "초안", check: "검사", simulate: "모의 실행", review: "검토", active: "운영" }, stageDone: "마침", stageNow: "지금", stageNext: "아직",
    saved: "모두 저장함", saving: "저장하는 중", undo: "되돌리기", redo: "다시 하기", release: "릴리스하기", remove: "초안 지우기", replace: "파일 바꾸기", download: "파일 내려받기", more: "그 밖에",
    left: (n: number, ready: number, without: string[]) => `${b(`할 일 ${n}개`)}가 남았어요. ${leftRest(n, ready, without)}`, leftNone: (version: number) => `${b("할 일을 모두 마쳤어요.")} 릴리스하면 ${b(`v${version}`)}${particle(String(version), "이/가")} 돼요.`, leftNothing: (version: number) => `${b("빠진 것이 없어요.")} 바로 릴리스해서 ${b(`v${version}`)}${particle(String(version), "으로/로")} 쓸 수 있어요.`, leftOptional: (n: number) => `안 해도 되는 일이 ${n}개 있어요.`,
    timer: (name: string) => `타이머 ${q(name)}`, preview: "받은 뒤 모습 보기", previewEnd: "지금 모습 보기", previewing: (n: number) => `제안 ${n}개를 모두 받은 모습이에요. 아직 아무것도 바꾸지 않았어요.`, acceptAll: (n: number) => `제안 ${n}개 모두 받기`,
    acceptTitle: (n: number) => `제안 ${n}개를 모두 받을까요?`, acceptRest: (n: number) => (n === 0 ? "그러면 할 일이 모두 끝나요." : `그래도 ${n}개는 직접 답해야 해요:`), acceptNone: "받을 제안이 없어요.", acceptUndo: "받은 뒤에도 하나씩 되돌릴 수 있어요.", acceptDo: "모두 받기",
    filter: "보이는 표시", filterOpen: (n: number) => `남은 ${n}`, filterAll: (n: number) => `모두 ${n}`, views: "보기", bpmn: "BPMN", net: "그물", list: "목록", noNet: "이 초안은 아직 그물로 그릴 수 없어요. 할 일을 마치면 그려요.", poolOf: (name: string) => `풀 ${q(name)}`, canvas: "가져온 그림", emptyPool: "그려진 단계가 없어요",
    panel: "할 일", panelDone: "끝남", panelLeft: (left: number, ready: number) => `남은 ${left} · 제안 있음 ${ready}`, progress: (done: number, all: number) => `할 일 ${all}개 가운데 ${done}개를 마쳤어요`, optional: "안 해도 돼요",
    doneTitle: (n: number) => `끝난 일 ${n}`, doneBy: (taken: number, own: number) => `제안 ${taken} · 직접 ${own}`, byProposal: "제안", byHand: "직접", reopen: "다시 열기", noTodos: "빠진 것이 없는 그림이에요.", allDone: "할 일을 모두 마쳤어요.",
    locked: (n: number, version: number) => `할 일이 ${b(`${n}개`)} 남아 릴리스할 수 없어요. 끝나면 ${b(`v${version}`)}${particle(String(version), "이/가")} 돼요.`, lockedTip: (n: number) => `할 일이 ${n}개 남아 릴리스할 수 없어요`, unlocked: (version: number) => `이제 ${b(`v${version}`)}${particle(String(version), "으로/로")} 릴리스할 수 있어요.`, lockedCheck: "구조 검사를 통과하지 못해 릴리스할 수 없어요", needs: (permission: string) => `${permission} 권한이 있어야 해요`,
    take: "제안 받기", takeShort: "받기", write: "직접 쓰기", writeConditions: "조건 직접 쓰기", askOther: "다른 사람에게 묻기", save: "저장", cancel: "그만두기", noProposal: "제안 없음", fileOnly: "파일을 고쳐야 해요. 모델러에서 고친 뒤 파일을 바꾸세요.", or: "또는", todoN: (n: number) => `할 일 ${n}`, seeOnDrawing: "그림에서 보기",
    taken: (what: string) => `${what}: 제안을 받았어요`, answered: (what: string) => `${what}: 답을 저장했어요`, allTaken: (n: number) => `제안 ${n}개를 받았어요`, undone: "되돌렸어요", redone: "다시 했어요",
    amount: "얼마나", amountHint: "예: 3", unit: "단위", units: { minutes: "분", hours: "시간", days: "일", weeks: "주" }, then: (step: string) => `지나면 ${q(step)}`, otherValue: "날짜나 되풀이로 적기", conditions: "조건", conditionsHint: "이 길로 갈 때", otherwise: "그 밖에는", otherwiseHint: "조건이 하나도 맞지 않을 때 가는 길", timeKinds: { date: "날짜와 시각", duration: "얼마 뒤", cycle: "되풀이" } as Record<string, string>, timeKind: "무엇으로", timeValue: "값", partAs: "이 풀은", parts: { definition: "정의로 만들기", outside: "밖에서 답하기" } as Record<string, string>, answersWho: "답할 수 있는 사람", answersHint: "role:이름, group:이름, user:아이디. 비워 두면 API로만 답해요.",
    nameField: "이름", askWho: "누구에게 물을까요?", askKinds: { previous: "앞 단계를 한 사람", initiator: "시작한 사람", anyone: "아무나", role: "역할", group: "그룹", user: "사람" } as Record<string, string>, askName: { role: "역할 이름", group: "그룹 이름", user: "사람" } as Record<string, string>, askDo: "이 사람에게 묻기", askNeeded: "누구인지 적어 주세요.",
    who: { initiator: "시작한 사람", anyone: "아무나", role: (name: string) => `${name} 역할`, group: (name: string) => `${name} 그룹`, user: (name: string) => name },
    conflict: "그사이에 다른 사람이 이 초안을 고쳤어요.", conflictDid: (who: string, when: string, what: string) => `${b(who)} 님이 ${when}에 ${what}`, conflictAnswered: (name: string, what: string) => `${q(name)}에 답했어요: ${what}`, conflictUndone: (name: string) => `${q(name)}의 답이 되돌려졌어요.`, conflictOther: "파일이나 답이 바뀌었어요.", conflictKept: "적은 내용은 남아 있어요.", conflictSend: "내 답 보내기", conflictTheirs: "이대로 두기", someone: "누군가",
    soundness: "구조 검사", states: (n: string, accepted: boolean) => (n === "0" ? (accepted ? "제안을 모두 받은 모습의 짜임만 보고 알았어요" : "짜임만 보고 알았어요") : accepted ? `제안을 모두 받은 모습으로 상태 ${n}개를 다 봤어요` : `상태 ${n}개를 다 봤어요`), verdict: { sound: "건전해요", unsound: "끝나지 못할 수 있어요", unknown: "아직 알 수 없어요", pending: "검사하고 있어요" }, checks: { ends: "어느 길로 가도 끝에 닿아요", clean: "남는 토큰이 없어요", alive: "닿지 않는 단계가 없어요" }, checksBad: { ends: "끝에 닿지 못하는 길이 있어요", clean: "끝나도 토큰이 남아요", alive: "닿지 않는 단계가 있어요" }, notYet: "할 일을 마치면 볼 수 있어요", playTokens: "토큰으로 보기", fixIt: "고치러 가기", addDeadline: "기한 더하기", stopPlaying: "그만 보기", moreWarnings: (n: number) => `외 ${n}개`,
    element: "고른 요소", close: "닫기", inFile: "파일에 적힌 것", inFileAbout: "만든 도구가 부르는 이름 그대로예요.", nothingInFile: "파일에 따로 적힌 것이 없어요.", ways: "다음", type: "종류", lane: "레인",
    releaseTitle: (name: string) => `${josa(q(name), "을/를")} 릴리스할까요?`, releaseMany: (n: number) => `정의 ${n}개를 한 번에 릴리스해요. 모두 되거나 하나도 안 돼요.`, releaseOne: "정의 하나를 릴리스해요.", releaseNow: "바로 운영", releaseNowAbout: "릴리스하면 바로 시작할 수 있어요.", releasePending: "승인받고 운영", releasePendingAbout: "다른 사람이 승인한 뒤에 시작할 수 있어요.", releaseUnsound: "끝나지 못할 수 있다는 것을 알고 릴리스해요", releaseDo: "릴리스하기", releaseHow: "어떻게 릴리스할까요?", releaseText: "릴리스한 버전은 바뀌지 않아요. 고치려면 새 버전을 만들어요.",
    releasedTitle: (n: number) => (n === 1 ? "릴리스했어요" : `정의 ${n}개를 릴리스했어요`), releasedAbout: "한 그림에서 나온 정의들이에요.", releasedPending: "승인을 기다려요", releasedOpen: "열기", releasedToast: (name: string, version: number) => `${josa(q(name), "을/를")} v${josa(String(version), "으로/로")} 릴리스했어요`,
    removeTitle: "이 초안을 지울까요?", removeText: "답한 것도 함께 지워져요. 되돌릴 수 없어요. 릴리스한 정의는 그대로 있어요.", removeDo: "초안 지우기", removed: "초안을 지웠어요", replaced: "파일을 바꿨어요. 맞는 답은 그대로 있어요", gone: "초안이 없어요", goneDo: "지워졌거나 릴리스했어요.",
    newDefinition: (nth: number) => (nth <= 1 ? "정의가 돼요" : `${["", "첫", "두", "세", "네"][nth] ?? nth} 번째 정의가 돼요`), newDefinitionAbout: (steps: number, messages: number) => `단계 ${steps}${messages ? ` · 메시지 ${messages}${particle(String(messages), "으로/로")} 이어져요` : ""}`, choice: (label: string) => `선택지 ${q(label)}`,
    markOpen: (n: number, title: string) => `할 일 ${n}, 남음: ${title}`, markDone: (n: number, title: string) => `할 일 ${n}, 끝남: ${title}`,
    kinds: {
      gateway_conditions: (name: string) => `갈림길 ${q(name)}에 조건이 없어요`, message_name: (name: string) => `메시지 ${q(name)}에 이름이 없어요`, signal_name: (name: string) => `신호 ${q(name)}에 이름이 없어요`, timer_value: (name: string) => `타이머 ${q(name)}에 값이 없어요`, event_condition: (name: string) => `조건 이벤트 ${q(name)}에 조건이 없어요`,
      lane_role: (name: string) => `레인 ${q(name)}의 일을 누가 할지 없어요`, assignment: (name: string) => `${josa(q(name), "을/를")} 누가 할지 없어요`, form: (name: string) => `${q(name)}에서 적을 것이 없어요`, script: (name: string) => `스크립트 ${josa(q(name), "을/를")} 그대로 돌릴 수 없어요`, rules: (name: string) => `규칙 ${q(name)}에 쓸 규칙이 없어요`, service: (name: string) => `서비스 ${q(name)}에 부를 곳이 없어요`,
      called_process: (name: string) => `${josa(q(name), "이/가")} 부르는 프로세스가 없어요`, instances: (name: string) => `${josa(q(name), "을/를")} 몇 번 할지 없어요`, loop: (name: string) => `${josa(q(name), "을/를")} 언제까지 되풀이할지 없어요`, pool: (name: string) => `다른 풀 ${q(name)}에 메시지 흐름이 있어요`, message_flow: (name: string) => `메시지 흐름 ${josa(q(name), "이/가")} 이어지지 않았어요`, black_box: (name: string) => `풀 ${josa(q(name), "은/는")} 속이 비어 있어요`, soundness: (name: string) => `${q(name)}에서 끝나지 못할 수 있어요`,
    } as Record<string, (name: string) => string>,
    shorts: { gateway_conditions: "조건", message_name: "메시지", signal_name: "신호", timer_value: "값", event_condition: "조건", lane_role: "담당", assignment: "담당", form: "양식", script: "스크립트", rules: "규칙", service: "서비스", called_process: "프로세스", instances: "횟수", loop: "되풀이", pool: "정의", message_flow: "메시지", black_box: "답하는 사람", soundness: "구조" } as Record<string, string>,
    elements: { startEvent: "시작 이벤트", endEvent: "끝 이벤트", intermediateThrowEvent: "보내는 이벤트", intermediateCatchEvent: "기다리는 이벤트", boundaryEvent: "경계 이벤트", task: "일", userTask: "사람이 할 일", manualTask: "손으로 할 일", serviceTask: "서비스", sendTask: "보내기", receiveTask: "받기", scriptTask: "스크립트", businessRuleTask: "규칙", callActivity: "부르는 프로세스", subProcess: "하위 프로세스", adHocSubProcess: "자유 하위 프로세스", transaction: "트랜잭션", exclusiveGateway: "갈림길", inclusiveGateway: "여러 갈림길", parallelGateway: "나란히", eventBasedGateway: "이벤트 갈림길", complexGateway: "복합 갈림길", participant: "풀", lane: "레인", sequenceFlow: "흐름", messageFlow: "메시지 흐름" } as Record<string, string>,
    proposals: {
      ask: (who: string, choices: string) => `이 갈림길은 ${who}에게 묻기: ${choices}`, askEffect: (before: string, who: string) => (before ? `${josa(q(before), "을/를")} 끝낸 ${josa(who, "이/가")} 고르면 그 길로 가요.` : `${josa(who, "이/가")} 고르면 그 길로 가요.`), whoDid: "사람", previousShort: "앞 단계 담당자",
      own_name: (name: string) => `그림의 이름을 그대로 쓰기: ${name}`, own_id: (name: string) => `요소의 아이디를 이름으로 쓰기: ${name}`, flow_name: (name: string) => `메시지 흐름의 이름을 쓰기: ${name}`, partner_name: (name: string) => `말을 주고받는 풀의 이름을 쓰기: ${name}`, spoken_time: (when: string) => `이름에 적힌 대로 ${when}`, after: (d: string) => `${d} 뒤`, every: (d: string) => `${d}마다`, definition: (messages: number) => (messages ? `정의를 하나 더 만들고 메시지 ${messages}개로 이어 한 릴리스로 묶기` : "정의를 하나 더 만들어 한 릴리스로 묶기"), outside: (name: string) => `사람이나 API가 ${josa(name, "으로/로")} 답하기`,
    },
  },
};

/** The part of the sentence that says what the rest of the to-dos needs. */
function leftRest(n: number, ready: number, without: string[]): string {
  const named = without.length === 0 ? "" : without.length === 1 ? `${b(without[0] ?? "")}${particle(without[0] ?? "", "은/는")} 값을 적어야 해요.` : `${without.length}개는 직접 적어야 해요.`;
  if (ready === 0) return named;
  return ready === n ? "모두 제안을 받으면 끝나요." : `${ready}개는 제안을 받으면 끝나고, ${named}`;
}

export type DraftWords = typeof draftKo;
