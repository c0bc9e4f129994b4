"""Twelve manuals: what they say, and what a person reads out of them.

`activities` are names by which the flows know them, with words that must be in the activity's name. A flow leads from
an activity to the next one, through gateways; START and END are the ends of the process.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.conformance.process.manuals.files import Part


class Answer(NamedTuple):
    name: str
    form: str
    parts: list[Part]
    activities: dict[str, str]
    flows: list[str]
    roles: dict[str, str] = {}
    dues: dict[str, str] = {}


def h1(text: str) -> Part:
    return Part("h1", text)


def h2(text: str) -> Part:
    return Part("h2", text)


def p(text: str) -> Part:
    return Part("p", text)


def ol(*items: str) -> Part:
    return Part("ol", list(items))


def ul(*items: str) -> Part:
    return Part("ul", list(items))


def table(*rows: list[str]) -> Part:
    return Part("table", list(rows))


ANSWERS = [
    Answer(
        "구매 결재 (예외)", "text",
        [h1("구매 결재 절차"),
         ol("신청자가 구매 요청서를 작성한다.",
            "구매 담당자가 견적을 비교한다.",
            "금액이 500만원을 넘는 건은 본부장이 결재한다. 나머지는 팀장이 승인한다.",
            "구매 담당자가 발주한다. 다만, 재고가 남아 있는 경우에는 창고 담당자가 재고를 출고한다.",
            "회계팀이 대금을 지급한다.")],
        {"write": "구매 요청서를 작성", "compare": "견적을 비교", "sign": "결재", "approve": "승인", "order": "발주",
         "stock": "재고를 출고", "pay": "대금을 지급"},
        ["START>write", "write>compare", "compare>sign", "compare>approve", "sign>order", "approve>order",
         "sign>stock", "approve>stock", "order>pay", "stock>pay", "pay>END"],
        {"write": "신청자", "compare": "구매 담당자", "sign": "본부장", "approve": "팀장", "stock": "창고 담당자",
         "pay": "회계팀"},
    ),
    Answer(
        "대출 심사 (PDF)", "pdf",
        [h1("대출 심사 업무 매뉴얼"), h2("1. 목적"), p("이 매뉴얼은 대출 심사 업무의 표준을 정한다."), h2("절차"),
         ol("상담사가 대출 신청서를 접수한다.",
            "접수된 서류는 심사 담당자에 의해 1영업일 이내에 검토된다.",
            "서류에 누락이 있으면 상담사가 고객에게 보완을 요청하고 1단계로 돌아간다.",
            "신용 점수가 600점 미만인 건은 심사 담당자가 거절하고 종료한다.",
            "신용 점수가 800점 이상이면 지점장이 승인한다. 그렇지 않으면 본점 심사역이 정밀 심사를 수행한다.",
            "상담사가 약정을 체결한다.")],
        {"receive": "신청서를 접수", "review": "검토", "ask": "보완을 요청", "refuse": "거절", "approve": "승인",
         "examine": "정밀 심사", "sign": "약정을 체결"},
        ["START>receive", "receive>review", "review>ask", "ask>receive", "review>refuse", "refuse>END",
         "review>approve", "review>examine", "approve>sign", "examine>sign", "sign>END"],
        {"receive": "상담사", "review": "심사 담당자", "approve": "지점장", "examine": "본점 심사역"},
        {"review": "P1D"},
    ),
    Answer(
        "반품 (두 단, 표)", "pdf2",
        [h1("반품 처리 매뉴얼"), h2("처리 순서"),
         ol("고객센터가 반품 신청을 접수하고 주문 번호를 확인한다.",
            "물류팀이 상품을 회수한다. 회수는 접수 후 3일 이내에 마친다.",
            "검수 담당자가 상품 상태를 확인한다.",
            "상품이 훼손된 경우 고객센터가 반품을 거절하고 상품을 고객에게 돌려보낸다. "
            "그렇지 않으면 회계팀이 환불한다.",
            "고객센터가 결과를 고객에게 통보한다."),
         h2("배송비 기준"),
         table(["사유", "주문 금액", "배송비"], ["불량", "무관", "0원"], ["변심", "5만원 미만", "6,000원"],
               ["변심", "5만원 이상", "3,000원"])],
        {"receive": "접수", "collect": "상품을 회수", "check": "상품 상태를 확인", "refuse": "거절", "refund": "환불",
         "tell": "고객에게 통보"},
        ["START>receive", "receive>collect", "collect>check", "check>refuse", "check>refund", "refuse>tell",
         "refund>tell", "tell>END"],
        {"receive": "고객센터", "collect": "물류팀", "check": "검수 담당자", "refund": "회계팀"},
        {"collect": "P3D"},
    ),
    Answer(
        "채용 (DOCX)", "docx",
        [h1("채용 절차"), p("신규 직원 채용은 아래 순서로 진행한다."),
         ol("인사팀이 채용 공고를 게시한다.",
            "인사팀이 지원서를 검토한다. 요건에 맞지 않는 지원자에게는 불합격을 통보하고 종료한다.",
            "실무 면접과 인성 검사를 동시에 진행한다.",
            "합격이면 인사팀이 처우를 협의한다. 불합격이면 인사팀이 결과를 안내하고 종료한다.",
            "부서장이 품의서를 작성한다.",
            "대표이사가 품의서를 결재한다. 반려 시 부서장이 품의서를 재작성한다.",
            "인사팀이 입사일을 확정한다.")],
        {"post": "공고를 게시", "screen": "지원서를 검토", "reject": "불합격을 통보", "interview": "면접",
         "test": "인성 검사", "terms": "처우를 협의", "inform": "결과를 안내", "draft": "품의서를 작성",
         "sign": "결재", "redraft": "재작성", "fix": "입사일을 확정"},
        ["START>post", "post>screen", "screen>reject", "reject>END", "screen>interview", "screen>test",
         "interview>terms", "test>terms", "interview>inform", "test>inform", "inform>END", "terms>draft", "draft>sign",
         "sign>redraft", "redraft>sign", "sign>fix", "fix>END"],
        {"post": "인사팀", "draft": "부서장", "sign": "대표이사", "redraft": "부서장"},
    ),
    Answer(
        "민원 (HTML)", "html",
        [h1("민원 처리 지침"), h2("접수와 처리"),
         ol("접수 담당자: 민원을 접수한다 (1시간 이내)",
            "분류 담당자: 민원을 유형별로 분류한다",
            "긴급 민원은 당직 책임자가 즉시 현장에 출동한다. 일반 민원은 처리 부서가 5영업일 이내에 처리한다.",
            "처리 부서: 결과를 민원인에게 통보한다",
            "민원인이 이의를 제기하면 감사실이 재검토한다."),
         h2("참고"), p("이 지침은 매년 개정한다.")],
        {"receive": "민원을 접수", "sort": "분류", "rush": "현장에 출동", "handle": "처리한다",
         "tell": "민원인에게 통보",
         "again": "재검토"},
        ["START>receive", "receive>sort", "sort>rush", "sort>handle", "rush>tell", "handle>tell", "tell>again",
         "tell>END", "again>END"],
        {"receive": "접수 담당자", "sort": "분류 담당자", "rush": "당직 책임자", "handle": "처리 부서",
        "again": "감사실"},
        {"receive": "PT1H", "handle": "P5D"},
    ),
    Answer(
        "설비 고장 (글)", "text",
        [h1("설비 고장 대응"),
         p("고장이 신고되면 정비팀이 설비를 점검한다. 안전에 문제가 있으면 안전 관리자가 생산을 중단시킨다. "
           "정비팀이 고장 원인을 분석한다. 동시에 생산팀은 대체 설비를 준비한다. "
           "부품이 없는 경우 구매팀이 부품을 발주한다. 정비팀이 설비를 수리한다. "
           "정비팀이 시운전을 실시한다. 시운전에 실패하면 다시 수리한다. "
           "생산팀은 생산을 재개한다.")],
        {"check": "설비를 점검", "stop": "생산을 중단", "analyse": "원인을 분석", "prepare": "대체 설비를 준비",
         "order": "부품을 발주", "repair": "설비를 수리", "try": "시운전을 실시", "resume": "생산을 재개"},
        ["START>check", "check>stop", "check>analyse", "check>prepare", "stop>analyse", "stop>prepare",
         "analyse>order", "prepare>order", "analyse>repair", "prepare>repair", "order>repair", "repair>try",
         "try>repair", "try>resume", "resume>END"],
        {"check": "정비팀", "stop": "안전 관리자", "prepare": "생산팀", "order": "구매팀"},
    ),
    Answer(
        "Purchase orders (Markdown)", "text",
        [h1("Purchase orders"),
         ol("Requester: Fill in the purchase form.",
            "The purchasing clerk collects three quotes within 3 business days.",
            "Orders above 10,000 go to the finance director for approval. All others are approved by the line manager.",
            "If the order is rejected, the requester revises the form and goes back to step 2.",
            "The purchasing clerk places the order.",
            "The warehouse checks the goods on arrival; if goods are missing, the clerk files a complaint.",
            "Accounting pays the invoice.")],
        {"fill": "purchase form", "quotes": "three quotes", "director": "approval", "manager": "approved",
         "revise": "revises the form", "place": "places the order", "check": "checks the goods",
         "complain": "files a complaint", "pay": "pays the invoice"},
        ["START>fill", "fill>quotes", "quotes>director", "quotes>manager", "director>revise", "manager>revise",
         "revise>quotes", "director>place", "manager>place", "place>check", "check>complain", "check>pay",
         "complain>pay", "pay>END"],
        {"fill": "Requester", "quotes": "purchasing clerk", "director": "finance director", "manager": "line manager"},
        {"quotes": "P3D"},
    ),
    Answer(
        "Insurance claims (two columns)", "pdf2",
        [h1("Handling insurance claims"), h2("Procedure"),
         ol("The customer service agent registers the claim in the claims system.",
            "The claims handler checks the policy. If the policy has expired, the claims handler rejects the claim and "
            "the process ends.",
            "The claims handler assesses the damage, except when the claim is below 500 euros.",
            "If fraud is suspected, the investigator examines the claim. Otherwise, the claims handler approves it.",
            "The payment is made by the accounting department within 14 days.",
            "Meanwhile, the customer service agent informs the customer.")],
        {"register": "registers the claim", "policy": "checks the policy", "reject": "rejects the claim",
         "assess": "assesses the damage", "examine": "examines the claim", "approve": "approves it", "pay": "payment",
         "inform": "informs the customer"},
        ["START>register", "register>policy", "policy>reject", "reject>END", "policy>assess", "policy>examine",
         "policy>approve", "assess>examine", "assess>approve", "examine>pay", "approve>pay", "examine>inform",
         "approve>inform", "pay>END", "inform>END"],
        {"policy": "claims handler", "examine": "investigator", "pay": "accounting department"},
        {"pay": "P14D"},
    ),
    Answer(
        "Onboarding (DOCX)", "docx",
        [h1("Onboarding of new employees"), p("This manual says how a new employee starts."),
         ol("HR: Prepare the contract",
            "HR: Send the contract to the candidate",
            "If the candidate declines, HR must close the case and the process ends.",
            "In parallel, IT must set up the account and facilities must prepare the desk.",
            "The team lead welcomes the employee on the first day.",
            "The employee completes the safety training. This is repeated until the test is passed.",
            "The team lead reviews the probation after 6 months.")],
        {"prepare": "prepare the contract", "send": "send the contract", "close": "close the case",
         "account": "set up the account", "desk": "prepare the desk", "welcome": "welcomes the employee",
         "train": "safety training", "review": "reviews the probation"},
        ["START>prepare", "prepare>send", "send>close", "close>END", "send>account", "send>desk", "account>welcome",
         "desk>welcome", "welcome>train", "train>train", "train>review", "review>END"],
        {"prepare": "HR", "account": "IT", "welcome": "team lead", "train": "employee"},
    ),
    Answer(
        "Incidents (HTML)", "html",
        [h1("Incident response"),
         ol("The service desk logs the incident.",
            "The service desk determines the severity.",
            "If the incident is critical, the duty manager opens a war room, and if customers are affected, the "
            "communications team publishes a notice. Otherwise, the support engineer handles the ticket.",
            "The support engineer resolves the incident.",
            "The service desk confirms the solution with the user. If the user is not satisfied, return to step 4.",
            "The service desk closes the incident.")],
        {"log": "logs the incident", "severity": "determines the severity", "room": "opens a war room",
         "notice": "publishes a notice", "ticket": "handles the ticket", "resolve": "resolves the incident",
         "confirm": "confirms the solution", "close": "closes the incident"},
        ["START>log", "log>severity", "severity>room", "room>notice", "room>resolve", "notice>resolve",
         "severity>ticket", "ticket>resolve", "resolve>confirm", "confirm>resolve", "confirm>close", "close>END"],
        {"log": "service desk", "room": "duty manager", "notice": "communications team", "resolve": "support engineer"},
    ),
    Answer(
        "Invoices (prose)", "text",
        [h1("Incoming invoices"),
         p("When an invoice arrives, it is scanned by the mail room. The invoice is then registered by the accountant. "
           "The accountant compares the invoice with the order. Unless the amounts match, the accountant contacts the "
           "supplier. Invoices over 5,000 EUR are approved by the head of finance. "
           "Finally, the payment is released by the treasurer within two weeks.")],
        {"scan": "scanned", "register": "registered", "compare": "compares the invoice",
         "contact": "contacts the supplier",
         "approve": "approved", "release": "payment is released"},
        ["START>scan", "scan>register", "register>compare", "compare>contact", "compare>approve", "compare>release",
         "contact>approve", "contact>release", "approve>release", "release>END"],
        {"scan": "mail room", "register": "accountant", "compare": "accountant", "approve": "head of finance",
         "release": "treasurer"},
        {"release": "P2W"},
    ),
    Answer(
        "Laboratory samples (tables)", "pdf",
        [h1("Laboratory samples"), h2("Steps"),
         table(["No", "Step", "Responsible"], ["1", "Receive the sample", "Courier desk"],
               ["2", "Register the sample in the laboratory system", "Lab assistant"],
               ["3", "Measure the sample", "Technician"], ["4", "Check the result", "Lab manager"],
               ["5", "Send the report to the client", "Lab assistant"]),
         h2("Priority"),
         table(["Sample type", "Days until due", "Priority"], ["blood", "-", "1"], ["water", "2 or less", "1"],
               ["water", "over 2", "2"], ["other", "-", "3"])],
        {"receive": "receive the sample", "register": "register the sample", "measure": "measure the sample",
         "check": "check the result", "send": "send the report"},
        ["START>receive", "receive>register", "register>measure", "measure>check", "check>send", "send>END"],
        {"receive": "Courier desk", "register": "Lab assistant", "measure": "Technician", "check": "Lab manager"},
    ),
]  # fmt: skip
