"""The routes of people who draw."""

from __future__ import annotations

from penstock.api.diagram import routes
from penstock.api.language import LanguageRouters

ROUTERS = LanguageRouters(documents=(routes.router,))
