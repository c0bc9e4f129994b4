"""The language of whoever asks: what people read of errors, findings and failures is worded for them, in one place."""

from __future__ import annotations

from contextvars import ContextVar

from pydantic import BaseModel

from penstock.errors.korean import category_hint, failure_text, is_korean

_KOREAN: ContextVar[bool] = ContextVar("korean", default=False)


def set_languages(languages: str | None) -> None:
    """What the header Accept-Language of this request says."""
    _KOREAN.set(is_korean(languages))


def korean() -> bool:
    return _KOREAN.get()


class WordedFailure(BaseModel):
    """A body with a `code` and a `message`, which is told in the reader's language."""

    def model_post_init(self, context: object, /) -> None:
        code, message = getattr(self, "code", None), getattr(self, "message", None)
        if not _KOREAN.get() or not isinstance(code, str) or not isinstance(message, str):
            return
        worded = {"message": failure_text(code, message)}
        if hasattr(self, "hint"):
            worded["hint"] = category_hint(getattr(self, "category", ""), self.hint) or ""
        for name, text in worded.items():
            setattr(self, name, text)


class WordedResult(BaseModel):
    """A line whose `result` is CODE: MESSAGE where it ended badly."""

    def model_post_init(self, context: object, /) -> None:
        result = getattr(self, "result", None)
        if _KOREAN.get() and isinstance(result, str) and getattr(self, "state", "") not in ("", "COMPLETED"):
            code, colon, said = result.partition(": ")
            if colon:
                self.result = f"{code}: {failure_text(code, said)}"  # type: ignore[attr-defined,unused-ignore]
