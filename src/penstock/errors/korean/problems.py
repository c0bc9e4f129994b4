"""What cannot be done, in Korean, by the name of the error: the message, and what to do about it."""

from __future__ import annotations

#: the same values stand in braces as in the docstring of the class
ERRORS: dict[str, tuple[str, str]] = {
    "AccountTooMany": (
        "이 키로 1분에 {rate}번 넘게 틀린 비밀이 들어왔어요.",
        "Retry-After만큼 기다리거나, 전에 로그인한 곳에서 들어오세요.",
    ),
    "AgentBusy": (
        "에이전트 «{agent}»: «{task}» 작업을 하고 있어요.",
        "끝나기를 기다리거나 queue=true로 줄을 세우세요.",
    ),
    "AnswerInvalid": (
        "결정이 «{item}»의 스키마와 맞지 않아요: {why}.",
        "바뀐 것은 없어요. 노드의 output.schema를 보세요.",
    ),
    "ApproverDenied": ("{user} 님은 «{item}»의 결정을 할 수 없어요.", "할 일 목록에서 누가 할 수 있는지 볼 수 있어요."),
    "ArtifactMissing": (
        "승인된 {type} «{id}»: 없어요.",
        "`penstock registry ls`가 목록을 보여요. 초안은 승인한 뒤에 배포해요.",
    ),
    "AuditKeyUnreadable": (
        "감사 기록의 키를 쓸 수 없어요: {file}: {why}.",
        "사본에서 파일을 되돌려 놓으세요. 없으면 기록이 바뀌었는지 알 수 없어요.",
    ),
    "BatchNotFound": (
        "묶음 작업 «{batch}»: 여기에 없어요.",
        "`penstock batch ls`가 목록을 보여요. 끝난 작업은 30일 동안 남아요.",
    ),
    "BatchesTooMany": ("이 테넌트의 묶음 작업 {count}개를 이미 하고 있어요.", "하나가 끝나기를 기다리거나 취소하세요."),
    "BadInput": ("{what}: 읽을 수 없어요. {why}.", "이름이 나온 것을 고쳐 주세요."),
    "BodyUnreadable": ("본문을 읽을 수 없어요: {why}.", "JSON 값 하나를 보내 주세요."),
    "BreakerNotFound": ("차단기 «{name}»: 없어요.", "차단기의 이름은 워크플로우/노드이고, 처음 부를 때 생겨요."),
    "ChangedMeanwhile": ("{what}: 그사이에 바뀌었어요. 지금은 {now}.", "지금 모습을 보고 다시 해 주세요."),
    "CheckpointKeyMissing": (
        "«{name}»: 체크포인트를 암호화하려는데 비밀 «checkpoint_key» 값이 없어요.",
        "비밀을 넣거나 policies.checkpoint.storage에 encryption: false를 적으세요.",
    ),
    "CheckpointNotFound": (
        "실행 «{run}»의 체크포인트 {number}: 읽을 수 있는 것이 없어요.",
        "체크포인트 목록을 보세요.",
    ),
    "CheckpointPlaceMissing": (
        "«{name}»: 체크포인트를 {place}에 두려는데 그곳이 어디인지 정해지지 않았어요.",
        "설정 checkpoint.s3이나 checkpoint.redis에 주소를 넣으세요.",
    ),
    "DeadMessageNotFound": (
        "버려진 메시지 «{message}»: 없어요.",
        "있는 것은 `penstock pipeline dlq`로 보세요. 30일 동안 두어요.",
    ),
    "DeploymentError": ("배포할 수 없어요: {why}.", "바뀐 것은 없어요. DEPLOY 노드의 설명을 보세요."),
    "DeploymentNotFound": ("배포 «{id}»: 여기에 없어요.", "`penstock deployments`가 목록을 보여요."),
    "DocumentInvalid": ("문서에 오류가 {count}개 있어요. 첫째: {first}.", "검사 결과를 하나씩 고쳐 주세요."),
    "DocumentTooLarge": ("문서가 {size}바이트예요. {limit}바이트까지 읽어요.", "나누거나, 긴 글을 파일로 옮기세요."),
    "DocumentTooLong": ("노드가 {count}개예요. {limit}개까지 봐요.", "하위 문서로 나누세요."),
    "DocumentUnreadable": (
        "문서를 읽을 수 없어요: {why}.",
        "그 자리의 문법을 살펴보세요. JSON과 YAML은 UTF-8로 읽어요.",
    ),
    "DraftNotFound": ("초안 «{key}»: 없어요.", "보낸 초안은 사라져요."),
    "EventLogCaseMissing": (
        "이벤트 로그 «{name}»의 {where}: 어느 케이스에 속하는지 없어요.",
        "모든 행이나 trace에 케이스 ID가 있어야 해요. 어느 케이스에도 속하지 않는 행은 빼세요.",
    ),
    "EventLogColumns": (
        "이벤트 로그 «{name}»에 {what} 열이 없어요. 있는 열: {columns}.",
        "열을 알려 주세요: case=…, activity=…, time=…, 있으면 start=…, resource=…, lifecycle=…, mode=….",
    ),
    "EventLogEmpty": (
        "이벤트 로그 «{name}»에 완료된 이벤트가 없어요{why}.",
        "기간을 늘려, 완료된 이벤트가 있는 케이스를 하나 이상 내보내세요.",
    ),
    "EventLogTooLarge": (
        "이벤트 로그의 한도를 {where}에서 넘었어요: {what} {limit}까지 읽어요.",
        "기간을 줄이거나 이벤트 종류를 줄이세요. 활동이 수천 개면 활동 열에 번호나 긴 글이 든 거예요.",
    ),
    "EventLogTruncated": (
        "이벤트 로그 «{name}»: {where} 다음에서 끊겼어요: {why}.",
        "파일을 다시 내보내거나 다시 보내세요. 저장한 것은 없어요.",
    ),
    "EventLogUnknown": (
        "«{name}»: 이벤트 로그가 아니에요: {why}.",
        "XES(1.0, 2.0)나 머리글 줄이 있는 CSV, 또는 그것을 gzip으로 압축한 파일을 주세요.",
    ),
    "EventLogUnreadable": (
        "이벤트 로그 «{name}»의 {where}: 읽을 수 없어요: {why}.",
        "그 자리를 고치세요. 저장한 것은 없어요.",
    ),
    "EventLogZones": (
        "이벤트 로그 «{name}»에 시간대가 있는 시각과 없는 시각이 섞여 있어요. 처음은 {where}이에요.",
        "시간대가 없는 시각이 어느 시간대인지 알려 주거나(zone=Asia/Seoul), 모두 시간대와 함께 내보내세요.",
    ),
    "ExecutionFileNotFound": ("그런 파일은 없어요: {why}.", "실행이 만든 것은 단계 기록에서 보세요."),
    "ForeignTenant": (
        "«{tenant}»의 배포는 테넌트 «{other}»에 닿을 수 없어요.",
        "`scope.tenant_ids`를 빼거나 자기 테넌트만 적으세요.",
    ),
    "LineUnknown": (
        "AAS 레지스트리에 라인 «{line}»: 없어요. 있는 라인: {known}.",
        "라인을 등록하거나 `scope.line_ids`에서 빼세요.",
    ),
    "NoPreviousVersion": (
        "{type} «{id}»: 이 범위에서 {version} 앞에 쓰던 버전이 없어요.",
        "버전을 적으세요: `to_version: specific`과 `specific_version`.",
    ),
    "NothingWaits": (
        "«{node}»에서 «{who}»을(를) 기다리는 것이 없어요: {why}.",
        "기다릴 때까지 시간을 보내거나(`within`), 시간표에서 실행이 간 길을 보세요.",
    ),
    "NotInForceBefore": (
        "{type} «{id}»: {version} 버전은 {own} 배포 전에 이 범위에서 쓴 적이 없어요.",
        "되돌리기는 전에 쓰던 버전으로만 가요. 다른 버전은 새로 배포하세요.",
    ),
    "NoStableVersion": (
        "{type} «{id}»: 오류율 {rate} 이하로 {hours}시간 동안 쓴 이전 버전이 없어요.",
        "`last_stable_criteria`를 낮추거나 버전을 적으세요: `strategy: specific`.",
    ),
    "NotStubbed": ("대신할 것이 없어요: {what}.", "스텁을 두거나, 진짜로 해도 된다고 적으세요(`real`)."),
    "RolloutLive": (
        "실행 {run}: 아직 끝나지 않은 배포 «{id}»의 단계를 넘기고 있어요.",
        "배포를 멈추거나 되돌리세요: `penstock deploy pause ID`, `penstock deploy rollback ID`.",
    ),
    "ScenarioBusy": ("멈추지 않아요: {why}.", "반복에서 나갈 길을 만들거나, 묻는 것에 스텁으로 답하세요."),
    "ScenarioInvalid": (
        "시나리오에 오류가 {count}개 있어요. 첫째: {first}.",
        "오류마다 자리와 힌트가 있어요. 형식은 docs/reference/scenarios.md에 있어요.",
    ),
    "ScopeEmpty": (
        "`line_ids`가 비었어요. 배포할 라인이 없어요.",
        "라인을 적거나 `line_ids`를 빼세요. 빼면 모든 라인에 배포해요.",
    ),
    "PipelineOff": (
        "파이프라인 «{pipeline}»: 파일이 다른 파일을 기다리는 동안 꺼졌어요.",
        "다시 켜거나 그 파일을 맡을 다른 것을 정한 뒤, 메시지를 다시 보내세요.",
    ),
    "ExecutionNotFound": ("실행 «{execution}»: 없어요.", "있는 것은 `penstock pipeline ls`로 보세요."),
    "ExecutionState": (
        "{what}: 지금 {status} 상태예요. {verb}은(는) {allowed} 상태에서만 할 수 있어요.",
        "바뀐 것은 없어요.",
    ),
    "ExecutorUnknown": ("실행기 «{name}»: 없어요.", "이름을 고치거나, 실행하는 호스트에 실행기를 넣으세요."),
    "ExprDivisionByZero": ("0으로 나눴어요.", "fn.if(n == 0, 0, total / n)처럼 막으세요."),
    "ExprError": ("식을 계산하지 못했어요: {why}.", "이름이 어떤 값이었는지 살펴보세요."),
    "ExprLimit": ("식이 한도를 넘었어요: {why}.", "여러 노드로 나누세요."),
    "ExprNotSupported": ("여기서 계산하지 않는 식이에요: {why} («{expression}»).", "다른 방법으로 적어 주세요."),
    "ExprSecretMissing": ("비밀 «{name}»: 없어요.", "이 이름으로 비밀을 넣거나 이름을 고치세요."),
    "ExprSyntaxError": (
        "식을 읽을 수 없어요: {why}. «{source}»의 {position}번째 글자예요.",
        "그 글자를 고치세요. 글은 따옴표 안에, 함수는 fn.이름(…)으로 적어요.",
    ),
    "ExprTypeError": ("식의 값이 맞지 않아요: {why}.", "이름이 어떤 값이었는지 살펴보세요."),
    "ExprUnknownRoot": ("여기에 없는 이름이에요: «{name}».", "이름은 연결이 가져와요."),
    "DecisionNull": (
        "{where}에서 값이 없어요: {why}.",
        "엄격 모드는 표준이 null로 두는 곳에서 멈춰요. 값을 먼저 확인하거나 strict 없이 계산하세요.",
    ),
    "DecisionUnknown": (
        "«{model}»에는 «{name}» 결정이 없어요.",
        "결정, 결정 서비스, 지식 모델의 이름이나 아이디로 물어보세요.",
    ),
    "FeelError": (
        "{why}: «{source}» 식의 {position}번째 글자예요.",
        "엄격 모드는 표준이 null로 두는 곳에서 멈춰요. 값을 먼저 확인하거나 strict 없이 계산하세요.",
    ),
    "FeelLimit": (
        "식이 한도를 넘었어요: {why} («{source}» 식의 {position}번째 글자).",
        "반복 전에 거르고, 재귀를 끝내고, 범위와 글을 줄이세요.",
    ),
    "FeelSyntaxError": (
        "{why}: «{source}» 식의 {position}번째 글자예요.",
        "그 글자에서 고쳐 주세요. 빈칸이나 기호가 있는 이름은 알려진 곳에서만 읽어요.",
    ),
    "ExtraMissing": (
        "추가 묶음 «{extra}» 설치가 필요해요: pip install 'penstock[{extra}]'.",
        "설치하고 다시 시작하세요.",
    ),
    "FactsLimit": (
        "실행이 사실을 {facts}개 만들었고 한도는 {most}개예요. 멈춘 채로 두었어요.",
        "설정 limits.facts_per_run을 올리고 다시 시작한 뒤 이어 가거나, 취소하세요.",
    ),
    "Fenced": ("이제 다른 호스트가 이 저장소를 맡고 있어요. 쓴 것은 없어요.", "한 번에 한 호스트만 맡게 하세요."),
    "FourEyes": ("{user} 님은 {what}의 승인을 할 수 없어요: {why}.", "다른 승인자에게 부탁하세요."),
    "HookTooMany": ("«{name}»의 웹훅은 {seconds}초에 {requests}번까지 받고, 다 썼어요.", "Retry-After만큼 기다리세요."),
    "IdempotencyConflict": ("멱등 키 «{key}»: 다른 요청의 것이에요.", "요청마다 다른 키를 쓰세요."),
    "IllegalTransition": (
        "{what}: 지금 {status} 상태예요. {verb}은(는) {allowed} 상태에서만 할 수 있어요.",
        "바뀐 것은 없어요.",
    ),
    "InputInvalid": ("입력이 문서와 맞지 않아요: {why}.", "문서의 input_schema를 보세요."),
    "ItemAmbiguous": ("«{item}»: 여럿을 뜻해요. {known}.", "실행/노드로 끝까지 적으세요."),
    "ItemClaimed": ("{by} 님이 «{item}»의 일을 이미 맡았어요.", "맡겨 두거나 돌려 달라고 하세요."),
    "ItemDecided": ("«{item}»: 이미 끝났어요. {at}에 {how}.", "실행에서 결과를 볼 수 있어요."),
    "ItemNotFound": ("사람을 기다리는 일 가운데 «{item}»: 없어요.", "할 일 목록을 보세요."),
    "JobLockLost": (
        "작업 «{job}»의 잠금 토큰이 더는 맞지 않아요: {holder}.",
        "한 일은 그대로 두고 작업을 다시 받으세요. 지금 가진 워커가 대답해요.",
    ),
    "JobNotFound": ("작업 «{job}»: 여기에 없어요.", "`penstock jobs ls`가 목록을 보여요. 끝난 작업은 하루 남아요."),
    "JobOver": ("작업 «{job}»: 이미 끝났어요. {how}.", "바뀐 것은 없어요. `penstock jobs show JOB`으로 보세요."),
    "KeyConflict": (
        "키 «{key}»: 이미 실행 {run}의 것이고, 그 실행은 다른 문서나 입력으로 시작했어요.",
        "다른 키를 쓰세요.",
    ),
    "KeyExpired": ("키 «{id}»: 기한이 지났어요.", "관리자에게 새 키를 부탁하세요."),
    "KeyInvalid": ("키를 받아들이지 않아요: {why}.", "만들 때 보인 그대로 넣으세요. 관리자가 새로 만들 수 있어요."),
    "KeyMissing": ("누구인지 알아야 해요.", "키를 보내거나 콘솔에 로그인하세요."),
    "KeyNeeded": (
        "«{user}»: 이름뿐이에요. 두 사람의 눈이 필요한 곳에서는 명령줄에도 키가 있어야 해요.",
        "PENSTOCK_KEY에 자기 키를 넣으세요.",
    ),
    "KeyNotFound": ("키 «{id}»: 없어요.", "키 목록에서 아이디를 보세요."),
    "KeyRevoked": ("키 «{id}»: 거두어들인 키예요.", "관리자에게 새 키를 부탁하세요."),
    "LanguageUnknown": (
        "읽을 수 있는 문서가 아니에요. 아는 것: {known}.",
        "다이어그램, 워크플로우, 프로세스의 틀을 보세요.",
    ),
    "SimulationNotFound": ("시뮬레이션 «{id}»이(가) 없어요.", "시뮬레이션 목록을 보세요."),
    "JudgmentNotFound": ("판정 «{judgment}»이(가) 없어요.", "판정 목록에서 확인하세요."),
    "LetterNotFound": ("실행 «{run}»: 실패 보관함에 없어요.", "실패 보관함 목록을 보세요."),
    "LogTooLarge": (
        "기록으로 모델을 만들 수 없어요. {what}: {count}개가 있고 {limit}개까지 돼요.",
        "기간을 줄이거나, 드문 활동을 빼거나, 빼도 되는 잡음을 정해 주세요.",
    ),
    "MinerFailed": (
        "pm4py가 답하지 않았어요: {why}.",
        "변형을 줄이거나 시간을 더 주세요. Penstock이 만드는 모델과 적합도에는 pm4py가 필요 없어요.",
    ),
    "MediaWrong": ("본문이 «{given}» 형식이에요. JSON만 받아요.", "Content-Type: application/json으로 보내세요."),
    "MessageInvalid": (
        "메시지를 쓸 수 없어요: {why}.",
        "시작된 것은 없어요. 3절의 모양, S3 알림, EventBridge 이벤트를 보내 주세요.",
    ),
    "MigrationBlocked": (
        "실행을 새 버전으로 옮길 수 없어요: {why}.",
        "그대로 끝내거나, 새 버전에 필요한 것을 남기세요.",
    ),
    "NoBranch": ("이 답으로는 «{node}»에서 갈 수 있는 길이 없어요.", "갈래가 받는 답을 주거나 기본 길을 그리세요."),
    "NodeNotFound": ("이 실행에 노드 «{node}»{which}: 없어요.", "실행의 노드를 보세요."),
    "NotAllowed": ("{user} 님은 할 수 없어요. 권한 «{permission}»이 필요해요.", "관리자가 역할을 줄 수 있어요."),
    "NotOurPage": ("세션 쿠키로 바꾸는 일은 콘솔에서만 할 수 있어요.", "프로그램은 키를 보내세요."),
    "NotTaken": (
        "이 저장소를 맡은 프로세스{who}: {seconds}초 동안 가져가지 않았어요.",
        "남아 있다가 다음에 맡은 프로세스가 해요.",
    ),
    "NotWaiting": ("기다리는 것이 아니에요: {why}.", "실행이 무엇을 기다리는지 보세요."),
    "NotYours": ("{user} 님은 갖지 않은 권한을 줄 수 없어요: «{permission}».", "관리자에게 부탁하세요."),
    "NothingToUndo": ("실행 {run}: 그대로 두었어요. {why}.", "성공했고 되돌리는 방법이 있는 노드만 되돌려요."),
    "PathTaken": (
        "{method} {path}: 이미 «{name}»의 것이에요.",
        "트리거의 path를 바꾸거나 다른 워크플로우를 내려놓으세요.",
    ),
    "PenstockError": ("할 수 없는 일이에요.", ""),
    "PipelineKeyConflict": ("멱등 키 «{key}»: 입력이 다른 실행의 것이에요.", "입력마다 다른 키를 쓰세요."),
    "PipelineScope": ("범위 밖이에요: {why}.", "자기 테넌트와 조직의 실행만 볼 수 있어요."),
    "PipelineStorage": ("파일 저장소를 쓸 수 없어요: {why}.", "버킷과 그 주소를 보세요. 같은 일을 다시 해 봐요."),
    "DraftChanged": (
        "초안 «{draft}»: 바뀌었어요. 번호가 {given} 아니라 {number}이에요.",
        "다시 보세요. 다른 사람이 답했거나 다른 파일을 가져왔어요.",
    ),
    "DraftUnfinished": (
        "초안 «{draft}»: 할 일이 {count}개 남았어요. 첫째: {first}.",
        "답하거나 제안을 받으세요. `penstock process draft ID`가 목록을 보여요.",
    ),
    "EventLogsTooMany": (
        "이벤트 로그가 {limit}개예요. 더는 둘 수 없어요.",
        "`penstock mine logs --remove ID`로 하나를 지우세요. 설정은 `limits.event_logs`예요.",
    ),
    "ProcessBranch": ("이 결과로는 «{node}»에서 나갈 길이 없어요. 바뀐 것은 없어요.", "조건이 받는 결과를 주세요."),
    "ModelOutdated": (
        "«{model}»: «{name}»의 {base} 버전에서 찾은 모델인데, 이제 {version} 버전은 달라요.",
        "다시 찾으세요: `penstock mine ID --discover`. 승인된 것도, 없어진 것도 없어요.",
    ),
    "ProcessChanged": ("{what}: 바뀌었어요. 버전이 {given} 아니라 {version}이에요.", "다시 보고 결정하세요."),
    "ProcessInvalid": ("프로세스에 오류가 {count}개 있어요. 첫째: {first}.", "검사 결과를 하나씩 고쳐 주세요."),
    "ProcessNotFound": ("{what} «{name}»: 없어요.", "목록을 보세요."),
    "ProcessScope": ("범위 밖이에요: {why}.", "자기 테넌트에서 자기 이름으로 일해요."),
    "ProcessState": ("지금은 할 수 없어요: {why}", "지금 어떤지 보세요."),
    "ProcessUnreadable": ("프로세스를 읽을 수 없어요: {why}", "저장한 것은 없어요."),
    "ProjectHealth": (
        "프로젝트 «{project}»: 건강 상태가 «{health}»예요. {why}.",
        "이름이 나온 것을 고치거나 --force(force=true)로 시작하세요.",
    ),
    "ProjectNotFound": ("프로젝트 «{project}»: 없어요.", "있는 것은 `penstock plan projects`로 보세요."),
    "QueryUnknown": ("여기서 묻지 않는 이름이에요: «{name}».", "/api/docs를 보세요."),
    "ReaderTimeout": ("긴 실행을 읽지 못했어요: {why}.", "엔진은 그대로 가요. 다시 묻거나 더 작게 물어 주세요."),
    "ReaderFailed": ("긴 실행을 읽지 못했어요: {why}.", "엔진은 그대로 가요. 다시 묻거나 더 작게 물어 주세요."),
    "ReadsTooMany": (
        "이 테넌트의 긴 실행 읽기가 이미 {count}개 기다려요.",
        "Retry-After만큼 기다리고, 하나씩 물어 주세요.",
    ),
    "Refused": ("명령을 받아들이지 않았어요: {why}.", "실행이 지금 어떤지 보세요."),
    "ReleaseNotFound": ("«{name}»의 버전{which}: 없어요.", "낸 버전의 목록을 보세요."),
    "ReplayRefused": ("실행 {run}: 다시 보내지 않았어요. {why}.", "문서의 policies.dlq.replay를 보세요."),
    "RequestRunning": (
        "멱등 키 «{key}»의 요청을 아직 하고 있어요.",
        "잠시 뒤에 같은 요청을 다시 보내세요. 한 번만 해요.",
    ),
    "ResultInvalid": ("결과가 «{item}»의 양식과 맞지 않아요: {why}.", "바뀐 것은 없어요. 활동의 양식을 보세요."),
    "RouteMissing": ("여기에는 아무것도 없어요.", "/api/docs를 보세요."),
    "RunAmbiguous": ("«{run}»(으)로 시작하는 실행이 {count}개예요.", "아이디를 더 길게 적으세요."),
    "RunNotFound": ("실행 «{run}»: 이 저장소에 없어요.", "실행 목록을 보세요."),
    "RunParked": ("실행 {run}: 엔진의 결함에 걸려 그대로 두었어요. {why}.", "잃은 것은 없어요. 알려 주세요."),
    "SampleNotFound": ("시료 «{id}»: 부탁한 사람이 없어요.", "lab_sample_request 템플릿이 시료를 부탁해요."),
    "ScheduleNotFound": ("예약 «{name}»: 없어요.", "예약 목록을 보세요."),
    "SecretSealed": (
        "비밀 «{name}»: 열 수 없어요. {why}.",
        "secret-key 파일을 저장소 옆에 돌려놓거나 비밀을 다시 넣으세요.",
    ),
    "SessionNotFound": (
        "프로젝트 «{project}»의 실행 «{session}»: 없어요.",
        "있는 것은 프로젝트의 실행 목록에서 보세요.",
    ),
    "SignatureInvalid": ("서명이 맞지 않아요: {why}.", "HMAC-SHA256으로 서명하고, 시계를 5분 안으로 맞추세요."),
    "StandInAbsent": (
        "{what}: 여기에 없어요. 이 저장소에는 바깥 시스템의 대역이 없어요.",
        "진짜 시스템의 연결을 등록하세요.",
    ),
    "StarterDenied": (
        "{user} 님은 «{name}» 시작을 할 수 없어요: 문서에 다른 사람이 적혀 있어요.",
        "시작할 수 있는 사람의 이름으로 하세요.",
    ),
    "StartsLimit": (
        "실행 {run}: 1분에 {limit}개까지 시작할 수 있고, 다 썼어요.",
        "잠시 뒤에 다시 하세요. 설정은 limits.starts_per_minute예요.",
    ),
    "StatusConflict": (
        "{what}: 지금 {status} 상태예요. {verb}은(는) {allowed} 상태에서만 할 수 있어요.",
        "지금 상태를 보세요.",
    ),
    "StoreAway": (
        "저장소에 닿을 수 없어요: {why}.",
        "디스크가 있는지, 쓸 수 있는지 보세요. 받아들인 것은 잃지 않았어요.",
    ),
    "StoreBusy": ("다른 Penstock 프로세스{who}: 이 저장소를 맡고 있어요.", "멈추거나 끝나기를 기다리세요."),
    "StoreDamaged": ("저장소가 상했어요: {why}.", "파일을 그대로 두고 penstock verify로 살펴본 뒤 사본을 되살리세요."),
    "StoreGone": (
        "저장소가 열었던 자리에 없어요: {why}.",
        "그 뒤로 받아들인 것은 없어요. 같은 파일을 돌려놓으면 이어 가고, 없으면 멈추고 사본을 되살리세요.",
    ),
    "StoreDenied": ("서버가 저장소를 열어 주지 않아요: {why}.", "사용자와 비밀번호, 데이터베이스를 고치세요."),
    "StoreError": ("저장소에 문제가 있어요: {why}.", "파일을 그대로 두고 사본을 되살리세요."),
    "StoreFull": ("디스크가 가득 찼어요. 이번에 쓴 것은 없어요.", "자리를 비우고 다시 하세요. 이어서 가요."),
    "StoreMissing": ("저장소가 없어요: {path}.", "다른 저장소는 --store로 적으세요."),
    "StoreNewer": ("저장소는 스키마 {found} 버전이고, 이 Penstock은 {known}까지 알아요.", "Penstock을 올리세요."),
    "StoreNotOurs": ("«{path}»: Penstock 저장소가 아니에요.", "다른 파일을 --store로 적으세요."),
    "StrangerTooMany": (
        "이 주소에서 1분에 {rate}번 넘게 들어오지 못했어요.",
        "Retry-After만큼 기다리고 맞는 키로 부르세요.",
    ),
    "TargetNotFound": ("맡길 사람이 없어요: «{target}».", "user:아이디, role:이름, group:이름으로 적으세요."),
    "TaskBlocked": (
        "작업 «{task}»: 지금은 실행할 수 없어요. {reason}.",
        "기다리는 작업을 먼저 끝내거나, 그 의존을 optional로 바꾸세요.",
    ),
    "TaskNotFound": (
        "프로젝트 «{project}»의 작업 «{task}»: 없어요.",
        "있는 것은 `penstock plan status`로 보세요.",
    ),
    "TaskSchema": (
        "작업 «{task}»: 쓸 수 없어요. {why}.",
        "쓴 것은 없어요. 작업 파일에 적을 수 있는 것은 `penstock plan check`로 보세요.",
    ),
    "TaskTransition": (
        "{what}: 지금 {from} 상태예요. 여기서 {to} 상태로는 갈 수 없어요.",
        "바뀐 것은 없어요.",
    ),
    "TenantConflict": (
        "«{name}»: 테넌트 «{named}»의 것인데 여기는 «{tenant}»예요.",
        "tenant_id를 빼거나 그 테넌트에서 내세요.",
    ),
    "TenantExists": ("테넌트 «{tenant}»: 이미 있어요.", "테넌트 목록을 보세요."),
    "TenantUnknown": ("테넌트 «{tenant}»: 없거나 쓰지 않아요.", "서버 관리자가 테넌트를 만들어요."),
    "ThingInvalid": ("{what}: 오류가 {count}개 있어요. 첫째: {first}.", "저장한 것은 없어요."),
    "ThingNotFound": ("{type} «{id}»: 없어요.", "등록된 것의 목록을 보세요."),
    "TokenInvalid": ("토큰을 받아들이지 않아요: {why}.", "다시 로그인하세요."),
    "TooEarly": ("타이머는 {due}에 울려요. 그전에는 안 돼요.", "그때까지 기다리세요."),
    "TooMany": ("{what}: 1분에 {rate}번까지이고, 다 썼어요.", "Retry-After만큼 기다리세요."),
    "TooManyRuns": (
        "끝나지 않은 실행이 {limit}개이고, 그것이 한도예요.",
        "몇 개가 끝나기를 기다리거나 끝내세요. 설정은 limits.open_runs예요.",
    ),
    "TooManyWorkItems": (
        "아무도 하지 않은 일이 {limit}개이고, 그것이 한도예요.",
        "먼저 몇 개를 하거나 취소하세요. 설정은 limits.open_work_items예요.",
    ),
    "UserNotFound": ("사용자 «{user}»: 없어요.", "등록된 사용자의 목록을 보세요."),
    "TrialTooLarge": (
        "{rows}행에 조건이 {conditions}개예요. 한 번에 {most_rows}행, 모두 {most}번까지 시험해요.",
        "행을 줄이거나 팩을 나누세요. 지난 입력 수천 건은 시뮬레이션이 판정해요.",
    ),
    "TrialTooLong": (
        "시험이 {seconds}초를 넘어서 멈췄어요.",
        "행을 줄이거나, 행마다 데이터 전체를 훑는 조건이 있는지 살펴보세요.",
    ),
    "UserTaken": ("«{user}»: 이미 등록된 «{known}»의 다른 표기예요.", "있는 사용자를 고치거나 다른 이름을 쓰세요."),
    "VersionConflict": ("«{name}»의 {version} 버전을 낼 수 없어요: {why}.", "문서의 버전을 올리거나 빼세요."),
    "VersionMissing": (
        "{type} «{id}»의 승인된 {version} 버전: 없어요.",
        "`penstock registry ls`가 버전과 상태를 보여요.",
    ),
}

#: what the server says where no error of ours has been raised, by its code; {said} is what it says in English
CODES: dict[str, tuple[str, str]] = {
    "PS-400-JSON": ("본문이 JSON이 아니에요. ({said})", "JSON 값 하나를 보내 주세요."),
    "PS-422-REQUEST": ("요청이 맞지 않아요. ({said})", "/api/docs를 보세요."),
    "PS-404-ROUTE": ("여기에는 아무것도 없어요. ({said})", "/api/docs를 보세요."),
    "PS-405": ("이 주소에서 할 수 없는 방법이에요.", "/api/docs를 보세요."),
    "PS-406": ("줄 수 있는 형식이 아니에요.", ""),
    "PS-413-BODY": (
        "보낸 것이 너무 커요. ({said})",
        "서버의 설정 `sizes.body_bytes`를 늘리거나, 파일은 명령으로 주세요.",
    ),
    "PS-413": ("너무 커요. ({said})", ""),
    "PS-415": ("받을 수 없는 형식이에요. ({said})", ""),
    "PS-500": ("뜻밖의 문제가 생겼어요.", "다시 보내기 전에 되었는지 보고, 추적 번호와 함께 알려 주세요."),
}
