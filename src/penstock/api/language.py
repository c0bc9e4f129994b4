"""The routes that languages bring: those for documents and runs, and those for who operates them."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import APIRouter

from penstock.languages import HOUSE, ROUTERS, outside, part_of


class LanguageRouters(NamedTuple):
    documents: tuple[APIRouter, ...] = ()
    operations: tuple[APIRouter, ...] = ()


def language_routers() -> LanguageRouters:
    """Of all languages, those of the house first."""
    parts: list[LanguageRouters] = [part_of(name, ROUTERS) for name in (*HOUSE, *outside(ROUTERS))]
    documents = tuple(router for part in parts for router in part.documents)
    return LanguageRouters(documents, tuple(router for part in parts for router in part.operations))
