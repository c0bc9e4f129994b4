"""How people read pipelines: statuses and node types in English and in Korean."""

from __future__ import annotations

from penstock.dialects.contract import Labels

_TYPES = {
    "Copy": ("copy", "복사", "copy"), "Checksum": ("checksum", "체크섬", "hash"),
    "MetadataExtractor": ("metadata", "메타데이터", "info"), "TextExtractor": ("text", "글 뽑기", "file-text"),
    "ImageResizer": ("resize", "크기 바꾸기", "scaling"), "ImageThumbnail": ("thumbnail", "썸네일", "image"),
    "ImageConverter": ("convert picture", "그림 형식 바꾸기", "image"),
    "CsvToJson": ("rows to JSON", "행을 JSON으로", "table"), "HtmlToText": ("HTML to text", "HTML을 글로", "file-text"),
    "OcrProcessor": ("text recognition", "글자 인식", "scan-text"),
    "PdfPages": ("pages of a PDF", "PDF 쪽", "file-image"), "VirusScan": ("virus scan", "바이러스 검사", "shield"),
    "Archive": ("archive", "압축 파일", "archive"), "LlmExtractor": ("model extraction", "모델로 뽑기", "bot"),
    "Script": ("script", "스크립트", "code"), "Command": ("command", "명령", "terminal"),
    "HttpCall": ("call", "호출", "globe"), "group": ("side by side", "나란히", "split"),
    "condition": ("condition", "조건", "split"), "rollback": ("undo", "되돌리기", "undo-2"),
    "start": ("start", "시작", "circle-play"), "end": ("end", "끝", "flag"), "merge": ("merge", "합침", "merge"),
}  # fmt: skip
_RUN = {
    "PENDING": ("Waits for a worker", "차례 기다림"), "RUNNING": ("Running", "실행 중"),
    "COMPLETED": ("Completed", "완료"), "FAILED": ("Failed", "실패"), "CANCELLED": ("Cancelled", "취소됨"),
    "TIMEOUT": ("Timed out", "시간 초과"),
}  # fmt: skip
_NODE = {
    "STARTED": ("Started", "시작됨"), "RUNNING": ("Running", "실행 중"), "COMPLETED": ("Completed", "완료"),
    "FAILED": ("Failed", "실패"), "SKIPPED": ("Skipped", "건너뜀"), "TIMEOUT": ("Timed out", "시간 초과"),
}  # fmt: skip

LABELS = Labels(run=_RUN, node=_NODE, types=_TYPES)
