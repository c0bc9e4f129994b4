"""Tests the tests: breaks random places of the code, and tells which of them no test notices."""
