"""Tests of the door and what is behind it."""
