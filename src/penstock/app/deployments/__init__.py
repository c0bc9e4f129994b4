"""Deployments for people: what is rolled out, how it goes, and what somebody may do about it."""
