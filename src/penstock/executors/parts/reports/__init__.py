"""Reports of simulations: HTML, PDF and JSON, in Korean and in English."""

from penstock.executors.parts.reports.render import FORMATS, ReportImpossible, render

__all__ = ["FORMATS", "ReportImpossible", "render"]
