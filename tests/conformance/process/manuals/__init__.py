"""Twelve manuals with their right answers, written by hand, and the files that they are made into."""
