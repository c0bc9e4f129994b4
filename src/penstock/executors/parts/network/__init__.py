"""Outgoing calls: which addresses may be reached, HTTP, PostgreSQL, calls to the program itself, trace headers."""
