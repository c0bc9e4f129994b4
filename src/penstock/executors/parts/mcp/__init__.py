"""Calls to MCP servers."""
