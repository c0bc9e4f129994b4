"""What people who write workflows ask of the door: judgments, dead letters."""

from __future__ import annotations

from penstock.app.language import AppLanguage

APP = AppLanguage()
