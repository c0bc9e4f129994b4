"""Manuals that a model reads, and the page on which a person reviews what was read."""
