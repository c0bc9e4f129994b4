"""What people who process files ask of the door."""

from __future__ import annotations

from penstock.app.language import AppLanguage


class PipelineApp(AppLanguage):
    """Documents go the way of every other document."""


APP = PipelineApp()
