"""The routes of people who process files, in the order of the API's description."""

from __future__ import annotations

from penstock.api.language import LanguageRouters
from penstock.api.pipeline import executions, files, messages

ROUTERS = LanguageRouters(operations=(executions.router, files.router, messages.router))
