"""Tests of the house itself: style, imports, types, packaging, documentation."""
