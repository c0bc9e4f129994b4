"""Drawings under work: brought as files, completed by answers, and released when nothing is missing."""
