"""The routes of people who process files."""

from __future__ import annotations

from penstock.api.language import LanguageRouters

ROUTERS = LanguageRouters()
