"""Conversations with models and what is read from their answers."""
