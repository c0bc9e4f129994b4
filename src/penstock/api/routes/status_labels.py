"""The words of each language, in the language of whoever reads: the console has none of its own for statuses."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.api.bodies import ResponseBody
from penstock.api.replies import reply
from penstock.api.server_state import Who
from penstock.api.strict_routes import StrictRoute
from penstock.app.status_labels import wording

router = APIRouter(tags=["words"], route_class=StrictRoute)


class TypeWords(ResponseBody):
    label: str
    icon: str


class LanguageWords(ResponseBody):
    """By the house's state: the word of the language, and how it is said to people."""

    run: dict[str, str]
    node: dict[str, str]
    types: dict[str, TypeWords]


class WordsOut(ResponseBody):
    locale: str
    languages: dict[str, LanguageWords]


@router.get("/words", response_model=WordsOut, summary="Words for statuses and node types")
async def words(_: Who, locale: Annotated[str, Query(pattern="^(ko|en)$")] = "en") -> Response:
    return reply(
        WordsOut, {"locale": locale, "languages": wording(locale)}, headers={"Cache-Control": "private, max-age=300"}
    )
